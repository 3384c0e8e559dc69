"""The seams are classes to write oneself: what is required of one is said when it is made, not when it is asked."""

import numpy as np
import pytest

from groundrail.entailment.base import BinaryEntailment, EntailmentModel
from groundrail.generators.base import Generator, Session
from groundrail.scoring.base import Reader, Scorer
from groundrail.testing import FakeEntailment


@pytest.mark.parametrize(
    ("seam", "required"),
    [
        (Scorer, {"read"}),
        (Reader, {"score"}),
        (EntailmentModel, {"offsets", "classify"}),
        (BinaryEntailment, {"offsets", "entailment"}),
        (Generator, {"start"}),
        (Session, {"propose", "accept", "reject"}),
    ],
)
def test_what_lacks_a_required_method_cannot_be_made(seam: type, required: set[str]) -> None:
    written = {name: lambda self, *given: None for name in required}
    type("Whole", (seam,), written)()
    for name in required:
        misspelt = {f"{other}s" if other == name else other: method for other, method in written.items()}
        with pytest.raises(TypeError, match=name):
            type("Misspelt", (seam,), misspelt)()


def test_to_a_judge_of_two_classes_all_else_is_neutral() -> None:
    judge = FakeEntailment(lambda premise, claim: {"yes": 1.0, "no": 0.25}.get(claim, np.nan))
    np.testing.assert_array_equal(
        judge.classify([("", "yes"), ("", "no"), ("", "?")]), [[1, 0, 0], [0.25, 0.75, 0], [np.nan, np.nan, 0]]
    )
    assert judge.classify([]).shape == (0, 3)
