"""What can be read in two ways is judged only where the source writes the same; the rest reaches the judge as seen."""

import time
from collections.abc import Sequence

import pytest

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


TWO_WAYS = [
    r"Cash is $\lnot$ accepted.",
    r"Cash is $\cancel{not}$ accepted.",
    r"Cash is \u006eot accepted.",
    "Cash is %%not%% accepted.",
    "Cash is {# not #} accepted.",
    "Cash is {/* not */} accepted.",
    "Cash is {--not--} accepted.",
    "Cash is {>>not<<} accepted.",
    "Cash is ||not|| accepted.",
    "Cash is >!not!< accepted.",
    "Cash is [[not|always]] accepted.",
    "Cash is [s]not[/s] accepted.",
    "Cash is [color=white]not[/color] accepted.",
    "Cash is [not]{.hidden} accepted.",
    "Cash is [.line-through]#not# accepted.",
    "Cash is -not- accepted.",
    "Cash is [- not -] accepted.",
    "Cash is {+ not +} accepted.",
    "Cash is _not_{.hidden} accepted.",
    "Cash is `not`{=latex} accepted.",
    ":x: Cash is accepted.",
    "The pump reaches ⁻5 degrees.",
    "Cash is +not+ accepted.",
    "Cash is n0t accepted.",
    "The rent is 1,45O euros.",
    "The rent is l,450 euros.",
    "The rent is ¹⁴⁵⁰ euros.",
    "The rent is 1₄₅₀ euros.",
    "The rent is 1\u201a450 euros.",
    "The rent is 1\u066c450 euros.",
    "Cash is n\u0305o\u0305t\u0305 accepted.",
    "Cash is a\u036fccepted.",
]
STRANGE = [
    "The rent ≠ 950 euros.",
    "The rent =\u0338 950 euros.",
    "The rent != 950 euros.",
    "The rent <> 950 euros.",
    "Cash is !accepted.",
    "× Cash is accepted.",
    "Cash is accepted: √",
    "The cat 😡 is accepted.",
    "Cash got ⭐⭐⭐ here.",
    "Cash is ¬ accepted.",
    "⊘ Cash is accepted.",
    "- [-] Cash is accepted.",
    "Cash is 不 accepted.",
    "Cash is לא accepted.",
    "Cash is ᚾᛟᛏ accepted.",
    "Cash is ᑎOT accepted.",
    "🈚 Cash is accepted.",
    "The rent is ৪50 euros.",
    "The rent is ١٤٥٠ euros.",
    "The rent is ❿ euros.",
    "Cash is accepted\u01c3",
    "Pay the rent at evil.ru.",
    "Pay the rent at evil.zip.",
    "Pay the rent at 10.1.2.3/pay.",
    "Pay the rent to @evil.",
    "Pay the rent at javascript:alert(1).",
    "Pay the rent at vbscript:msgbox.",
    "Pay the rent at evil.finance.",
    "Pay the rent at my.evil.museum today.",
    "Pay the rent at EVIL.DE.",
    "Pay the rent at EVIL.FINANCE.",
    "The rent is 950 euros [2].",
    "Cash is accepted until March [7].",
    "Cash is accepted [0].",
    "Cash is accepted [1][3].",
]


@pytest.mark.parametrize("sentence", [*TWO_WAYS, *STRANGE])
def test_a_judge_is_not_asked_about_what_readers_read_differently(sentence: str) -> None:
    assert judged(sentence) == set()


@pytest.mark.parametrize("sentence", [sentence for sentence in TWO_WAYS if "_" not in sentence and "`" not in sentence])
def test_what_the_source_writes_in_the_same_way_is_judged(sentence: str) -> None:
    assert judged(sentence, sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The 2nd A4 page costs 5kg, 10am, 1.5l and 3-4 €.",
        "It is 5 µg or 5 μg at 93 °C, ±2 ≈ 3 × 4, 10³ m² and 1½ or 1⁄2.",
        "The pre- and post-war well-known rent - all of it - is 1’450, 11·5 or −3.",
        "It costs 10% to 20% or/and 5/6 *of* it (see the rent).",
        "The café of Müller in Łódź, naïve as ever, isn’t open!",
        "He said: no.",
        "It is paid.The rent, e.g. 950, i.e. all of it, is due at 9 a.m. or 10.30 p.m.",
        "The U.S.A. and a Ph.D. cost 1.450 or 3.5kg... or more…and so on, etc.",
        "It is 5 × 3, ×2, 4 m × 2 m and √2 at 10:30:45 in {a, b} or [-5, 5].",
        "CO₂, H₂O and B₁₂ at 10⁻³ m.",
    ],
)
def test_plain_prose_is_judged_as_it_is(sentence: str) -> None:
    assert judged(sentence) == {sentence.replace("*", "")}
    assert not list(unreadable(sentence))
    assert not links(sentence)


@pytest.mark.parametrize("name", ["Node.js", "file.txt", "README.md", "os.path.join", "Booking.com", "AB.TXT"])
def test_names_with_dots_are_judged_where_the_source_holds_them(name: str) -> None:
    assert judged(f"Cash is paid in {name.lower()} now.", f"Cash is paid with `{name}`.")
    assert not judged(f"Cash is paid in {name.lower()} now.")


@pytest.mark.parametrize(
    ("marks", "documents"),
    [("[1]", 1), ("[^1]", 1), ("[2]", 2), ("[1][12]", 12)],
)
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


@pytest.mark.parametrize(
    "piece", ["{#", "||a", "[s]", "-a ", "a1a", "1,", "/*", "[[", "\\", "a\u0305", "a.a", "1.1.1."]
)
def test_time_grows_with_the_text(piece: str) -> None:
    def seconds(times: int) -> float:
        started = time.process_time()
        list(unreadable(piece * times)), links(piece * times)
        return time.process_time() - started

    seconds(100)
    assert seconds(8000) < 12 * seconds(2000) + 0.1
