"""Many answers at once around one scorer: the scores are its own, the number at a time is bounded, leaving is free."""

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest

from groundrail import Guard, InputError
from groundrail.entailment.base import FloatArray, Pair
from groundrail.entailment.shared import shared
from groundrail.scoring import NearestScorer, ScaleScorer
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerMetadata
from groundrail.scoring.batched import BatchedScorer, batched
from groundrail.testing import FakeEntailment
from groundrail.types import GuardResult, Source


def source(number: int) -> str:
    return f"House {number} has {number + 3} rooms. House {number} is {number + 50} years old."


def answer(number: int) -> str:
    return f"House {number} has {number + 3} rooms. House {number} has {number + 4} rooms."


async def ascore(scorer: Scorer, claims: list[str], source: Source) -> list[Score]:
    return await scorer.read(source).ascore(claims)


async def checked(guard: Guard, count: int) -> list[GuardResult]:
    return list(await asyncio.gather(*(guard.acheck(answer(n), source(n)) for n in range(count))))


@pytest.mark.parametrize("around", [NearestScorer, ScaleScorer])
def test_many_at_once_are_judged_as_one_after_another(around: type) -> None:
    model = FakeEntailment()
    scorer = BatchedScorer(around(shared(model)))
    results = asyncio.run(checked(Guard(scorer=scorer), 40))
    alone = Guard(scorer=around(FakeEntailment()))
    for number, result in enumerate(results):
        expected = alone.check(answer(number), source(number))
        assert [(s.verdict, s.score, s.citations) for s in result.sentences] == [
            (s.verdict, s.score, s.citations) for s in expected.sentences
        ]
    assert sum(bool(call) for call in model.calls) < 40
    scorer.close()


class Counting(Scorer):
    """A scorer that counts how many are in it at once."""

    metadata = ScorerMetadata("counting", threshold=0.25, scores_jointly=True)

    def __init__(self) -> None:
        self.lock, self.inside, self.most = threading.Lock(), 0, 0

    def read(self, source: Source) -> Reader:
        return Prepared(self._score, source)

    def _score(self, claims: Sequence[str], source: Source) -> list[Score]:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.01)
        with self.lock:
            self.inside -= 1
        return [Score(1.0) for _ in claims]


def test_no_more_than_allowed_are_scored_at_a_time() -> None:
    counting = Counting()
    scorer = BatchedScorer(counting, max_concurrency=3)
    asyncio.run(checked(Guard(scorer=scorer), 20))
    assert counting.most == 3
    assert scorer.metadata is counting.metadata
    scorer.close()


def test_closing_cancels_what_waits_for_its_turn() -> None:
    gate = threading.Event()
    scorer = BatchedScorer(NearestScorer(FakeEntailment(lambda premise, claim: float(gate.wait(10)))), max_concurrency=1)

    async def closed() -> list[object]:
        tasks = [asyncio.create_task(ascore(scorer, ["House 1 has 4 rooms."], source(1))) for _ in range(3)]
        await asyncio.sleep(0.1)
        scorer.close()
        gate.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, *others = asyncio.run(closed())
    assert isinstance(first, list)
    assert all(isinstance(error, asyncio.CancelledError) for error in others)


def test_cancelling_takes_what_waits_off_the_queue() -> None:
    gate, begun = threading.Event(), threading.Event()

    class Gated(FakeEntailment):
        def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
            begun.set()
            gate.wait(10)
            return super().entailment(pairs)

    model = Gated()
    scorer = BatchedScorer(NearestScorer(shared(model)), max_concurrency=2)

    async def leave() -> list[Score]:
        first = asyncio.create_task(ascore(scorer, ["House 1 has 4 rooms."], source(1)))
        await asyncio.to_thread(begun.wait, 5)
        others = [asyncio.create_task(ascore(scorer, [f"Nobody {n} asks."], source(2))) for n in range(6)]
        await asyncio.sleep(0.05)
        for task in others:
            task.cancel()
        assert all(
            isinstance(error, asyncio.CancelledError) for error in await asyncio.gather(*others, return_exceptions=True)
        )
        gate.set()
        last = await asyncio.wait_for(ascore(scorer, ["House 2 has 5 rooms."], source(2)), 5)
        return [*await first, *last]

    assert [score.value for score in asyncio.run(leave())] == [1.0, 1.0]
    assert "Nobody" not in str(model.calls)
    scorer.close()


def test_whatever_a_guard_takes_can_be_batched() -> None:
    model = FakeEntailment()
    scorer = batched("scale", model, batch_pairs=8, max_concurrency=5)
    assert isinstance(scorer.scorer, ScaleScorer)
    assert scorer.score(["House 1 has 4 rooms."], source(1))[0].value == 1.0
    nearest = NearestScorer(model)
    assert batched(nearest).scorer is nearest
    with pytest.raises(InputError, match="batch_pairs"):
        batched(nearest, batch_pairs=8)
    with pytest.raises(InputError, match="max_concurrency"):
        batched("scale", model, max_concurrency=0)


def test_a_decision_asks_no_more_than_the_scorer_itself_would() -> None:
    text = " ".join(f"House {number} has {number + 3} rooms and a garden." for number in range(200))
    counts = []
    for around in (lambda scorer: scorer, BatchedScorer):
        model = FakeEntailment()
        reader = around(ScaleScorer(model, chunk_tokens=40)).read(text)
        plain = reader.score(["House 150 has 153 rooms."], 0.5)
        in_loop = asyncio.run(reader.ascore(["House 150 has 153 rooms."], 0.5))
        assert plain[0].value == in_loop[0].value >= 0.5
        counts.append(sum(map(len, model.calls)))
    assert counts[0] == counts[1] < 2 * len(text) // 40
