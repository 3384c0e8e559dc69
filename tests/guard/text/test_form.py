"""What can be read in two ways is judged only where the source writes the same; the rest reaches the judge as seen."""

from collections.abc import Sequence

import pytest
from tests.growth import grows_with
from tests.tables import tabled

from groundrail import Guard, Verdict
from groundrail.entailment.base import FloatArray, Pair
from groundrail.scoring.nearest import NearestScorer
from groundrail.testing import FakeEntailment
from groundrail.text.form import links, unreadable

SOURCE = "The rent is 950 euros a month. Cash is accepted."


class Noting(FakeEntailment):
    """Notes the pairs that it is asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.claims: list[str] = []

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        self.claims += [claim for _, claim in pairs]
        return super().entailment(pairs)


def judged(sentence: str, source: str = SOURCE) -> set[str]:
    """What a judge is asked about a sentence; a refused one has a reason."""
    judge = Noting()
    (checked,) = Guard(scorer=NearestScorer(judge, rivals=0, invented=0)).check(sentence, source).sentences
    if not judge.claims:
        assert checked.verdict is Verdict.UNSUPPORTED
        assert checked.reason
    return set(judge.claims)


@tabled("sentence")
def test_a_judge_is_not_asked_about_what_readers_read_differently(sentence: str) -> None:
    assert judged(sentence) == set()


@tabled("sentence")
def test_what_reads_in_two_ways_is_judged_only_where_the_source_writes_the_same(sentence) -> None:
    assert judged(sentence) == set()
    if not {"_", "`"} & set(sentence):
        assert judged(sentence, sentence)


@tabled("sentence")
def test_plain_prose_is_judged_as_it_is(sentence: str) -> None:
    assert judged(sentence) == {sentence.replace("*", "")}
    assert not list(unreadable(sentence))
    assert not links(sentence)


@pytest.mark.parametrize("name", ["Node.js", "file.txt", "README.md", "os.path.join", "Booking.com", "AB.TXT"])
def test_names_with_dots_are_judged_where_the_source_holds_them(name: str) -> None:
    assert judged(f"Cash is paid in {name.lower()} now.", f"Cash is paid with `{name}`.")
    assert not judged(f"Cash is paid in {name.lower()} now.")


@pytest.mark.parametrize(("marks", "documents"), [("[1]", 1), ("[^1]", 1), ("[2]", 2), ("[1][12]", 12)])
def test_marks_of_documents_that_there_are_say_nothing(marks: str, documents: int) -> None:
    judge = Noting()
    guard = Guard(scorer=NearestScorer(judge))
    sentence = f"Cash is accepted {marks}."
    texts = [f"{SOURCE} {number}" for number in range(documents)]
    guard.check(sentence, texts)
    assert set(judge.claims) == {"Cash is accepted."}
    judge.claims.clear()
    guard.check(sentence, texts[1:])
    assert not judge.claims


def test_words_of_another_script_are_judged_where_they_are_most() -> None:
    sentence = "他喜欢 Python 和猫，也喜欢在家里做饭看书。"
    assert judged(sentence) == {sentence.replace("，", ",")}
    assert judged("Арендатор платит Tesla четыре раза в год.")


@pytest.mark.parametrize("piece", ["{#", "||a", "[s]", "-a ", "a1a", "1,", "/*", "[[", "\\", "a\u0305", "a.a", "1.1.1."])
def test_time_grows_with_the_text(piece: str) -> None:
    assert grows_with(2000, lambda times: (list(unreadable(piece * times)), links(piece * times)))
