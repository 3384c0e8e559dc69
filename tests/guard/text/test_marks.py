"""Marks of documents are told from other text in brackets, and each stands behind its own words."""

import pytest
from tests.growth import grows_with
from tests.tables import tabled

from groundrail.text.claims import Claim, Refused, read_claim
from groundrail.text.form import SourceText
from groundrail.text.marks import MOST, Naming, without
from groundrail.types import Document

NAMES = [["lease.txt", "The lease"], ["rules.txt", ""], ["map", "https://example.org/map"]]
SOURCE = SourceText([Document(text=f"Pets are allowed in flat {n}. Cash is fine.", id=f"{n}.txt") for n in range(1, 4)])


@tabled("sentence, documents, rest")
def test_marks_name_documents(sentence: str, documents: list[list[int]], rest: str) -> None:
    marks = Naming(NAMES).find(sentence)
    assert [[place + 1 for place in mark.documents] for mark in marks] == documents
    assert without(sentence, marks) == rest


@tabled("sentence")
def test_text_in_brackets_stays_text(sentence: str) -> None:
    assert Naming(NAMES).find(sentence) == []


@pytest.mark.parametrize("mark", ["[4]", "[0]", "[1][7]", "[2, 9]", "(source 5)", "【9†source】", "【3:0†x】"])
def test_a_mark_of_a_document_that_is_not_there_names_none(mark: str) -> None:
    sentence = f"Pets are allowed {mark}."
    assert () in [found.documents for found in Naming(NAMES).find(sentence)]
    assert isinstance(read_claim(sentence, "", "", SOURCE), Refused)


def test_ids_that_are_numbers_count_in_whatever_order_they_stand() -> None:
    naming = Naming([["7"], ["1"], ["0"]])
    found = naming.find("A is b [1], c is d [7], e is f [0], g is h [2].")
    assert [mark.documents for mark in found] == [(1,), (0,), (2,), ()]
    assert naming.label(0) == "document 7"


def test_an_id_that_is_a_number_counts_before_the_order() -> None:
    naming = Naming([["2"], ["rules.txt"], ["map"]])
    found = naming.find("A is b [1], c is d [2], e is f [3], g is h [rules.txt].")
    assert [mark.documents for mark in found] == [(), (0,), (2,), (1,)]
    assert naming.label(1) == "rules.txt"
    assert naming.exchanged("[2]", [0], 1) == "[rules.txt]"
    assert naming.exchanged("(source 2)", [0], 1) is None


def test_a_raised_number_in_a_tag_is_a_mark_and_a_power_is_none() -> None:
    written = [("Pets are allowed.<sup>2</sup>", (1,)), ("Pets are allowed<sup>[2]</sup>.", (1,))]
    for sentence, documents in written:
        (mark,) = Naming(NAMES).find(sentence)
        assert (mark.documents, without(sentence, [mark])) == (documents, "Pets are allowed.")
        claim = read_claim(sentence, "", "", SOURCE)
        assert isinstance(claim, Claim)
        assert claim.parts == (("Pets are allowed.", documents),)
        assert [sentence[each.start : each.end] for each, _ in claim.marks] == [sentence[mark.start : mark.end]]
    assert Naming(NAMES).find("The flat has 10<sup>2</sup> metres.") == []
    assert isinstance(read_claim("Pets are <sup>not</sup> allowed.", "", "", SOURCE), Refused)


def test_one_document_is_number_one_and_has_no_other_marks() -> None:
    naming = Naming([["lease.txt"]])
    assert [mark.documents for mark in naming.find("A is b [1].")] == [(0,)]
    assert naming.find("A is b (source 1), as document 1 says.") == []
    assert naming.find("A is b².") == []


def test_a_mark_in_code_is_text() -> None:
    assert read_claim("Pets are in `flat[2]`.", "", "", SOURCE) == Claim("Pets are in flat[2].")
    assert read_claim("Pets are `allowed` [1].", "", "", SOURCE).parts == (("Pets are allowed.", (0,)),)  # type: ignore[union-attr]
    fenced = read_claim("```\nflat = flats[2]\n```\n", "", "", SourceText([Document(text="flat = flats[2]")] * 2))
    assert isinstance(fenced, Claim)
    assert "flat = flats[2]" in fenced.lines


def test_words_that_the_source_itself_writes_are_no_mark() -> None:
    own = SourceText([Document(text="As document 2 says, pets are allowed."), Document(text="No.", id="b")])
    assert read_claim("As document 2 says, pets are allowed.", "", "", own) == Claim("As document 2 says, pets are allowed.")


@tabled("sentence, parts")
def test_a_clause_that_stands_alone_is_judged_by_its_own_marks(sentence: str, parts: list[list[object]]) -> None:
    claim = read_claim(sentence, "", "", SourceText([Document(text=str(n), id=f"{n}.txt") for n in range(3)]))
    assert isinstance(claim, Claim), claim
    assert [[text, [place + 1 for place in named]] for text, named in claim.parts] == parts


def test_marks_that_leave_no_document_out_change_nothing() -> None:
    assert read_claim("Pets are allowed [1][2][3].", "", "", SOURCE) == Claim("Pets are allowed.")
    assert read_claim("Pets are allowed [1-3].", "", "", SOURCE) == Claim("Pets are allowed.")


@pytest.mark.parametrize("mark", ["[1]", " [1]", "Pets are allowed [1], and ", "(source 2) ", "[1](2.txt)"])
def test_ten_thousand_marks_are_refused(mark: str) -> None:
    read = read_claim(f"Pets are allowed {mark * 10_000}.", "", "", SOURCE)
    assert isinstance(read, Refused)
    assert len(Naming(NAMES).find(mark * 10_000)) <= 10_000
    assert MOST < 10_000


@pytest.mark.parametrize(
    "piece", ["[1]", "[", "[a](", "(source 2", "`", "as document 1, ", " ", "¹", "as per  ", "<x> ", "[1, "]
)
def test_time_grows_with_the_text(piece: str) -> None:
    assert grows_with(2000, lambda times: Naming(NAMES).find(piece * times))
