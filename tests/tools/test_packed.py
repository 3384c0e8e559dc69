"""Claims as packed token ids: a premise holds what decides its claim, in the text's order, under the right label."""

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pack_claims import Tokens, add_text, parts_of, rows_of, words_of
from packed import END, LABELS, MOST, START, STOP, Builder, Packed, Pair, _pair

from groundrail.entailment.builtin import BuiltinEntailment, load_builtin
from groundrail.scoring.index import SentenceIndex
from groundrail.text.context import in_context

SENTENCES = 12
"""Sentence n of text t is the token 1000 + 100 t + n, three times, and a full stop."""


def _token(text: int, sentence: int) -> int:
    return 1000 + 100 * text + sentence


@pytest.fixture
def packed() -> Packed:
    """Three texts; each sentence is the evidence of a true and a wrong claim, and one claim of each text has no evidence."""
    builder = Builder()
    for t in range(3):
        text = builder.text("written" if t < 2 else "people", [[_token(t, n)] * 3 + [STOP] for n in range(SENTENCES)])
        for n in range(SENTENCES):
            nearest = [place for _, place in sorted((abs(place - n), place) for place in range(SENTENCES))]
            evidence = [n] if t < 2 else []
            true = builder.claim(text, [_token(t, n), 7, STOP], "entailment", "", evidence, nearest, [], False)
            builder.twin(true, [_token(t, n), 8, STOP])
            builder.claim(text, [_token(t, n), 9, STOP], "contradiction", "", evidence, nearest, [21, 22], False)
    return Packed(builder.arrays())


def _drawn(packed: Packed, claims: np.ndarray, joined: float = 0.0, exchanged: float = 0.0) -> list[tuple[int, Pair]]:
    rng = random.Random(5)
    return [(c, pair) for _ in range(40) for c in claims.tolist() for pair in packed.draw(c, rng, joined, exchanged)]


def _parts(pair: Pair) -> tuple[list[int], list[int]]:
    """Premise and claim, without the context."""
    ids = pair.ids.tolist()
    assert ids[0] == START
    assert ids[-1] == END
    middle = ids.index(END)
    assert ids[middle + 1] == END
    return ids[1:middle], ids[max(middle + 2, _last(ids[:-1], END) + 1) : -1]


def _last(ids: list[int], token: int) -> int:
    return len(ids) - 1 - ids[::-1].index(token)


def _context(pair: Pair) -> list[int]:
    ids = pair.ids.tolist()
    first, last = ids.index(END) + 2, _last(ids[:-1], END)
    return ids[first:last]


def test_a_supported_claim_stands_beside_its_evidence(packed: Packed) -> None:
    labels: Counter[int] = Counter()
    for _, pair in _drawn(packed, packed.claims_of("written")):
        premise, claim = _parts(pair)
        labels[pair.label] += 1
        if pair.label == LABELS["entailment"]:
            assert claim[0] in premise
            assert claim[1] == 7
        if pair.label == LABELS["neutral"]:  # beside another text
            assert claim[0] // 100 != premise[0] // 100
        if pair.label == LABELS["not_entailment"]:  # beside its own text without the evidence
            assert claim[0] not in premise
    assert set(labels) == {0, 1, 2, 3}


def test_sentences_keep_their_order(packed: Packed) -> None:
    for _, pair in _drawn(packed, packed.claims_of("written"), joined=0.3):
        premise, _ = _parts(pair)
        said = [token for token in premise if token != STOP]
        assert said == sorted(said)
        assert len(pair.ids) <= MOST


def test_most_claims_are_read_in_their_context(packed: Packed) -> None:
    drawn = [pair for c, pair in _drawn(packed, packed.claims_of("people")) if packed.rows[c, 1] == 2]
    read = Counter(_context(pair) == [21, 22] for pair in drawn)
    assert 0.75 < read[True] / read.total() < 0.95
    assert all(_parts(pair)[1][1] == 9 for pair in drawn)


def test_another_claim_of_the_text_before_a_claim_changes_nothing(packed: Packed) -> None:
    drawn = [(c, p) for c, p in _drawn(packed, packed.claims_of("written")) if _context(p) and not len(packed.context[c])]
    assert drawn
    for claim, pair in drawn:
        assert _context(pair) != packed.claim[claim].tolist()
        assert _parts(pair)[1] == packed.claim[claim].tolist()


def test_title_and_heading_stand_above_a_premise() -> None:
    builder = Builder()
    text = builder.text("any", [[100 + n] * (40 if n == 4 else 2) for n in range(8)], [0, 0, 0, 0, 0, 4, 4, 4])
    builder.claim(text, [7], "entailment", "", [], [], [], False)
    packed = Packed(builder.arrays())
    assert packed.premise(text, [2], with_above=True).tolist() == [100, 100, 102, 102]
    assert packed.premise(text, [6], with_above=True).tolist() == [100, 100, *[104] * 32, 106, 106]
    assert packed.premise(text, [0, 6, 4], with_above=True).tolist() == packed.premise(text, [0, 6, 4]).tolist()


def test_premises_and_claims_have_the_form_of_the_guard() -> None:
    """The judge's own tokenizer of the pair that a scorer makes, and the packed pair of the same text."""
    text = "Rules of the Otter Pool\nThey hold all year.\n\n## Dogs\nDogs stay outside. Guide dogs may enter.\n"
    claim = in_context("Only outside.", "Where may my dog wait? Dogs:")
    tokens, builder = Tokens(), Builder()
    asked = {"text": "Only outside.", "context": "Where may my dog wait? Dogs:", "label": "entailment", "evidence": []}
    add_text(builder, {"text": text, "claims": [asked]}, tokens, "any", False, random.Random(0))
    packed = Packed(builder.arrays())
    judge = load_builtin().model
    assert isinstance(judge, BuiltinEntailment)
    reader = BuiltinEntailment(judge.model, judge._tokenizer, {**judge._config, "entailment_reads_context": True})
    index = SentenceIndex(text, reader, 200)
    for places in ((3,), (1, 4), (0, 1, 2, 3, 4)):
        (encoded,) = reader._encode([(index.text(places), claim)])
        premise = packed.premise(0, list(places), with_above=True)
        assert _pair(premise, packed.claim[0], 0, "any", packed.context[0]).ids.tolist() == list(encoded["input_ids"])


def test_an_exchanged_detail_is_wrong_beside_the_same_premise(packed: Packed) -> None:
    drawn = _drawn(packed, packed.claims_of("written"), exchanged=1.0)
    pairs = [(first, second) for (_, first), (_, second) in pairwise(drawn) if _parts(second)[1][1] == 8]
    assert pairs
    for first, second in pairs:
        assert _parts(first)[0] == _parts(second)[0]
        assert (first.label, second.label) == (LABELS["entailment"], LABELS["contradiction"])


def test_claims_asked_together_are_supported_where_all_are(packed: Packed) -> None:
    several = [pair for _, pair in _drawn(packed, packed.claims_of("written"), joined=1.0) if len(_parts(pair)[1]) > 4]
    assert several
    for pair in several:
        premise, claim = _parts(pair)
        assert (pair.label == LABELS["entailment"]) == (9 not in claim)
        assert {token for token in claim if 1000 <= token < 1012 or 1100 <= token < 1300} <= set(premise)


def test_a_development_claim_stands_beside_the_nearest_sentences_that_fit(packed: Packed) -> None:
    for claim in packed.claims_of("people").tolist():
        premise, said = _parts(packed.as_read(claim, 12))
        assert len(premise) == 12
        assert said[0] in premise


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "A."}, "line 2: a text needs `text` and `claims`"),
        ({"text": "A.", "claims": [{"text": "B.", "label": "true"}]}, "line 2: 'true' is no label; use entailment"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, row: dict[str, object], message: str) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text(json.dumps({"text": "A.", "claims": []}) + "\n" + json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=message):
        list(rows_of(file))


def test_a_table_is_read_as_rows_and_as_it_is_written() -> None:
    text = "| City | Rent |\n| --- | --- |\n| Porto | 900 |\n"
    said = words_of(text, parts_of(text))
    assert any("Porto" in words and "Rent" in words for words in said)
    assert words_of(text, parts_of(text, as_written=True)) == text.splitlines()
