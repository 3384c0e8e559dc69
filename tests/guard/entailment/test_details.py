"""Details compared literally, in any spelling; the check lowers scores and never raises them."""

import numpy as np
import pytest

from groundrail import InputError, ModelError
from groundrail.entailment.details import DetailCheck, given, missing
from groundrail.testing import FakeEntailment

PREMISE = (
    "ANNA: The lease, signed with Brightwater Bank, ends on 28 February 2026 after 24 months. The rent is 1,450 euros, "
    "due by 15:00 on Monday. Heat 0.5 litres for 25 to 30 seconds at six percent power; Halden needs five."
)


@pytest.mark.parametrize(
    "claim",
    [
        "It ends on February 28, 2026.",
        "It ends on 2026-02-28.",
        "It runs for two years.",
        "The rent is €1,450.",
        "The rent is 1450 euros.",
        "Pay before 3 pm on Monday.",
        "Heat 500 ml at 6% power.",
        "Heat it for half a minute, says Anna.",
        "Halden takes five weeks.",
        "One tenant banks with Brightwater.",
    ],
)
def test_other_spellings_of_a_detail_are_found(claim: str) -> None:
    assert missing(PREMISE, claim) == 0


@pytest.mark.parametrize(
    ("claim", "count"),
    [
        ("It ends on March 28, 2026.", 1),
        ("It ends on 27 February 2027.", 2),
        ("It runs for three years.", 1),
        ("The rent is 1,540 euros.", 1),
        ("The rent is $1,450.", 1),
        ("Heat it for 30 minutes.", 1),
        ("The bank is called Clearwater.", 1),
        ("Pay by Tuesday.", 1),
    ],
)
def test_absent_details_are_counted(claim: str, count: int) -> None:
    assert missing(PREMISE, claim) == count


def test_a_premise_lacks_nothing_of_itself() -> None:
    assert missing(PREMISE, PREMISE) == 0
    assert not any(given(""))


def test_the_model_reads_the_claim_in_the_premises_spelling() -> None:
    plain = FakeEntailment(lambda premise, claim: 0.9)
    DetailCheck(plain).entailment([(PREMISE, "It ends on 2026-02-28 and costs €1450."), (PREMISE, "Pets are allowed.")])
    assert [claim for _, claim in plain.calls[0]] == [
        "It ends on 28 February 2026 and costs 1,450 euros.",
        "Pets are allowed.",
    ]
    for room, read in [(12, "It is twenty-three thousand dollars"), (9, "It is $23000")]:
        short = FakeEntailment(lambda premise, claim: 0.9, max_tokens=room)
        DetailCheck(short).entailment([("It costs twenty-three thousand dollars", "It is $23000")])
        assert [claim for _, claim in short.calls[0]] == [read]


def test_the_check_multiplies_and_never_raises() -> None:
    plain = FakeEntailment(lambda premise, claim: 0.9)
    checked = DetailCheck(plain, discount=0.5)
    pairs = [(PREMISE, "The rent is 1450 euros."), (PREMISE, "It ends on 27 February 2027.")]
    np.testing.assert_allclose(checked.entailment(pairs), [0.9, 0.9 * 0.25])
    np.testing.assert_array_equal(DetailCheck(plain, discount=1.0).entailment(pairs), plain.entailment(pairs))
    assert (checked.max_tokens, checked.threshold) == (plain.max_tokens, plain.threshold)


def test_classes_keep_their_sum() -> None:
    class ThreeWay(FakeEntailment):
        def classify(self, pairs: list[tuple[str, str]]) -> np.ndarray:
            return np.tile([0.8, 0.1, 0.1], (len(pairs), 1))

    classes = DetailCheck(ThreeWay(), discount=0.5).classify([(PREMISE, "Pay by Tuesday.")])
    np.testing.assert_allclose(classes, [[0.4, 0.5, 0.1]])
    with pytest.raises(ModelError, match="neutral"):
        DetailCheck(FakeEntailment()).classify([])


def test_a_discount_out_of_range_says_so() -> None:
    with pytest.raises(InputError, match="discount"):
        DetailCheck(FakeEntailment(), discount=0)
