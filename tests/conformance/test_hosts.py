"""Every host, every way of writing: not one unreleased letter is seen, not one released letter is lost or doubled."""

import dataclasses
import logging
from collections.abc import Callable

import pytest
from hypothesis import settings
from tests.conformance.hosts import in_a_loop, stream
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


def test_the_streams_are_about_ten_thousand() -> None:
    assert sum(STREAMS[host.cheap] * len(host.ways) for host in HOSTS.values()) >= 10_000


@pytest.mark.parametrize("sentence", [*TRUE, *FALSE])
def test_the_judge_supports_the_true_sentences_alone(sentence: str) -> None:
    (checked,) = script("whole", 0).guard().check(sentence, SOURCE).sentences
    assert checked.verdict is (Verdict.SUPPORTED if sentence in TRUE else Verdict.UNSUPPORTED)


def _text_lost(answer: Script) -> Seen:
    seen = stream(answer)
    seen.pieces = [*filter(None, seen.pieces)][1:]
    return seen


def _text_doubled(answer: Script) -> Seen:
    seen = stream(answer)
    seen.pieces += [*filter(None, seen.pieces)][-1:]
    return seen


def _letter_noted(answer: Script) -> Seen:
    seen = stream(answer)
    seen.note({"delta": FALSE[0][0]})
    return seen


def _letter_escaped(answer: Script) -> Seen:
    seen = stream(answer)
    seen.note(f'{{"delta": "\\u{ord(FALSE[0][0]):04x}"}}')
    return seen


def _letter_in_a_cause(answer: Script) -> Seen:
    seen = stream(answer)
    with recorded() as told:
        try:
            raise ValueError(FALSE[0])
        except ValueError:
            raise RuntimeError("the answer failed") from None
    seen.note("".join(told.leaked))
    return seen


def _letter_logged(answer: Script) -> Seen:
    seen = stream(answer)
    with recorded() as told:
        logging.getLogger("anything").warning("refused: %s", FALSE[0])
    seen.note(told.leaked)
    return seen


def _letter_in_a_group(answer: Script) -> Seen:
    async def run(seen: Seen) -> None:
        raise ExceptionGroup("several", [ValueError(FALSE[0])])

    seen = stream(answer)
    seen.note(in_a_loop(run).leaked)
    return seen


@pytest.mark.parametrize(
    "leaky",
    [
        _text_lost,
        _text_doubled,
        _letter_noted,
        _letter_escaped,
        _letter_in_a_cause,
        _letter_logged,
        _letter_in_a_group,
    ],
)
def test_a_host_that_loses_doubles_or_leaks_is_found(leaky: Callable[[Script], Seen]) -> None:
    answer = next(s for s in (script("whole", seed) for seed in range(50)) if s.required and s.text != s.required)
    assert not problems(HOSTS["Guard.stream"], answer)
    assert problems(dataclasses.replace(HOSTS["Guard.stream"], run=leaky), answer)


def test_a_script_is_the_same_every_time() -> None:
    assert [script("again", seed) for seed in range(20)] == [script("again", seed) for seed in range(20)]
