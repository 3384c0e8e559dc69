"""SCALE: the maximum over chunks and the search tree, against slow computations that follow the paper's text."""

import itertools
import math
import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail.errors import InputError
from groundrail.papers.scale.scorer import PaperScaleScorer
from groundrail.testing import FakeEntailment

CLAIM = "one claim"


def share(premise: str, claim: str) -> float:
    """The share of a claim's words that the premise has: a judge whose right citation is known."""
    said, there = set(re.findall(r"\w+", claim.lower())), set(re.findall(r"\w+", premise.lower()))
    return len(said & there) / len(said)


def overlap(judge: Callable[[str, str], float] = share, max_tokens: int = 10_000) -> FakeEntailment:
    return FakeEntailment(judge, max_tokens, threshold=0.8)


def numbered(count: int, words: int = 6) -> list[str]:
    """Sentences that differ, `words` words each."""
    return [" ".join([f"Word{n}", *(f"w{n}x{place}" for place in range(words - 1))]) + "." for n in range(count)]


@given(st.integers(1, 90), st.integers(1, 30), st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.9]), st.integers(0, 99))
def test_the_value_is_the_maximum_over_all_windows(hashed_yes_no, count, size, overlap, seed) -> None:
    """Windows of `size` words, `size * (1 - overlap)` apart, until one reaches the end; the last one counts."""
    model = hashed_yes_no(seed)
    words = [f"w{index}" for index in range(count)]
    stride = max(1, int(size * (1 - overlap)))
    windows = [" ".join(words[begin : begin + size]) for begin in range(0, count, stride)]
    windows = windows[: next(index for index, window in enumerate(windows) if window.endswith(words[-1])) + 1]
    expected = [model.entailment([(window, CLAIM)])[0] for window in windows]
    scorer = PaperScaleScorer(model, chunk_tokens=size, overlap=overlap, search=None)
    (found,) = scorer.score([CLAIM], " ".join(words))
    assert found.value == max(expected)
    assert list(dict.fromkeys(premise for premise, _ in model.asked[-1])) == list(dict.fromkeys(windows))


@given(st.integers(1, 40), st.integers(2, 7), st.integers(0, 99), st.booleans())
def test_the_tree_goes_to_the_best_child_until_one_leaf_is_left(hashed_yes_no, count, branches, seed, lines) -> None:
    """A leaf is a sentence, or an utterance of several sentences."""
    model, leaves, between = hashed_yes_no(seed), numbered(count), "\n" if lines else " "
    if lines:
        leaves = [f"Bob: {first} {second}" for first, second in itertools.pairwise(numbered(count + 1, words=3))]
    here, score = leaves, None
    while len(here) > 1 or score is None:
        width = max(1, len(here) // branches)
        runs = [here[start : start + width] for start in range(0, len(here), width)]
        score, here = max(((model.entailment([(between.join(r), CLAIM)])[0], r) for r in runs), key=lambda f: f[0])
    scorer = PaperScaleScorer(model, branches=branches, leaves="lines" if lines else "sentences")
    (found,) = scorer.score([CLAIM], between.join(leaves))
    assert [(citation.text, citation.score) for citation in found.citations] == [(here[0], score)]


@given(st.integers(2, 40), st.integers(2, 5), st.integers(0, 99))
def test_the_search_from_the_whole_document_halves_all_of_it(hashed_yes_no, count, branches, seed) -> None:
    """Section 3.2, straight down: a part is scored as SCALE scores any text, by its best piece that fits a chunk."""
    model, sentences, size = hashed_yes_no(seed), numbered(count), 30

    def pieces(run):
        if len(" ".join(run).split()) <= size:
            return [run]
        width = max(1, len(run) // branches)
        return [piece for start in range(0, len(run), width) for piece in pieces(run[start : start + width])]

    def best(run):
        return max(model.entailment([(" ".join(piece), CLAIM)])[0] for piece in pieces(run))

    here = sentences
    while len(here) > 1:
        width = max(1, len(here) // branches)
        here = max((here[start : start + width] for start in range(0, len(here), width)), key=best)
    scorer = PaperScaleScorer(model, chunk_tokens=size, branches=branches)
    (found,) = scorer.score([CLAIM], " ".join(sentences))
    assert [citation.text for citation in found.citations] == here
    assert found.value == PaperScaleScorer(model, chunk_tokens=size).score([CLAIM], " ".join(sentences))[0].value


def test_without_a_search_there_is_a_value_and_no_citation() -> None:
    model = overlap()
    (found,) = PaperScaleScorer(model, search=None).score(["Word3 w3x0"], " ".join(numbered(9)))
    assert (found.value, found.citations) == (1.0, ())


def test_all_claims_go_down_together_one_call_a_level(hashed_yes_no) -> None:
    model = hashed_yes_no(1)
    source = " ".join(numbered(16))
    claims = [f"claim {index}" for index in range(7)]
    together = PaperScaleScorer(model).score(claims, source)
    assert len(model.asked) == 1 + 4
    assert together == [PaperScaleScorer(model).score([claim], source)[0] for claim in claims]


def test_a_sentence_longer_than_the_model_is_cited_in_part() -> None:
    text = "Short one. " + " ".join(f"word{index}" for index in range(500)) + " and the cat sat there " + "more " * 300
    model = overlap(max_tokens=40)
    found = PaperScaleScorer(model).score(["the cat sat there"], text)[0]
    assert all(len(model.offsets(premise)) <= 36 for call in model.calls for premise, _ in call)
    assert found.value == 1.0
    citation = found.citations[0]
    assert text[citation.start : citation.end] == citation.text
    assert len(citation.text.split()) <= 36
    assert "the cat" in citation.text or "sat there" in citation.text


def test_a_chunk_never_crosses_two_documents() -> None:
    model = overlap()
    halves = ["Keys were lost", "in march at noon."]
    assert PaperScaleScorer(model).score(["keys were lost in march"], halves)[0].value == 3 / 5
    assert PaperScaleScorer(model).score(["keys were lost in march"], " ".join(halves))[0].value == 1.0


def test_nan_concerns_only_its_own_claim() -> None:
    def broken_once(premise: str, claim: str) -> float:
        return math.nan if "w3x1" in premise and claim == "keys were lost" else share(premise, claim)

    claims, source = ["keys were lost", "were keys lost"], " ".join([*numbered(30), "Keys were lost."])
    broken, fine = PaperScaleScorer(overlap(broken_once), chunk_tokens=30).score(claims, source)
    assert math.isnan(broken.value)
    assert (broken.citations, fine.value, fine.citations[0].text) == ((), 1.0, "Keys were lost.")


def test_nan_within_the_tree_is_passed_by() -> None:
    """NaN for what the tree asks, a number for the chunk as a whole."""
    model = overlap(lambda premise, claim: share(premise, claim) if len(premise) > 400 else math.nan)
    (found,) = PaperScaleScorer(model).score(["keys were lost"], " ".join([*numbered(13), "Keys were lost."]))
    assert (found.value, found.citations) == (1.0, ())


@pytest.mark.parametrize(
    ("name", "value"),
    [("search", "tree"), ("chunk_tokens", 0), ("overlap", 1.0), ("overlap", -0.1), ("branches", 1), ("leaves", "words")],
)
def test_settings_out_of_range_are_errors(name, value) -> None:
    with pytest.raises(InputError, match="'sentences' or in 'lines'" if name == "leaves" else name):
        PaperScaleScorer(overlap(), **{name: value})


def test_a_claim_takes_its_room_from_the_chunk_and_never_from_itself(hashed_yes_no) -> None:
    model = hashed_yes_no(0, max_tokens=300)
    source = " ".join(numbered(200))
    short, long = "a claim", "a claim of many words " * 40
    PaperScaleScorer(model).score([short, long], source)
    lengths = {short: 0, long: 0}
    for premise, claim in (pair for pairs in model.asked for pair in pairs):
        lengths[claim] = max(lengths[claim], len(premise.split()))
    assert lengths[short] == 298
    assert 90 < lengths[long] <= 100
    assert {claim for pairs in model.asked for _, claim in pairs} == {short, long}


def test_a_source_of_thousands_of_sentences() -> None:
    sentences = numbered(4000, words=7)
    claims = [sentences[1234], sentences[-1]]
    found = PaperScaleScorer(overlap(), chunk_tokens=400).score(claims, "\n".join(sentences))
    assert [score.citations[0].text for score in found] == claims


def test_threshold_is_the_models(hashed_yes_no) -> None:
    assert PaperScaleScorer(overlap()).metadata.threshold == 0.8
    assert PaperScaleScorer(hashed_yes_no(0)).metadata.threshold == 0.5


@pytest.mark.parametrize("kind", ["nli", "t5"])
def test_real_architectures_give_exact_offsets(kind, tiny_nli_folder, tiny_t5_folder) -> None:
    scorer = PaperScaleScorer(str(tiny_nli_folder if kind == "nli" else tiny_t5_folder))
    draw = random.Random(2)
    words = "rent is due cats are not allowed keys were lost in march 45 euros"
    text = "\r\n".join("The " + " ".join(draw.choices(words.split(), k=9)) + "." for _ in range(120))
    claims = ["Cats are not allowed.", "rent (45 euros) is due"]
    for claim, score in zip(claims, scorer.score(claims, text), strict=True):
        assert 0 < score.value < 1
        citation = score.citations[0]
        assert text[citation.start : citation.end] == citation.text
        assert re.fullmatch(r"The [^.]*\.", citation.text)
        assert citation.score == pytest.approx(scorer.entailment.entailment([(citation.text, claim)])[0], abs=1e-6)


def test_a_leaf_of_a_dialogue_is_an_utterance() -> None:
    dialogue = "Anna: May I keep pets? I have two.\n\nBob: Sure. Cats are not allowed.\nAnna: I see. Thank you."
    claim = "Bob says that cats are not allowed."
    (found,) = PaperScaleScorer(overlap(), leaves="lines").score([claim], dialogue)
    assert [citation.text for citation in found.citations] == ["Bob: Sure. Cats are not allowed."]
    (found,) = PaperScaleScorer(overlap()).score([claim], dialogue)
    assert [citation.text for citation in found.citations] == ["Cats are not allowed."]
