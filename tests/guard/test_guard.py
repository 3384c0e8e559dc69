"""The guard's loop: nothing out before its verdict, retries, fallbacks, deadlines, failures, async twins."""

import asyncio
import copy
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenacity import stop_after_attempt, stop_after_delay

from groundrail import CheckedSentence, Document, Guard, InputError, Policy, UnsupportedError, Verdict
from groundrail.calibration import Calibration
from groundrail.entailment.base import FloatArray, Pair
from groundrail.errors import GenerationError
from groundrail.generators import Generator, Session
from groundrail.scoring import NearestScorer
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.testing import FakeEntailment, ScriptedGenerator
from groundrail.types import Citation, Source, as_documents

SOURCE = "The lease ends on 28 February 2026. The rent is 950 euros a month. Pets are not allowed."
TRUE = "The rent is 950 euros. "
FALSE = "The rent is 990 euros. "


class WordScorer(Scorer):
    """Scores a claim by whether all its words are in the source; counts claims and calls."""

    def __init__(self) -> None:
        self.entailment = FakeEntailment()
        self.claims: list[str] = []
        self.calls = 0

    def read(self, source: Source) -> Reader:
        return Prepared(self.judge, as_documents(source))

    def judge(self, claims: Sequence[str], source: Sequence[Document]) -> list[Score]:
        self.calls += 1
        self.claims.extend(claims)
        values = self.entailment.entailment([(source[0].text, claim) for claim in claims])
        cited = (Citation(document_id=source[0].id, start=0, end=3, text=source[0].text[:3], score=1.0),)
        return [Score(float(value), cited) for value in values]


def guard(script: Sequence[str | Sequence[str]] = (), **policy: Any) -> Guard:
    return Guard(ScriptedGenerator(script), scorer=WordScorer(), policy=Policy(**policy))


def test_check_flags_the_wrong_sentence_and_keeps_the_right_one() -> None:
    result = guard().check("Hello! " + TRUE + FALSE + "Pets are allowed.", SOURCE)
    assert [s.verdict for s in result.sentences] == [
        Verdict.NO_CLAIM,
        Verdict.SUPPORTED,
        Verdict.UNSUPPORTED,
        Verdict.SUPPORTED,
    ]
    assert result.text == "Hello! " + TRUE + "Pets are allowed."
    assert not result.supported
    assert len(result.citations) == 1


def test_check_scores_all_claims_in_one_call() -> None:
    scorer = WordScorer()
    Guard(scorer=scorer).check((TRUE + FALSE) * 5, SOURCE)
    assert scorer.calls == 1


@given(
    st.lists(st.sampled_from([TRUE, FALSE, "Hello! ", "Pets are allowed.\n\n", "Dragons fly. "]), max_size=8),
    st.integers(1, 9),
)
def test_stream_pieces_are_the_result_and_sentences_are_slices(script: list[str], piece: int) -> None:
    subject = Guard(ScriptedGenerator(script, piece), scorer=WordScorer(), policy=Policy(stop=stop_after_attempt(1)))
    stream = subject.stream("?", SOURCE)
    assert "".join(stream) == stream.result.text
    assert stream.result.answer == "".join(script)
    for sentence in stream.result.sentences:
        assert stream.result.answer[sentence.start : sentence.end] == sentence.text
    assert "990" not in stream.result.text
    assert "Dragons" not in stream.result.text


def test_nothing_is_shown_before_its_verdict() -> None:
    seen: list[str] = []
    shown: list[str] = []

    class Watching(WordScorer):
        def judge(self, claims: Sequence[str], source: Sequence[Document]) -> list[Score]:
            assert not any(claim in "".join(shown) for claim in claims)
            seen.extend(claims)
            return super().judge(claims, source)

    script = [TRUE, FALSE, "Pets are not allowed."]
    for text in Guard(ScriptedGenerator(script), scorer=Watching(), policy=Policy()).stream("?", SOURCE):
        shown += [text]
    assert seen == [TRUE.strip(), FALSE.strip(), "Pets are not allowed."]
    assert shown == [TRUE, "Pets are not allowed."]


def test_a_rejected_sentence_is_rewritten_and_every_attempt_is_kept() -> None:
    result = guard([TRUE, [FALSE, "The rent is 970 euros. ", "The rent is 950. "], "Pets are not allowed."]).generate(
        "?", SOURCE
    )
    assert result.text == TRUE + "The rent is 950. " + "Pets are not allowed."
    assert result.answer == result.text
    attempts = result.sentences[1].attempts
    assert [a.text for a in attempts] == [FALSE, "The rent is 970 euros. ", "The rent is 950. "]
    assert [a.verdict for a in attempts] == [Verdict.UNSUPPORTED, Verdict.UNSUPPORTED, Verdict.SUPPORTED]
    assert result.supported


@pytest.mark.parametrize(("attempts", "kept"), [(1, 1), (2, 2), (3, 3), (9, 3)])
def test_tenacity_stops_the_retries(attempts: int, kept: int) -> None:
    script = [[FALSE, "The rent is 970 euros. ", "The rent is 980 euros. "], TRUE]
    result = guard(script, stop=stop_after_attempt(attempts) | stop_after_delay(60)).generate("?", SOURCE)
    assert len(result.sentences[0].attempts) == kept
    assert result.text == TRUE


def test_fallback_flag_releases_with_its_verdict() -> None:
    result = guard([FALSE, TRUE], fallback="flag").generate("?", SOURCE)
    assert result.text == FALSE + TRUE
    assert result.sentences[0].verdict is Verdict.UNSUPPORTED
    assert result.sentences[0].released
    assert not result.supported


def test_fallback_abstain_ends_the_answer() -> None:
    result = guard([TRUE, FALSE, TRUE], fallback="abstain", abstention="Ask the office.").generate("?", SOURCE)
    assert result.text == TRUE + "Ask the office."
    assert len(result.sentences) == 2


def test_fallback_raise_carries_the_result() -> None:
    with pytest.raises(UnsupportedError, match="990") as caught:
        guard([TRUE, FALSE, TRUE], fallback="raise").generate("?", SOURCE)
    assert caught.value.result is not None
    assert caught.value.result.text == TRUE


def test_fallback_callable_replaces_or_drops() -> None:
    def replace(sentence: CheckedSentence) -> str | None:
        return "[removed] " if "990" in sentence.text else None

    result = guard([FALSE, "Dragons fly. ", TRUE], fallback=replace).generate("?", SOURCE)
    assert result.text == "[removed] " + TRUE
    assert result.sentences[0].replacement == "[removed] "
    assert not result.sentences[0].released


@pytest.mark.parametrize("blank", ["", " \n\t", []])
def test_no_source_is_never_supported(blank: str | list[str]) -> None:
    closed = guard().check(TRUE + "Hello!", blank)
    assert [s.verdict for s in closed.sentences] == [Verdict.NO_SOURCE, Verdict.NO_CLAIM]
    assert closed.text == "Hello!"
    assert guard(on_no_source="open").check(TRUE, blank).text == TRUE


def test_empty_answer_gives_an_empty_result() -> None:
    result = guard().check("", SOURCE)
    assert (result.text, result.sentences, result.supported) == ("", (), True)


def test_not_text_is_refused() -> None:
    encoded: Any = b"text"
    with pytest.raises(InputError, match="bytes"):
        guard().check(encoded, SOURCE)
    number: Any = 3
    with pytest.raises(InputError, match="int"):
        guard().check(TRUE, number)


class FailingScorer(WordScorer):
    def judge(self, claims: Sequence[str], source: Sequence[Document]) -> list[Score]:
        if any("boom" in claim for claim in claims):
            raise RuntimeError("the model fell over")
        return [
            Score(float("nan")) if "Pets" in c else s
            for c, s in zip(claims, super().judge(claims, source), strict=True)
        ]


def test_a_failing_scorer_costs_only_its_own_sentence() -> None:
    answer = TRUE + "A boom happens. " + "Pets are allowed. " + "The rent is 950."
    closed = Guard(scorer=FailingScorer()).check(answer, SOURCE)
    assert [s.verdict for s in closed.sentences] == [
        Verdict.SUPPORTED,
        Verdict.ERROR,
        Verdict.ERROR,
        Verdict.SUPPORTED,
    ]
    assert closed.text == TRUE + "The rent is 950."
    assert "fell over" in (closed.sentences[1].reason or "")
    assert Guard(scorer=FailingScorer(), policy=Policy(on_error="open")).check(answer, SOURCE).text == answer


def test_a_threshold_by_name_is_the_one_fitted_for_judge_and_scorer() -> None:
    named = {"nearest": {"strict": 0.9, "balanced": 0.6, "lenient": 0.3}}
    judge = FakeEntailment(lambda premise, claim: 0.7, thresholds=named)
    source, claim = "The rent is due in May.", "Rent is due in May."
    for name, supported in {"strict": False, "balanced": True, "lenient": True}.items():
        guard = Guard(scorer=NearestScorer(judge), policy=Policy.model_validate({"threshold": name}))
        assert guard.check(claim, source).supported == supported
    assert Guard(scorer=NearestScorer(judge)).threshold == 0.6
    assert Guard(scorer=NearestScorer(judge), policy=Policy(threshold=0.4)).threshold == 0.4


def test_a_threshold_name_that_was_not_fitted_is_an_error_that_says_what_to_do() -> None:
    guard = Guard(scorer=NearestScorer(FakeEntailment()), policy=Policy(threshold="strict"))
    with pytest.raises(InputError, match=r"'strict' was not fitted.*pass a number.*groundrail calibrate"):
        guard.check("Rent is due.", "The rent is due.")
    with pytest.raises(ValueError, match="for scores without calibration"):
        Policy(threshold="lenient", calibration=Calibration("none", (), ()))
    with pytest.raises(ValueError, match="threshold"):
        Policy(threshold="loose")  # type: ignore[arg-type]


def test_threshold_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        Policy(threshold=float("nan"))


def test_a_generator_that_dies_keeps_what_was_released() -> None:
    def dying(prompt: str) -> Iterator[str]:
        yield TRUE + "The lease "
        raise ConnectionError("gone")

    result = Guard(dying, scorer=WordScorer()).generate("?", SOURCE)
    assert result.text == TRUE
    assert result.sentences[-1].verdict is Verdict.ERROR
    assert result.sentences[-1].text == "The lease "
    assert "gone" in (result.sentences[-1].reason or "")
    with pytest.raises(GenerationError, match="gone"):
        Guard(dying, scorer=WordScorer(), policy=Policy(fallback="raise")).generate("?", SOURCE)


@pytest.mark.parametrize(("written", "released"), [("The lease ends in", ""), (TRUE, TRUE), (TRUE + "Th", TRUE)])
def test_half_a_sentence_is_not_released(written: str, released: str) -> None:
    class Cut(Session):
        cut_off = "no room for more"

        def propose(self) -> Iterator[str]:
            yield written

        def accept(self, n_chars: int) -> None: ...

        def reject(self, n_chars: int) -> None: ...

    class Short(Generator):
        def start(self, prompt: str, documents: Sequence[Document]) -> Cut:
            return Cut()

    result = Guard(Short(), scorer=WordScorer(), policy=Policy()).generate("?", SOURCE)
    assert result.text == released
    assert result.answer == written
    if written != released:
        assert result.sentences[-1].verdict is Verdict.ERROR
        assert "no room for more" in str(result.sentences[-1].reason)


def test_slow_scorer_times_out_closed() -> None:
    class Slow(WordScorer):
        def judge(self, claims: Sequence[str], source: Sequence[Document]) -> list[Score]:
            if "990" in claims[0]:
                time.sleep(3)
            return super().judge(claims, source)

    result = Guard(ScriptedGenerator([FALSE, TRUE]), scorer=Slow(), policy=Policy(deadline=1.0)).generate("?", SOURCE)
    assert [s.verdict for s in result.sentences] == [Verdict.TIMEOUT, Verdict.SUPPORTED]
    assert result.text == TRUE


@pytest.mark.parametrize("deadline", [None, 5.0])
def test_a_timeout_of_the_scorers_own_is_an_error(deadline: float | None) -> None:
    class TimingOut(WordScorer):
        def judge(self, claims: Sequence[str], source: Sequence[Document]) -> list[Score]:
            raise TimeoutError("the server is slow")

    subject = Guard(lambda prompt: TRUE, scorer=TimingOut(), policy=Policy(deadline=deadline))
    streamed = subject.generate("?", SOURCE)
    awaited = asyncio.run(subject.agenerate("?", SOURCE))
    for result in (subject.check(TRUE, SOURCE), streamed, awaited):
        (sentence,) = result.sentences
        assert sentence.verdict is Verdict.ERROR
        assert "the server is slow" in str(sentence.reason)
        assert result.text == ""


def test_a_source_is_read_once_an_answer() -> None:
    class Reading(WordScorer):
        reads = 0

        def read(self, source: Source) -> Reader:
            self.reads += 1
            return super().read(source)

    scorer = Reading()
    subject = Guard(ScriptedGenerator([TRUE, [FALSE, TRUE], "Pets are not allowed."]), scorer=scorer)
    subject.generate("?", SOURCE)
    assert scorer.reads == 1
    subject.check(TRUE + FALSE, SOURCE)
    assert scorer.reads == 2


def test_a_stream_left_early_frees_its_generator() -> None:
    closed: list[bool] = []

    class Holding(Session):
        def propose(self) -> Iterator[str]:
            yield TRUE + TRUE + TRUE

        def accept(self, n_chars: int) -> None: ...

        def reject(self, n_chars: int) -> None: ...

        def close(self) -> None:
            closed.append(True)

    class Holder(Generator):
        def start(self, prompt: str, documents: Sequence[Document]) -> Session:
            return Holding()

    subject = Guard(Holder(), scorer=WordScorer())
    with subject.stream("?", SOURCE) as stream:
        assert next(iter(stream)) == TRUE
        assert not closed
    assert closed

    async def leave() -> None:
        closed.clear()
        async with await subject.astream("?", SOURCE) as stream:
            async for _ in stream:
                break
        assert closed

    asyncio.run(leave())
    closed.clear()
    subject.generate("?", SOURCE)
    assert closed


def test_slow_generator_times_out() -> None:
    release = threading.Event()

    def hanging(prompt: str) -> Iterator[str]:
        yield TRUE + "The lease "
        release.wait(5)
        yield "ends. "

    result = Guard(hanging, scorer=WordScorer(), policy=Policy(answer_deadline=0.4)).generate("?", SOURCE)
    release.set()
    assert result.text == TRUE
    assert result.sentences[-1].verdict is Verdict.TIMEOUT


def test_callables_take_what_they_declare() -> None:
    def only_prompt(prompt: str) -> str:
        return TRUE

    def with_documents(prompt: str, documents: Sequence[Document]) -> str:
        return documents[0].text

    def continuing(prompt: str, documents: Sequence[Document], prefix: str) -> Iterator[str]:
        calls.append(prefix)
        yield from {0: [TRUE, FALSE], 1: ["The rent is 950."]}[len(calls) - 1]

    calls: list[str] = []
    assert Guard(only_prompt, scorer=WordScorer()).generate("?", SOURCE).text == TRUE
    assert Guard(with_documents, scorer=WordScorer()).generate("?", SOURCE).text == SOURCE
    assert Guard(continuing, scorer=WordScorer()).generate("?", SOURCE).text == TRUE + "The rent is 950."
    assert calls == ["", TRUE]


def test_documents_go_to_the_parameter_that_is_meant_for_them() -> None:
    def named(prompt: str, temperature: float = 0.5, documents: Sequence[Document] = ()) -> str:
        assert temperature == 0.5
        return documents[0].text

    def by_name_only(prompt: str, *, documents: Sequence[Document]) -> str:
        return documents[0].text

    def last(prompt: str, prefix: str, context: Sequence[Document]) -> str:
        return context[0].text[len(prefix) :]

    def unnamed(prompt: str, documents: Sequence[Document], /) -> str:
        return documents[0].text

    def any_number(*given: Any) -> str:
        return str(given[1][0].text)

    def others(prompt: str, temperature: float = 0.5, **options: Any) -> str:
        assert temperature == 0.5
        assert not options
        return SOURCE

    for function in (named, by_name_only, last, unnamed, any_number, others):
        assert Guard(function, scorer=WordScorer()).generate("?", SOURCE).text == SOURCE


def test_what_a_fallback_raises_is_raised_again_where_an_answer_is_pushed_on() -> None:
    def fails(sentence: CheckedSentence) -> str:
        raise LookupError("no replacement")

    pushed = guard(fallback=fails).pushed(SOURCE)
    assert pushed.feed(TRUE) == []
    for _ in range(2):
        with pytest.raises(LookupError, match="no replacement"):
            pushed.feed(FALSE + TRUE)
    with pytest.raises(LookupError):
        pushed.finish()


def test_a_callable_without_prefix_is_retried_only_while_nothing_stands() -> None:
    answers = iter([FALSE + TRUE, TRUE + FALSE])
    result = Guard(lambda prompt: next(answers), scorer=WordScorer()).generate("?", SOURCE)
    assert result.text == TRUE
    assert [len(s.attempts) for s in result.sentences] == [2, 1]


def test_a_guard_without_generator_says_so() -> None:
    with pytest.raises(InputError, match="no generator"):
        Guard(scorer=WordScorer()).generate("?", SOURCE)
    number: Any = 3
    with pytest.raises(InputError, match="callable"):
        Guard(number)


def test_result_before_the_end_is_an_error() -> None:
    with pytest.raises(InputError, match="not ended"):
        _ = guard([TRUE]).stream("?", SOURCE).result


def test_async_twins_equal_the_plain_ones() -> None:
    script = [TRUE, [FALSE, "The rent is 950. "], "Dragons fly. ", "Pets are not allowed."]

    async def all_three() -> tuple[object, ...]:
        subject = guard(script)
        stream = await subject.astream("?", SOURCE)
        pieces = [text async for text in stream]
        checked = await subject.acheck(TRUE + FALSE, SOURCE)
        return (await subject.agenerate("?", SOURCE)).text, "".join(pieces), stream.result.text, checked.text

    plain = guard(script).generate("?", SOURCE).text
    assert asyncio.run(all_three()) == (plain, plain, plain, TRUE)


def test_async_callables_and_concurrent_answers_do_not_mix() -> None:
    async def write(prompt: str, documents: Sequence[Document]) -> AsyncIterator[str]:
        for word in documents[0].text.split(" "):
            await asyncio.sleep(0)
            yield word + " "
        yield FALSE

    async def many() -> list[str]:
        subject = Guard(write, scorer=WordScorer())
        sources = [f"Flat {i} costs {i} euros." for i in range(20)]
        results = await asyncio.gather(*(subject.agenerate("?", source) for source in sources))
        return [result.text.strip() for result in results]

    assert asyncio.run(many()) == [f"Flat {i} costs {i} euros." for i in range(20)]


def test_an_async_callable_in_plain_code_is_a_clear_error() -> None:
    async def write(prompt: str) -> AsyncIterator[str]:
        yield TRUE

    with pytest.raises(InputError, match="agenerate"):
        Guard(write, scorer=WordScorer()).generate("?", SOURCE)


def test_cancelling_an_async_answer_stops_it() -> None:
    async def write(prompt: str) -> AsyncIterator[str]:
        while True:
            yield TRUE
            await asyncio.sleep(0.01)

    async def cancelled() -> bool:
        task = asyncio.create_task(Guard(write, scorer=WordScorer()).agenerate("?", SOURCE))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(cancelled())


@pytest.mark.parametrize("is_async", [False, True])
def test_the_time_until_the_first_text_counts(is_async: bool) -> None:
    release = threading.Event()

    def slow(prompt: str) -> str:
        release.wait(20)
        return TRUE

    subject = Guard(slow, scorer=WordScorer(), policy=Policy(deadline=0.2))
    result = asyncio.run(subject.agenerate("?", SOURCE)) if is_async else subject.generate("?", SOURCE)
    assert not release.is_set()  # nothing waited for the thread that was left behind
    release.set()
    assert [s.verdict for s in result.sentences] == [Verdict.TIMEOUT]
    assert result.text == ""


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_a_score_that_is_no_number_supports_nothing(value: float) -> None:
    class Broken(WordScorer):
        def judge(self, claims: Sequence[str], source: Sequence[Document]) -> list[Score]:
            return [Score(value) for _ in claims]

    (sentence,) = Guard(scorer=Broken()).check(TRUE, SOURCE).sentences
    assert sentence.verdict is Verdict.ERROR


NOTHING: Any = None


@pytest.mark.parametrize("scores", [[], [Score(0.9)] * 3, [NOTHING], [Score(NOTHING)]])
def test_a_scorer_must_give_one_score_a_claim(scores: list[Score]) -> None:
    class Broken(WordScorer):
        def judge(self, claims: Sequence[str], source: Sequence[Document]) -> list[Score]:
            return scores

    (sentence,) = Guard(scorer=Broken()).check(TRUE, SOURCE).sentences
    assert sentence.verdict is Verdict.ERROR
    assert "one Score" in (sentence.reason or "")


def test_a_fallback_must_return_text() -> None:
    with pytest.raises(InputError, match="int"):
        guard(fallback=lambda sentence: 3).check(FALSE, SOURCE)


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(InputError, match="surrogate"):
        guard().check("The rent \ud83d is due.", SOURCE)
    with pytest.raises(InputError, match="prompt holds half a surrogate"):
        guard().check("No.", SOURCE, "Is the \ud83d rent due?")
    result = guard([TRUE + "It is \ud83d due."]).generate("?", SOURCE)
    assert result.sentences[-1].verdict is Verdict.ERROR
    assert result.text in ("", TRUE)


def test_copies_of_a_guard_load_one_scorer() -> None:
    subject = Guard(scorer="scale", judge=FakeEntailment())
    assert copy.copy(subject).scorer is subject.scorer


def test_a_parameter_with_a_default_is_no_place_for_documents() -> None:
    def write(prompt: str, max_tokens: int = 100) -> str:
        return TRUE if max_tokens == 100 else FALSE

    assert Guard(write, scorer=WordScorer()).generate("?", SOURCE).text == TRUE


def _contradicted(premise: str, claim: str) -> list[float]:
    return [0.9, 0.1, 0.0] if claim.strip() in premise else [0.1, 0.1, 0.8]


class _Literal(FakeEntailment):
    """Says what is in the premise word for word, and holds everything else for contradicted."""

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        return np.array([_contradicted(*pair) for pair in pairs], dtype=np.float64).reshape(-1, 3)


def test_fallback_quote_puts_the_sources_sentence_in_place_of_what_it_contradicts() -> None:
    source = "The shop opens at nine. It closes at six."
    guard = Guard(scorer=NearestScorer(_Literal()), policy=Policy(fallback="quote"))
    result = guard.check("It closes at eight. The shop opens at nine.", source)
    wrong, _right = result.sentences
    assert result.text == "“It closes at six.” The shop opens at nine."
    assert wrong.quoted
    assert not wrong.released
    assert wrong.verdict is Verdict.UNSUPPORTED
    (cited,) = wrong.supporting
    assert source[cited.start : cited.end] == "It closes at six."
    assert [c.text for c in result.citations] == ["It closes at six.", "The shop opens at nine."]


def test_fallback_quote_has_nothing_to_quote_where_the_source_is_silent() -> None:
    class Silent(FakeEntailment):
        def classify(self, pairs: Sequence[Pair]) -> FloatArray:
            return np.tile([0.1, 0.9, 0.0], (len(pairs), 1))

    guard = Guard(scorer=NearestScorer(Silent(lambda premise, claim: 0.1)), policy=Policy(fallback="quote"))
    assert guard.check("It closes at eight.", "It closes at six.").text == ""


def test_a_calibration_of_another_scorer_is_refused() -> None:
    fitted = Calibration("none", (), (), threshold=0.7, scorer=NearestScorer(FakeEntailment()).facts.identity)
    result = Guard(scorer=NearestScorer(FakeEntailment()), policy=Policy(calibration=fitted)).check(
        "A is B.", "A is B."
    )
    assert result.threshold == 0.7
    with pytest.raises(InputError, match="fitted on another scorer: the 5 nearest"):
        Guard(scorer="scale", judge=FakeEntailment(), policy=Policy(calibration=fitted)).check("A is B.", "A is B.")


def test_a_script_has_nothing_to_write_or_to_retry_behind_its_end() -> None:
    two_in_one = ScriptedGenerator(["The rent is due. Pets are allowed. ", "Dogs sing."])
    result = Guard(
        two_in_one, scorer="scale", judge=FakeEntailment(lambda premise, claim: float("Dogs" not in claim))
    ).generate("?", "x")
    assert [s.verdict for s in result.sentences] == ["supported", "supported", "unsupported"]
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
    assert [(r.text, [s.verdict for s in r.sentences]) for r in together] == [
        (r.text, [s.verdict for s in r.sentences]) for r in alone
    ]
    assert guard.check_all([], "The rent is due.") == []


def test_an_answer_that_breaks_the_scorer_costs_the_answers_beside_it_nothing() -> None:
    def judge(premise: str, claim: str) -> float:
        if "Pets" in claim:
            raise ValueError("no pets")
        return 1.0

    guard = Guard(scorer="scale", judge=FakeEntailment(judge))
    results = guard.check_all(["The rent is due.", "Pets pay. The rent is due.", "Cats pay."], "The rent is due.")
    assert [[s.verdict for s in r.sentences] for r in results] == [["supported"], ["error", "supported"], ["supported"]]


LEAFLET = "People with asthma must not take it. People over 70 may take it."
LIST = ("Who must not take it:\n- people with asthma\n", "- people over 70\n", "- people with asthma")


def _judge_of_lists(premise: str, claim: str) -> float:
    return float(claim in ("Who must not take it: people with asthma", "people over 70", "people with asthma"))


@pytest.mark.parametrize("written", [False, True])
def test_an_item_is_judged_as_the_sentence_that_it_makes_with_its_lead(written: bool) -> None:
    subject = Guard(ScriptedGenerator(LIST), scorer="scale", judge=FakeEntailment(_judge_of_lists))
    result = subject.check("".join(LIST), LEAFLET) if written else subject.generate("Who?", LEAFLET)
    assert [s.text for s in result.sentences] == list(LIST)
    assert [s.released for s in result.sentences] == [True, False, True]
    assert result.text == LIST[0] + LIST[2]


@pytest.mark.parametrize("written", [False, True])
def test_a_lead_goes_out_with_the_first_item_that_is_released(written: bool) -> None:
    script = ["Banned:\n- nobody\n", "- The pill is sold.\n", "- people with asthma\n", "- people over 70\n"]
    judge = FakeEntailment(lambda premise, claim: float("nobody" not in claim))
    subject = Guard(ScriptedGenerator(script), scorer="scale", judge=judge)
    result = subject.check("".join(script), LEAFLET) if written else subject.generate("Who?", LEAFLET)
    assert result.text == script[1] + "Banned:\n" + script[2] + script[3]
    assert "".join(sentence.text for sentence in result.sentences) == result.answer == "".join(script)


def test_a_lead_whose_items_are_all_refused_goes_with_them() -> None:
    result = Guard(scorer="scale", judge=FakeEntailment(lambda premise, claim: float(":" not in claim))).check(
        "".join(LIST), LEAFLET
    )
    assert result.text == ""


@pytest.mark.parametrize("written", [False, True])
def test_a_pronoun_is_refused_where_the_sentence_with_its_noun_is(written: bool) -> None:
    script = [
        "Aspirin is sold. ",
        "Rings are worn. ",
        "But they may be taken. ",
        "These pills are free. ",
        "They're red.",
    ]
    judge = FakeEntailment(lambda premise, claim: float("Rings" not in claim))
    subject = Guard(ScriptedGenerator(script), scorer="scale", judge=judge)
    result = subject.check("".join(script), LEAFLET) if written else subject.generate("Who?", LEAFLET)
    assert result.text == script[0] + script[3] + script[4]
    assert result.sentences[2].reason == "it opens with a pronoun, and the sentence before it was not released"
