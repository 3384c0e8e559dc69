"""`Guard`: wraps a generator, and lets a sentence out only when the source supports it.

This module connects the loop's steps with a session and a scorer, once for plain code and once for
async code. The rules are in `groundrail.loop` and `groundrail.policy`.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from groundrail.claims import claim_of
from groundrail.deadline import awithin, within
from groundrail.errors import InputError
from groundrail.generators import Generator, Session, as_generator
from groundrail.loop import (
    Accept,
    CanRetry,
    ClaimOf,
    CutOff,
    Judge,
    Read,
    Reject,
    Release,
    Steps,
    checked_text,
    guarded_generation,
)
from groundrail.policy import Policy
from groundrail.scoring.base import Scorer
from groundrail.sentences import is_unicode
from groundrail.types import CheckedSentence, Document, GuardResult, Source, as_documents

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable

    from groundrail.decoding.steering import PMI
    from groundrail.entailment.base import EntailmentModel
    from groundrail.integrations.langchain import GuardedRunnable


class Guard:
    """Checks what a generator writes against a source, sentence by sentence, before anyone sees it.

    generator: a callable `(prompt, documents) -> text or pieces`, a `Generator`, or None to only check.
    scorer: how claims are scored. An entailment model or a hub id is SCALE around that. None is the built-in
        judge on one source sentence at a time, which it judges better than chunks (docs/benchmarks.md).
    policy: what counts as supported and what happens to the rest.
    """

    def __init__(
        self,
        generator: Generator | Callable[..., Any] | None = None,
        *,
        scorer: "Scorer | EntailmentModel | str | None" = None,
        policy: Policy | None = None,
    ) -> None:
        self.generator = None if generator is None else as_generator(generator)
        self.policy = policy or Policy()
        self._scorer = _Loaded(scorer)

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        entailment: "EntailmentModel | str | None" = None,
        steering: "float | PMI | None" = None,
        policy: Policy | None = None,
        **hub: Any,
    ) -> Self:
        """A guard around a causal language model, by hub id or folder.

        `steering` is PMI-addition's alpha, or a `PMI`; `hub` goes to transformers (`device`, `dtype`, ...).
        """
        from groundrail.decoding.generator import HFGenerator
        from groundrail.decoding.steering import PMI

        pmi = PMI(steering) if isinstance(steering, int | float) else steering
        return cls(HFGenerator.from_pretrained(name_or_path, steering=pmi, **hub), scorer=entailment, policy=policy)

    @property
    def scorer(self) -> Scorer:
        """The scorer, its model loaded when first asked for."""
        return self._scorer.get()

    @property
    def takes_context(self) -> bool:
        """Whether its scorer can judge a claim together with the sentence before it."""
        return self._scorer.takes_context

    @property
    def threshold(self) -> float:
        """The score from which a claim counts as supported: the policy's, else the scorer's own."""
        if self.policy.threshold is not None:
            return self.policy.threshold
        return float(getattr(self.scorer, "threshold", 0.5))

    def check(self, answer: str, source: Source) -> GuardResult:
        """Check a text that is already written. Raises: InputError; UnsupportedError under `"raise"`."""
        steps, documents = self._check_steps(answer, source)
        return self._run(steps, documents)

    def generate(self, prompt: str, source: Source) -> GuardResult:
        """Write an answer to `prompt`, releasing, retrying or replacing each sentence under the policy.

        Raises: InputError without a generator; UnsupportedError, or the generator's own exception,
        under `Policy(fallback="raise")`.
        """
        stream = self.stream(prompt, source)
        for _ in stream:
            pass
        return stream.result

    def stream(self, prompt: str, source: Source) -> "GuardedStream":
        """Like `generate`, but iterable: yields released text as soon as its verdict is known."""
        generator, documents = self._generator(), as_documents(source)
        session = generator.start(prompt, documents)
        steps = guarded_generation(documents, self.policy, self.threshold, self.claim_of)
        return GuardedStream(_driven(steps, self.scorer, documents, session), session)

    async def acheck(self, answer: str, source: Source) -> GuardResult:
        """`check` without blocking the event loop."""
        steps, documents = await asyncio.to_thread(self._check_steps, answer, source)
        scorer = await asyncio.to_thread(self._scorer.get)
        stream = AsyncGuardedStream(_async_driven(steps, scorer, documents, None), None)
        async for _ in stream:
            pass
        return stream.result

    async def agenerate(self, prompt: str, source: Source) -> GuardResult:
        """`generate` without blocking the event loop."""
        stream = await self.astream(prompt, source)
        async for _ in stream:
            pass
        return stream.result

    async def astream(self, prompt: str, source: Source) -> "AsyncGuardedStream":
        """`stream` without blocking the event loop: `async for text in await guard.astream(...)`."""
        generator, documents = self._generator(), as_documents(source)
        scorer = await asyncio.to_thread(self._scorer.get)
        astart = getattr(generator, "astart", None)
        if astart is not None:
            session = await astart(prompt, documents)
        else:
            session = await asyncio.to_thread(generator.start, prompt, documents)
        steps = guarded_generation(documents, self.policy, self.threshold, self.claim_of)
        return AsyncGuardedStream(_async_driven(steps, scorer, documents, session), session)

    def as_runnable(self, runnable: "Runnable[Any, Any] | None" = None, **options: Any) -> "GuardedRunnable":
        """This guard around a LangChain chain or model, or around its own generator, as a `Runnable`.

        Options are those of `groundrail.integrations.langchain.GuardedRunnable`.
        """
        from groundrail.integrations.langchain import GuardedRunnable

        return GuardedRunnable(runnable, guard=self, **options)

    claim_of: ClaimOf = staticmethod(claim_of)
    """What of a sentence is checked; a subclass may join it with the sentence before."""

    def _check_steps(self, answer: str, source: Source) -> tuple[Steps, Sequence[Document]]:
        if not isinstance(answer, str):
            raise InputError(f"an answer is text, not {type(answer).__name__}")
        if not is_unicode(answer):
            raise InputError("the answer holds half a surrogate pair, which is no text; decode it as UTF-8 first")
        documents = as_documents(source)
        return checked_text(answer, documents, self.policy, self.threshold, self.claim_of), documents

    def _generator(self) -> Generator:
        if self.generator is None:
            raise InputError("this guard has no generator; pass one: Guard(generator), or use check(answer, source)")
        return self.generator

    def _run(self, steps: Steps, documents: Sequence[Document]) -> GuardResult:
        stream = GuardedStream(_driven(steps, self.scorer, documents, None), None)
        for _ in stream:
            pass
        return stream.result


class _Loaded:
    """A scorer, made of whatever the guard was given when first asked for; copies of a guard share it."""

    def __init__(self, given: "Scorer | EntailmentModel | str | None") -> None:
        self._given, self._lock = given, threading.Lock()

    def get(self) -> Scorer:
        with self._lock:
            if not isinstance(self._given, Scorer):
                from groundrail.scoring import NearestScorer, ScaleScorer

                self._given = NearestScorer() if self._given is None else ScaleScorer(self._given)
            return self._given

    @property
    def takes_context(self) -> bool:
        return bool(getattr(self._given, "takes_context", False)) if isinstance(self._given, Scorer) else True


class _Outcome:
    """What both streams keep: the sentences so far, and the result once the answer has ended."""

    def __init__(self, session: Session | None) -> None:
        self._session = session
        self._result: GuardResult | None = None

    @property
    def result(self) -> GuardResult:
        """Raises: InputError while the answer is still being written."""
        if self._result is None:
            raise InputError("the stream has not ended; iterate over it before asking for its result")
        return self._result

    def _finish(self, result: GuardResult) -> None:
        self._result = result.model_copy(update={"generation": dict(getattr(self._session, "stats", {}))})


class GuardedStream(_Outcome):
    """Released text, piece by piece: `for text in stream`, then `stream.result`.

    The pieces, concatenated, are exactly `result.text`. `sentences()` yields every `CheckedSentence`
    instead, released or not.
    """

    def __init__(self, sentences: Iterator["CheckedSentence | GuardResult"], session: Session | None) -> None:
        super().__init__(session)
        self._events = sentences

    def __iter__(self) -> Iterator[str]:
        return (s.released_text for s in self.sentences() if s.released_text)

    def sentences(self) -> Iterator[CheckedSentence]:
        for event in self._events:
            if isinstance(event, GuardResult):
                self._finish(event)
            else:
                yield event


class AsyncGuardedStream(_Outcome):
    """The async twin of `GuardedStream`."""

    def __init__(self, sentences: AsyncIterator["CheckedSentence | GuardResult"], session: Session | None) -> None:
        super().__init__(session)
        self._events = sentences

    async def __aiter__(self) -> AsyncIterator[str]:
        async for sentence in self.sentences():
            if sentence.released_text:
                yield sentence.released_text

    async def sentences(self) -> AsyncIterator[CheckedSentence]:
        async for event in self._events:
            if isinstance(event, GuardResult):
                self._finish(event)
            else:
                yield event


def _driven(
    steps: Steps, scorer: Scorer, documents: Sequence[Document], session: Session | None
) -> Iterator[CheckedSentence | GuardResult]:
    """Do what the steps ask for; yield the sentences they release, and the result last."""
    pieces = _Pieces(session)
    outcome: Any = None
    error: Exception | None = None
    while True:
        try:
            step = steps.throw(error) if error is not None else steps.send(outcome)
        except StopIteration as stop:
            yield stop.value
            return
        outcome, error = None, None
        try:
            match step:
                case Release():
                    yield step.sentence
                case Judge():
                    outcome = within(step.timeout, scorer.score, step.claims, documents)
                case Read():
                    outcome = within(step.timeout, pieces.read, step.anew)
                case _:
                    outcome = _tell(step, _session(session))
        except GeneratorExit:
            steps.close()
            raise
        except Exception as raised:  # handed to the loop, which gives it a verdict or raises it
            error = raised


async def _async_driven(
    steps: Steps, scorer: Scorer, documents: Sequence[Document], session: Session | None
) -> AsyncIterator[CheckedSentence | GuardResult]:
    """`_driven` for an event loop: what has no async form runs in a thread."""
    ascore = getattr(scorer, "ascore", None)
    pieces = _Pieces(session)
    outcome: Any = None
    error: Exception | None = None
    while True:
        try:
            step = steps.throw(error) if error is not None else steps.send(outcome)
        except StopIteration as stop:
            yield stop.value
            return
        outcome, error = None, None
        try:
            match step:
                case Release():
                    yield step.sentence
                case Judge():
                    if ascore:
                        outcome = await asyncio.wait_for(ascore(step.claims, documents), step.timeout)
                    else:
                        outcome = await awithin(step.timeout, scorer.score, step.claims, documents)
                case Read():
                    outcome = await pieces.aread(step.anew, step.timeout)
                case _:
                    outcome = _tell(step, _session(session))
        except GeneratorExit:
            steps.close()
            raise
        except Exception as raised:
            error = raised


class _Pieces:
    """What a session writes, read piece by piece; None at the end of what it proposes."""

    def __init__(self, session: Session | None) -> None:
        self._session = session
        self._proposed: Any = iter(())

    def read(self, anew: bool) -> str | None:
        if anew:
            self._propose()
        if hasattr(self._proposed, "__anext__"):
            raise InputError("this generator is async; use agenerate or astream")
        return next(self._proposed, None)

    async def aread(self, anew: bool, timeout: float | None) -> str | None:
        """Raises: TimeoutError where the next piece, a new proposal included, takes longer."""
        async with asyncio.timeout(timeout):
            if anew:
                await awithin(timeout, self._propose)
            if hasattr(self._proposed, "__anext__"):
                return await anext(self._proposed, None)
            return await awithin(timeout, next, self._proposed, None)

    def _propose(self) -> None:
        self._proposed = _session(self._session).propose()


def _tell(step: Accept | Reject | CanRetry | CutOff, session: Session) -> Any:
    match step:
        case Accept():
            return session.accept(step.n_chars)
        case Reject():
            return session.reject(step.n_chars)
        case CanRetry():
            return bool(getattr(session, "can_retry", True))
        case CutOff():
            return str(getattr(session, "cut_off", ""))


def _session(session: Session | None) -> Session:
    if session is None:
        raise InputError("there is no generator to read from")
    return session
