"""Grounding gain as a scorer: equal to its definition, blind to nothing in the source."""

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
from tests.decoding.conftest import CONTEXT, full_pass, letters
from transformers import PreTrainedModel

from groundrail.errors import ClaimTooLongError, InputError, ModelError
from groundrail.evaluation.units import in_units
from groundrail.papers.ablation import SEPARATOR, AblationExample, factual_ablation
from groundrail.papers.gain import GainScorer, chunks
from groundrail.types import Document, Source

SOURCE = "Ada left in 1843. Bob came."
CLAIMS = ["Bob came.", "Ada left.", "no"]


def slow_gain(model: PreTrainedModel, claim: str, source: str) -> float:
    def ids(text: str) -> list[int]:
        return letters()(text)["input_ids"]

    tokens = ids(claim)
    gains = []
    for place, token in enumerate(tokens):
        beside, alone = (full_pass(model, [2, *ids(text + "\n\n")], tokens[:place]) for text in (source, ""))
        gains.append(float(beside[token] - alone[token]))
    return sum(gains) / len(gains)


def letters_of(text: str) -> list[tuple[int, int]]:
    """The places of all tokens, which are letters."""
    return [(place, place + 1) for place in range(len(text))]


def test_scores_equal_the_definition(decoder: PreTrainedModel) -> None:
    scores = GainScorer(decoder, letters()).score(CLAIMS, SOURCE)
    for claim, score in zip(CLAIMS, scores, strict=True):
        assert score.value == pytest.approx(slow_gain(decoder, claim, SOURCE), abs=1e-4)
        assert score.citations[0].text == SOURCE


def test_the_sum_is_the_mean_times_the_tokens(decoder: PreTrainedModel) -> None:
    for claim, score in zip(CLAIMS, GainScorer(decoder, letters(), reduce="sum").score(CLAIMS, SOURCE), strict=True):
        expected = slow_gain(decoder, claim, SOURCE) * len(letters()(claim)["input_ids"])
        assert score.value == pytest.approx(expected, abs=1e-3)
    unknown: Any = "max"
    with pytest.raises(InputError, match="'mean' or 'sum'"):
        GainScorer(decoder, letters(), reduce=unknown)


def test_the_best_chunk_counts_and_is_cited(decoder: PreTrainedModel) -> None:
    documents = [Document(text="Ada was\nnot here. It rained. ", id="a"), Document(text="Bob left. So.", id="b")]
    scorer = GainScorer(decoder, letters(), chunk_tokens=14)
    for claim, score in zip(CLAIMS, scorer.score(CLAIMS, documents), strict=True):
        citation = score.citations[0]
        document = {document.id: document for document in documents}[citation.document_id]
        assert document.text[citation.start : citation.end] == citation.text
        read = [d.text[start:end] for d in documents for start, end in chunks(d, letters_of(d.text), 14)]
        assert score.value == pytest.approx(max(slow_gain(decoder, claim, chunk) for chunk in read), abs=1e-4)


@pytest.mark.parametrize("size", [1, 5, 13, 40, None])
def test_chunks_hold_every_word_within_their_size(size: int | None) -> None:
    text = "One two. Three four five six.  Seven eight nine ten eleven twelve.\nThirteen. " * 3
    spans = list(chunks(Document(text=text), letters_of(text), size))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())
    assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(spans))
    if size is not None:
        assert max(end - start for start, end in spans) <= size


def test_a_source_longer_than_the_context_is_read_whole(models: dict[str, PreTrainedModel]) -> None:
    """Only the last sentence differs; the first hundreds of characters do not hide it."""
    start = "It rained a lot that day. " * 20
    scorer = GainScorer(models["llama"], letters())
    one, other = (scorer.score(["Bob came."], start + end)[0].value for end in ("Bob came.", "zzzzzzz."))
    assert len(start) > 3 * CONTEXT
    assert one != other


def test_nothing_to_score_is_nan(models: dict[str, PreTrainedModel]) -> None:
    scorer = GainScorer(models["llama"], letters())
    assert scorer.score([], SOURCE) == []
    blank, real = scorer.score(["  ", "a"], SOURCE)
    assert math.isnan(blank.value)
    assert math.isfinite(real.value)
    sources: tuple[Source, ...] = ("", " \n ", [])
    for source in sources:
        assert math.isnan(scorer.score(["a"], source)[0].value)


def test_bad_input_is_an_error(models: dict[str, PreTrainedModel]) -> None:
    with pytest.raises(InputError, match="tokenizer"):
        GainScorer(models["llama"])
    with pytest.raises(ModelError, match="encoder"):
        GainScorer(models["t5"], letters())
    with pytest.raises(InputError, match="chunk_tokens is 0"):
        GainScorer(models["llama"], letters(), chunk_tokens=0)
    with pytest.raises(ClaimTooLongError, match=f"{CONTEXT} tokens .* {CONTEXT}"):
        GainScorer(models["llama"], letters()).score(["a" * CONTEXT], SOURCE)


def test_a_claim_keeps_the_blank_that_it_begins_with(decoder: PreTrainedModel) -> None:
    """So that the difference between two sources is factual ablation's (West et al., equation 2)."""
    example = AblationExample("He won", " seven", "a seven b", "a two b")
    scorer = in_units(GainScorer(decoder, letters(), reduce="sum", separator=""), "whole")
    own, other = (
        scorer.score([example.target], f"{source}{SEPARATOR}{example.context}")[0].value
        for source in (example.source, example.other_source)
    )
    (expected,) = factual_ablation(decoder, letters(), [example]).log_ratios
    assert own - other == pytest.approx(expected, abs=1e-3)
    (stripped,) = factual_ablation(decoder, letters(), [replace(example, target="seven")]).log_ratios
    assert abs(stripped - expected) > 0.01


def test_sentences_lose_the_blanks_around_them(decoder: PreTrainedModel) -> None:
    scorer = in_units(GainScorer(decoder, letters()), "sentences")
    spaced, plain = scorer.score(["  Bob came.  ", "Bob came."], SOURCE)
    assert spaced == plain
