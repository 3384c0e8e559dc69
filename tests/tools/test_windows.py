"""What the judge is trained on: a premise holds what decides its claim, in the text's order, under the right label."""

import json
import random
from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from windows import LONGEST, Pair, Text, Windows, load_texts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

FLAT = (
    "The flat has two rooms.",
    "The rent is due on the first.",
    "Cats are not allowed.",
    "The deposit is 500 euros.",
)
KEYS = ("The keys were lost in march.", "Bob did it.", "Anna signed the contract.", "The late fee is 45 euros.")
CLAIMS = {
    FLAT: [
        ("A tenant pays on the first.", "entailment", [1]),
        ("Cats are not allowed and the deposit is 500 euros.", "entailment", [2, 3]),
        ("Cats are allowed.", "contradiction", [2]),
        ("The landlord pays the water.", "neutral", []),
    ],
    KEYS: [
        ("Bob lost the keys.", "entailment", [0, 1]),
        ("Anna lost the keys.", "contradiction", [0, 1]),
        ("The fee is due in april.", "neutral", [3]),
    ],
}


@pytest.fixture
def texts(tmp_path: Path, tiny_tokenizer: "PreTrainedTokenizerFast") -> list[Text]:
    rows = []
    for sentences, claims in CLAIMS.items():
        text = " ".join(sentences)
        spans = [(text.index(sentence), text.index(sentence) + len(sentence)) for sentence in sentences]
        asked = [
            {"text": claim, "label": label, "kind": "any", "evidence": [spans[n] for n in deciding]}
            for claim, label, deciding in claims
        ]
        rows.append({"id": sentences[0], "text": text, "claims": asked})
    file = tmp_path / "claims.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_texts(file, tiny_tokenizer)


def _drawn(texts: list[Text], tokenizer: "PreTrainedTokenizerFast", count: int = 2500) -> list[Pair]:
    windows = Windows(random.Random(3), tokenizer)
    windows.load(texts)
    return list(islice(windows.pairs(), count))


def _places(text: Text, premise: list[int]) -> list[int] | None:
    """Which of the text's sentences the premise is, in their order; None if it is no such thing."""
    found, at = [], 0
    for n, sentence in enumerate(text.sentences):
        if premise[at : at + len(sentence)] == sentence:
            found.append(n)
            at += len(sentence)
    return found if at == len(premise) else None


def test_a_premise_is_whole_sentences_of_a_text_in_their_order_with_the_evidence_or_said_to_lack_it(
    texts: list[Text], tiny_tokenizer: "PreTrainedTokenizerFast"
) -> None:
    claims = {claim.ids: (text, claim) for text in texts for claim in text.claims}
    seen: Counter[str] = Counter()
    for pair in _drawn(texts, tiny_tokenizer):
        assert len(pair.premise) <= LONGEST
        if pair.claim not in claims:  # several asked as one
            continue
        text, claim = claims[pair.claim]
        if pair.kind == "other text":
            assert pair.label == "neutral"
            assert any(_places(other, pair.premise) for other in texts if other is not text)
        elif pair.kind == "unseen":
            places = _places(text, pair.premise)
            assert places
            assert not claim.evidence & set(places)
            assert pair.label == "not_entailment"
        else:
            places = _places(text, pair.premise)
            assert places
            assert claim.evidence <= set(places)
            assert pair.label == claim.label
        seen[pair.kind] += 1
    assert min(seen[kind] for kind in ("any", "unseen", "other text")) > 20


def test_what_is_asked_as_one_sentence_is_supported_where_all_of_it_is(
    texts: list[Text], tiny_tokenizer: "PreTrainedTokenizerFast"
) -> None:
    joined = [pair for pair in _drawn(texts, tiny_tokenizer) if pair.kind == "joined"]
    bare = {str(tiny_tokenizer.decode(list(claim.ids))).rstrip(" ."): claim for text in texts for claim in text.claims}
    several = said_again = 0
    for pair in joined:
        said = str(tiny_tokenizer.decode(list(pair.claim)))
        parts = {text: claim for text, claim in bare.items() if text in said}
        labels = {claim.label for claim in parts.values()}
        several += len(parts) > 1
        said_again += any(said.count(text) > 1 for text in parts)
        if pair.label == "entailment":
            assert labels == {"entailment"}
        else:
            assert labels - {"entailment"}
    assert several > 20
    assert said_again > 10


def test_no_claim_waits_long_for_its_turn(texts: list[Text], tiny_tokenizer: "PreTrainedTokenizerFast") -> None:
    asked = Counter(pair.claim for pair in _drawn(texts, tiny_tokenizer, 700) if pair.kind != "joined")
    counts = [asked[claim.ids] for text in texts for claim in text.claims]
    assert max(counts) < 1.3 * min(counts)


def test_a_true_claim_is_asked_again_with_one_detail_exchanged_beside_the_same_premise(
    texts: list[Text], tiny_tokenizer: "PreTrainedTokenizerFast"
) -> None:
    twins = 0
    for pair, after in pairwise(_drawn(texts, tiny_tokenizer)):
        if after.kind not in ("number", "date", "unit"):
            continue
        assert after.premise == pair.premise
        assert (pair.label, after.label) == ("entailment", "contradiction")
        before, now = (str(tiny_tokenizer.decode(list(each.claim))).split() for each in (pair, after))
        assert len(before) == len(now)
        assert {was for was, is_ in zip(before, now, strict=True) if was != is_} <= {"500", "first", "euros"}
        twins += 1
    assert twins > 20


def test_where_another_figure_may_be_as_true_none_is_exchanged(
    texts: list[Text], tiny_tokenizer: "PreTrainedTokenizerFast"
) -> None:
    windows = Windows(random.Random(0), tiny_tokenizer)
    windows.load(texts)
    true = next(claim for claim in texts[0].claims if "500" in claim.text)
    premise = Pair([1], true.ids, true.label, true.kind)
    loose = replace(true, text="The deposit is more than 300 euros.")
    posed = replace(true, kind="example")
    for _ in range(20):
        assert list(windows.exchanged(texts[0], true, premise))
        assert not list(windows.exchanged(texts[0], loose, premise))
        assert not list(windows.exchanged(texts[0], posed, premise))


def test_a_framed_claim_is_asked_beside_the_sentences_around_its_evidence_more_often(
    tmp_path: Path, tiny_tokenizer: "PreTrainedTokenizerFast"
) -> None:
    """The sentence behind the evidence shares no word with the claim, so that likeness alone chooses it last."""
    row = {
        "id": "framed",
        "domain": "news",
        "text": "The bridge fell in 1998. Nobody believes it. " + "The bridge is old and long. " * 60,
    }
    said = {"text": "The bridge fell in 1998.", "label": "contradiction", "evidence": [[0, 24]]}
    beside = {}
    for kind in ("frame", "negation"):
        file = tmp_path / f"{kind}.jsonl"
        file.write_text(json.dumps({**row, "claims": [{**said, "kind": kind}]}), encoding="utf-8")
        (text,) = load_texts(file, tiny_tokenizer)
        windows = Windows(random.Random(3), tiny_tokenizer)
        windows.load([text])
        nearest, behind = text.sentences[0], text.sentences[1]
        premises = [pair.premise for pair in islice(windows.pairs(), 400) if pair.kind == kind]
        beside[kind] = sum(premise[: len(nearest + behind)] == nearest + behind for premise in premises)
    assert beside["frame"] > 1.2 * beside["negation"]
