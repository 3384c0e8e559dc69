"""An annotation begins with the words of its sentence, not with the line break before them."""

from groundrail import CheckedSentence, Verdict
from groundrail.serve.annotations import Annotations
from groundrail.types import Document


def test_the_line_break_of_a_refused_sentence_is_not_annotated() -> None:
    lease = Document(text="Pets are allowed.", id="lease", metadata={"url": "https://example.org/lease"})
    cited = lease.cite(0, 17, 0.9)
    sentence = CheckedSentence(
        text="Pets are allowed. ", start=0, end=18, verdict=Verdict.SUPPORTED, released=True, citations=(cited,), gap="\n"
    )
    annotations = Annotations([lease], "on")
    for _ in range(2):
        (added,) = annotations.add(sentence)
        assert annotations.text[added["start_index"] : added["end_index"]] == "Pets are allowed."
