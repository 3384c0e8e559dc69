"""Spans and personal questions from a parse: real spaCy documents, built by hand so that no pipeline is needed."""

import pytest
from spacy.lang.en import English
from spacy.tokens import Doc

from groundrail.errors import ModelError
from groundrail.papers.q2.parsed import ParsedText

VOCAB = English().vocab


def parsed(*rows, entities=()):
    """A document from rows of word, part of speech, head and dependency; `entities` are (first, last, label)."""
    words, tags, heads, dependencies = map(list, zip(*rows, strict=True))
    tagged = ["O"] * len(words)
    for first, last, label in entities:
        tagged[first : last + 1] = [f"B-{label}", *[f"I-{label}"] * (last - first)]
    return Doc(VOCAB, words=words, pos=tags, heads=heads, deps=dependencies, ents=tagged)


LOVE = parsed(
    ("I", "PRON", 1, "nsubj"),
    ("love", "VERB", 1, "ROOT"),
    ("Bob", "PROPN", 3, "compound"),
    ("Ross", "PROPN", 1, "dobj"),
    ("and", "CCONJ", 1, "cc"),
    ("he", "PRON", 6, "nsubj"),
    ("loved", "VERB", 1, "conj"),
    ("a", "DET", 9, "det"),
    ("happy", "ADJ", 9, "amod"),
    ("tree", "NOUN", 6, "dobj"),
    entities=[(2, 3, "PERSON")],
)


def test_entities_come_first_and_only_the_pronoun_i_is_left_out():
    found = ParsedText(lambda text: LOVE).spans(LOVE.text)
    assert [span.text for span in found] == ["Bob Ross", "he", "a happy tree"]
    assert all(LOVE.text[span.start : span.end] == span.text for span in found)


@pytest.mark.parametrize(
    ("question", "personal"),
    [
        ([("What", "PRON", 3, "dobj"), ("do", "AUX", 3, "aux"), ("I", "PRON", 3, "nsubj"), ("love", "VERB", 3, "ROOT")], True),
        ([("Who", "PRON", 1, "nsubj"), ("wrote", "VERB", 1, "ROOT"), ("you", "PRON", 1, "dobj")], False),
        ([("What", "PRON", 1, "nsubj"), ("is", "AUX", 1, "ROOT"), ("your", "PRON", 3, "poss"), ("job", "NOUN", 1, "attr")], True),
        ([("World", "PROPN", 1, "compound"), ("War", "PROPN", 3, "nsubj"), ("I", "PROPN", 1, "nummod"), ("ended", "VERB", 3, "ROOT")], False),
    ],
)  # fmt: skip
def test_a_question_is_personal_by_its_subject_or_owner(question, personal):
    read = parsed(*question)
    assert ParsedText(lambda text: read).is_personal(read.text) is personal


def test_a_pipeline_without_a_parser_is_refused(tmp_path):
    English().to_disk(tmp_path / "blank")
    with pytest.raises(ModelError, match="no parser among no parts"):
        ParsedText(str(tmp_path / "blank"))
