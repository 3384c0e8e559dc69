"""Every host, every way of writing: not one unreleased letter is seen, not one released letter lost or doubled."""

import pytest
from tests.conformance.hosts import HOSTS, Host
from tests.conformance.scripts import HIDDEN, WAYS, Script, script

STREAMS = {True: 200, False: 4}
"""Streams for each cheap host and way, and for each other host and way."""


def problems(host: Host, answer: Script) -> str:
    """The broken properties of one answer, empty where all hold."""
    seen = host.run(answer)
    found = []
    if not host.allows(answer, seen.text):
        found.append(f"a reader saw {seen.text!r}, and may see {answer.required!r} with or without {answer.optional!r}")
    if seen.result is not None and seen.result != seen.text:
        found.append(f"the result's text is {seen.result!r}")
    if host.holds_back and seen.leaked:
        found.append(f"{seen.leaked!r} leaked")
    if not host.holds_back and set(answer.text) & HIDDEN and not seen.leaked:
        found.append("nothing went past a host that can only report, so nothing was recorded")
    return "; ".join(found)


@pytest.mark.parametrize(("name", "way"), [(name, way) for name, host in HOSTS.items() for way in host.ways])
def test_a_reader_sees_the_released_text_and_nothing_else(name: str, way: str) -> None:
    host = HOSTS[name]
    for seed in range(STREAMS[host.cheap]):
        answer = script(way, seed)
        assert not problems(host, answer), (seed, answer, problems(host, answer))
