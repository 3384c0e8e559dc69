"""Sub-sentences from a parse: real spaCy documents, built by hand so that no pipeline is needed.

The parses are those of the papers' own examples: Glover et al.'s, and InFusE's figure 1 and table 3.
"""

import tomllib
from pathlib import Path

import pytest
from spacy.lang.en import English
from spacy.tokens import Doc

from groundrail.errors import ModelError
from groundrail.evaluation.units import SubSentenceUnits
from groundrail.papers.units.parsed import ParsedSplitter

VOCAB = English().vocab


def parsed(text):
    """A document from lines of word, tag, head and dependency; a word that stands close to the next one ends in ^."""
    rows = [line.split() for line in text.strip().splitlines()]
    words = [row[0].rstrip("^") for row in rows]
    spaces = [not row[0].endswith("^") for row in rows[:-1]] + [False]
    tags = [row[1] for row in rows]
    kinds = {"V": "VERB", "N": "NOUN", "M": "AUX", ",": "PUNCT", ".": "PUNCT", "P": "PRON", "W": "PRON", "D": "DET"}
    pos = ["PROPN" if tag.startswith("NNP") else kinds.get(tag[0], "X") for tag in tags]
    return Doc(
        VOCAB,
        words=words,
        spaces=spaces,
        tags=tags,
        pos=pos,
        heads=[int(row[2]) for row in rows],
        deps=[row[3] for row in rows],
    )


def split(document):
    parts = ParsedSplitter(lambda text: document).split(document.text)
    assert all(0 <= part.start < part.end <= len(document.text) for part in parts)
    return [part.text for part in parts]


PARSES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
WEIGHT, STRIKE, JACKET, PAYS, OWNER = PARSES.values()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WEIGHT, ["His weight went up six pounds.", "He reports his diet is not good."]),
        (
            STRIKE,
            [
                "German airline Lufthansa has launched a legal challenge against a strike by its pilots.",
                "The strike could lead to the cancellation of flights.",
            ],
        ),
        (JACKET, ["Heritage auctions offered the gray jacket.", "The gray jacket was featuring a zigzag applique."]),
        (PAYS, ["The tenant has paid rent.", "The tenant has left."]),
        (OWNER, ["Anna pays.", "Anna owns it."]),
    ],
)
def test_the_papers_own_examples_are_cut(text, expected):
    assert split(parsed(text)) == expected


def changed(text, *lines):
    """A parse with other lines: (number, the line)."""
    rows = text.strip().splitlines()
    for number, line in lines:
        rows[number] = line
    return "\n".join(rows)


@pytest.mark.parametrize(
    "text",
    [
        changed(PAYS, (0, "No DT 1 det")),  # no tenant has paid and left: neither is said of the tenant
        changed(PAYS, (2, "never RB 3 neg")),
        changed(PAYS, (5, "or CC 3 cc")),
        changed(PAYS, (7, "? . 3 punct")),
        changed(WEIGHT, (0, "If IN 2 mark")),
        changed(WEIGHT, (0, "Had VBD 2 advcl")),
        changed(OWNER, (0, "Nobody^ NN 6 nsubj"), (1, "who WP 3 nsubj"), (2, "ever RB 3 advmod")),  # restrictive
        changed(JACKET, (3, "a DT 5 det")),  # some jacket, of those that feature one
        changed(JACKET, (2, "wants VBZ 2 ROOT"), (5, "jacket NN 2 ccomp")),  # what is wanted is not said
    ],
)
def test_what_is_not_said_of_the_parts_alone_is_not_cut(text):
    document = parsed(text)
    assert split(document) == [document.text]


def test_a_part_says_nothing_but_words_of_its_claim():
    for text in (WEIGHT, STRIKE, PAYS, OWNER):
        document = parsed(text)
        said = {token.lower_ for token in document} | {"the"}
        for part in split(document):
            assert {word.strip(".,").lower() for word in part.split()} <= said


def test_the_units_lie_in_the_claim():
    documents = {document.text: document for document in map(parsed, (WEIGHT, OWNER))}
    claim = " ".join(documents)
    units = SubSentenceUnits(ParsedSplitter(lambda text: documents[text.strip()])).split(claim)
    assert [unit.text for unit in units][2:] == ["Anna pays.", "Anna owns it."]
    assert claim[units[1].start : units[1].end] == "he reports his diet is not good"
    assert claim[units[3].start : units[3].end] == "owns it"
    assert ParsedSplitter(lambda text: pytest.fail("a blank claim is not parsed")).split("  ") == []


def test_a_pipeline_that_is_not_there_is_an_error_with_the_way_to_get_it():
    with pytest.raises(ModelError, match="python -m spacy download en_core_web_none"):
        ParsedSplitter("en_core_web_none")
