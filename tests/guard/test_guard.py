"""The guard's loop: nothing out before its verdict, retries, fallbacks, thresholds, lists, async twins."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenacity import stop_after_attempt, stop_after_delay
from tests.guard.parts import FALSE, SOURCE, TRUE, Scoring, Starting, Told

from groundrail import CheckedSentence, Document, Guard, GuardResult, InputError, Policy, UnsupportedError
from groundrail.calibration import Calibration
from groundrail.entailment.base import FloatArray, Pair
from groundrail.errors import GenerationError, GroundrailWarning
from groundrail.scoring import NearestScorer
from groundrail.testing import FakeEntailment, ScriptedGenerator
from groundrail.types import as_documents

WRONG = FALSE.strip()


def guard(script: Sequence[str | Sequence[str]] = (), **policy: Any) -> Guard:
    return Guard(ScriptedGenerator(script), scorer=Scoring(), policy=Policy(**policy))


def scale(judge: Callable[[str, str], float], script: Sequence[str] = ()) -> Guard:
    return Guard(ScriptedGenerator(script), scorer="scale", judge=FakeEntailment(judge))


def verdicts(result: GuardResult) -> list[str]:
    return [sentence.verdict.value for sentence in result.sentences]


def test_check_flags_the_wrong_sentence_and_keeps_the_right_one() -> None:
    result = guard().check("Hello! " + TRUE + FALSE + "Pets are allowed.", SOURCE)
    assert verdicts(result) == ["no_claim", "supported", "unsupported", "supported"]
    assert result.text == "Hello! " + TRUE + "Pets are allowed."
    assert not result.supported
    assert len(result.citations) == 1


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (f"Pets are allowed. {WRONG}\n\n## Pets are allowed.", "Pets are allowed. \n\n## Pets are allowed."),
        (f"Pets are allowed. {WRONG}\n{WRONG}\n\nPets are allowed.", "Pets are allowed. \n\nPets are allowed."),
        (f"- Pets are allowed. {WRONG}\n- Pets are allowed.", "- Pets are allowed. \n- Pets are allowed."),
        (f"- Pets are allowed.\n- {WRONG}\n- Pets are allowed.", "- Pets are allowed.\n- Pets are allowed."),
        (f"Pets are allowed.\n\n{WRONG}\n\nPets are allowed.", "Pets are allowed.\n\nPets are allowed."),
        (f"{WRONG}\n\nPets are allowed.", "Pets are allowed."),
        (f"Pets are allowed. {WRONG}\n\n{WRONG}", "Pets are allowed. "),
    ],
)
def test_a_refused_sentence_leaves_its_line_break(answer: str, shown: str) -> None:
    assert guard().check(answer, SOURCE).text == shown
    assert "".join(guard([answer]).stream("When?", SOURCE)) == shown


def test_check_scores_all_claims_in_one_call_and_each_text_once() -> None:
    scorer = Scoring()
    result = Guard(scorer=scorer).check((TRUE + FALSE) * 5, SOURCE)
    assert [len(claims) for claims in scorer.calls] == [2]
    assert [sentence.released for sentence in result.sentences] == [True, False] * 5


@given(
    st.lists(st.sampled_from([TRUE, FALSE, "Hello! ", "Pets are allowed.\n\n", "Dragons fly. "]), max_size=8),
    st.integers(1, 9),
)
def test_stream_pieces_are_the_result_and_sentences_are_slices(script, piece) -> None:
    subject = Guard(ScriptedGenerator(script, piece), scorer=Scoring(), policy=Policy(stop=stop_after_attempt(1)))
    stream = subject.stream("?", SOURCE)
    assert "".join(stream) == stream.result.text
    assert stream.result.answer == "".join(script)
    for sentence in stream.result.sentences:
        assert stream.result.answer[sentence.start : sentence.end] == sentence.text
    assert "990" not in stream.result.text
    assert "Dragons" not in stream.result.text


def test_nothing_is_shown_before_its_verdict() -> None:
    shown: list[str] = []

    def watch(claims: Sequence[str]) -> None:
        assert not any(claim in "".join(shown) for claim in claims)

    scorer = Scoring(watch)
    for text in Guard(ScriptedGenerator([TRUE, FALSE, "Pets are not allowed."]), scorer=scorer).stream("?", SOURCE):
        shown += [text]
    assert scorer.calls == [[TRUE.strip()], [FALSE.strip()], ["Pets are not allowed."]]
    assert shown == [TRUE, "Pets are not allowed."]


def test_a_rejected_sentence_is_rewritten_and_every_attempt_is_kept() -> None:
    tries = [FALSE, "The rent is 970 euros. ", "The rent is 950. "]
    result = guard([TRUE, tries, "Pets are not allowed."]).generate("?", SOURCE)
    assert result.text == result.answer == TRUE + "The rent is 950. " + "Pets are not allowed."
    attempts = result.sentences[1].attempts
    assert [a.text for a in attempts] == tries
    assert [a.verdict.value for a in attempts] == ["unsupported", "unsupported", "supported"]
    assert result.supported


@pytest.mark.parametrize(
    ("fallback", "text", "replacement", "released"),
    [
        ("drop", TRUE + TRUE, None, [True, False, True]),
        ("flag", TRUE + FALSE + TRUE, None, [True, True, True]),
        ("abstain", TRUE + "Ask the office.", "Ask the office.", [True, False]),
        (lambda sentence: None, TRUE + TRUE, None, [True, False, True]),
        (lambda sentence: "", TRUE + TRUE, "", [True, False, True]),
        (lambda sentence: "[removed]", TRUE + "[removed] " + TRUE, "[removed] ", [True, False, True]),
        (lambda sentence: "[removed] ", TRUE + "[removed] " + TRUE, "[removed] ", [True, False, True]),
    ],
)
def test_a_fallback_decides_on_a_refused_sentence(fallback, text, replacement, released) -> None:
    result = guard([TRUE, FALSE, TRUE], fallback=fallback, abstention="Ask the office.").generate("?", SOURCE)
    assert result.text == text
    assert verdicts(result)[1] == "unsupported"
    assert result.sentences[1].replacement == replacement
    assert [sentence.released for sentence in result.sentences] == released
    assert not result.supported


def test_fallback_raise_carries_the_result() -> None:
    with pytest.raises(UnsupportedError, match="990") as caught:
        guard([TRUE, FALSE, TRUE], fallback="raise").generate("?", SOURCE)
    assert caught.value.result is not None
    assert caught.value.result.text == TRUE


class _Literal(FakeEntailment):
    """Says what is in the premise word for word, and holds everything else for contradicted."""

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        found = [[0.9, 0.1, 0.0] if claim.strip() in premise else [0.1, 0.1, 0.8] for premise, claim in pairs]
        return np.array(found, dtype=np.float64).reshape(-1, 3)


def test_fallback_quote_puts_the_sources_sentence_in_place_of_what_it_contradicts() -> None:
    source, answer = "The shop opens at nine. It closes at six.", "It closes at eight. The shop opens at nine."
    quoting = Policy(fallback="quote")
    result = Guard(scorer=NearestScorer(_Literal()), policy=quoting).check(answer, source)
    assert result.text == "“It closes at six.” The shop opens at nine."
    wrong = result.sentences[0]
    assert (wrong.quoted, wrong.released, wrong.verdict.value) == (True, False, "unsupported")
    (cited,) = wrong.supporting
    assert source[cited.start : cited.end] == "It closes at six."
    assert [c.text for c in result.citations] == ["It closes at six.", "The shop opens at nine."]
    silent = Guard(scorer=NearestScorer(FakeEntailment(lambda premise, claim: 0.1)), policy=quoting)
    assert silent.check(answer, source).text == ""


@pytest.mark.parametrize(
    ("says", "quoted"),
    [
        ("It closes at **six**.", "“It closes at six.” "),
        ("It closes ![x](http://a.example/p.png) at six.", ""),
        ("It closes [late](javascript:alert) at six.", ""),
        ("It closes \u202eat six.", ""),
    ],
)
def test_a_quote_shows_the_words_of_the_source_and_nothing_else(says: str, quoted: str) -> None:
    guard = Guard(scorer=NearestScorer(_Literal()), policy=Policy(fallback="quote"))
    result = guard.check("It closes at eight. The shop opens at nine.", f"The shop opens at nine. {says}")
    assert result.text == f"{quoted}The shop opens at nine."


@pytest.mark.parametrize("blank", ["", " \n\t", [], "\u200b\u200b", "\ufeff \n\u2060", "\u3164\u2800", "\x00\x01", "\u00ad"])
def test_no_source_that_a_reader_sees_supports_nothing(blank) -> None:
    closed = guard().check(TRUE + "Hello!", blank)
    assert verdicts(closed) == ["no_source", "no_claim"]
    assert closed.text == "Hello!"
    assert guard(on_no_source="open").check(TRUE, blank).text == TRUE


def test_empty_answer_gives_an_empty_result() -> None:
    result = guard().check("", SOURCE)
    assert (result.text, result.sentences, result.supported) == ("", (), True)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: guard().check(b"text", SOURCE), "bytes"),  # type: ignore[arg-type]
        (lambda: guard().check(TRUE, 3), "int"),  # type: ignore[arg-type]
        (lambda: guard().check(TRUE, Path("lease.txt")), r"read_text\(\)"),  # type: ignore[arg-type]
        (lambda: guard().check("The rent \ud83d is due.", SOURCE), "surrogate"),
        (lambda: guard().check("No.", SOURCE, "Is the \ud83d rent due?"), "question holds half a surrogate"),
        (lambda: guard(fallback=lambda sentence: 3).check(FALSE, SOURCE), "int"),
        (lambda: Guard(scorer=Scoring()).generate("?", SOURCE), "no generator"),
        (lambda: Guard(3), "callable"),  # type: ignore[arg-type]
        (lambda: guard([TRUE]).stream("?", SOURCE).result, "not ended"),
    ],
)
def test_a_wrong_call_is_an_error_that_says_so(call, told) -> None:
    with pytest.raises(InputError, match=told):
        call()


def test_half_a_surrogate_pair_of_a_generator_is_an_error_verdict() -> None:
    result = guard([TRUE + "It is \ud83d due."]).generate("?", SOURCE)
    assert verdicts(result)[-1] == "error"
    assert result.text in ("", TRUE)


def test_a_failing_scorer_costs_only_its_own_sentence() -> None:
    def fail(claims: Sequence[str]) -> None:
        if any("boom" in claim for claim in claims):
            raise RuntimeError("the model fell over")

    answer = TRUE + "A boom happens. " + "The rent is 950."
    closed = Guard(scorer=Scoring(fail)).check(answer, SOURCE)
    assert verdicts(closed) == ["supported", "error", "supported"]
    assert closed.text == TRUE + "The rent is 950."
    assert "fell over" in (closed.sentences[1].reason or "")
    assert Guard(scorer=Scoring(fail), policy=Policy(on_error="open")).check(answer, SOURCE).text == answer


def test_a_threshold_by_name_is_the_one_fitted_for_judge_and_scorer() -> None:
    named = {"nearest": {"strict": 0.9, "balanced": 0.6, "lenient": 0.3}}
    scorer = NearestScorer(FakeEntailment(lambda premise, claim: 0.7, thresholds=named))
    for name, supported in {"strict": False, "balanced": True, "lenient": True}.items():
        guard = Guard(scorer=scorer, policy=Policy.model_validate({"threshold": name}))
        assert guard.check("Rent is due in May.", "The rent is due in May.").supported == supported
    assert Guard(scorer=scorer).threshold == 0.6
    assert Guard(scorer=scorer, policy=Policy(threshold=0.4)).threshold == 0.4


def test_a_threshold_that_cannot_hold_is_an_error_that_says_what_to_do() -> None:
    guard = Guard(scorer=NearestScorer(FakeEntailment()), policy=Policy(threshold="strict"))
    with pytest.raises(InputError, match=r"'strict' was not fitted.*pass a number.*groundrail calibrate"):
        guard.check("Rent is due.", "The rent is due.")


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"threshold": "lenient", "calibration": Calibration("none", (), ())}, "for scores without calibration"),
        ({"threshold": "loose"}, "threshold"),
        ({"threshold": float("nan")}, "NaN"),
        ({"doubt": (0.9, 0.1)}, "a lower score and a higher one"),
        *(({"attempts": attempts}, "attempts") for attempts in (0, 1.5, "3")),
        *(({"known": known}, "known") for known in ("Click the button below", [" ?! "], [3])),
        *(
            ({name: seconds}, name)
            for name in ("deadline", "answer_deadline")
            for seconds in (float("inf"), float("nan"), 0.0, -1.0)
        ),
        *(
            ({case: word}, f'{case} is {word!r}; pass "closed".*`fallback`.*"open"')
            for case in ("on_no_source", "on_error")
            for word in ("abstain", True, None)
        ),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_with_what_it_may_be(choices, told) -> None:
    with pytest.raises(ValueError, match=told):
        Policy.model_validate(choices)


def test_a_calibration_of_another_scorer_is_refused() -> None:
    scorer = NearestScorer(FakeEntailment())
    policy = Policy(calibration=Calibration("none", (), (), threshold=0.7, scorer=scorer.metadata.identity))
    assert Guard(scorer=scorer, policy=policy).check("A is B.", "A is B.").threshold == 0.7
    with pytest.raises(InputError, match="fitted on another scorer: the 5 nearest"):
        Guard(scorer="scale", judge=FakeEntailment(), policy=policy).check("A is B.", "A is B.")


@pytest.mark.parametrize(("written", "released"), [("The lease ends in", ""), (TRUE, TRUE), (TRUE + "Th", TRUE)])
def test_half_a_sentence_is_not_released(written, released) -> None:
    class Cut(Told):
        cut_off = "no room for more"

    result = Guard(Starting(lambda: Cut(written)), scorer=Scoring()).generate("?", SOURCE)
    assert (result.text, result.answer) == (released, written)
    if written != released:
        assert verdicts(result)[-1] == "error"
        assert "no room for more" in str(result.sentences[-1].reason)


@dataclass
class Chunk:
    """A document as LangChain has them."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


def test_documents_of_langchain_are_documents() -> None:
    rent, pets = Chunk(SOURCE, {"source": "lease.pdf", "page": 3}), Chunk("Pets are allowed.", {"source": "lease.pdf"})
    (alone,) = as_documents(rent)
    assert (alone.text, alone.id, alone.metadata) == (SOURCE, "lease.pdf", rent.metadata)
    assert [document.id for document in as_documents([rent, pets, Chunk("Dogs, too."), Chunk("x", id="7")])] == [
        "lease.pdf",
        "lease.pdf-2",
        "source",
        "7",
    ]
    result = Guard(scorer=NearestScorer(FakeEntailment(lambda p, c: 1.0))).check(TRUE, [pets, rent])
    assert result.supported
    assert result.citations[0].document_id == "lease.pdf-2"


def test_a_result_says_its_lowest_score_and_what_was_refused() -> None:
    result = guard().check(f"Hello! {TRUE}{FALSE}", SOURCE)
    assert result.score == min(s.score for s in result.sentences if s.score is not None)
    assert [sentence.text for sentence in result.refused] == [FALSE]
    assert guard().check("Hello!", SOURCE).score is None


def test_a_source_is_read_once_an_answer() -> None:
    scorer = Scoring()
    subject = Guard(ScriptedGenerator([TRUE, [FALSE, TRUE], "Pets are not allowed."]), scorer=scorer)
    subject.generate("?", SOURCE)
    assert scorer.reads == 1
    subject.check(TRUE + FALSE, SOURCE)
    assert scorer.reads == 2


def test_a_stream_frees_its_generator_where_it_is_left_and_at_its_end() -> None:
    closed: list[bool] = []
    subject = Guard(Starting(lambda: Told(TRUE * 3, closed=lambda: closed.append(True))), scorer=Scoring())
    with subject.stream("?", SOURCE) as stream:
        assert next(iter(stream)) == TRUE
        assert not closed
    assert len(closed) == 1

    async def leave() -> None:
        async with await subject.astream("?", SOURCE) as stream:
            assert await anext(aiter(stream)) == TRUE

    asyncio.run(leave())
    assert len(closed) == 2
    subject.generate("?", SOURCE)
    assert len(closed) == 3


@pytest.mark.parametrize(
    "function",
    [
        lambda prompt, temperature=0.5, documents=(): documents[0].text if temperature == 0.5 else "",
        lambda prompt, *, documents: documents[0].text,
        lambda prompt, prefix, context: context[0].text[len(prefix) :],
        lambda prompt, documents, /: documents[0].text,
        lambda *given: given[1][0].text,
        lambda prompt, temperature=0.5, **options: SOURCE if temperature == 0.5 and not options else "",
        lambda prompt: SOURCE,
    ],
)
def test_documents_go_to_the_parameter_that_is_meant_for_them(function) -> None:
    assert Guard(function, scorer=Scoring()).generate("?", SOURCE).text == SOURCE


def test_a_callable_with_prefix_goes_on_from_what_stands() -> None:
    calls: list[str] = []

    def continuing(prompt: str, documents: Sequence[Document], prefix: str) -> Iterator[str]:
        calls.append(prefix)
        yield from [TRUE, FALSE] if len(calls) == 1 else ["The rent is 950."]

    assert Guard(continuing, scorer=Scoring()).generate("?", SOURCE).text == TRUE + "The rent is 950."
    assert calls == ["", TRUE]


def test_a_callable_is_given_what_stands_and_what_was_refused_by_name() -> None:
    calls: list[tuple[str, tuple[str, ...]]] = []
    written = iter([TRUE + FALSE, FALSE, "The rent is 950. " + FALSE, ""])

    def continuing(prompt: str, accepted: str, refused: tuple[str, ...]) -> str:
        calls.append((accepted, refused))
        return next(written)

    assert Guard(continuing, scorer=Scoring()).generate("?", SOURCE).text == TRUE + "The rent is 950. "
    once = FALSE.strip()
    after = TRUE + "The rent is 950. "
    assert calls == [("", ()), (TRUE, (once,)), (TRUE, (once, once)), (after, (once,))]


@pytest.mark.parametrize("choice", [{"attempts": 3}, {"stop": stop_after_attempt(2)}, {"stop": stop_after_delay(5)}])
def test_tries_that_a_callable_cannot_make_are_said_at_once(choice) -> None:
    guard = Guard(lambda prompt: TRUE, scorer=Scoring(), policy=Policy(**choice))
    with pytest.warns(GroundrailWarning, match="parameter named `accepted`"):
        guard.stream("?", SOURCE)
    for silent in (Policy(), Policy(attempts=1), Policy(stop=stop_after_attempt(1))):
        guard.with_policy(silent).stream("?", SOURCE)
    guard.with_generator(lambda prompt, accepted: TRUE).stream("?", SOURCE)


@pytest.mark.parametrize("blank", ["", " \n", [Document(text="\u200b"), ""]])
def test_a_source_without_text_is_said_before_anything_is_written(blank) -> None:
    asked: list[str] = []
    guard = Guard(asked.append, scorer=Scoring())
    with pytest.warns(GroundrailWarning, match='no text.*fallback="abstain".*on_no_source="open"'):
        guard.stream("?", blank)
    with pytest.warns(GroundrailWarning, match="no text"):
        asyncio.run(guard.astream("?", blank))
    for told in ({"fallback": "abstain"}, {"fallback": "raise"}, {"fallback": str}, {"on_no_source": "open"}):
        guard.with_policy(Policy(**told)).stream("?", blank)
    guard.stream("?", [])  # a search that found nothing
    assert asked == []


@pytest.mark.parametrize(
    ("choice", "tries"),
    [
        ({}, 3),
        ({"attempts": 2}, 2),
        ({"attempts": 4, "stop": stop_after_attempt(2)}, 2),
        ({"stop": stop_after_attempt(5) | stop_after_delay(60)}, 5),
    ],
)
def test_a_sentence_is_tried_as_often_as_the_policy_says(choice, tries) -> None:
    writes = lambda prompt, accepted: FALSE  # noqa: E731
    (sentence,) = Guard(writes, scorer=Scoring(), policy=Policy(**choice)).generate("?", SOURCE).sentences
    assert len(sentence.attempts) == tries


def test_a_callable_without_prefix_is_retried_only_while_nothing_stands() -> None:
    answers = iter([FALSE + TRUE, TRUE + FALSE])
    result = Guard(lambda prompt: next(answers), scorer=Scoring()).generate("?", SOURCE)
    assert result.text == TRUE
    assert [len(s.attempts) for s in result.sentences] == [2, 1]


def test_what_a_fallback_raises_is_raised_again_where_an_answer_is_pushed_on() -> None:
    def fails(sentence: CheckedSentence) -> str:
        raise LookupError("no replacement")

    pushed = guard(fallback=fails).incremental(SOURCE)
    assert pushed.feed(TRUE) == []
    for _ in range(2):
        with pytest.raises(LookupError, match="no replacement"):
            pushed.feed(FALSE + TRUE)
    with pytest.raises(LookupError):
        pushed.finish()


def test_async_callables_and_concurrent_answers_do_not_mix() -> None:
    async def write(prompt: str, documents: Sequence[Document]) -> AsyncIterator[str]:
        for word in documents[0].text.split(" "):
            await asyncio.sleep(0)
            yield word + " "
        yield FALSE

    async def many() -> list[str]:
        subject = Guard(write, scorer=Scoring())
        sources = [f"Flat {i} costs {i} euros." for i in range(20)]
        results = await asyncio.gather(*(subject.agenerate("?", source) for source in sources))
        return [result.text.strip() for result in results]

    assert asyncio.run(many()) == [f"Flat {i} costs {i} euros." for i in range(20)]


def test_an_async_callable_is_an_error_in_plain_code_and_ends_where_its_answer_is_cancelled() -> None:
    async def write(prompt: str) -> AsyncIterator[str]:
        while True:
            yield TRUE
            await asyncio.sleep(0.01)

    subject = Guard(write, scorer=Scoring())
    with pytest.raises(InputError, match="agenerate"):
        subject.generate("?", SOURCE)

    async def cancelled() -> bool:
        task = asyncio.create_task(subject.agenerate("?", SOURCE))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(cancelled())


def test_copies_of_a_guard_load_one_scorer() -> None:
    subject = Guard(scorer="scale", judge=FakeEntailment())
    assert copy.copy(subject).scorer is subject.scorer


def test_a_script_has_nothing_to_write_or_to_retry_behind_its_end() -> None:
    two_in_one = scale(lambda premise, claim: float("Dogs" not in claim), ["Rent is due. Pets may stay. ", "Dogs sing."])
    assert verdicts(two_in_one.generate("?", "x")) == ["supported", "supported", "unsupported"]
    with pytest.raises(InputError, match="sentence 2 of the script has no text"):
        ScriptedGenerator(["The rent is due.", []])
    session = ScriptedGenerator(["The rent is due."]).start("?", ())
    assert not session.can_retry
    session.reject(16)
    with pytest.raises(GenerationError, match="sentence 1 of the script has 1 texts"):
        next(iter(session.propose()))


def test_answers_that_are_checked_together_have_the_results_of_each_alone_from_one_call() -> None:
    answers = ["The rent is due. Pets pay.", "Thank you!", "See evil.example.", "The rent is due."]
    judge = FakeEntailment()
    guard = Guard(scorer="scale", judge=judge)
    together = guard.check_all(answers, "The rent is due.")
    assert len(judge.calls) == 1
    alone = [guard.check(answer, "The rent is due.") for answer in answers]
    assert [(r.text, verdicts(r)) for r in together] == [(r.text, verdicts(r)) for r in alone]
    assert guard.check_all([], "The rent is due.") == []


def test_an_answer_that_breaks_the_scorer_costs_the_answers_beside_it_nothing() -> None:
    def judge(premise: str, claim: str) -> float:
        if "Pets" in claim:
            raise ValueError("no pets")
        return 1.0

    answers = ["The rent is due.", "Pets pay. The rent is due.", "Cats pay."]
    results = scale(judge).check_all(answers, "The rent is due.")
    assert [verdicts(result) for result in results] == [["supported"], ["error", "supported"], ["supported"]]


LEAFLET = "People with asthma must not take it. People over 70 may take it."
LIST = ("Who must not take it:\n- people with asthma\n", "- people over 70\n", "- people with asthma")
SOLD = ("Banned:\n- nobody\n", "- The pill is sold.\n", "- people with asthma\n", "- people over 70\n")
PILLS = ("Aspirin is sold. ", "Rings are worn. ", "But they may be taken. ", "These pills are free. ", "They're red.")
ITEMS = ("Who must not take it: people with asthma", "people over 70", "people with asthma")


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize(
    ("script", "judge", "released"),
    [
        # an item is judged as the sentence that it makes with its lead
        (LIST, lambda premise, claim: float(claim in ITEMS), LIST[0] + LIST[2]),
        # a lead goes out with the first item that is released
        (SOLD, lambda premise, claim: float("nobody" not in claim), SOLD[1] + "Banned:\n" + SOLD[2] + SOLD[3]),
        # a lead whose items are all refused goes with them
        (LIST, lambda premise, claim: float(":" not in claim), ""),
        # a pronoun is refused where the sentence with its noun is
        (PILLS, lambda premise, claim: float("Rings" not in claim), PILLS[0] + PILLS[3] + PILLS[4]),
    ],
)
def test_a_sentence_is_judged_and_released_where_it_stands(script, judge, released, written) -> None:
    subject = scale(judge, script)
    result = subject.check("".join(script), LEAFLET) if written else subject.generate("Who?", LEAFLET)
    assert result.text == released
    assert [sentence.text for sentence in result.sentences] == list(script)
    assert result.answer == "".join(script)
    if script is PILLS:
        assert result.sentences[2].reason == "it opens with a pronoun, and the sentence before it was not released"
