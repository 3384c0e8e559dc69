"""Citations of several scores, merged."""

import math

from groundrail import Citation
from groundrail.scoring.base import best_first


def cited(start: int, score: float, document: str = "source") -> Citation:
    return Citation(document_id=document, start=start, end=start + 2, text="ab", score=score)


def test_every_place_comes_once_with_its_best_score_the_best_first() -> None:
    found = best_first([cited(0, 0.2), cited(5, 0.9), cited(0, 0.7), cited(5, 0.1), cited(0, 0.8, "other")])
    assert found == (cited(5, 0.9), cited(0, 0.8, "other"), cited(0, 0.7))


def test_equal_scores_keep_their_order() -> None:
    given = (cited(9, 0.5), cited(3, 0.5), cited(6, 0.5))
    assert best_first(given) == given


def test_a_place_without_a_score_comes_last_unless_it_has_one_elsewhere() -> None:
    found = best_first([cited(0, math.nan), cited(5, 0.0), cited(9, math.nan), cited(9, 0.3)])
    assert [place.start for place in found] == [9, 5, 0]
    assert math.isnan(found[-1].score)


def test_nothing_to_merge() -> None:
    assert best_first([]) == ()
