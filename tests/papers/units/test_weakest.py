"""The minimum over a claim and its parts: a false part cannot hide in a true sentence."""

import math
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from groundrail import Guard
from groundrail.entailment.base import JudgeFacts
from groundrail.evaluation.units import SubSentenceUnits
from groundrail.papers.units.weakest import WeakestPartScorer
from groundrail.scoring.base import Prepared, Reader, Score, Scorer, ScorerFacts
from groundrail.types import Source

CUT = "Anna Berg, a famous dancer, signed the lease and Bob Lee paid the deposit."
WHOLE = "Anna Berg signed the lease."


def strange(claim: str) -> list[str]:
    return [word for word in claim.split() if word == "?!"]


class Table(Scorer):
    """Scores by a table, 1 where a claim is not in it; counts what it was asked."""

    facts = ScorerFacts("table", threshold=0.4, judges=(JudgeFacts("table", 1, unread=strange),))

    def __init__(self, values: dict[str, float]) -> None:
        self.values, self.calls = values, list[Sequence[str]]()

    def read(self, source: Source) -> Reader:
        return Prepared(self._score, None)

    def _score(self, claims: Sequence[str], source: None) -> list[Score]:
        self.calls.append(claims)
        return [Score(self.values.get(claim, 1.0)) for claim in claims]


def parts(claim: str) -> list[str]:
    return [unit.text for unit in SubSentenceUnits().split(claim)]


def test_a_claim_in_one_piece_costs_nothing_more() -> None:
    table = Table({WHOLE: 0.7})
    scorer = WeakestPartScorer(table)
    assert scorer.score([WHOLE], "source")[0].value == 0.7
    assert table.calls == [[WHOLE]]
    assert scorer.facts.threshold == 0.4
    assert list(scorer.facts.unread("a ?!")) == ["?!"]


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.booleans())
def test_the_value_is_the_least_of_all(values: list[float], unknown: bool) -> None:
    texts = [CUT, *parts(CUT)]
    table = Table(dict(zip(texts, [*values, 1.0, 1.0], strict=False)))
    if unknown:
        table.values[texts[-1]] = math.nan
    value = WeakestPartScorer(table).score([WHOLE, CUT], "source")[1].value
    expected = min(table.values.get(text, 1.0) for text in texts)
    assert math.isnan(value) if unknown else value == expected
    assert table.calls == [[WHOLE, *texts]]


def test_a_false_part_is_refused_by_a_guard() -> None:
    (false, *_) = parts(CUT)[::-1]
    lax = Guard(scorer=Table({false: 0.1}))
    assert lax.check(CUT, "source").text == CUT
    strict = Guard(scorer=WeakestPartScorer(Table({false: 0.1})))
    assert strict.check(CUT, "source").text == ""
    assert strict.check(WHOLE, "source").text == WHOLE


def test_how_the_weakest_part_was_read_is_told() -> None:
    *_, part = parts(CUT)

    class Hasty(Table):
        def _score(self, claims: Sequence[str], source: None) -> list[Score]:
            return [Score(0.2, exact=False, note="hasty") if claim == part else Score(0.9) for claim in claims]

    (score,) = WeakestPartScorer(Hasty({})).score([CUT], "source")
    assert (score.value, score.exact, score.note) == (0.2, False, "hasty")
