"""The nearest sentences decide, one by one and together; of those that say it, the most similar is cited."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from tests.hashed import drawn
from tests.tiny import cut, written

from groundrail import InputError
from groundrail.scoring.index import WordIndex
from groundrail.scoring.nearest import NearestScorer
from groundrail.scoring.weighing import between
from groundrail.testing import FakeEntailment

CLAIM = "The rent is due."


def logit(p: float) -> float:
    return math.log(p / (1 - p))


@pytest.mark.parametrize("seed", range(10))
def test_without_a_window_the_score_is_the_maximum_over_sentences(seed: int) -> None:
    text = written(seed, 6)
    judge = FakeEntailment(lambda premise, claim: drawn(premise, claim, seed))
    alone = {part: judge.judge(part, CLAIM) for part in cut(text)}
    (score,) = NearestScorer(judge, k=6, window=0).score([CLAIM], text)
    assert score.value == max(alone.values())


@pytest.mark.parametrize("seed", range(10))
def test_the_citation_has_the_highest_log_odds_and_likeness_together(seed: int) -> None:
    text = written(seed, 6)
    judge = FakeEntailment(lambda premise, claim: drawn(premise, claim, seed))
    parts = cut(text)
    likeness = WordIndex(parts).likeness(CLAIM)
    both = [
        logit(judge.judge(part, CLAIM)) + 6 * like / (likeness.max() or 1)
        for part, like in zip(parts, likeness, strict=True)
    ]
    (score,) = NearestScorer(judge, k=6, window=0).score([CLAIM], text)
    (citation,) = score.citations
    assert citation.text == parts[int(np.argmax(both))]
    assert citation.score == judge.judge(citation.text, CLAIM)
    assert text[citation.start : citation.end] == citation.text


def test_where_the_judge_is_sure_of_one_sentence_alone_it_is_cited() -> None:
    judge = FakeEntailment(lambda premise, claim: 1.0 if "Anna" in premise else 0.0)
    (score,) = NearestScorer(judge, window=0).score([CLAIM], "The rent is due. Anna pays the rent today.")
    assert score.citations[0].text == "Anna pays the rent today."


@pytest.mark.parametrize("seed", range(10))
def test_with_a_window_the_score_is_the_mean_in_log_odds_of_the_best_sentence_and_of_all_together(seed: int) -> None:
    text = written(seed, 6)
    judge = FakeEntailment(lambda premise, claim: drawn(premise, claim, seed))
    (apart,) = NearestScorer(judge, k=6, window=0).score([CLAIM], text)
    (score,) = NearestScorer(judge, k=6, window=100).score([CLAIM], text)
    assert logit(score.value) == pytest.approx(0.25 * logit(apart.value) + 0.75 * logit(judge.judge(text, CLAIM)))
    assert [c.start for c in score.citations] == [c.start for c in apart.citations]


@pytest.mark.parametrize("seed", range(5))
def test_the_window_holds_the_nearest_sentences_that_fit_in_the_order_of_the_source(seed: int) -> None:
    text = written(seed, 40)
    parts = cut(text)
    judge = FakeEntailment()
    NearestScorer(judge, k=1, window=30).score([CLAIM], text)
    nearest, window = sorted((premise for premise, _ in judge.calls[0]), key=len)
    held = [part for part in parts if part in window]
    assert " ".join(held) == window
    assert nearest in held
    assert 30 - max(len(judge.offsets(part)) for part in parts) < len(judge.offsets(window)) <= 30


def test_the_window_holds_what_stands_beside_the_nearest_sooner_than_what_shares_nothing() -> None:
    apart = "Birds sing. Fish swim. Bees hum. "
    text = apart + "Mr Novak keeps the keys. He lives on the third floor. " + apart
    judge = FakeEntailment()
    NearestScorer(judge, k=1, window=12).score(["The keys are with Mr Novak."], text)
    assert max((premise for premise, _ in judge.calls[0]), key=len) == (
        "Mr Novak keeps the keys. He lives on the third floor."
    )


def test_documents_are_scored_apart_and_the_highest_counts() -> None:
    documents = ["The rent is 6 euros. Dogs run.", "The rent is 5 euros. Cats sleep."]
    judge = FakeEntailment(lambda premise, claim: 0.9 if "5 euros" in premise else 0.1)
    (score,) = NearestScorer(judge).score(["The rent is 5 euros."], documents)
    assert score.value == pytest.approx(0.9)
    assert [citation.document_id for citation in score.citations] == ["source-2"]
    assert all(("Dogs" in premise) + ("5 euros" in premise) < 2 for premise, _ in judge.calls[0])


def test_a_sentence_that_is_the_whole_window_is_asked_about_once() -> None:
    judge = FakeEntailment(lambda premise, claim: 0.7)
    (score,) = NearestScorer(judge).score([CLAIM], "The rent is 5 euros.")
    assert score.value == pytest.approx(0.7)
    assert len(judge.calls[0]) == 1


@pytest.mark.parametrize("first", [0.0, 1e-6, 0.3, 1.0])
def test_the_mean_of_a_probability_with_itself_and_of_certain_opposites(first: float) -> None:
    assert between(first, first) == pytest.approx(first)
    assert between(0.0, 1.0) == between(1.0, 0.0) == 0.5


def test_model_calls_do_not_grow_with_the_source() -> None:
    for size in (50, 2000):
        judge = FakeEntailment()
        NearestScorer(judge, k=4).score([CLAIM, "Keys are kept."], written(1, size))
        assert len(judge.calls) == 1
        assert len(judge.calls[0]) <= 2 * (4 + 1)


def test_the_window_holds_the_nearest_sentence_however_long_it_is() -> None:
    long = "The rent is due " + "and paid " * 20 + "in May."
    judge = FakeEntailment()
    NearestScorer(judge, k=1, window=10).score([CLAIM], f"Cats sleep. {long} Dogs run.")
    assert [premise for premise, _ in judge.calls[0]] == [long]


def test_a_claim_that_shares_no_word_is_the_models_to_judge() -> None:
    judge = FakeEntailment(lambda premise, claim: 0.25)
    (score,) = NearestScorer(judge, k=2, window=0).score(["Xyzzy!"], "Cats sleep. Dogs run. Pets are fine.")
    assert score.value == 0.25
    assert [premise.strip() for premise, _ in judge.calls[0]] == ["Cats sleep.", "Dogs run."]


def test_a_sentence_longer_than_the_model_is_cut_and_none_of_it_left_out() -> None:
    long = " ".join(f"rent rent{number}" for number in range(30)) + " is due."
    judge = FakeEntailment(max_tokens=20)
    NearestScorer(judge, k=20).score([CLAIM], long)
    read = [premise for premise, _ in judge.calls[0] if "rent" in premise or "due" in premise]
    assert sum(len(premise.split()) for premise in read) >= len(long.split())
    assert all(len(judge.offsets(premise)) + 4 <= 20 for premise in read)


RENT = "The rent is 1,450 euros a month, and 120 euros for heating."


def saying(amount: str, known: float, other: float) -> FakeEntailment:
    return FakeEntailment(lambda premise, claim: known if amount in claim else other)


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0, 1e6])
@pytest.mark.parametrize("claimed", [0.001, 0.4, 0.9])
@pytest.mark.parametrize("rival", [0.0, 0.3, 0.7, 1.0])
def test_a_claim_loses_what_the_likeliest_rival_has_more(weight: float, claimed: float, rival: float) -> None:
    judge = saying("1,450", rival, claimed)
    (score,) = NearestScorer(judge, window=0, rivals=weight, invented=0).score(["The rent is 1,650 euros a month."], RENT)
    lost = weight * max(0.0, logit(min(max(rival, 1e-6), 1 - 1e-6)) - logit(claimed))
    assert score.value == pytest.approx(1 / (1 + math.exp(min(700, lost - logit(claimed)))), abs=1e-9)
    assert (score.conflict is not None) == (rival > max(0.5, claimed) and weight > 0)


def test_a_rival_is_asked_of_the_sentence_that_says_the_claim_best_and_four_are_enough() -> None:
    judge = FakeEntailment(lambda premise, claim: 0.8 if "Anna" in premise else 0.2)
    text = "Anna pays 2 euros, 3 euros, 4 euros, 5 euros, 6 euros or 7 euros. Ben pays 12 euros."
    NearestScorer(judge).score(["Anna pays 9 euros.", "Anna pays."], text)
    first, second = judge.calls
    assert len(first) == 6
    assert second == [
        ("Anna pays 2 euros, 3 euros, 4 euros, 5 euros, 6 euros or 7 euros.", f"Anna pays {amount} euros.")
        for amount in (2, 3, 4, 5)
    ]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The rent is 1,450 euros and 120 euros for heating.", RENT),
        ("The rent is due.", RENT),
        ("Die Miete beträgt 1.650 Euro im Monat und ist am dritten Mai fällig.", "Die Miete beträgt 1.450 Euro."),
        ("The rent is 1450 € a month.", f"{RENT} It was 900 euros before."),  # the citation states the figure
    ],
)
def test_without_a_rival_nothing_is_asked_again(claim: str, text: str) -> None:
    judge = FakeEntailment(lambda premise, claim: 0.5)
    NearestScorer(judge).score([claim], text)
    assert len(judge.calls) == 1
    NearestScorer(judge, rivals=0, invented=0).score(["The rent is 1,650 euros."], RENT)
    assert len(judge.calls) == 2


def test_a_rival_that_does_not_fit_beside_its_sentence_is_left_out() -> None:
    text = "It costs twenty-three thousand four hundred dollars."
    claim = "It costs $9."
    rival = "It costs twenty-three thousand four hundred dollars."
    needed = len(FakeEntailment().offsets(text + claim))
    for room, fits in ((needed, False), (needed + 20, True)):
        judge = FakeEntailment(lambda premise, claim: 0.5, max_tokens=room)
        NearestScorer(judge).score([claim], text)
        asked = [pair for call in judge.calls for pair in call]
        assert all(len(judge.offsets(premise + said)) <= room for premise, said in asked)
        assert (rival in [said for _, said in asked]) == fits


def test_the_sentence_that_says_the_rival_is_the_conflict() -> None:
    judge = FakeEntailment(lambda premise, claim: 0.9 if "1,450" in claim and "1,450" in premise else 0.7)
    text = f"Parking costs 60 euros. {RENT}"
    (score,) = NearestScorer(judge, rivals=1, invented=0).score(["The rent is 1,650 euros a month."], text)
    assert logit(score.value) == pytest.approx(2 * logit(0.7) - logit(0.9))
    assert score.conflict is not None
    assert (score.conflict.text, score.conflict.score) == (RENT, 0.9)


@pytest.mark.parametrize("charge", [0.0, 1.0, 6.0])
@pytest.mark.parametrize("rival", [0.2, 0.6, 0.95])
def test_an_invented_figure_costs_its_charge_where_a_rival_is_entailed(charge: float, rival: float) -> None:
    judge = FakeEntailment(lambda premise, claim: 0.9 if "1,650" in claim else rival)
    (score,) = NearestScorer(judge, window=0, rivals=0, invented=charge).score(["The rent is 1,650 euros a month."], RENT)
    assert logit(score.value) == pytest.approx(logit(0.9) - (charge if rival > 0.5 else 0))
    assert (score.conflict is not None) == (rival > 0.5 and charge > 0)


@pytest.mark.parametrize("rival", [0.2, 0.95])
def test_a_figure_of_another_cell_than_the_named_one_costs_the_charge(rival: float) -> None:
    text = "Branch,Headcount 2023,Headcount 2024\nPorto,212,301\nGhent,340,322\n"
    judge = FakeEntailment(lambda premise, claim: rival if "212" in claim and "212" in premise else 0.9)
    (score,) = NearestScorer(judge, k=1, rivals=0, invented=2.0).score(["In 2023 Porto had 301 employees."], text)
    assert logit(score.value) == pytest.approx(logit(0.9) - (2.0 if rival > 0.5 else 0))
    assert (score.conflict and score.conflict.text) == ("Porto,212,301" if rival > 0.5 else None)


@pytest.mark.parametrize(
    "claim",
    [
        "Three months cost 4,350 euros.",  # it follows from what is read
        "For 5 months the rent is 7,250 euros.",  # the claim poses the number of months
        "The rent is 900 euros a month.",  # another sentence states it
        "The rent is two thousand euros a month.",  # in words
    ],
)
def test_a_figure_with_a_ground_costs_nothing(claim: str) -> None:
    text = f"{RENT} {'It rains. ' * 20} Until 2019 they paid 900 euros."
    values = [
        NearestScorer(FakeEntailment(lambda premise, claim: 0.8), k=1, window=0, invented=charge)
        .score([claim], text)[0]
        .value
        for charge in (0.0, 5.0)
    ]
    assert values[0] == values[1]


def test_a_rival_of_an_invented_figure_is_asked_before_others() -> None:
    judge = FakeEntailment(lambda premise, claim: 0.7)
    text = "Anna pays 2 euros, 3 euros, 4 euros, 5 euros, 6 euros or 7 euros, and has 11 keys."
    NearestScorer(judge).score(["Anna pays nine euros, and has 57 keys."], text)
    assert judge.calls[1][0][1] == "Anna pays nine euros, and has 11 keys."


def test_a_blank_source_has_no_score_and_k_must_be_positive() -> None:
    (score,) = NearestScorer(FakeEntailment()).score([CLAIM], [" ", "\n"])
    assert math.isnan(score.value)
    assert score.citations == ()
    with pytest.raises(InputError, match="k is 0"):
        NearestScorer(FakeEntailment(), k=0)
    with pytest.raises(InputError, match="window is -1"):
        NearestScorer(FakeEntailment(), window=-1)
    for weight in (-1, math.nan, math.inf):
        with pytest.raises(InputError, match="rivals is"):
            NearestScorer(FakeEntailment(), rivals=weight)
        with pytest.raises(InputError, match="invented is"):
            NearestScorer(FakeEntailment(), invented=weight)


class Classes(FakeEntailment):
    """Says of a pair what a function gives: entailment, neutral, contradiction, in shares of their sum."""

    def __init__(self, row: Callable[[str, str], tuple[float, float, float]]) -> None:
        super().__init__()
        self._row = row

    def classify(self, pairs):
        rows = np.array([self._row(*pair) for pair in pairs])
        return rows / rows.sum(axis=1, keepdims=True)


def test_what_says_otherwise_is_told_from_what_says_nothing() -> None:
    def euros(premise: str, claim: str) -> tuple[float, float, float]:
        """Euros that differ contradict, words that are missing are not stated."""
        return float(f"{claim[12]} euros" in premise), 0.2, 0.7 * ("euros" in premise and claim[12] not in premise)

    text, scorer = "Pets are fine. The rent is 5 euros a month.", NearestScorer(Classes(euros))
    supported, contrary = scorer.score(["The rent is 5 euros.", "The rent is 6 euros."], text)
    (silent,) = scorer.score(["The rent is 7 euros."], "The rent is due.")
    assert supported.conflict is None
    assert silent.conflict is None
    assert contrary.conflict is not None
    assert contrary.conflict.text == "The rent is 5 euros a month."
    for rivals, told in ((0, None), (1, "The rent is 5 euros a month.")):  # no classes: a rival alone tells
        plain = NearestScorer(FakeEntailment(), rivals=rivals, invented=0)
        conflict = plain.score(["The rent is 6 euros."], text)[0].conflict
        assert (conflict and conflict.text) == told


def test_the_conflict_is_the_contradicting_sentence_that_is_least_silent() -> None:
    rows = {"starts": (0.3, 0.1, 0.6), "notice": (0.02, 0.2, 0.78), "pets": (0.0, 0.6, 0.4)}
    judge = Classes(lambda premise, claim: next(row for word, row in rows.items() if word in premise))
    text = "The lease starts in May. The lease needs a notice of a month. The lease forbids pets."
    (score,) = NearestScorer(judge).score(["The lease starts in June."], text)
    assert score.conflict is not None
    assert score.conflict.text == "The lease starts in May."


def test_there_is_no_conflict_where_a_sentence_says_it_and_its_own_probability_is_the_citation_s() -> None:
    """One sentence says it, another contradicts it, and both together are silent."""
    rows = {(True, False): (0.8, 0.15, 0.05), (False, True): (0.1, 0.35, 0.55), (True, True): (0.05, 0.9, 0.05)}
    judge = Classes(lambda premise, claim: rows["May" in premise, "June" in premise])
    text = "It starts in May. The other lease starts in June."
    (score,) = NearestScorer(judge).score(["The lease starts in May."], text)
    assert score.value < 0.5
    assert score.conflict is None
    assert [(citation.text, citation.score) for citation in score.citations] == [("It starts in May.", 0.8)]
