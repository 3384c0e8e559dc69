"""Words in quotation marks that somebody is said to have written stand in the source, or the sentence is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import grows_with
from tests.tables import tabled

from groundrail.text.claims import Claim, Refused, read_claim
from groundrail.text.form import SourceText
from groundrail.text.quotations import QuotedSpan, place_of, quotations, wording
from groundrail.types import Document

TEXT = (
    "The lease runs for two years. Pets are allowed in the flat, but not in the yard. The tenant, who pays the heating, "
    "must clean the stairs every Saturday.\n\nIt’s the landlord’s duty to repair the roof — at once. No smoking is allowed."
)
SOURCE = SourceText([Document(text=TEXT), Document(text="Mr Olsen repairs bicycles.", id="b")])


@tabled("sentence, words")
def test_quotations_are_told_from_other_words_in_marks(sentence: str, words: list[str]) -> None:
    found = quotations(sentence, sentence)
    assert [each.words for each in found] == words
    assert all(sentence[each.start : each.end] == each.words for each in found)


@tabled("quotation, words")
def test_words_are_found_whatever_the_form_of_their_marks(quotation: str, words: str) -> None:
    place = place_of(quotation, [document.text for document in SOURCE.documents])
    assert place is not None
    assert SOURCE.documents[place.document].text[place.start : place.end] == words


@tabled("quotation")
def test_other_words_are_not_found(quotation: str) -> None:
    assert place_of(quotation, [document.text for document in SOURCE.documents]) is None


@given(st.integers(0, len(TEXT)), st.integers(1, 80))
def test_every_run_of_whole_words_is_found_where_it_stands(start: int, length: int) -> None:
    words = TEXT[start : start + length].strip(" ,.\n—")
    place = place_of(words, [TEXT])
    cut = TEXT[max(0, start - 1) : start].isalnum() or TEXT[start + length : start + length + 1].isalnum()
    assert cut or not words or (place is not None and TEXT[place.start : place.end].lower().split() == words.lower().split())


@pytest.mark.parametrize(
    ("misquoted", "meant"),
    [
        ("the lease runs for three years", "The lease runs for two years"),
        ("must clean the stairs every Sunday", "must clean the stairs every Saturday"),
        ("must always clean the stairs every Saturday", "must clean the stairs every Saturday"),
        ("Mr Olsen mends bicycles", "Mr Olsen repairs bicycles"),
    ],
)
def test_the_wording_of_a_misquotation(misquoted: str, meant: str) -> None:
    texts = [document.text for document in SOURCE.documents]
    place = wording(misquoted, texts)
    assert place is not None
    assert texts[place.document][place.start : place.end] == meant
    assert wording("nothing of the kind stands there at all", texts) is None
    assert wording(misquoted, ["", "?"]) is None


def test_a_misquotation_is_refused_with_the_words_of_the_source() -> None:
    read = read_claim("The lease says “the lease runs for three years”.", "", "", SOURCE)
    was, meant = "the lease runs for three years", "The lease runs for two years"
    place = QuotedSpan(0, TEXT.index(meant), TEXT.index(meant) + len(meant))
    assert read == Refused(f"the source's words are “{meant}”", was, (was, meant), place)
    said = "cats and dogs may fly"
    refused = read_claim(f"It says “{said}”.", "", "", SOURCE)
    assert refused == Refused("the source does not hold the quotation", said)


def test_a_quotation_has_its_place() -> None:
    claim = read_claim("The lease says “no smoking is allowed.”", "", "", SOURCE)
    assert isinstance(claim, Claim)
    ((document, start, end),) = claim.quoted
    assert SOURCE.documents[document].text[start:end] == "No smoking is allowed"


def test_the_words_of_the_user_may_be_quoted() -> None:
    sentence = "You asked “may I keep a large dog”."
    assert isinstance(read_claim(sentence, "", "Hello! May I keep a large dog?", SOURCE), Claim)
    assert isinstance(read_claim(sentence, "", "", SOURCE), Refused)


@pytest.mark.parametrize("piece", ['"', '"a b ', "“a b", "… a ", "[a] b ", "' a'", "« "])
def test_time_grows_with_the_text(piece: str) -> None:
    assert grows_with(2000, lambda times: quotations(f"He said {piece * times}"))


def test_many_omissions_in_a_long_text_end() -> None:
    place_of("a … b … c … d [e] f … g", ["a b c d e f " * 20_000])
    wording("a b c d e f g h", ["a b x d e f y h " * 20_000])
