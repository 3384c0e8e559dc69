"""Every host, every way of writing: not one unreleased letter is seen, not one released letter is lost or doubled."""

import dataclasses
import logging
from collections.abc import Callable

import pytest
from hypothesis import settings
from tests.conformance.hosts import stream
from tests.conformance.recorder import Seen, recorded
from tests.conformance.scripts import FALSE, SOURCE, TRUE, Script, script
from tests.conformance.table import HOSTS, problems
from tests.conftest import FEW

from groundrail import Verdict

STREAMS = {True: 165, False: 4}
"""Streams of each way of writing at a cheap host, and at another one, in the large profile."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "way"), [(name, way) for name, host in HOSTS.items() for way in host.ways])
def test_a_reader_sees_the_released_text_and_nothing_else(name: str, way: str) -> None:
    host = HOSTS[name]
    for seed in range(STREAMS[host.cheap] if settings().max_examples > FEW else 4):
        answer = script(way, seed)
        assert not (found := problems(host, answer)), f"{found} ({way}, seed {seed}: {answer.replies})"


@pytest.mark.parametrize("sentence", [*TRUE, *FALSE])
def test_the_judge_supports_the_true_sentences_alone(sentence: str) -> None:
    (checked,) = script("whole", 0).guard().check(sentence, SOURCE).sentences
    assert checked.verdict is (Verdict.SUPPORTED if sentence in TRUE else Verdict.UNSUPPORTED)


LEAKS: dict[str, Callable[[Seen], object]] = {
    "text is lost": lambda seen: seen.pieces.remove(next(filter(None, seen.pieces))),
    "text is doubled": lambda seen: seen.pieces.append(next(filter(None, reversed(seen.pieces)))),
    "a letter is noted": lambda seen: seen.note({"delta": FALSE[0][0]}),
    "a letter is escaped": lambda seen: seen.note(f'{{"delta": "\\u{ord(FALSE[0][0]):04x}"}}'),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_host_that_loses_doubles_or_leaks_is_found(leak: str) -> None:
    answer = next(s for s in (script("whole", seed) for seed in range(50)) if s.required and s.text != s.required)

    def leaky(answer: Script) -> Seen:
        seen = stream(answer)
        LEAKS[leak](seen)
        return seen

    assert not problems(HOSTS["Guard.stream"], answer)
    assert problems(dataclasses.replace(HOSTS["Guard.stream"], run=leaky), answer)


def test_what_an_error_holds_and_what_is_logged_is_seen() -> None:
    hiding = RuntimeError("the answer failed")
    hiding.__context__ = ValueError(FALSE[0])
    for error in (hiding, ExceptionGroup("several", [ValueError(FALSE[0])])):
        with recorded() as seen:
            raise error
        assert seen.leaked
    with recorded() as seen:
        logging.getLogger("anything").warning("refused: %s", FALSE[0])
    assert seen.leaked
