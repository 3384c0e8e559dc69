"""ChatGuard: history of what was released, growing sources, second tries for a turn, leaning claims."""

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from tenacity import stop_after_attempt
from tests.guard.parts import FALSE, SOURCE, TRUE, Starting, Told

from groundrail import Document, Guard, InputError, Policy, UnsupportedError, Verdict
from groundrail.chat import ChatGuard
from groundrail.errors import GenerationError
from groundrail.papers.overlap import OverlapScorer
from groundrail.testing import FakeEntailment, shares_all_words

PETS = "Pets are not allowed. "


class Model:
    """Gives its answers in turn and notes what it is asked."""

    def __init__(self, *answers: str) -> None:
        self._answers = iter(answers)
        self.prompts: list[str] = []
        self.documents: list[Sequence[Document]] = []

    def __call__(self, prompt: str, documents: Sequence[Document]) -> Iterator[str]:
        self.prompts.append(prompt)
        self.documents.append(documents)
        text = next(self._answers)
        yield from (text[start : start + 5] for start in range(0, len(text), 5))


def chat(model: Any, judge: Callable[[str, str], float] = shares_all_words, policy: Any = None, **options: Any) -> ChatGuard:
    guard = Guard(model, scorer="scale", judge=FakeEntailment(judge), policy=Policy(**(policy or {})))
    return ChatGuard(guard, **{"source": SOURCE} | options)


def test_only_what_was_released_enters_the_history() -> None:
    model = Model(TRUE + FALSE, TRUE + FALSE, TRUE + FALSE, "Pets are not allowed.")
    subject = chat(model)
    assert subject.ask("How much?").reply == TRUE
    assert subject.ask("Pets?").reply == "Pets are not allowed."
    assert "990" not in model.prompts[-1]
    assert "How much?" in model.prompts[-1]
    assert TRUE.strip() in model.prompts[-1]
    assert model.prompts[-1].endswith("User: Pets?")
    assert model.prompts[0] == "How much?"
    assert [turn.reply for turn in subject.turns] == [TRUE, "Pets are not allowed."]


def test_an_answer_to_no_question_is_not_judged_after_the_question_of_an_earlier_turn() -> None:
    subject = chat(Model(*["No."] * 9), lambda premise, claim: float(claim == "Smoking is not allowed."))
    assert subject.ask("Is smoking allowed?").reply == "No."
    assert subject.ask("Tell me whether pets are allowed.").abstained


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_the_policy_says_how_often(attempts) -> None:
    model = Model(*[TRUE + FALSE] * 9)
    turn = chat(model, policy={"stop": stop_after_attempt(attempts)}).ask("?")
    assert len(model.prompts) == attempts
    assert turn.reply == TRUE
    assert len(turn.discarded) == attempts - 1


def test_an_earlier_answer_stands_where_a_later_attempt_fails() -> None:
    answers = iter([TRUE + FALSE])
    subject = chat(lambda prompt, documents: next(answers), policy={"attempts": 3})
    turn = subject.ask("How much?")
    assert turn.reply == TRUE
    with pytest.raises(GenerationError):
        subject.ask("Pets?")
    assert subject.turns == (turn,)


def test_a_sentence_that_was_retried_has_used_the_turns_attempts() -> None:
    calls: list[str] = []

    def write(prompt: str, documents: Sequence[Document], prefix: str) -> str:
        calls.append(prefix)
        return FALSE if prefix else TRUE + FALSE

    turn = chat(write).ask("?")
    assert turn.reply == TRUE
    assert len(calls) == 3
    assert len(turn.result.sentences[1].attempts) == 3
    assert turn.discarded == ()


@pytest.mark.parametrize(
    ("answers", "attempts", "reply"),
    [
        ([TRUE + FALSE, TRUE + PETS], 3, TRUE + PETS),
        ([TRUE + FALSE, TRUE + PETS + FALSE, TRUE + "Dragons fly."], 3, TRUE + PETS),
        ([TRUE + PETS + FALSE, "Hello!"], 2, TRUE + PETS),  # more than an empty answer without a mistake
    ],
)
def test_the_answer_with_the_most_supported_sentences_is_the_reply(answers, attempts, reply) -> None:
    model = Model(*answers)
    turn = chat(model, policy={"stop": stop_after_attempt(attempts)}).ask("?")
    assert turn.reply == reply
    assert len(model.prompts) == len(answers)
    assert turn.result.answer in answers
    assert [result.answer for result in turn.discarded] == [text for text in answers if text != turn.result.answer]


def test_fallback_raise_leaves_the_conversation_as_it_was() -> None:
    subject = chat(Model(*[FALSE] * 9), policy={"fallback": "raise"})
    with pytest.raises(UnsupportedError, match="990"):
        subject.ask("?")
    assert subject.turns == ()
    assert chat(Model(TRUE + FALSE, TRUE), policy={"fallback": "raise"}).ask("?").reply == TRUE


@pytest.mark.parametrize(
    "answer",
    [
        "Hello! How can I help you?",
        "Could you clarify your question?",
        "I don't know.",
        "I'm sorry, I cannot answer that question.",
    ],
)
def test_greetings_questions_and_refusals_pass_without_a_source(answer) -> None:
    model = Model(answer)
    turn = chat(model, source="").ask("Hi")
    assert turn.reply == answer
    assert turn.abstained == ("know" in answer or "cannot" in answer)
    assert all(s.verdict is Verdict.NO_CLAIM for s in turn.result.sentences)


@pytest.mark.parametrize("fallback", ["drop", "abstain"])
@pytest.mark.parametrize("streamed", [False, True])
def test_where_nothing_stands_the_reply_is_the_abstention(streamed, fallback) -> None:
    policy = {"fallback": fallback, "abstention": "I don't know.", "stop": stop_after_attempt(1)}
    subject = chat(Model(FALSE), policy=policy)
    if streamed:
        assert list(subject.stream("?")) == ["I don't know."]
    else:
        assert subject.ask("?").reply == "I don't know."
    (turn,) = subject.turns
    assert turn.abstained
    assert turn.reply == "I don't know."
    assert turn.result.text == ("" if fallback == "drop" else "I don't know.")


def test_sources_of_the_turn_join_those_of_the_chat() -> None:
    model = Model("The keys are blue. ", TRUE, *["The keys are blue. "] * 3)
    subject = chat(model)
    assert subject.ask("?", Document(text="The keys are blue.", id="keys")).reply == "The keys are blue. "
    assert [d.id for d in model.documents[0]] == ["source-1", "keys"]
    assert subject.ask("?", SOURCE).reply == TRUE
    assert [d.text for d in model.documents[1]] == [SOURCE]
    assert subject.ask("?").result.sentences[0].verdict is Verdict.UNSUPPORTED  # the keys were that turn's


def test_the_user_is_a_source_if_asked_for() -> None:
    answer = "Your name is Ada."
    told = "Your name is Ada, remember that."
    assert chat(Model(*[answer] * 3)).ask(told).abstained
    subject = chat(Model(answer, answer), user_as_source=True)
    assert subject.ask(told).result.citations[0].document_id == "user-1"
    assert subject.ask("Who am I?").result.citations[0].document_id == "user-1"


@pytest.mark.parametrize("enabled", [False, True])
def test_earlier_supported_answers_are_sources_if_asked_for(enabled) -> None:
    model = Model(TRUE + FALSE, "950 euros. ")
    subject = chat(
        model,
        lambda premise, claim: float("990" not in claim),
        {"fallback": "drop", "stop": stop_after_attempt(1)},
        answers_as_source=enabled,
    )
    subject.ask("?")
    subject.ask("?")
    assert [d.text for d in model.documents[-1] if d.id == "answer-1"] == ([TRUE] if enabled else [])


@pytest.mark.parametrize(
    ("answer", "alone", "joined"),
    [
        ("Bob lives here. He signed the lease.", True, False),  # someone signed, Bob did not
        ("Anna lives here. She is the signer.", False, True),  # only with her name can it be found
    ],
)
def test_a_pronoun_is_decided_by_the_sentence_before(answer, alone, joined) -> None:
    def judge(premise: str, claim: str) -> float:
        if "signer" in claim:
            return float("Anna" in claim)
        return float(not ("Bob" in claim and "signed" in claim))

    first = answer[: answer.index(". ") + 2]
    for pronouns, supported in ((False, alone), (True, joined)):
        source = "Anna signed the lease. Anna and Bob live here."
        subject = chat(Model(*[answer] * 3), judge, source=source, pronouns=pronouns)
        assert subject.ask("Who signed?").reply == (answer if supported else first)


def test_the_sentence_before_is_the_last_released_one_and_claims_only() -> None:
    asked: list[str] = []

    def judge(premise: str, claim: str) -> float:
        asked.append(claim)
        return float("990" not in claim)

    answer = "Hello! It costs 950. " + FALSE + "It is due monthly."
    turn = chat(Model(*[answer] * 9), judge).ask("?")
    assert turn.reply == "Hello! It costs 950. It is due monthly."
    assert "It costs 950." in asked
    assert "It costs 950. It is due monthly." in asked
    assert not any("990" in claim and "monthly" in claim for claim in asked)


def test_what_leans_on_a_sentence_that_cannot_be_checked_is_refused_for_that_reason() -> None:
    struck = "The ~~old~~ clause is void. "
    policy = {"fallback": "flag", "stop": stop_after_attempt(1)}
    turn = chat(Model(struck + "It allows pets."), source="It allows pets.", policy=policy).ask("?")
    assert [sentence.verdict for sentence in turn.result.sentences] == [Verdict.UNSUPPORTED] * 2
    assert "it depends on the sentence before, which cannot be checked" in str(turn.result.sentences[1].reason)


def test_streams_remember_what_was_shown() -> None:
    subject = chat(Model(TRUE + FALSE + "Pets are not allowed.", TRUE + "Pets are not allowed."))
    assert list(subject.stream("one")) == [TRUE, "Pets are not allowed."]
    assert subject.turns[0].reply == TRUE + "Pets are not allowed."
    stream: Any = subject.stream("two")
    assert next(stream) == TRUE
    stream.close()
    assert subject.turns[1].reply == TRUE
    assert subject.turns[1].message == "two"


def test_a_stream_that_is_left_frees_its_generator_at_once() -> None:
    closed: list[bool] = []
    subject = chat(Starting(lambda: Told(lambda: itertools.repeat(TRUE), closed=lambda: closed.append(True))))
    stream: Any = subject.stream("?")
    assert next(stream) == TRUE
    assert not closed
    stream.close()
    assert len(closed) == 1

    async def leave() -> None:
        stream: Any = subject.astream("?")
        assert await anext(stream) == TRUE
        await stream.aclose()

    asyncio.run(leave())
    assert len(closed) == 2


def test_a_stream_that_raises_keeps_what_was_shown() -> None:
    def dying(prompt: str) -> Iterator[str]:
        yield TRUE + "The lease "
        raise ConnectionError("gone")

    subject = chat(dying)
    assert subject.ask("?").result.sentences[-1].verdict is Verdict.ERROR
    subject = chat(Model(TRUE + FALSE), policy={"fallback": "raise"})
    shown: list[str] = []
    with pytest.raises(UnsupportedError):
        shown.extend(subject.stream("?"))
    assert subject.turns[0].reply == TRUE


def test_bad_input_is_refused() -> None:
    subject = chat(Model(TRUE))
    wrong: list[Any] = ["", " \n", 3]
    for message in wrong:
        with pytest.raises(InputError, match="message"):
            subject.ask(message)
    with pytest.raises(InputError, match="generator"):
        ChatGuard(Guard(scorer="scale", judge=FakeEntailment()))


def test_the_prompt_is_replaceable() -> None:
    model = Model(TRUE, TRUE)
    prompt: Callable[..., str] = lambda turns, message: f"{len(turns)}: {message}"  # noqa: E731
    subject = chat(model, prompt=prompt)
    subject.ask("a")
    subject.ask("b")
    assert model.prompts == ["0: a", "1: b"]


def test_a_scorer_that_averages_never_sees_a_claim_joined() -> None:
    claims = ("The rent is 950 euros. ", "It bans cats.")
    turn = ChatGuard(Guard(Model(*["".join(claims)] * 3), scorer=OverlapScorer()), source=SOURCE).ask("?")
    assert [s.verdict for s in turn.result.sentences] == [Verdict.SUPPORTED, Verdict.UNSUPPORTED]


@pytest.mark.parametrize("written", ["\n ", "\n " + TRUE + "\n"])
def test_a_streamed_turn_is_what_was_streamed(written) -> None:
    subject = chat(Model(written))
    assert "".join(subject.stream("?")) == subject.turns[-1].reply
    assert subject.turns[-1].abstained == (not written.strip())
