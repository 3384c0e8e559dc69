"""The seams are classes to write oneself: what is required of one is said when it is made, not when it is asked."""

import pytest

from groundrail.entailment.base import EntailmentModel, NLIModel
from groundrail.generators.base import Generator, Session
from groundrail.scoring.base import Reader, Scorer


@pytest.mark.parametrize(
    ("seam", "required"),
    [
        (Scorer, {"read"}),
        (Reader, {"score"}),
        (EntailmentModel, {"offsets", "entailment"}),
        (NLIModel, {"offsets", "entailment", "classify"}),
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


@pytest.mark.parametrize(
    ("seam", "former"), [(Scorer, "threshold"), (Scorer, "unread"), (EntailmentModel, "english_only")]
)
def test_a_declaration_that_nothing_reads_is_refused(seam: type, former: str) -> None:
    """A threshold that a scorer of an earlier release declares must not become 0.5 without a word."""
    with pytest.raises(TypeError, match=rf"Mine declares {former}; declare facts = .*{former}="):
        type("Mine", (seam,), {former: 0.7})
