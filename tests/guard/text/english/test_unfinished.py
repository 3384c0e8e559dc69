"""A clause that ends without its object, told from a sentence whose object stands before."""

from tests.tables import tabled

from groundrail.text.claims import Refused, read_claim
from groundrail.text.english.unfinished import is_unfinished
from groundrail.text.form import SourceText
from groundrail.types import Document


@tabled("text")
def test_a_clause_without_its_object_is_unfinished_and_refused(text: str) -> None:
    assert is_unfinished(text)
    source = SourceText([Document(text=f"{text} Mr Brandt. {text}")])
    found = read_claim(text, "", "", source)
    assert isinstance(found, Refused)
    assert "joins it to what follows" in found.reason


@tabled("text")
def test_a_whole_sentence_is_finished(text: str) -> None:
    assert not is_unfinished(text)
