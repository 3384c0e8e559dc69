"""Writing on while a sentence is judged: the same answer as without, nothing early, nothing left open."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenacity import stop_after_attempt
from tests.guard.parts import FALSE, SOURCE, TRUE, Scoring, first_text, generated

from groundrail import Guard, Policy, Verdict
from groundrail.errors import GenerationError, UnsupportedError
from groundrail.generators import CallableGenerator
from groundrail.runtime.deadlines import Calls
from groundrail.runtime.read_ahead import READ_AHEAD, ReadAhead
from groundrail.types import GuardResult

SENTENCES = [TRUE, FALSE, "Hello! ", "Pets are allowed.\n\n", "Dragons fly. ", "The lease ends on 28 February 2026. "]


class Writer:
    """Goes on from `prefix` with what the sentence at that place is the first, second, third ... time it is written.

    Its text depends on its arguments and on how often it was asked from there, not on how far it was read.
    `fails_after` pieces of a call it raises. `pieces` counts all that were asked for.
    """

    def __init__(self, script: Sequence[Sequence[str]], piece: int, fails_after: int = 10**9) -> None:
        self.script, self.piece, self.fails_after = script, piece, fails_after
        self.asked: dict[str, int] = {}
        self.pieces = 0

    def __call__(self, prompt: str, prefix: str) -> Iterator[str]:
        attempt = self.asked[prefix] = self.asked.get(prefix, -1) + 1
        whole = [self.script[n][attempt % len(self.script[n])] for n in range(len(self.script))]
        text = "".join(whole)[len(prefix) :]
        for number, start in enumerate(range(0, len(text), self.piece)):
            if number == self.fails_after:
                raise ConnectionError("gone")
            self.pieces += 1
            yield text[start : start + self.piece]


def told(result: GuardResult) -> Any:
    """A result without its times."""
    found = result.model_dump(mode="json", exclude={"seconds": True, "generation": True})
    for sentence in found["sentences"]:
        del sentence["seconds"]
        for attempt in sentence["attempts"]:
            del attempt["seconds"]
    return found


def outcome(call: Callable[[], GuardResult]) -> Any:
    try:
        return told(call())
    except UnsupportedError as error:
        return str(error), told(error.result)  # type: ignore[arg-type]
    except GenerationError as error:
        return str(error)


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3), max_size=6),
    st.integers(1, 60),
    st.one_of(st.just(10**9), st.integers(0, 20)),
    st.sampled_from(["drop", "flag", "abstain", "raise"]),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.002]),
)
def test_the_answer_is_the_same_as_without(script, piece, fails_after, fallback, attempts, seconds) -> None:
    policy = Policy(fallback="drop" if fallback == "raise" and fails_after < 10**9 else fallback).replacing(
        stop=stop_after_attempt(attempts)
    )

    def guard(writes_ahead: bool) -> Guard:
        writer = CallableGenerator(Writer(script, piece, fails_after), writes_ahead=writes_ahead)
        return Guard(writer, scorer=Scoring(lambda claims: time.sleep(seconds)), policy=policy)

    expected = outcome(lambda: guard(False).generate("?", SOURCE))
    assert outcome(lambda: guard(True).generate("?", SOURCE)) == expected
    assert outcome(lambda: asyncio.run(guard(True).agenerate("?", SOURCE))) == expected


class Gate:
    """A generator that says what it has written, and a judge that waits until it has written so many pieces."""

    def __init__(self, pieces: Sequence[str], wait_for: int) -> None:
        self.texts, self.wait_for = pieces, wait_for
        self.written = 0
        self.changed = threading.Condition()
        self.seen: list[int] = []

    def __call__(self, prompt: str) -> Iterator[str]:
        for text in self.texts:
            with self.changed:
                self.written += 1
                self.changed.notify_all()
            yield text

    def judge(self, claims: Sequence[str]) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.written >= min(self.wait_for, len(self.texts)), timeout=20)
            self.seen.append(self.written)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_next_sentence_is_written_while_one_is_judged(is_async) -> None:
    gate = Gate([TRUE, "Pets ", "are ", "not ", "allowed. ", "The rent is 950."], wait_for=5)
    subject = Guard(gate, scorer=Scoring(gate.judge))
    result = generated(subject, is_async)
    assert gate.seen[0] >= 5  # without, the judge of the first sentence would have waited in vain
    assert result.text == "".join(gate.texts)


def test_nothing_is_read_ahead_where_nobody_wants_it() -> None:
    gate = Gate([TRUE, "Pets ", "are not allowed. ", "The rent is 950."], wait_for=0)
    Guard(CallableGenerator(gate, writes_ahead=False), scorer=Scoring(gate.judge)).generate("?", SOURCE)
    assert gate.seen == [2, 4, 4]


def test_only_so_much_is_read_ahead() -> None:
    gate = Gate([TRUE, *["Pets are allowed. "] * 500], wait_for=2 + READ_AHEAD // 18 + 1)

    def judge(claims: Sequence[str]) -> None:
        gate.judge(claims)
        time.sleep(0.05)

    with Guard(gate, scorer=Scoring(judge)).stream("?", SOURCE) as stream:
        next(iter(stream))
        assert gate.seen[0] == 2 + READ_AHEAD // 18 + 1  # the piece that reaches the limit is the last


def test_what_is_refused_costs_what_was_read_ahead_and_no_more() -> None:
    wrong = Gate([FALSE, "Pets ", "are ", "not ", "allowed. "], wait_for=4)
    subject = Guard(wrong, scorer=Scoring(wrong.judge), policy=Policy(fallback="abstain", stop=stop_after_attempt(1)))
    result = subject.generate("?", SOURCE)
    assert [s.verdict for s in result.sentences] == [Verdict.UNSUPPORTED]
    assert 4 <= wrong.written <= 5
    assert "Pets" not in result.model_dump_json()


def test_an_error_ahead_comes_in_its_turn() -> None:
    judged = threading.Event()

    def failing(prompt: str) -> Iterator[str]:
        yield TRUE
        yield "Pets are not allowed. "
        judged.wait(20)
        raise ConnectionError("gone")

    def judge(claims: Sequence[str]) -> None:
        judged.set()
        time.sleep(0.05)

    subject = Guard(failing, scorer=Scoring(judge))
    result = subject.generate("?", SOURCE)
    assert [s.verdict for s in result.sentences] == [Verdict.SUPPORTED, Verdict.ERROR]
    assert result.text == TRUE


def test_an_error_ahead_of_a_refused_sentence_never_comes() -> None:
    calls, failed = [0], threading.Event()

    def failing(prompt: str) -> Iterator[str]:
        calls[0] += 1
        yield FALSE if calls[0] == 1 else TRUE
        yield "Pets "
        if calls[0] == 1:
            failed.set()
            raise ConnectionError("gone")

    subject = Guard(failing, scorer=Scoring(lambda claims: failed.wait(20)))
    result = subject.generate("?", SOURCE)
    assert [a.verdict for a in result.sentences[0].attempts] == [Verdict.UNSUPPORTED, Verdict.SUPPORTED]
    assert "gone" not in result.model_dump_json()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_verdict_does_not_wait_for_the_piece_being_written(is_async) -> None:
    go, writing, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(prompt: str) -> Iterator[str]:
        try:
            yield TRUE
            yield "Pets "
            writing.set()
            go.wait(20)
            yield "are not allowed."
        finally:
            ended.set()

    subject = Guard(slow, scorer=Scoring(lambda claims: writing.wait(20)))

    assert first_text(subject, is_async) == TRUE
    assert not go.is_set()
    assert not ended.is_set()  # it is being asked for a piece, and is closed when that has come
    go.set()
    assert ended.wait(20)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_writer_that_hangs_ahead_meets_its_deadline_and_is_closed_in_the_end(is_async) -> None:
    go, ended = threading.Event(), threading.Event()

    def hanging(prompt: str) -> Iterator[str]:
        try:
            yield TRUE + "Pets "
            go.wait(20)
            yield "are not allowed."
        finally:
            ended.set()

    subject = Guard(hanging, scorer=Scoring(lambda claims: time.sleep(0.05)), policy=Policy(deadline=1.5))
    result = generated(subject, is_async)
    assert [s.verdict for s in result.sentences] == [Verdict.SUPPORTED, Verdict.TIMEOUT]
    assert not ended.is_set()
    go.set()
    assert ended.wait(20)


def test_leaving_early_closes_the_generator() -> None:
    open_now = [0]

    def writer(prompt: str) -> Iterator[str]:
        open_now[0] += 1
        try:
            for _ in range(50):
                yield TRUE
        finally:
            open_now[0] -= 1

    for _ in range(20):
        assert first_text(Guard(writer, scorer=Scoring()), is_async=False) == TRUE
        assert open_now == [0]


def test_pieces_come_in_order_however_they_are_asked_for() -> None:
    texts = [f"{n} " for n in range(2000)]
    ahead, read = ReadAhead(iter(texts), Calls()), list[str]()
    while True:
        with ahead.meanwhile():
            time.sleep(0.0001 * (len(read) % 3))
        taken = [piece for _ in range(1 + len(read) % 50) if (piece := next(ahead, None)) is not None]
        if not taken:
            break
        read += taken
    assert read == texts
