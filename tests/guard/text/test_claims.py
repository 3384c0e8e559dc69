"""What counts as a claim: known phrases alone do not, and nothing that could carry a fact hides as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import tabled

from groundrail import Guard, Verdict
from groundrail.errors import InputError, UncheckableError
from groundrail.testing import FakeEntailment
from groundrail.text.claims import Claim, NoClaim, Refused, claim_of, read_claim
from groundrail.text.english.phrases import depends_on_sentence, is_refusal, question_of
from groundrail.text.form import SourceText
from groundrail.types import Document


def _is_claim(text: str) -> bool:
    """Whether it is something to check, be it that it cannot be checked."""
    try:
        return claim_of(text) is not None
    except UncheckableError:
        return True


@tabled("text")
def test_known_phrases_claim_nothing(text) -> None:
    assert claim_of(text) is None


@tabled("text")
def test_what_could_carry_a_fact_is_a_claim(text) -> None:
    assert _is_claim(text)
    result = Guard(scorer="scale", judge=FakeEntailment(lambda premise, claim: 0.0)).check(text, "Pets are not allowed.")
    assert [s.verdict for s in result.sentences if s.verdict is not Verdict.NO_CLAIM]
    assert not any(character.isdigit() for character in result.text)


@tabled("text, claim")
def test_marks_go_and_values_stay(text, claim) -> None:
    assert claim_of(text) == claim


def test_a_number_is_a_list_mark_only_where_a_line_begins() -> None:
    assert claim_of("12. The rent is due.", "How many months? ") == "12. The rent is due."
    assert claim_of("2. The rent is due.", "1. Pets are allowed.\n") == "The rent is due."


def test_refusals() -> None:
    assert is_refusal("I'm sorry, I don't know.")
    assert not is_refusal("I don't know, but the rent is 900 euros.")
    assert not is_refusal("Hello!")


@pytest.mark.parametrize(
    "text", ["how can i help " * 400, "would you " + "help " * 3000, "yes" + " " * 50_000 + "x", "[1]" * 20_000]
)
def test_long_texts_are_read_once(text) -> None:
    assert _is_claim(text)  # by patterns that backtrack, this would take hours


@given(st.text(max_size=60))
def test_letters_are_never_passed_over_unless_they_are_known_phrases(text) -> None:
    if not _is_claim(f"zzz {text}"):
        raise AssertionError(f"an unknown word was passed over: {text!r}")


_QUESTION = "How long is the lease?"


@tabled("answer")
def test_a_bare_answer_is_checked_with_its_question_or_not_at_all(answer) -> None:
    with pytest.raises(UncheckableError, match="no question"):
        claim_of(answer)
    bare = answer.strip("*- ")
    assert claim_of(answer, "", f"Read the lease. {_QUESTION}") == f"{_QUESTION} {bare}"
    assert claim_of(answer, "How many are they? ", _QUESTION) == f"How many are they? {bare}"
    sure = Guard(scorer="scale", judge=FakeEntailment(lambda premise, claim: float(claim == f"{_QUESTION} {bare}")))
    assert sure.check(answer, "The lease has 12 months.").text == ""
    assert sure.check(answer, "The lease has 12 months.", _QUESTION).text == answer


@tabled("claim")
def test_a_statement_needs_no_question(claim) -> None:
    assert claim_of(claim) == claim == claim_of(claim, "", _QUESTION)


@pytest.mark.parametrize("name", ["Daniel Reyes.", "Brightwater Savings Bank.", "A second key"])
def test_a_name_is_checked_with_its_question_where_there_is_one(name) -> None:
    assert claim_of(name) == name
    assert claim_of(name, "", "Who is the landlord?") == f"Who is the landlord? {name}"


def test_a_yes_before_a_statement_is_checked_with_its_question_where_there_is_one() -> None:
    assert claim_of("Yes, pets are allowed.") == "Yes, pets are allowed."
    assert claim_of("Yes, pets are allowed.", "", "Are dogs allowed?") == "Are dogs allowed? Yes, pets are allowed."


@tabled("prompt, question")
def test_the_question_of_a_prompt(prompt, question) -> None:
    assert question_of(prompt) == question


def test_an_answer_is_judged_after_what_is_shown() -> None:
    question = "Is smoking allowed?"
    judge = FakeEntailment(lambda premise, claim: float(claim == f"{question} No."))
    result = Guard(scorer="scale", judge=judge).check(f"{question} No.", "Smoking is not allowed.", "May I keep a cat?")
    assert result.text == ""  # "No." alone would answer the prompt


@tabled("sentence, previous, claim")
def test_a_number_is_a_mark_only_where_it_counts_the_items_of_a_list(sentence, previous, claim) -> None:
    assert claim_of(sentence, previous, "How many guests may stay?") == claim


def test_a_list_whose_first_item_is_kept_back_is_a_list() -> None:
    judge = FakeEntailment(lambda premise, claim: float(claim in premise))
    result = Guard(scorer="scale", judge=judge).check(
        "1. Cats may stay.\n2. Guests may stay.\n", "Guests may stay. Cats may not."
    )
    assert result.text == "2. Guests may stay.\n"


@pytest.mark.parametrize("phrase", ["Short.", "Brief", "In short.", "Great.", "The summary.", "Welcome."])
def test_phrases_that_answer_a_question_are_judged_with_it(phrase) -> None:
    question = "Is the notice period long or short?"
    assert claim_of(phrase, "", question) == f"{question} {phrase}"
    assert claim_of(phrase) is None


@pytest.mark.parametrize("phrase", ["In short:", "Summary:", "Great!", "Summary\n", "The answer:", "Here is the answer."])
def test_what_only_leads_to_an_answer_claims_nothing(phrase) -> None:
    assert claim_of(phrase, "", "Is the notice period long or short?") is None


@pytest.mark.parametrize("sign", ["+", "-", "\u2212", "**+**", "++", "=", "- +"])
def test_a_sign_that_can_answer_is_judged_with_its_question(sign) -> None:
    question = "Is the result positive or negative?"
    seen = sign.strip("*\n")
    assert claim_of(sign, "", question) == f"{question} {seen}" == claim_of(sign, f"{question} ")
    assert sign == "\u2212" or claim_of(sign) is None


def test_a_footnote_mark_makes_no_answer_a_statement() -> None:
    assert claim_of("Yes [1].", "", _QUESTION) == f"{_QUESTION} Yes [1]."
    with pytest.raises(UncheckableError, match="no question"):
        claim_of("Yes [1].")


@pytest.mark.parametrize("rule", ["---", "- - -", "===", "| - | :-: |", "+---+---+", "", " \n", "]", "\u2022", "**"])
def test_rules_and_brackets_claim_nothing_after_a_question(rule) -> None:
    assert claim_of(rule, "", "Is the result positive or negative?") is None


_LEASE = SourceText([Document(text="Pets are allowed, see lease.example/pets. The caf\u00e9 is open.")])


@pytest.mark.parametrize(
    ("sentence", "previous", "read"),
    [
        ("- **Pets** are allowed [1].", "", Claim("Pets are allowed.")),
        ("Yes.", "Are pets allowed? ", Claim("Pets are allowed.")),
        ("See lease.example/pets.", "", Claim("See lease.example/pets.")),
        ("Thank you!", "", NoClaim()),
        ("See lease.example.", "", Refused("the source does not hold the link “lease.example”")),
        ("Pets are allowed [2].", "", Refused("the source does not hold the footnote mark [2]")),
        ("Pets are ⊘ allowed.", "", Refused("the symbol ⊘ cannot be read as words")),
        ("Yes.", "", Refused("it says something only as an answer, and there is no question to it")),
        ("是的。", "", Refused("it says something only as an answer, and there is no question to it")),
        ("宠物不允许。", "", Claim("宠物不允许。")),
        ("租金是每月1450欧元。", "", Claim("租金是每月1450欧元。")),
    ],
)
def test_a_sentence_is_a_claim_or_no_claim_or_refused_with_a_reason(sentence, previous, read) -> None:
    assert read_claim(sentence, previous, "", _LEASE) == read


def test_a_claim_function_of_your_own_replaces_the_reading_and_not_the_comparison_with_the_source() -> None:
    def second_half(sentence: str, previous: str, prompt: str) -> str | None:
        return sentence.partition(": ")[2] or None

    assert read_claim("No: Pets are allowed.", "", "", _LEASE, claim_of=second_half) == Claim("Pets are allowed.")
    assert read_claim("Pets are allowed.", "", "", _LEASE, claim_of=second_half) == NoClaim()
    refused = read_claim("Link: evil.example", "", "", _LEASE, claim_of=second_half)
    assert refused == Refused("the source does not hold the link “evil.example”")
    with pytest.raises(InputError, match="None, not int"):
        read_claim("Pets.", "", "", _LEASE, claim_of=lambda *_: 5)  # type: ignore[arg-type]


def test_a_blank_source_refuses_no_link() -> None:
    assert read_claim("See evil.example.", "", "", SourceText([Document(text=" ")])) == Claim("See evil.example.")


@pytest.mark.parametrize(
    "drawn",
    [
        "| _ | |_|", " _ ", "|_|", "  |", "| |", ".- -... -.-.", "·− −···", "*   *", "/\\", "|_ _|\n", "🎉", "😡",
        "✅", "$",
    ],
)  # fmt: skip
def test_signs_that_can_say_something_are_unreadable(drawn) -> None:
    assert read_claim(drawn, "", "", _LEASE) == Refused("signs alone cannot be read as words")


@pytest.mark.parametrize(
    "refusal",
    ["I cannot find this in the source:\n", "In short, I don't know:", "**I cannot answer this from the document:**"],
)
def test_a_refusal_with_a_colon_is_a_claim_about_what_follows(refusal) -> None:
    assert read_claim(refusal, "", "", _LEASE) == Refused("a refusal with a colon says something about what follows it")
    assert read_claim(refusal.replace(":", "."), "", "", _LEASE) == NoClaim()


@tabled("sentence, lead, claim")
def test_an_item_without_a_verb_is_read_with_the_lead_of_its_list(sentence, lead, claim) -> None:
    source = SourceText([Document(text="It is sold.")])
    assert read_claim(sentence, "", "", source, lead=lead) == Claim(claim)


@tabled("lead_in, claims")
def test_a_lead_in_claims_nothing_if_the_source_has_its_name(lead_in, claims) -> None:
    text = "Hotel Larkspur opened in May. It is not the hotel that closed. NO DOGS ARE ALLOWED. Not Approved Suppliers: one."
    read = read_claim(lead_in, "Acme. ", "", SourceText([Document(text=text)]))
    assert isinstance(read, Claim) is claims
    assert claims or read == NoClaim()


@tabled("lead, item, claim")
def test_an_item_of_a_list_says_something_about_its_topic(lead, item, claim) -> None:
    source = SourceText([Document(text="Pets are not welcome.")])
    assert read_claim(f"{lead}\n- {item}\n", "", "", source, lead=lead) == Claim(claim)
    assert read_claim(f"- {item}\n", "", "", source, lead=lead) == Claim(claim)


@pytest.mark.parametrize(
    "prompt",
    [
        "Summarize the lease.",
        "Please write two sentences about the flat.",
        "Write an overview of the house.\n",
        "When does the lease end?",
    ],
)
def test_sure_claims_nothing_where_no_yes_is_asked_for(prompt) -> None:
    assert read_claim("Sure!", "", prompt, _LEASE) == NoClaim()
    assert read_claim("Sure!", "Dogs are allowed. ", prompt, _LEASE) != NoClaim()
    assert read_claim("Based on the given passages, sure.", "", prompt, _LEASE) != NoClaim()


@tabled("prompt")
def test_sure_may_be_the_answer_to_every_other_prompt(prompt) -> None:
    assert read_claim("Sure!", "", prompt, _LEASE) != NoClaim()


@tabled("sentence, question")
def test_a_polite_phrase_that_answers_a_question_is_a_claim(sentence, question) -> None:
    assert isinstance(read_claim(sentence, "", question, _LEASE), Claim)


@pytest.mark.parametrize("sentence", ["-" * 80 + ">", "|" + "=" * 80 + "|.", "great " * 33 + "x", "welcome " * 24 + "x"])
def test_a_repeated_sign_or_word_is_read_at_once(sentence) -> None:
    assert read_claim(sentence, "", "", _LEASE) != NoClaim()  # took hours


def test_markup_does_not_reach_from_a_lead_to_its_item() -> None:
    read = read_claim("Who must ~~not take it:\n- people~~ with asthma", "", "", _LEASE, lead="Who must ~~not take it:")
    assert isinstance(read, Refused)


@tabled("claim, pronoun, noun")
def test_a_pronoun_or_this_with_a_noun_leans_on_the_sentence_before(claim, pronoun, noun) -> None:
    assert depends_on_sentence(claim) is pronoun
    assert depends_on_sentence(claim, nouns=True) is noun


@tabled("question, answer, claim")
def test_question_and_bare_answer_make_a_statement_where_the_grammar_is_plain(question, answer, claim) -> None:
    assert claim_of(answer, "", question) == claim == claim_of(answer, f"{question} ")
