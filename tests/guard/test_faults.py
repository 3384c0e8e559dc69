"""Parts that fail: nothing unchecked goes out, the documented exception comes, and no thread or process is lost."""

import asyncio
import contextlib
import gc
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from typing import Any

import pytest
from tests.guard.parts import FALSE, SOURCE, TRUE, Scoring, Starting, Told, both_ways, generated, nothing, raising

from groundrail import Guard, GuardResult, Policy, Verdict
from groundrail.errors import GenerationError
from groundrail.generators import Session
from groundrail.runtime.deadlines import Calls, OverdueError
from groundrail.runtime.locks import LOADING
from groundrail.scoring.base import Prepared, Reader, Score
from groundrail.scoring.scale import ScaleScorer
from groundrail.testing import FakeEntailment, ScriptedGenerator
from groundrail.types import Document, Source

NONE: Any = None


class Awaited(Scoring):
    """A scorer whose readers score on the event loop, by a function."""

    def __init__(self, ascore: Callable[[Sequence[str]], Any]) -> None:
        super().__init__()
        self._ascore = ascore

    def read(self, source: Source) -> Reader:
        ascored = self._ascore

        class Own(Prepared[Any]):
            async def ascore(self, claims: Sequence[str], reach: float | None = None) -> list[Score]:
                return await ascored(claims)

        return Own(lambda claims, source: [], None)


def test_no_time_left_is_no_call() -> None:
    called: list[int] = []
    calls = Calls()
    for timeout in (0, -1.0):
        with pytest.raises(OverdueError):
            calls.within(timeout, called.append, 1)
        with pytest.raises(OverdueError):
            asyncio.run(calls.awithin(timeout, called.append, 1))
    assert not called


def test_only_so_many_calls_are_left_behind() -> None:
    calls, go, late = Calls(most_left=3), threading.Event(), list[int]()
    before = threading.active_count()

    def hanging(number: int) -> int:
        go.wait(10)
        return number

    for number in range(9):
        with pytest.raises(OverdueError):
            calls.within(0.02, hanging, number, late=lambda call: late.append(call.result()))
    assert calls.left == 3
    assert threading.active_count() <= before + 4
    go.set()
    deadline = time.monotonic() + 5
    while calls.left and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sorted(late) == [0, 1, 2]
    assert calls.within(5, int, "3") == 3


def workers() -> set[threading.Thread]:
    """Threads that make calls or wait for one."""
    return {thread for thread in threading.enumerate() if thread.name == "groundrail-call"}


def ended(threads: set[threading.Thread]) -> bool:
    """Whether they all end soon."""
    gc.collect()
    for thread in threads:
        thread.join(5)
    return not any(thread.is_alive() for thread in threads)


def test_guards_that_are_gone_keep_no_threads() -> None:
    def used() -> set[threading.Thread]:
        before = workers()
        subject = Guard(ScriptedGenerator([TRUE]), scorer=Scoring(), policy=Policy(deadline=5))
        assert [result.text for result in both_ways(subject)] == [TRUE] * 2
        return workers() - before

    used()  # what the module keeps for everybody is started, too
    started = [used() for _ in range(20)]
    assert all(started)
    assert ended(set().union(*started))


def test_a_call_left_behind_by_a_guard_that_is_gone_ends_its_thread() -> None:
    go, before = threading.Event(), workers()
    late = Guard(scorer=Scoring(lambda claims: go.wait(10)), policy=Policy(deadline=0.05)).check(TRUE, SOURCE)
    assert late.sentences[0].verdict is Verdict.TIMEOUT
    gc.collect()
    (left,) = workers() - before
    assert left.is_alive()
    go.set()
    assert ended({left})


@pytest.mark.parametrize("deadline", [None, 5.0])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_interrupts_pass_through(error, deadline) -> None:
    subject = Guard(lambda prompt: TRUE, scorer=Scoring(raising(error)), policy=Policy(deadline=deadline))
    for is_async in (False, True):
        with pytest.raises(type(error)):
            generated(subject, is_async)


@pytest.mark.parametrize("deadline", [None, 5.0])
@pytest.mark.parametrize(
    "error", [StopIteration("no"), StopAsyncIteration("no"), RuntimeError("no"), ValueError("no"), TimeoutError("no")]
)
def test_whatever_a_scorer_raises_is_an_error_verdict(error, deadline) -> None:
    subject = Guard(lambda prompt: TRUE, scorer=Scoring(raising(error)), policy=Policy(deadline=deadline))
    for result in (subject.check(TRUE, SOURCE), *both_ways(subject)):
        (sentence,) = result.sentences
        assert sentence.verdict is Verdict.ERROR
        assert "no" in str(sentence.reason)
        assert result.text == ""


def test_a_scorer_that_cancels_itself_cancels_nothing_else() -> None:
    result = asyncio.run(Guard(scorer=Awaited(raising(asyncio.CancelledError()))).acheck(TRUE, SOURCE))
    assert [s.verdict for s in result.sentences] == [Verdict.ERROR]


def _scored(*scores: Any) -> dict[str, Any]:
    return {"scorer": Scoring(lambda claims: list(scores))}


def _cited(citations: Any) -> dict[str, Any]:
    return _scored(Score(1.0, citations))


def _calibrated(to: Any) -> dict[str, Any]:
    return {"policy": Policy(calibration=lambda value: to)}


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        *((_calibrated(to), "") for to in ("high", None, float("nan"))),
        ({"policy": Policy(calibration=raising(ZeroDivisionError("no")))}, "no"),
        *((_cited(citations), "") for citations in (("here",), 3, ({"start": 0},))),
        *((_scored(Score(value)), "no score") for value in (float("inf"), float("-inf"), float("nan"))),
        *((_scored(*scores), "one Score") for scores in ([], [Score(0.9)] * 3, [None], [Score(NONE)])),
        ({"claim_of": raising(KeyError("no"))}, "no"),
    ],
)
def test_a_part_that_gives_no_verdict_supports_nothing(broken, told) -> None:
    result = Guard(**{"scorer": Scoring()} | broken).check(TRUE, SOURCE)
    assert [s.verdict for s in result.sentences] == [Verdict.ERROR]
    assert told in str(result.sentences[0].reason)
    assert result.text == ""


def test_a_sentence_whose_scorer_is_late_is_held_back_and_the_next_is_judged() -> None:
    go = threading.Event()
    scorer = Scoring(lambda claims: "990" in claims[0] and go.wait(30))
    result = Guard(ScriptedGenerator([FALSE, TRUE]), scorer=scorer, policy=Policy(deadline=1.0)).generate("?", SOURCE)
    go.set()
    assert [s.verdict for s in result.sentences] == [Verdict.TIMEOUT, Verdict.SUPPORTED]
    assert result.text == TRUE


@pytest.mark.parametrize("is_async", [False, True])
def test_after_the_answers_deadline_no_thread_is_started(is_async) -> None:
    go = threading.Event()
    scorer = Scoring(lambda claims: go.wait(10))
    subject = Guard(lambda prompt: TRUE * 300, scorer=scorer, policy=Policy(answer_deadline=0.3))
    before = threading.active_count()
    result = generated(subject, is_async)
    assert threading.active_count() <= before + 4
    assert result.text == ""
    assert result.sentences[-1].verdict is Verdict.TIMEOUT
    go.set()


@pytest.mark.parametrize("hangs", ["scorer", "scale", "second", "start"])
@pytest.mark.parametrize("is_async", [False, True])
def test_only_so_many_calls_of_a_guard_are_left_behind_and_other_guards_have_their_own(hangs, is_async) -> None:
    go = threading.Event()

    def hang(*anything: Any) -> float:
        go.wait(30)
        return 1.0

    hanging = FakeEntailment(hang)
    policy = Policy(deadline=0.02, doubt=(0.0, 1.0) if hangs == "second" else None)
    subject = Guard(
        Starting(lambda: Told(TRUE, hang)) if hangs != "start" else Starting(hang),  # type: ignore[arg-type]
        scorer={"scorer": Scoring(hang), "scale": ScaleScorer(hanging)}.get(hangs, Scoring()),
        second=hanging if hangs == "second" else None,
        policy=policy,
    )

    async def each(guard: Guard) -> list[Any]:
        return [await guard.agenerate("?", SOURCE) for _ in range(30)]

    before = workers()
    results = asyncio.run(each(subject)) if is_async else [subject.generate("?", SOURCE) for _ in range(30)]
    assert {sentence.verdict for result in results for sentence in result.sentences} == {Verdict.TIMEOUT}
    assert len(workers() - before) <= 18
    other = Guard(lambda prompt: TRUE, scorer=Scoring(), policy=Policy(deadline=5))
    assert [result.text for result in both_ways(other)] == [TRUE] * 2
    go.set()


@pytest.mark.parametrize(("is_async", "awaits"), [(False, False), (True, False), (True, True)])
def test_an_endless_generator_is_stopped_and_closed(is_async, awaits) -> None:
    ended = threading.Event()

    def endless(prompt: str) -> Generator[str]:
        try:
            while True:
                yield "and so on "
        finally:
            ended.set()

    async def awaited(prompt: str) -> AsyncIterator[str]:
        with contextlib.closing(endless(prompt)) as pieces:
            for piece in pieces:
                await asyncio.sleep(0)
                yield piece

    policy = Policy(answer_deadline=0.3, longest_sentence=10**6)
    result = generated(Guard(awaited if awaits else endless, scorer=Scoring(), policy=policy), is_async)
    assert [s.verdict for s in result.sentences] == [Verdict.TIMEOUT]
    assert ended.wait(5)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("where", ["start", "propose", "write", "accept"])
def test_starting_writing_and_accepting_are_in_time(where, is_async) -> None:
    go, closed = threading.Event(), threading.Event()

    def wait(here: str) -> object:
        return where == here and go.wait(10)

    def write() -> Iterator[str]:
        wait("propose")
        yield TRUE + "The lease "
        wait("write")
        yield "ends on 28 February 2026."

    def start() -> Session:
        wait("start")
        return Told(write, lambda: wait("accept"), closed.set)

    async def with_ticks() -> GuardResult:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        result = await subject.agenerate("?", SOURCE)
        ticking.cancel()
        assert ticks > 5  # the event loop ran on
        return result

    subject = Guard(Starting(start), scorer=Scoring(), policy=Policy(answer_deadline=0.4))
    result = asyncio.run(with_ticks()) if is_async else subject.generate("?", SOURCE)
    assert result.sentences[-1].verdict is Verdict.TIMEOUT
    assert result.text == (TRUE if where in ("write", "accept") else "")
    assert not closed.is_set()  # it is still running, and closes its session when it ends
    go.set()
    assert closed.wait(5)


@pytest.mark.parametrize("told", ["start", "propose", "write", "accept"])
@pytest.mark.parametrize("error", [ConnectionError("gone"), StopIteration("gone"), TimeoutError("gone")])
def test_a_generator_that_fails_raises_what_is_documented(told, error) -> None:
    def write() -> Iterator[str]:
        if told == "propose":
            raise error
        return iter([TRUE + TRUE]) if told == "accept" else failing()

    def failing() -> Iterator[str]:
        yield TRUE + "The lease "
        raise error if not isinstance(error, StopIteration) else RuntimeError("gone")

    def start() -> Session:
        if told == "start":
            raise error
        return Told(write, raising(error) if told == "accept" else nothing)

    lenient = Guard(Starting(start), scorer=Scoring())
    for is_async in (False, True):
        if told in ("start", "propose"):  # nothing was written, and an empty answer would not tell
            with pytest.raises(GenerationError, match="gone") as early:
                generated(lenient, is_async)
            assert early.value.__cause__ is not None
            continue
        result = generated(lenient, is_async)
        assert result.sentences[-1].verdict is Verdict.ERROR
        assert "gone" in str(result.sentences[-1].reason)
        assert result.text == TRUE
        assert told != "write" or result.sentences[-1].text == "The lease "
    strict = Guard(Starting(start), scorer=Scoring(), policy=Policy(fallback="raise"))
    for is_async in (False, True):
        with pytest.raises(GenerationError, match="gone") as caught:
            generated(strict, is_async)
        assert caught.value.__cause__ is not None


def missing_name(prompt: str, documents: Sequence[Document]) -> str:
    return nope(prompt)  # type: ignore[name-defined]  # noqa: F821


def wrong_signature(prompt: str) -> str:
    return "".join(prompt, prompt)  # type: ignore[call-arg]


@pytest.mark.parametrize("function", [missing_name, wrong_signature])
@pytest.mark.parametrize("fallback", ["drop", "flag", "quote", "correct", "raise"])
def test_a_callable_that_fails_before_its_first_text_is_an_error(function, fallback) -> None:
    subject = Guard(function, scorer=Scoring(), policy=Policy(fallback=fallback, on_error="open"))
    with pytest.raises(GenerationError, match="Error: ") as caught:
        list(subject.stream("q", SOURCE))
    assert isinstance(caught.value.__cause__, NameError | TypeError)
    silent = Guard(function, scorer=Scoring(), policy=Policy(fallback=fallback, keep_refused=False))
    with pytest.raises(GenerationError, match=r"failed \((Name|Type)Error\)") as kept:
        list(silent.stream("q", SOURCE))
    assert kept.value.__cause__ is None


@pytest.mark.parametrize(("fallback", "shown"), [("abstain", "I cannot"), (lambda sentence: "Ask us.", "Ask us.")])
def test_a_fallback_with_a_text_of_its_own_stands_in_for_a_callable_that_fails(fallback, shown, caplog) -> None:
    for result in both_ways(Guard(missing_name, scorer=Scoring(), policy=Policy(fallback=fallback))):
        assert result.text.startswith(shown)
    assert "the answer is incomplete: the generator failed: NameError" in caplog.text


@pytest.mark.parametrize("retries", [False, True])
def test_a_failure_after_the_first_text_is_logged_and_stands_in_the_result(retries, caplog) -> None:
    def write(prompt: str, prefix: str = "") -> Iterator[str]:
        yield FALSE if retries else TRUE
        raise LookupError("gone")

    (kept, _), (hidden, _) = (
        both_ways(Guard(write, scorer=Scoring(), policy=Policy(keep_refused=keep))) for keep in (True, False)
    )
    assert kept.sentences[-1].verdict is hidden.sentences[-1].verdict is Verdict.ERROR
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert told[0] == "the answer is incomplete: the generator failed: LookupError: gone"
    assert told[-1] == "the answer is incomplete: the generator failed (LookupError)"


def test_a_text_without_boundary_is_judged_in_pieces() -> None:
    judged: list[int] = []
    scorer = Scoring(lambda claims: judged.extend(map(len, claims)))
    text = "rent " * 400 + TRUE
    result = Guard(lambda prompt: text, scorer=scorer, policy=Policy(longest_sentence=200)).generate("?", SOURCE)
    assert max(judged) <= 200
    assert result.answer == text


LATE = """
import threading
import torch
from groundrail import Guard, Policy
from groundrail.runtime import deadlines
from groundrail.scoring.base import Prepared, Score, Scorer

deadlines.MOMENT = 0.1

def judge(claims, source):
    a = torch.ones(700, 700)
    {does}
    return [Score(1.0) for _ in claims]

class Slow(Scorer):
    def read(self, source):
        return Prepared(judge, None)

result = Guard(scorer=Slow(), policy=Policy(deadline=0.05)).check("The rent is due.", "The rent is due.")
print(result.sentences[0].verdict)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "does",
    [
        "[torch.tanh(a @ a) for _ in range(150)]",  # comes back between the steps
        "torch.linalg.matrix_power(torch.ones(1200, 1200), 2**20)",  # one call of many moments
        "threading.Event().wait()",  # never comes back
    ],
)
def test_one_late_sentence_and_a_normal_exit(does) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LATE.format(does=does)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "timeout", "")


AT_ONCE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
start = Barrier(8)

def work(number):
    start.wait()
    return str({does})

with ThreadPoolExecutor(8) as pool:
    print(*sorted(set(pool.map(work, range(8)))))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("imports", "does", "found"),
    [
        (
            "from groundrail import Guard",
            "Guard().check('The rent is 950 euros.', 'The rent is 950 euros.').sentences[0].verdict",
            "supported",
        ),
        (
            "from groundrail.entailment import load; from groundrail.scoring import NearestScorer",
            "NearestScorer().entailment is load()",
            "True",
        ),
        (  # judges and generators in turn, in different precisions, none of them imported before
            "from groundrail.decoding import HFGenerator; from groundrail.entailment import load",
            "load(sys.argv[1], dtype='float32').model.dtype if number % 2 else "
            "HFGenerator.from_pretrained(sys.argv[2], dtype='bfloat16').model.dtype",
            "torch.bfloat16 torch.float32",
        ),
    ],
)
def test_eight_threads_at_once_load_one_judge_and_the_right_files(
    imports, does, found, tiny_nli_folder, causal_folder
) -> None:
    code = [sys.executable, "-c", imports + AT_ONCE.format(does=does), str(tiny_nli_folder), str(causal_folder)]
    done = subprocess.run(code, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, found), done.stderr


def test_a_guard_that_has_its_judge_waits_for_no_loading() -> None:
    subject = Guard(scorer=Scoring())
    assert subject.check(TRUE, SOURCE).text == TRUE
    checking = threading.Thread(target=subject.check, args=(TRUE, SOURCE), daemon=True)
    with LOADING:
        checking.start()
        checking.join(10)
        assert not checking.is_alive()


def test_a_deadline_is_a_sentences_also_where_all_are_judged_in_one_call() -> None:
    guard = Guard(scorer=Scoring(lambda claims: time.sleep(0.1 * len(claims))), policy=Policy(deadline=0.4))
    result = guard.check(TRUE * 10, SOURCE)
    assert [sentence.verdict for sentence in result.sentences] == [Verdict.SUPPORTED] * 10


@pytest.mark.parametrize("error", [OSError("broken"), KeyboardInterrupt()])
@pytest.mark.parametrize("seconds", [0.0, 0.5])
def test_a_session_is_closed_whatever_comes_of_its_last_call(error, seconds) -> None:
    closed = threading.Event()

    def fail() -> Iterator[str]:
        time.sleep(seconds)
        raise error

    subject = Guard(Starting(lambda: Told(fail, closed=closed.set)), scorer=Scoring(), policy=Policy(deadline=0.2))
    with contextlib.suppress(KeyboardInterrupt, GenerationError):
        list(subject.stream("When?", SOURCE))
    assert closed.wait(10)


def test_an_error_on_closing_takes_nothing_from_an_answer(caplog) -> None:
    clinging = Starting(lambda: Told(TRUE, closed=raising(OSError("the slot is gone"))))
    assert Guard(clinging, scorer=Scoring()).generate("When?", SOURCE).text == TRUE
    assert "the slot is gone" in caplog.text


def test_a_sentence_is_judged_after_what_a_reader_sees_before_it() -> None:
    seen: list[str] = []

    def claim_of(sentence: str, previous: str, prompt: str) -> str:
        seen.append(previous)
        return sentence

    policy = Policy(fallback=lambda refused: "It was replaced. ")
    generator = Starting(lambda: Told(FALSE + TRUE))
    Guard(generator, scorer=Scoring(), policy=policy, claim_of=claim_of).generate("When?", SOURCE)
    assert seen[-1] == "It was replaced. "


def test_a_stream_that_another_thread_closes_releases_nothing_more() -> None:
    judging, go, shown = threading.Event(), threading.Event(), list[str]()

    def judge(claims: Sequence[str]) -> None:
        if shown:
            judging.set()
            go.wait(60)

    closed = threading.Event()
    subject = Guard(Starting(lambda: Told(TRUE * 5, closed=closed.set)), scorer=Scoring(judge))
    stream = subject.stream("?", SOURCE)

    def follow() -> None:
        for text in stream:
            shown.append(text)

    follower = threading.Thread(target=follow)
    follower.start()
    assert judging.wait(60)
    stream.close()
    assert not closed.is_set()
    go.set()
    follower.join(60)
    assert not follower.is_alive()
    assert shown == [TRUE]
    assert closed.is_set()


def test_a_stream_that_another_task_closes_releases_nothing_more() -> None:
    async def closed_meanwhile() -> list[str]:
        judging, go, shown = asyncio.Event(), asyncio.Event(), list[str]()

        async def judge(claims: Sequence[str]) -> list[Score]:
            if shown:
                judging.set()
                await go.wait()
            return [Score(1.0) for _ in claims]

        stream = await Guard(lambda prompt: TRUE * 5, scorer=Awaited(judge)).astream("?", SOURCE)

        async def follow() -> None:
            async for text in stream:
                shown.append(text)

        following = asyncio.create_task(follow())
        await judging.wait()
        await stream.aclose()
        go.set()
        await asyncio.wait_for(following, 60)
        return shown

    assert asyncio.run(closed_meanwhile()) == [TRUE]
