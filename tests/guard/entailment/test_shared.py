"""One model for many callers: the answers are its own, batches meet, nobody waits behind a long source, leaving is free."""

import asyncio
import contextvars
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from tests.hashed import drawn

from groundrail.entailment.base import FloatArray, Pair
from groundrail.entailment.shared import Batch, SharedEntailment, shared
from groundrail.errors import InputError
from groundrail.runtime.leaving import cancelled_with_task
from groundrail.testing import FakeEntailment


def number(premise: str, claim: str) -> float:
    """An answer that belongs to this pair and no other."""
    return drawn(premise, claim)


class Gated(FakeEntailment):
    """Judges only while the gate is open, and tells when it has begun."""

    def __init__(self) -> None:
        super().__init__(number)
        self.gate, self.begun = threading.Event(), threading.Event()

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        self.begun.set()
        if not self.gate.wait(10):
            raise RuntimeError("the gate stayed shut")
        return super().entailment(pairs)


def pairs(caller: object, count: int) -> list[Pair]:
    return [(f"premise {index}", f"claim of {caller}") for index in range(count)]


@pytest.mark.parametrize("batch_pairs", [1, 3, 64])
def test_every_caller_gets_its_own_answers_in_order(batch_pairs: int) -> None:
    model = FakeEntailment(number)
    asked = SharedEntailment(model, batch_pairs=batch_pairs)
    counts = [1, 7, 2, 30, 5] * 8
    with ThreadPoolExecutor(len(counts)) as threads:
        answers = list(threads.map(lambda c: asked.entailment(pairs(c, counts[c])), range(len(counts))))
    for caller, answer in enumerate(answers):
        np.testing.assert_array_equal(answer, [number(*pair) for pair in pairs(caller, counts[caller])])
    assert max(map(len, model.calls)) <= batch_pairs
    assert sum(map(len, model.calls)) == sum(counts)


def beside(model: Gated, asked: SharedEntailment, first: list[Pair], *others: list[Pair]) -> list[Future[FloatArray]]:
    """Calls of which the others arrive while the first is judged, all of them ended."""
    with ThreadPoolExecutor() as threads:
        calls = [threads.submit(asked.entailment, first)]
        assert model.begun.wait(5)
        calls += [threads.submit(asked.entailment, other) for other in others]
        while len(asked._waiting) < len(others):
            time.sleep(0.001)
        model.gate.set()
    return calls


def test_calls_that_arrive_together_are_one_model_call() -> None:
    model, told = Gated(), list[Batch]()
    asked = SharedEntailment(model, on_batch=told.append)
    for call in beside(model, asked, pairs("first", 1), *(pairs(caller, 2) for caller in range(4))):
        call.result()
    assert [len(call) for call in model.calls] == [1, 8]
    assert [(batch.pairs, batch.calls) for batch in told] == [(1, 1), (8, 4)]


def test_a_short_call_does_not_wait_for_a_long_one() -> None:
    model = Gated()
    for call in beside(model, SharedEntailment(model, batch_pairs=10), pairs("long", 1000), pairs("short", 5)):
        call.result()
    judged_with = next(number for number, call in enumerate(model.calls) if ("premise 4", "claim of short") in call)
    assert judged_with == 1
    assert len(model.calls) == 101


def test_one_callers_bad_pair_costs_only_itself() -> None:
    class Picky(Gated):
        def entailment(self, asked: Sequence[Pair]) -> FloatArray:
            values = super().entailment(asked)
            if any("bad" in claim for _, claim in asked):
                raise InputError("a bad claim")
            return values

    model = Picky()
    calls = beside(model, SharedEntailment(model), *(pairs(caller, 2) for caller in ("first", "a", "bad", "b")))
    assert [len(calls[number].result()) for number in (0, 1, 3)] == [2, 2, 2]
    with pytest.raises(InputError, match="a bad claim"):
        calls[2].result()


def test_a_call_that_nobody_waits_for_is_not_judged() -> None:
    model = Gated()
    asked = SharedEntailment(model, batch_pairs=2)
    with ThreadPoolExecutor(2) as threads:
        with suppress(asyncio.CancelledError), cancelled_with_task():
            context = contextvars.copy_context()
            leaving = threads.submit(context.run, asked.entailment, pairs("leaving", 50))
            assert model.begun.wait(5)
            raise asyncio.CancelledError
        with pytest.raises(CancelledError):
            leaving.result(5)
        model.gate.set()
        assert len(threads.submit(asked.entailment, pairs("staying", 2)).result(5)) == 2
        with pytest.raises(CancelledError):
            threads.submit(context.run, asked.entailment, pairs("leaving", 50)).result(5)
    assert sum(claim == "claim of leaving" for call in model.calls for _, claim in call) == 2


def test_a_model_with_too_few_answers_is_an_error() -> None:
    class Short(FakeEntailment):
        def entailment(self, asked: Sequence[Pair]) -> FloatArray:
            return super().entailment(asked)[:-1]

    with pytest.raises(ValueError, match="1 answers for 2 pairs"):
        SharedEntailment(Short()).entailment(pairs("a", 2))


def test_a_model_with_other_things_than_answers_holds_nobody_up() -> None:
    class Odd(FakeEntailment):
        def entailment(self, asked: Sequence[Pair]) -> FloatArray:
            return {claim: 0.5 for _, claim in asked}  # type: ignore[return-value]

    model = SharedEntailment(Odd())
    for _ in range(2):
        with ThreadPoolExecutor(1) as thread, pytest.raises(TypeError):
            thread.submit(model.entailment, pairs("a", 2)).result(5)


def test_a_listener_that_fails_holds_nobody_up() -> None:
    def failing(batch: Batch) -> None:
        raise RuntimeError("no more paper")

    asked = SharedEntailment(FakeEntailment(number), on_batch=failing)
    for _ in range(3):
        assert len(asked.entailment(pairs("a", 2))) == 2


def test_no_pairs_are_no_call() -> None:
    model = FakeEntailment(number)
    assert len(SharedEntailment(model).entailment([])) == 0


def test_what_the_model_is_shows_through(hashed_nli: type) -> None:
    model = hashed_nli(3, max_tokens=77)
    asked = shared(model)
    assert asked.max_tokens == 77
    assert asked.offsets("two words") == model.offsets("two words")
    np.testing.assert_array_equal(asked.classify(pairs("a", 5)), model.classify(pairs("a", 5)))
    np.testing.assert_array_equal(asked.entailment(pairs("a", 5)), model.entailment(pairs("a", 5)))
    assert shared(asked) is asked


@pytest.mark.parametrize("options", [{"wait": -1}, {"wait": float("nan")}, {"batch_pairs": 0}])
def test_settings_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        SharedEntailment(FakeEntailment(), **options)


def test_a_model_that_wants_to_end_the_program_ends_nothing_but_its_own_call() -> None:
    class Leaving(FakeEntailment):
        def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
            if any("leave" in claim for _, claim in pairs):
                raise SystemExit(3)
            return super().entailment(pairs)

    asked = SharedEntailment(Leaving(number))
    with pytest.raises(SystemExit):
        asked.entailment([("premise", "leave")])
    assert asked.entailment([("premise", "stay")]).tolist() == [number("premise", "stay")]


@pytest.mark.slow
def test_a_child_that_is_forked_while_a_batch_ends_does_not_wait_for_its_parent() -> None:
    script = textwrap.dedent("""
        import os, signal, threading
        from groundrail.entailment.shared import SharedEntailment
        from groundrail.testing import FakeEntailment

        entered, forked = threading.Event(), threading.Event()
        judge = SharedEntailment(FakeEntailment(), on_batch=lambda batch: (entered.set(), forked.wait()))
        judge.classify([("Pets are allowed.", "Pets are allowed.")])
        entered.wait()  # the answer is there, and its thread has not ended
        child = os.fork()
        forked.set()
        if child == 0:
            signal.alarm(60)  # ends a child that hangs
            judge.classify([("Pets are allowed.", "Pets are allowed.")])
            os._exit(0)
        print(os.waitpid(child, 0)[1])
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=150, check=False)
    assert (done.stdout.strip(), done.stderr) == ("0", "")
