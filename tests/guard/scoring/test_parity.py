"""Every scorer gives the same scores plainly and on an event loop, and decides as its exact scores do."""

import asyncio
import math
from collections.abc import Callable

import pytest
from tests.decoding.conftest import letters
from transformers import PreTrainedModel

from groundrail.evaluation.units import UnitScorer
from groundrail.scoring.base import Score, Scorer
from groundrail.scoring.batched import BatchedScorer
from groundrail.scoring.registry import load_scorer, needs_entailment, scorers
from groundrail.scoring.second import SecondOpinion

SOURCE = [
    " ".join(f"House {n} has {n + 3} rooms and Anna Berg lives there." for n in range(first, first + 8)) for first in (1, 30)
]
CLAIMS = ["House 4 has 7 rooms.", "Anna Berg lives in House 31.", "The rent is 1,450 euros.", "House 2 has 9 rooms."]

Build = Callable[[str], Scorer]

AROUND: dict[str, Callable[[Scorer], Scorer]] = {
    "alone": lambda scorer: scorer,
    "batched": BatchedScorer,
    "in units": UnitScorer,
    "second opinion": lambda scorer: SecondOpinion(scorer, BatchedScorer(scorer), (0.3, 0.7)),
}


@pytest.fixture
def build(hashed_nli: type, models: dict[str, PreTrainedModel]) -> Build:
    """A scorer by its name in the registry, around a judge that draws its answers from a hash."""

    def built(name: str) -> Scorer:
        if name == "gain":
            return load_scorer(name, model=models["llama"], tokenizer=letters())
        if name.startswith("scale"):
            return load_scorer(name, hashed_nli(5), chunk_tokens=12)
        return load_scorer(name, hashed_nli(5)) if needs_entailment(name) else load_scorer(name)

    return built


def limits(scores: list[Score]) -> list[float]:
    """Thresholds at each value, just above it and well below it."""
    values = [score.value for score in scores if not math.isnan(score.value)]
    return sorted({limit for value in values for limit in (value, math.nextafter(value, math.inf), value - 0.2)})


def sides(scores: list[Score], limit: float) -> list[bool]:
    return [score.value >= limit for score in scores]


@pytest.mark.slow
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", scorers())
def test_scores_are_the_same_on_an_event_loop_and_decide_as_exact_ones_do(name: str, around: str, build: Build) -> None:
    scorer = AROUND[around](build(name))
    exact = scorer.read(SOURCE).score(CLAIMS)
    assert asyncio.run(scorer.read(SOURCE).ascore(CLAIMS)) == exact
    assert limits(exact)
    for limit in limits(exact):
        decided = scorer.read(SOURCE).score(CLAIMS, limit)
        assert asyncio.run(scorer.read(SOURCE).ascore(CLAIMS, limit)) == decided
        assert sides(decided, limit) == sides(exact, limit)
        for one, full in zip(decided, exact, strict=True):
            assert one.value == full.value or one.value < full.value


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", scorers())
def test_a_scorer_around_another_hands_on_the_facts_about_its_judge(name: str, around: str, build: Build) -> None:
    inner = build(name)
    scorer = AROUND[around](inner)
    assert scorer.metadata.judges[: len(inner.metadata.judges)] == inner.metadata.judges
    assert scorer.metadata.threshold == inner.metadata.threshold
    assert inner.metadata.identity in scorer.metadata.identity
