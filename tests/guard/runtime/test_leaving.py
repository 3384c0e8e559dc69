"""Work for a task that was cancelled ends at its next step; threads without work end after a while."""

import asyncio
import threading
import time

import pytest

from groundrail import Guard
from groundrail.runtime import deadlines
from groundrail.runtime.deadlines import Calls
from groundrail.runtime.progress import step
from groundrail.testing import FakeEntailment

SOURCE = " ".join(f"The rent of flat {number} is {number}00 euros." for number in range(2, 9))


def test_a_judge_is_not_asked_again_for_a_client_that_left() -> None:
    begun, gate, asked = threading.Event(), threading.Event(), []

    def judge(premise: str, claim: str) -> float:
        asked.append(claim)
        begun.set()
        gate.wait(30)
        return 0.4

    async def left() -> None:
        guard = Guard(scorer="scale", judge=FakeEntailment(judge))
        checking = asyncio.create_task(guard.acheck("The rent of flat 2 is 900 euros.", SOURCE))
        await asyncio.to_thread(begun.wait, 30)
        checking.cancel()
        await asyncio.wait([checking])

    asyncio.run(left())
    gate.set()
    ended = time.monotonic() + 30
    while any(thread.name == "groundrail-call" and thread.running for thread in threading.enumerate()):  # type: ignore[attr-defined]
        assert time.monotonic() < ended
        time.sleep(0.01)
    first_call = len(asked)
    assert first_call

    def doubtful(premise: str, claim: str) -> float:
        asked.append(claim)
        return 0.4

    whole = FakeEntailment(doubtful)
    asked.clear()
    Guard(scorer="scale", judge=whole).check("The rent of flat 2 is 900 euros.", SOURCE)
    assert first_call < len(asked)


def test_a_call_whose_task_goes_on_is_not_ended() -> None:
    def three_steps() -> int:
        for _ in range(3):
            step()
        return 3

    async def counted() -> int:
        await Calls().awithin(30, step)
        return await Calls().awithin(30, three_steps)

    assert asyncio.run(counted()) == 3


def test_threads_of_a_burst_end_when_no_call_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "IDLE", 0.05)
    calls, before = Calls(), set(threading.enumerate())
    together = threading.Barrier(8)
    burst = [calls.begin(together.wait, 30) for _ in range(8)]
    threads = set(threading.enumerate()) - before
    assert len(threads) == 8
    assert sorted(call.result(30) for call in burst) == list(range(8))
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert calls.within(30, lambda: "a new thread") == "a new thread"


def test_no_call_is_lost_where_threads_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "IDLE", 1e-4)
    calls = Calls()
    for number in range(300):
        time.sleep(number % 3 * 1e-4)
        assert calls.within(30, lambda n=number: n) == number
