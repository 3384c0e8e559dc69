"""`Guard`: wraps a generator, and lets a sentence out only when the source supports it.

The rules are in `groundrail.generation.loop` and `groundrail.policy`; `groundrail.generation.drivers` does what the loop asks for.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.generation.drivers import PushedAnswer
from groundrail.generation.judging import Reading
from groundrail.generation.loop import checked_text, guarded_generation
from groundrail.generation.steps import Steps
from groundrail.generation.streams import AsyncGuardedStream, GuardedStream, read_to_end
from groundrail.generation.verdicts import ClaimOf
from groundrail.generation.writing import Writing
from groundrail.generators import Generator, as_generator
from groundrail.generators.base import InProcess
from groundrail.policy import Policy
from groundrail.runtime.both_ways import run
from groundrail.runtime.deadlines import Calls
from groundrail.runtime.locks import LOADING, one_at_a_time
from groundrail.runtime.views import view
from groundrail.scoring.base import Scorer, ScorerFacts
from groundrail.text.claims import claim_of
from groundrail.text.sentences import is_unicode
from groundrail.types import Document, GuardResult, Source, as_documents

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable
    from pydantic import BaseModel

    from groundrail.decoding.steering import Steering
    from groundrail.integrations.langchain import GuardedRunnable
    from groundrail.objects.results import ObjectResult


_Named: TypeAlias = "Scorer | EntailmentModel | str | None"


class Guard:
    """Checks what a generator writes against a source, sentence by sentence, before anyone sees it.

    generator: a callable `(prompt, documents) -> text or pieces`, a `Generator`, or None to only check.
    scorer: how claims are scored. An entailment model or a hub id is SCALE around that. None is the built-in
        judge on the nearest source sentences, one by one and together (`NearestScorer`). "self" asks
        the generator, where it is an `HFGenerator`: no second model, and no second opinion either.
    second: whatever `scorer` takes, asked in the first one's place where that is in doubt (`Policy(doubt=...)`): a
        large judge that is asked about few sentences.
    policy: what counts as supported and what happens to the rest.
    claim_of: (sentence, the one before it, the prompt) -> what of it is checked, None where it claims nothing.
    """

    def __init__(
        self,
        generator: Generator | Callable[..., Any] | None = None,
        *,
        scorer: "_Named" = None,
        second: "_Named" = None,
        policy: Policy | None = None,
        claim_of: ClaimOf = claim_of,
    ) -> None:
        self.generator = None if generator is None else as_generator(generator)
        self.policy = policy or Policy()
        self.claim_of = claim_of
        self._scorer = _Loaded(self._named(scorer), self._named(second), self.policy)
        self._calls = Calls()

    @classmethod
    @one_at_a_time
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        entailment: "EntailmentModel | str | None" = None,
        steering: "float | Steering | None" = None,
        policy: Policy | None = None,
        **hub: Any,
    ) -> Self:
        """A guard around a causal language model, by hub id or folder.

        `steering` is PMI-addition's alpha, or a `PMI`, `CAD` or `AdaCAD`; `hub` goes to transformers (`device`, `dtype`, ...).
        """
        from groundrail.decoding.generator import HFGenerator
        from groundrail.decoding.steering import PMI

        chosen = PMI(steering) if isinstance(steering, int | float) else steering
        return cls(HFGenerator.from_pretrained(name_or_path, steering=chosen, **hub), scorer=entailment, policy=policy)

    @property
    def scorer(self) -> Scorer:
        """The scorer, its model loaded when first asked for."""
        return self._scorer.get()

    @property
    def takes_context(self) -> bool:
        """Whether its scorer can judge a claim together with the sentence before it; loads nothing."""
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
        return run(read_to_end(GuardedStream(*self._check_steps(answer, source, prompt))))

    def check_object(
        self, obj: Any, source: Source, schema: "Mapping[str, Any] | type[BaseModel] | None" = None, prompt: str = ""
    ) -> "ObjectResult":
        """Check the leaves of a JSON object, all in one call of the scorer; refused ones become null.

            Guard().check_object({"rent": "1,650 euros"}, "The rent is 1,450 euros.").object  # {'rent': None}

        Args:
            obj: a dict or list of JSON values, or the JSON text of one.
            schema: a JSON schema or a pydantic model. Its short descriptions and titles name the fields.
            prompt: the question that the object answers, where there was one.

        Raises: InputError for an object or a schema that cannot be read; UnsupportedObjectError if the schema does not
        allow null in the place of a refused field, and under `"raise"`. The caller decides whether to ask again.
        """
        from groundrail.objects.checking import checked_object, drive_together

        documents, scorer = as_documents(source), self.scorer
        # a replacement text is no value of a field, so a refused sentence is flagged or left out
        policy = self.policy.replacing(fallback="flag" if self.policy.fallback == "flag" else "drop")
        threshold = scorer.facts.threshold

        def check_all(asked: Sequence[tuple[str, str]]) -> list[GuardResult]:
            steps = [
                checked_text(text, documents, policy, threshold, self.claim_of, question or prompt)
                for text, question in asked
            ]
            return drive_together(steps, Reading(scorer, documents, self._calls), policy.answer_deadline)

        return checked_object(obj, schema, self.policy, policy.decisive(threshold), check_all)

    def generate(self, prompt: str, source: Source) -> GuardResult:
        """Write an answer to `prompt`, releasing, retrying or replacing each sentence under the policy.

        Raises: InputError for a wrong call, as without a generator; under `Policy(fallback="raise")` UnsupportedError
        for a sentence, GenerationError where the generator failed, from its own exception. What a fallback or a
        stop of the policy raises, and interrupts, pass through.
        """
        return run(read_to_end(self.stream(prompt, source)))

    def stream(self, prompt: str, source: Source) -> "GuardedStream":
        """Like `generate`, but iterable: yields released text as soon as its verdict is known.

        Models are loaded here, before any deadline runs; the generator is asked for nothing before the first text is.

        Raises: InputError here, what else `generate` raises while it is read; what loading a model raises.
        """
        documents = as_documents(source)
        writing = self._writing(prompt, documents)
        return GuardedStream(*self._generation(documents, prompt), writing)

    def pushed(self, source: Source, prompt: str = "") -> PushedAnswer:
        """Check an answer that someone else writes and hands over piece by piece.

        Raises: InputError for a source that is none; what loading a model raises.
        """
        return PushedAnswer(*self._generation(as_documents(source), prompt))

    async def acheck(self, answer: str, source: Source, prompt: str = "") -> GuardResult:
        """`check` without blocking the event loop. Raises: what `check` raises."""
        steps = await self._calls.aside(self._check_steps, answer, source, prompt)
        return await read_to_end(AsyncGuardedStream(*steps))

    async def acheck_object(
        self, obj: Any, source: Source, schema: "Mapping[str, Any] | type[BaseModel] | None" = None, prompt: str = ""
    ) -> "ObjectResult":
        """`check_object` without blocking the event loop. Raises: what `check_object` raises."""
        return await self._calls.aside(self.check_object, obj, source, schema, prompt)

    async def agenerate(self, prompt: str, source: Source) -> GuardResult:
        """`generate` without blocking the event loop. Raises: what `generate` raises."""
        return await read_to_end(await self.astream(prompt, source))

    async def astream(self, prompt: str, source: Source) -> "AsyncGuardedStream":
        """`stream` without blocking the event loop: `async for text in await guard.astream(...)`.

        Raises: what `stream` raises.
        """
        documents = as_documents(source)
        writing = self._writing(prompt, documents)
        return AsyncGuardedStream(*await self._calls.aside(self._generation, documents, prompt), writing)

    def as_runnable(self, runnable: "Runnable[Any, Any] | None" = None, **options: Any) -> "GuardedRunnable":
        """This guard around a LangChain chain or model, or around its own generator, as a `Runnable`.

        Options are those of `groundrail.integrations.langchain.GuardedRunnable`.
        """
        guarded: GuardedRunnable = view("runnable")(runnable, guard=self, **options)
        return guarded

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

    def _named(self, scorer: "_Named") -> "_Named":
        return _own_judge(self.generator) if scorer == "self" else scorer

    def _copy(self, **changes: Any) -> Self:
        twin = copy.copy(self)
        vars(twin).update(changes)
        return twin


def _own_judge(generator: Generator | None) -> "EntailmentModel":
    """The generator's model as judge. Raises: InputError where there is none to ask."""
    from groundrail.decoding.generator import HFGenerator
    from groundrail.entailment.causal import CausalEntailment

    if not isinstance(generator, HFGenerator):
        raise InputError('scorer="self" asks the model that writes, which takes an HFGenerator; pass a judge instead')
    return CausalEntailment(generator.model, generator.tokenizer)


class _Loaded:
    """A scorer, made of whatever the guard was given when first asked for; copies of a guard share it."""

    def __init__(self, scorer: "_Named", second: "_Named", policy: Policy) -> None:
        if (second is None) != (policy.doubt is None):
            raise InputError("a second scorer is asked where the first is in doubt: pass second= and Policy(doubt=...)")
        self._scorer, self._second, self._policy = scorer, second, policy
        self._made: Scorer | None = None

    def get(self) -> Scorer:
        if self._made is None:
            with LOADING:
                if self._made is None:
                    self._made = self._make()
        return self._made

    def _make(self) -> Scorer:
        from groundrail.scoring.registry import as_scorer

        first, calibration = as_scorer(self._scorer), self._policy.calibration
        fitted_on = getattr(calibration, "scorer", "")
        if fitted_on and fitted_on != first.facts.identity:
            raise InputError(
                f"the calibration was fitted on another scorer: {fitted_on}; this guard's is {first.facts.identity}. Run "
                f"`groundrail calibrate` with the one that is used"
            )
        if self._policy.doubt is None:
            return first
        from groundrail.scoring.second import SecondOpinion

        threshold = self._policy.decisive(first.facts.threshold)
        return SecondOpinion(
            first, as_scorer(self._second), self._policy.doubt, threshold=threshold, calibration=calibration
        )

    def asks_model_of(self, generator: Generator) -> bool:
        """Whether a judge answers with the generator's own model, which does one thing at a time."""
        return isinstance(generator, InProcess) and any(facts.asks(generator.weights) for facts in self.known())

    def known(self) -> list[ScorerFacts]:
        """The facts about each scorer and judge that was given as an object; loads nothing."""
        given = (self._scorer, self._second)
        of_judges = [ScorerFacts.around(each.facts, "") for each in given if isinstance(each, EntailmentModel)]
        return [each.facts for each in given if isinstance(each, Scorer)] + of_judges
