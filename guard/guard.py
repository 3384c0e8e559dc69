"""`Guard`: wraps a generator, and lets a sentence out only when the source supports it.

The rules are in `groundrail.generation.loop` and `groundrail.policy`; `groundrail.generation.drivers` does what the loop asks for.
"""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.generation.drivers import PushedAnswer, adrive, drive
from groundrail.generation.judging import Reading
from groundrail.generation.loop import checked_text, guarded_generation
from groundrail.generation.steps import Steps
from groundrail.generation.streams import AsyncGuardedStream, GuardedStream
from groundrail.generation.verdicts import ClaimOf
from groundrail.generation.writing import Writing
from groundrail.generators import Generator, as_generator
from groundrail.generators.base import InProcess
from groundrail.policy import Policy
from groundrail.runtime.deadlines import Calls
from groundrail.runtime.locks import LOADING, one_at_a_time
from groundrail.scoring.base import Scorer, ScorerFacts
from groundrail.scoring.registry import as_meant, as_scorer, as_second
from groundrail.text.claims import claim_of
from groundrail.text.sentences import is_unicode
from groundrail.types import Document, GuardResult, Source, as_documents

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable

    from groundrail.decoding.steering import PMI
    from groundrail.integrations.langchain import GuardedRunnable


T = TypeVar("T")
_Scorer: TypeAlias = Scorer | str | None
_Judge: TypeAlias = EntailmentModel | str | None


class Guard:
    """Checks what a generator writes against a source, sentence by sentence, before anyone sees it.

    generator: a callable `(prompt, documents) -> text or pieces`, a `Generator`, or None to only check.
    scorer: how claims are scored, a `Scorer` or the name of one, such as "scale". None reads the nearest source
        sentences, one by one and together (`NearestScorer`).
    judge: the model that the scorer asks, an `EntailmentModel`, a hub id or a folder. None is the built-in judge.
        "self" asks the generator, where it is an `HFGenerator`: no second model, and no second opinion either.
    second: asked in the first scorer's place where that is in doubt (`Policy(doubt=...)`), a `Scorer`, or a judge with
        SCALE around it: a large judge that is asked about few sentences.
    policy: what counts as supported and what happens to the rest.
    claim_of: (sentence, the one before it, the prompt) -> what of it is checked, None where it claims nothing.
    """

    def __init__(
        self,
        generator: Generator | Callable[..., Any] | None = None,
        *,
        scorer: _Scorer = None,
        judge: _Judge = None,
        second: Scorer | _Judge = None,
        policy: Policy | None = None,
        claim_of: ClaimOf = claim_of,
    ) -> None:
        self.generator = None if generator is None else as_generator(generator)
        self.policy = policy or Policy()
        self.claim_of = claim_of
        scorer, judge = as_meant(scorer, judge)
        own = partial(_own_judge, self.generator)
        self._scorer = _Loaded(scorer, own(judge), own(second), self.policy)
        self._calls = Calls()

    @classmethod
    @one_at_a_time
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        scorer: _Scorer = None,
        judge: _Judge = None,
        steering: "float | PMI | None" = None,
        policy: Policy | None = None,
        entailment: _Judge = None,
        **hub: Any,
    ) -> Self:
        """A guard around a causal language model, by hub id or folder. `entailment` is the former name of `judge`.

        `steering` is PMI-addition's alpha, or a `PMI`; `hub` goes to transformers (`device`, `dtype`, ...).
        """
        from groundrail.decoding.generator import HFGenerator
        from groundrail.decoding.steering import PMI

        pmi = PMI(steering) if isinstance(steering, int | float) else steering
        if entailment is not None:
            scorer, judge = as_meant(entailment, judge, stacklevel=4)
        generator = HFGenerator.from_pretrained(name_or_path, steering=pmi, **hub)
        return cls(generator, scorer=scorer, judge=judge, policy=policy)

    @property
    def scorer(self) -> Scorer:
        """The scorer, its model loaded when first asked for."""
        return self._scorer.get()

    @property
    def takes_context(self) -> bool:
        """Whether its scorer can judge a claim together with the sentence before it; loads only a scorer that was named."""
        return all(facts.takes_context for facts in self._scorer.known())

    def with_generator(self, generator: Generator | Callable[..., Any] | None) -> Self:
        """This guard around another generator: same policy, same scorer, loaded once for both."""
        return self._copy(generator=None if generator is None else as_generator(generator))

    def with_claim_of(self, claim_of: ClaimOf) -> Self:
        """This guard with another idea of what in a sentence is checked."""
        return self._copy(claim_of=claim_of)

    def check(self, answer: str, source: Source, prompt: str = "") -> GuardResult:
        """Check a text that is already written, as an answer to `prompt` where there was one.

        "Until Friday." is supported only as an answer to a question.

        Raises: InputError; UnsupportedError under `"raise"`.
        """
        steps, reading = self._check_steps(answer, source, prompt)
        stream = GuardedStream(drive(steps, reading, None), None)
        for _ in stream.sentences():
            pass
        return stream.result

    def generate(self, prompt: str, source: Source) -> GuardResult:
        """Write an answer to `prompt`, releasing, retrying or replacing each sentence under the policy.

        Raises: InputError for a wrong call, as without a generator; under `Policy(fallback="raise")` UnsupportedError
        for a sentence, GenerationError where the generator failed, from its own exception. What a fallback or a
        stop of the policy raises, and interrupts, pass through.
        """
        with self.stream(prompt, source) as stream:
            for _ in stream:
                pass
            return stream.result

    def stream(self, prompt: str, source: Source) -> "GuardedStream":
        """Like `generate`, but iterable: yields released text as soon as its verdict is known.

        Models are loaded here, before any deadline runs; the generator is asked for nothing before the first text is.

        Raises: InputError here, what else `generate` raises while it is read; what loading a model raises.
        """
        documents = as_documents(source)
        writing = self._writing(prompt, documents)
        return GuardedStream(drive(*self._generation(documents, prompt), writing), writing)

    def pushed(self, source: Source, prompt: str = "") -> PushedAnswer:
        """Check an answer that someone else writes and hands over piece by piece.

        Raises: InputError for a source that is none; what loading a model raises.
        """
        return PushedAnswer(*self._generation(as_documents(source), prompt))

    async def acheck(self, answer: str, source: Source, prompt: str = "") -> GuardResult:
        """`check` without blocking the event loop. Raises: what `check` raises."""
        steps, reading = await self._calls.aside(self._check_steps, answer, source, prompt)
        stream = AsyncGuardedStream(adrive(steps, reading, None), None)
        async for _ in stream.sentences():
            pass
        return stream.result

    async def agenerate(self, prompt: str, source: Source) -> GuardResult:
        """`generate` without blocking the event loop. Raises: what `generate` raises."""
        async with await self.astream(prompt, source) as stream:
            async for _ in stream:
                pass
            return stream.result

    async def astream(self, prompt: str, source: Source) -> "AsyncGuardedStream":
        """`stream` without blocking the event loop: `async for text in await guard.astream(...)`.

        Raises: what `stream` raises.
        """
        documents = as_documents(source)
        writing = self._writing(prompt, documents)
        generation = await self._calls.aside(self._generation, documents, prompt)
        return AsyncGuardedStream(adrive(*generation, writing), writing)

    def as_runnable(self, runnable: "Runnable[Any, Any] | None" = None, **options: Any) -> "GuardedRunnable":
        """This guard around a LangChain chain or model, or around its own generator, as a `Runnable`.

        Options are those of `groundrail.integrations.langchain.GuardedRunnable`.
        """
        from groundrail.integrations.langchain import GuardedRunnable

        return GuardedRunnable(runnable, guard=self, **options)

    def _check_steps(self, answer: str, source: Source, prompt: str) -> tuple[Steps, Reading]:
        if not isinstance(answer, str):
            raise InputError(f"an answer is text, not {type(answer).__name__}")
        if not is_unicode(answer):
            raise InputError("the answer holds half a surrogate pair, which is no text; decode it as UTF-8 first")
        documents, scorer = as_documents(source), self.scorer
        steps = checked_text(answer, documents, self.policy, scorer.facts.threshold, self.claim_of, prompt)
        return steps, Reading(scorer, documents, self._calls)

    def _generation(self, documents: Sequence[Document], prompt: str) -> tuple[Steps, Reading]:
        scorer = self.scorer
        steps = guarded_generation(documents, self.policy, scorer.facts.threshold, self.claim_of, prompt)
        return steps, Reading(scorer, documents, self._calls)

    def _writing(self, prompt: str, documents: Sequence[Document]) -> Writing:
        if self.generator is None:
            raise InputError("this guard has no generator; pass one: Guard(generator), or use check(answer, source)")
        ahead = not self._scorer.asks_model_of(self.generator)
        explains = self.policy.keep_refused
        return Writing(self.generator, prompt, documents, self._calls, ahead=ahead, explains=explains)

    def _copy(self, **changes: Any) -> Self:
        twin = copy.copy(self)
        vars(twin).update(changes)
        return twin


def _own_judge(generator: Generator | None, judge: T) -> "T | EntailmentModel":
    """The generator's model where the judge is "self". Raises: InputError where there is none to ask."""
    if judge != "self":
        return judge
    from groundrail.decoding.generator import HFGenerator
    from groundrail.entailment.causal import CausalEntailment

    if not isinstance(generator, HFGenerator):
        raise InputError('judge="self" asks the model that writes, which takes an HFGenerator; pass a judge instead')
    return CausalEntailment(generator.model, generator.tokenizer)


class _Loaded:
    """A scorer, made of whatever the guard was given when first asked for; copies of a guard share it."""

    def __init__(self, scorer: _Scorer, judge: _Judge, second: Scorer | _Judge, policy: Policy) -> None:
        if (second is None) != (policy.doubt is None):
            raise InputError("a second scorer is asked where the first is in doubt: pass second= and Policy(doubt=...)")
        self._scorer, self._judge, self._second, self._policy = scorer, judge, second, policy
        self._made: Scorer | None = None

    def get(self) -> Scorer:
        if self._made is None:
            with LOADING:
                if self._made is None:
                    self._made = self._make()
        return self._made

    def _make(self) -> Scorer:
        first, calibration = as_scorer(self._scorer, self._judge), self._policy.calibration
        fitted_on = getattr(calibration, "scorer", "")
        if fitted_on and fitted_on != first.facts.identity:
            raise InputError(
                f"the calibration was fitted on another scorer: {fitted_on}; this guard's is {first.facts.identity}. Run "
                f"`groundrail calibrate` with the one that is used"
            )
        if self._policy.doubt is None or self._second is None:
            return first
        from groundrail.scoring.second import SecondOpinion

        threshold = self._policy.decisive(first.facts.threshold)
        return SecondOpinion(
            first, as_second(self._second), self._policy.doubt, threshold=threshold, calibration=calibration
        )

    def asks_model_of(self, generator: Generator) -> bool:
        """Whether a judge answers with the generator's own model, which does one thing at a time."""
        return isinstance(generator, InProcess) and any(facts.asks(generator.weights) for facts in self.known())

    def known(self) -> list[ScorerFacts]:
        """The facts about the scorers and judges that were given; loads only a scorer that was named."""
        given = [self.get() if isinstance(self._scorer, str) else self._scorer, self._judge, self._second]
        of_judges = [ScorerFacts.around(each.facts, "") for each in given if isinstance(each, EntailmentModel)]
        return [each.facts for each in given if isinstance(each, Scorer)] + of_judges
