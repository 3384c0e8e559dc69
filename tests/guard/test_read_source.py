"""A source that is read once: few readings, the same results, other scorers, blank sources, its size in memory."""

import asyncio
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from tests.guard.parts import FALSE, SOURCE, TRUE, Scoring
from tests.tiny import written

from groundrail import ChatGuard, Document, Guard, GuardResult, Policy, ReadSource
from groundrail.errors import GroundrailWarning, InputError
from groundrail.scoring import NearestScorer, ScaleScorer, Scorer, SecondOpinion
from groundrail.scoring.base import Reader
from groundrail.scoring.batched import BatchedScorer
from groundrail.scoring.read_source import MOST_SCORERS
from groundrail.testing import FakeEntailment, ScriptedGenerator, shares_all_words
from groundrail.types import Source, as_documents

ANSWERS = [TRUE, FALSE, "Pets are not allowed.", "The lease ends on 30 June 2027. " + TRUE]


class Counting(Scorer):
    """Another scorer that counts its readings."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer, self.reads = scorer, 0

    def read(self, source: Source) -> Reader:
        self.reads += 1
        return self.scorer.read(source)


def pushed(guard: Guard, answer: str, source: Source) -> GuardResult:
    given = guard.incremental(source)
    given.feed(answer)
    given.finish()
    assert given.result is not None
    return given.result


def streamed(guard: Guard, answer: str, source: Source) -> GuardResult:
    stream = guard.with_generator(ScriptedGenerator([answer])).stream("?", source)
    list(stream)
    return stream.result


async def astreamed(guard: Guard, answer: str, source: Source) -> GuardResult:
    stream = await guard.with_generator(ScriptedGenerator([answer])).astream("?", source)
    _ = [text async for text in stream]
    return stream.result


WAYS: dict[str, Callable[[Guard, str, Source], Any]] = {
    "check": lambda guard, answer, source: guard.check(answer, source),
    "check_all": lambda guard, answer, source: guard.check_all([answer], source)[0],
    "check_object": lambda guard, answer, source: guard.check_object({"said": answer}, source),
    "generate": lambda guard, answer, source: guard.with_generator(ScriptedGenerator([answer])).generate("?", source),
    "stream": streamed,
    "pushed": pushed,
    "acheck": lambda guard, answer, source: asyncio.run(guard.acheck(answer, source)),
    "acheck_object": lambda guard, answer, source: asyncio.run(guard.acheck_object({"said": answer}, source)),
    "agenerate": lambda guard, answer, source: asyncio.run(
        guard.with_generator(ScriptedGenerator([answer])).agenerate("?", source)
    ),
    "astream": lambda guard, answer, source: asyncio.run(astreamed(guard, answer, source)),
}


def told(result: Any) -> Any:
    """All of a result but the seconds that it and its parts took."""
    return _untimed(result.model_dump())


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _untimed(each) for name, each in value.items() if name != "seconds"}
    return [_untimed(each) for each in value] if isinstance(value, list | tuple) else value


def scorers() -> list[Scorer]:
    judge = FakeEntailment(shares_all_words)
    scale, nearest = ScaleScorer(judge, chunk_tokens=12), NearestScorer(judge)
    return [scale, nearest, BatchedScorer(nearest), SecondOpinion(nearest, scale, (0.0, 1.0))]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", range(len(scorers())))
def test_results_are_those_of_the_plain_source(way: str, number: int) -> None:
    guard = Guard(scorer=scorers()[number])
    plain: Source = [Document(text=SOURCE, id="lease"), "Cats are welcome."]
    read = guard.read(plain)
    for answer in ANSWERS:
        assert told(WAYS[way](guard, answer, read)) == told(WAYS[way](guard, answer, plain))


@pytest.mark.parametrize("way", WAYS)
def test_a_source_is_read_once_for_many_answers(way: str) -> None:
    scorer = Scoring()
    guard = Guard(scorer=scorer)
    read = guard.read(SOURCE)
    assert scorer.reads == 1
    for answer in ANSWERS:
        WAYS[way](guard, answer, read)
    assert scorer.reads == 1


def test_reading_does_not_block_the_event_loop() -> None:
    async def both() -> ReadSource:
        going = asyncio.Event()

        async def beside() -> None:
            going.set()

        task = asyncio.create_task(beside())
        read = await guard.aread(SOURCE)
        await task
        assert going.is_set()
        return read

    scorer = Scoring()
    guard = Guard(scorer=scorer)
    assert guard.check(TRUE, asyncio.run(both())).supported
    assert scorer.reads == 1


@pytest.mark.parametrize("number", range(len(scorers())))
def test_threads_share_one_reading(number: int) -> None:
    text = written(3, 40)
    answers = [f"{sentence}." for sentence in text.split(". ")[:12]] + ["Clause 3 tenant Paris. Clause 41 rent."] * 4
    scorer = Counting(scorers()[number])
    guard, at_once = Guard(scorer=scorer), Barrier(len(answers))
    read = ReadSource(text)  # nothing of it is read yet

    def check(answer: str) -> GuardResult:
        at_once.wait()
        return guard.check(answer, read)

    with ThreadPoolExecutor(len(answers)) as threads:
        found = list(threads.map(check, answers))
    assert scorer.reads == 1
    assert list(map(told, found)) == [told(guard.check(answer, text)) for answer in answers]


def test_threads_wait_for_a_second_scorer_that_is_read_late() -> None:
    judge = FakeEntailment(lambda premise, claim: 0.5)
    second, at_once = Counting(NearestScorer(judge)), Barrier(4)
    reader = SecondOpinion(NearestScorer(judge), second, (0.0, 1.0)).read(SOURCE)

    def score(claim: str) -> object:
        at_once.wait()
        return reader.score([claim])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(score, ANSWERS))
    assert second.reads == 1


def test_a_scorer_of_another_guard_reads_again_once_and_says_so() -> None:
    first, other = Scoring(), Scoring()
    read = Guard(scorer=first).read(SOURCE)
    with pytest.warns(GroundrailWarning, match=r"another guard's scorer \(Scoring\).* read again for Scoring") as said:
        results = [Guard(scorer=other).check(answer, read) for answer in ANSWERS]
    assert len(said) == 1
    assert (first.reads, other.reads) == (1, 1)
    assert list(map(told, results)) == [told(Guard(scorer=other).check(answer, SOURCE)) for answer in ANSWERS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Guard(scorer=first).check(TRUE, read)
    assert first.reads == 1


def test_only_the_last_scorers_are_kept() -> None:
    used = [Scoring() for _ in range(MOST_SCORERS + 1)]
    read = ReadSource(SOURCE)
    with pytest.warns(GroundrailWarning, match="read again"):
        _ = [Guard(scorer=scorer).check(TRUE, read) for scorer in (*used, *used[1:], used[0])]
    assert [scorer.reads for scorer in used] == [2, *[1] * MOST_SCORERS]


def test_a_guard_under_another_policy_reads_nothing_again() -> None:
    first, second = Scoring(), Scoring()
    guard = Guard(scorer=first, second=second, policy=Policy(doubt=(0.4, 1.0)))
    read = guard.read(SOURCE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for twin in (guard, guard.with_policy(guard.policy.replacing(fallback="flag"))):
            twin.check(TRUE, read)
            twin.check_object({"said": TRUE}, read)
    assert (first.reads, second.reads) == (1, 1)


def test_marks_name_sets_of_documents_that_are_each_read_once() -> None:
    scorer = Scoring()
    guard = Guard(scorer=scorer, policy=Policy(marks="check"))
    read = guard.read([SOURCE, "Cats are welcome."])
    for _ in range(3):
        guard.check("The rent is 950 euros [1]. Cats are welcome [2].", read)
    assert scorer.reads == 3  # all, the first, the second


@pytest.mark.parametrize("blank", ["", " \n", "\u200b", (), [" ", ""]])
@pytest.mark.parametrize("scorer", scorers()[:2])
def test_a_blank_source_is_taken_as_it_is(blank: str | Sequence[str], scorer: Scorer) -> None:
    guard = Guard(scorer=scorer)
    read = guard.read(blank)
    assert told(guard.check(TRUE, read)) == told(guard.check(TRUE, blank))
    assert guard.check(TRUE, read).text == ""


def test_a_source_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="a source is text, a Document or a list of them, not int"):
        Guard(scorer=Scoring()).read(3)  # type: ignore[arg-type]


def test_it_is_a_sequence_of_its_documents() -> None:
    plain = [Document(text=SOURCE, id="lease"), Document(text="Cats are welcome.", id="rules")]
    guard = Guard(scorer=Scoring())
    read = guard.read(plain)
    assert as_documents(read) == tuple(read) == read[:] == read.documents == tuple(plain)
    assert read[1].id == "rules"
    assert guard.read(read) is read
    assert repr(read) == f"<ReadSource of 2 documents, {len(SOURCE) + 17} characters>"


def test_its_size_counts_the_text_and_what_was_read_but_no_model() -> None:
    model = FakeEntailment(shares_all_words)
    weights = bytes(10_000_000)
    model.weights = weights  # type: ignore[attr-defined]
    guard = Guard(scorer=NearestScorer(model))
    text = written(1, 2_000)
    plain = ReadSource(text).n_bytes
    read = guard.read(text).n_bytes
    assert len(text) <= plain < len(text) + 10_000
    assert 2 * len(text) < read < 1_000_000 + 20 * len(text)


def chat(scorer: Scorer, source: Source, **options: Any) -> ChatGuard:
    return ChatGuard(Guard(ScriptedGenerator([TRUE]), scorer=scorer), source=source, **options)


def test_a_chat_reads_the_source_of_all_turns_once() -> None:
    scorer = Scoring()
    talk = chat(scorer, SOURCE)
    for _ in range(3):
        assert talk.ask("How much is the rent?").result.supported
    assert "".join(talk.stream("And now?")) == TRUE
    assert scorer.reads == 1
    assert talk.ask("And with cats?", "Cats are welcome.").result.supported
    assert scorer.reads == 2


def test_a_chat_takes_a_source_that_is_read_already() -> None:
    scorer = Scoring()
    guard = Guard(ScriptedGenerator([TRUE]), scorer=scorer)
    read = guard.read(SOURCE)
    for talk in (ChatGuard(guard, source=read), ChatGuard(guard, source=read)):
        talk.ask("How much is the rent?")
    ChatGuard(guard).ask("How much is the rent?", read)
    assert scorer.reads == 1


def test_a_chat_reads_again_what_the_user_adds() -> None:
    scorer = Scoring()
    talk = chat(scorer, SOURCE, user_as_source=True)
    talk.ask("How much is the rent?")
    talk.ask("And now?")
    assert scorer.reads == 2
