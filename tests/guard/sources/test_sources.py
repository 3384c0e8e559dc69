"""Each form says its rows, records and items; each premise stands where it says; prose stays as it is."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import tabled

from groundrail import Document
from groundrail.errors import InputError
from groundrail.scoring.index import SentenceIndex
from groundrail.scoring.nearest import NearestScorer
from groundrail.sources.json_records import read_json
from groundrail.sources.reading import read_by_form
from groundrail.testing import FakeEntailment
from groundrail.text.sentences import split

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "documents").glob("*.txt"))

TABLE = """# Staff

Figures of last year.

| Branch | Headcount 2023 | Manager |
| --- | ---: | --- |
| **Gdansk** | 790 | Oda Reinholt |
| Porto | 212 | Matteo Vale |

Nobody works in Ghent. It was closed.
"""


def said(text: str) -> list[tuple[str, str]]:
    """The words of each premise, and the place that it cites."""
    found = [(premise.said, text[premise.start : premise.end]) for premise in read_by_form(text).premises()]
    return [(place.strip() if words is None else words, place.strip()) for words, place in found if place.strip()]


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path.stem != "meeting"], ids=lambda path: path.stem)
def test_prose_is_read_as_its_sentences(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    wanted = [(part.start, part.end, None) for part in split(text)]
    assert [(one.start, one.end, one.said) for one in read_by_form(text).premises()] == wanted


@given(st.lists(st.text("abcDE ,.!?'\n0123", min_size=1), max_size=6).map("".join))
def test_a_text_without_marks_of_a_form_is_read_as_its_sentences(text: str) -> None:
    text = text.replace(",", ", ")  # a comma without a blank parts the fields of a table
    wanted = [(part.start, part.end, None) for part in split(text)]
    assert [(one.start, one.end, one.said) for one in read_by_form(text).premises()] == wanted


def test_the_sentences_of_a_meeting_keep_their_places_and_gain_their_speaker() -> None:
    (path,) = [path for path in EXAMPLES if path.stem == "meeting"]
    text = path.read_text(encoding="utf-8")
    ends = {len(text[: part.end].rstrip()) for part in split(text)}
    found = list(read_by_form(text).premises())
    assert {len(text[: one.end].rstrip()) for one in found} == ends
    speakers = {"MARGUERITE", "TOBIAS", "PRIYA", "HENRIK", "LUCIA", "OWEN"}
    told = [one for one in found if one.said is not None]
    assert len(told) > 50
    for one in told:
        speaker, _, sentence = (one.said or "").partition(": ")
        assert sentence == text[one.start : one.end]
        assert text[: one.start].rpartition("\n")[2].partition(":")[0] == speaker
        assert speaker in speakers


@tabled("text, premises")
def test_each_premise_says_its_words_and_cites_its_place(text: str, premises: list[list[str]]) -> None:
    assert [list(each) for each in said(text)] == premises


@tabled("text, words")
def test_a_record_or_row_says_the_names_around_it(text: str, words: list[str]) -> None:
    assert [each for each, _ in said(text)] == words


def test_a_row_of_a_markdown_table_says_its_columns_and_section() -> None:
    assert said(TABLE) == [
        ("# Staff", "# Staff"),
        ("Figures of last year.", "Figures of last year."),
        ("Staff, Branch Gdansk, Headcount 2023: 790", "| **Gdansk** | 790 | Oda Reinholt |"),
        ("Staff, Branch Gdansk, Manager: Oda Reinholt", "| **Gdansk** | 790 | Oda Reinholt |"),
        ("Staff, Branch Porto, Headcount 2023: 212", "| Porto | 212 | Matteo Vale |"),
        ("Staff, Branch Porto, Manager: Matteo Vale", "| Porto | 212 | Matteo Vale |"),
        ("Nobody works in Ghent.", "Nobody works in Ghent."),
        ("It was closed.", "It was closed."),
    ]


@tabled("text")
def test_what_no_reader_sees_is_not_said_in_a_new_way(text: str) -> None:
    sentences = {part.text.strip() for part in split(text)}
    for words, place in said(text):
        assert "secret" not in words or words in sentences or place == words


_KEYS = st.text("abcdefghij", min_size=1, max_size=6)
_SCALARS = st.one_of(st.integers(-999, 999), st.booleans(), st.none(), st.text('xyz "\\\n[]{}:,é', min_size=1))
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_KEYS, inner, max_size=4))
)
_JSON = st.one_of(st.lists(_VALUES, max_size=4), st.dictionaries(_KEYS, _VALUES, max_size=4))


def scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [one for inner in value.values() for one in scalars(inner)]
    if isinstance(value, list):
        return [one for inner in value for one in scalars(inner)]
    return [value]


@given(_JSON, st.sampled_from([None, 1]))
def test_every_field_of_json_is_said_once_where_it_stands(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    premises = [premise for region in read_json(text) for premise in region.premises]
    wanted = [one for one in scalars(value) if not isinstance(one, str) or one.strip()]
    assert len(premises) == len(wanted)
    for premise, one in zip(premises, wanted, strict=True):
        assert text[premise.start : premise.end].endswith(json.dumps(one))
        words = (
            {None: "not given", True: "yes", False: "no"}[one] if one is None or one is True or one is False else str(one)
        )
        assert (premise.said or "").endswith(" ".join(words.split()))


@given(_JSON.map(json.dumps), st.data())
def test_json_is_read_only_if_it_parses(text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text) - 1))
    broken = text[:place] + data.draw(st.sampled_from(["", ",", "}", "]", '"', ":", "x"])) + text[place + 1 :]
    try:
        json.loads(broken)
    except json.JSONDecodeError:
        parses = False
    else:
        parses = True
    try:
        read_json(broken)
    except InputError:
        assert not parses or len(set(broken)) < len(broken)  # a key may have become another's twin
    else:
        values = broken.strip()
        decoder, start = json.JSONDecoder(), 0
        while start < len(values):  # one value, or several one after the other
            _, start = decoder.raw_decode(values, start)
            start += len(values[start:]) - len(values[start:].lstrip())


def test_nothing_that_is_nested_deep_is_lost() -> None:
    text = "# Rooms\n" + "".join("  " * depth + f"- item {depth}\n" for depth in range(40))
    told = " ".join(words for words, _ in said(text))
    assert all(f"item {depth}" in told for depth in range(40))


_CELLS = st.text("abc1 ,;\"'é", max_size=6).map(str.strip)


@given(st.lists(st.tuples(_CELLS, _CELLS, _CELLS), min_size=2, max_size=5), st.sampled_from(",;\t"))
def test_a_row_of_csv_says_its_cells_where_they_stand(rows: list[tuple[str, str, str]], delimiter: str) -> None:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows([("Name", "Size", "Colour"), *rows])
    text = file.getvalue()
    premises = [one for one in read_by_form(text).premises() if one.said is not None]
    kept = [(row, cell) for row in rows for cell in (row[1:] if any(row[1:]) else filter(None, row[:1]))]
    assert len(premises) == len(kept)
    for premise, (row, cell) in zip(premises, kept, strict=True):
        (cells,) = csv.reader(io.StringIO(text[premise.start : premise.end]), delimiter=delimiter)
        assert [one.strip() for one in cells] == list(row)
        assert (premise.said or "").endswith(" ".join(cell.split()) or "not given")


@pytest.mark.parametrize(
    "table",
    [
        "          Wash   Wash & iron\nShirt      6        9\nBed sheet  10       13",
        "Item | Wash | Wash & iron\nShirt | 6 | 9\nBed sheet | 10 | 13",
        "Item\tWash\tWash & iron\nShirt\t6\t9\nBed sheet\t10\t13",
    ],
)
def test_a_table_in_plain_text_says_its_columns_and_the_line_above(table: str) -> None:
    told = said(f"We wash and iron.\n\nPrices in cedi:\n\n{table}\n\nCollected at home for 20 cedi.\n")
    item = "Item " if "Item" in table else ""
    assert [words for words, _ in told[2:-1]] == [
        f"Prices in cedi, {item}Shirt, Wash: 6",
        f"Prices in cedi, {item}Shirt, Wash & iron: 9",
        f"Prices in cedi, {item}Bed sheet, Wash: 10",
        f"Prices in cedi, {item}Bed sheet, Wash & iron: 13",
    ]
    assert told[-1][1] == "Collected at home for 20 cedi."
    assert {place for _, place in told[2:4]} == {table.splitlines()[1].strip()}


@pytest.mark.parametrize(
    "text",
    [
        "Eco | 50 °C | 3 h\nAuto | 60 °C | 2 h\nQuick | 45 °C | 35 min\n",
        "He  said  that  it  rained.\nShe  said  that  it  poured.\nThey  said  that  it  froze.\n",
        "Day | Pool | Gym\nMonday | 6 | 9\n",
    ],
)
def test_lines_without_names_and_figures_are_no_table(text: str) -> None:
    assert not any(" : " in words or "Pool: " in words or ", 50 °C" in words for words, _ in said(text))


@tabled("text")
def test_lines_with_commas_are_no_table_unless_every_line_is_a_row(text: str) -> None:
    assert read_by_form(text).regions == ()


def test_the_head_of_a_message_does_not_speak_its_sentences() -> None:
    text = "From: Anna, 2 May. We need chairs.\n\nFrom: Ben, 3 May. I have ten.\n\nFrom: Anna, 4 May. Good. Thanks."
    assert read_by_form(text).regions == ()


def test_json_that_does_not_parse_is_read_as_text_and_every_score_says_so() -> None:
    text = '{"name": "Hotel Larkspur", "stars": 3,}'
    (score,) = NearestScorer(FakeEntailment()).score(["The hotel has stars."], text)
    assert score.note is not None
    assert "read as plain text" in score.note
    (score,) = NearestScorer(FakeEntailment()).score(["The hotel has stars."], text.replace(",}", "}"))
    assert score.note is None
    assert read_by_form('["\\ud800"]').note is not None
    assert read_by_form("[" * 5000 + '"a"' + "]" * 5000).note is not None


def test_a_cell_too_long_for_the_judge_is_cut_and_each_part_cites_the_row() -> None:
    text = "Name,Text\nfirst," + "word " * 50 + "\nsecond,x"
    index = SentenceIndex([Document(text=text)], FakeEntailment(), 20)
    row = text.splitlines()[1].strip()
    parts = [passage for passage in index.passages if passage.cite(1.0).text == row]
    assert len(parts) > 2
    assert all(passage.tokens <= 20 for passage in parts)
    assert " ".join(passage.text for passage in parts) == "Name first, Text: " + "word " * 49 + "word"


def test_the_citation_is_the_row_that_says_the_claim() -> None:
    (score,) = NearestScorer(FakeEntailment(), window=0, rivals=0).score(["Branch Gdansk Headcount 2023: 790"], TABLE)
    assert score.value == 1.0
    assert score.citations[0].text == "| **Gdansk** | 790 | Oda Reinholt |"
    assert TABLE[score.citations[0].start : score.citations[0].end] == score.citations[0].text


@tabled("value, told")
def test_hours_of_a_record_have_minutes_of_two_digits(value: str, told: str) -> None:
    (premise,) = read_by_form(json.dumps({"Monday": value})).premises()
    assert premise.said == f"Monday: {told}"
