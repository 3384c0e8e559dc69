"""`Guard`: wraps a generator, and lets a sentence out only when the source supports it.

`groundrail.policy` and `groundrail.generation.loop` hold the rules; `groundrail.generation.streams` runs the loop.
"""

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from groundrail.entailment.base import EntailmentModel
from groundrail.errors import GroundrailWarning, InputError
from groundrail.generation.answer import Answer
from groundrail.generation.drivers import IncrementalCheck, drive_pairs, drive_together
from groundrail.generation.loop import checked_text, guarded_generation
from groundrail.generation.numbering import Numbering
from groundrail.generation.scores import Judging
from groundrail.generation.steps import Steps
from groundrail.generation.streams import AsyncGuardedStream, Events, GuardedStream, driven, read_to_end
from groundrail.generation.verdicts import Verdicts
from groundrail.generation.writing import Writing
from groundrail.generators import CallableGenerator, Generator, InProcess, as_generator
from groundrail.policy import Policy
from groundrail.runtime.both_ways import run
from groundrail.runtime.deadlines import Calls
from groundrail.runtime.former import missing, renamed_arguments
from groundrail.runtime.locks import LOADING, one_at_a_time
from groundrail.scoring.base import Scorer
from groundrail.scoring.read_source import ReadSource
from groundrail.scoring.registry import as_scorer, as_second, require_scorer
from groundrail.scoring.second import under_policy
from groundrail.text.claims import ClaimOf, claim_of, read_claim
from groundrail.text.form import SourceText
from groundrail.text.known import known_first
from groundrail.text.sentences import is_unicode
from groundrail.types import Document, GuardResult, Source

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable
    from pydantic import BaseModel

    from groundrail.decoding.steering import Steering
    from groundrail.integrations.langchain import GuardedRunnable
    from groundrail.objects.results import ObjectResult


T = TypeVar("T")
_WRITES_ONCE = (
    "the policy allows further tries, but this callable can only write the first sentence of an answer again: give it a "
    "parameter named `accepted`, the text to continue from, or set Policy(attempts=1)"
)
_NO_SOURCE = (
    "the source has no text, so every sentence that claims something will be held back; pass text, or a policy that says "
    'so in the answer, Policy(fallback="abstain"), or one that releases what was not checked, Policy(on_no_source="open")'
)
_TOGETHER = 64
"""Pairs that are checked at a time: their sources are in memory together."""
_Scorer: TypeAlias = Scorer | str | None
_Judge: TypeAlias = EntailmentModel | str | None


class Guard:
    """Checks what a generator writes against a source, sentence by sentence, before anyone sees it.

    generator: a callable `(question, documents) -> text or pieces`, a `Generator`, or None to only check.
    scorer: how claims are scored, a `Scorer` or the name of one, such as "nearest". None is chunked SCALE,
        which cites by its search tree (`ScaleScorer`).
    judge: the model that the scorer asks: an `EntailmentModel`, a hub id, a folder, or the name of a known judge. None is
        the built-in judge. "self" asks the generator, if it is an `HFGenerator`: no second model, and no second opinion.
    second: asked instead of the first scorer where that is in doubt (`Policy(doubt=...)`): a `Scorer`, or a judge with
        SCALE around it. So a large judge is asked about few sentences.
    policy: the score from which a sentence is supported, and the fate of the others.
    numbering: (document) -> the number by which the answer's marks name it; None where ids that are numbers count, and then
        the order of the documents, from 1.
    claim_of: (sentence, the text shown before it, the question) -> the claim to check, None if nothing is claimed. The
        guard still refuses a claim with a link, a mark or a spelling that the source lacks.
    """

    _scorer: Scorer | None

    def __init__(
        self,
        generator: Generator | Callable[..., Any] | None = None,
        *,
        scorer: _Scorer = None,
        judge: _Judge = None,
        second: Scorer | _Judge = None,
        policy: Policy | None = None,
        numbering: Callable[[Document], int] | None = None,
        claim_of: ClaimOf = claim_of,
    ) -> None:
        self.generator = None if generator is None else as_generator(generator)
        self.claim_of, self.numbering = claim_of, numbering
        require_scorer(scorer)
        model, other = _own_judge(self.generator, judge), _own_judge(self.generator, second)
        self._first = cache(lambda: as_scorer(scorer, model))
        self._second = None if other is None else cache(lambda: as_second(other))
        self._calls = Calls()
        self._rewritten = False
        self._follow(policy or Policy())

    @classmethod
    @one_at_a_time
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        scorer: _Scorer = None,
        judge: _Judge = None,
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
        generator = HFGenerator.from_pretrained(name_or_path, steering=chosen, **hub)
        return cls(generator, scorer=scorer, judge=judge, policy=policy)

    @property
    def policy(self) -> Policy:
        """The rules of release; `with_policy` gives a guard with other rules."""
        return self._policy

    @property
    def scorer(self) -> Scorer:
        """The scorer; its model and the head for kinds are loaded when it is first asked for, before any deadline runs."""
        if self._scorer is None:
            from groundrail.entailment.builtin.kinds import head  # imports torch

            with LOADING:
                if self._scorer is None:
                    head()
                    self._scorer = under_policy(self._first, self._second, self._policy)
        return self._scorer

    @property
    def threshold(self) -> float:
        """The score from which a claim counts as supported, by the policy and the scorer."""
        return self.policy.decisive(self.scorer.metadata)

    @property
    def scores_jointly(self) -> bool:
        """Whether its scorer can judge a claim together with the sentence before it."""
        return self.scorer.metadata.scores_jointly

    def with_generator(self, generator: Generator | Callable[..., Any] | None) -> Self:
        """This guard around another generator: same policy, same scorer, loaded once for both."""
        return self._copy(generator=None if generator is None else as_generator(generator))

    def with_policy(self, policy: Policy) -> Self:
        """This guard under another policy: same generator, same scorers, loaded once for both.

            strict = guard.with_policy(guard.policy.replacing(threshold=0.9))

        Raises: InputError for a `doubt` without a second scorer, or the reverse. A calibration of another scorer is
        refused when the scorer is first asked for, as it may have to be loaded.
        """
        twin = self._copy()
        twin._follow(policy)
        return twin

    def with_claim_of(self, claim_of: ClaimOf) -> Self:
        """This guard with another way to read the claim of a sentence."""
        return self._copy(claim_of=claim_of)

    def for_whole_answers(self) -> Self:
        """This guard for a caller that writes whole answers again, or another text for a blank one: it warns of neither."""
        return self._copy(_rewritten=True)

    def read(self, source: Source) -> ReadSource:
        """Read a source once for any number of answers, also in several threads: pass what this returns as the source.

            lease = guard.read(Document.from_pdf("lease.pdf"))
            guard.check("The rent is 1,650 euros.", lease)

        `lease.n_bytes` says how much memory it takes. A blank source is taken as it is.

        Raises: InputError; what loading a model raises.
        """
        read = ReadSource.of(source)
        if not read.text.is_blank:
            read.by(self.scorer).read()
        return read

    @renamed_arguments
    def check(self, answer: str, source: Source, question: str = "") -> GuardResult:
        """Check a text that is already written, as an answer to `question` where there was one.

        "Until Friday." is supported only as an answer to a question.

        Raises: InputError; UnsupportedError under `"raise"`.
        """
        (result,) = self._check_together([(answer, question)], source)
        return result

    @renamed_arguments
    def check_object(
        self, obj: Any, source: Source, schema: "Mapping[str, Any] | type[BaseModel] | None" = None, question: str = ""
    ) -> "ObjectResult":
        """Check the leaves of a JSON object, all in one call of the scorer; refused ones become null.

            Guard().check_object({"rent": "1,650 euros"}, "The rent is 1,450 euros.").object  # {'rent': None}

        Args:
            obj: a dict or list of JSON values, a pydantic model, or the JSON text of one. Dates in it are taken as JSON
                writes them.
            schema: a JSON schema or a pydantic model. Its short descriptions and titles name the fields.
            question: the question that the object answers, where there was one.

        Raises: InputError for an object or a schema that cannot be read; UnsupportedObjectError if the schema does not
        allow null in the place of a refused field, and under `"raise"`. The caller decides whether to ask again.
        """
        from groundrail.objects.checking import checked_object

        # a replacement text is no value of a field, so a refused sentence is flagged, corrected or left out
        fallback = self.policy.fallback if self.policy.fallback in ("flag", "correct") else "drop"
        of_leaves = self.with_policy(self.policy.replacing(fallback=fallback))
        read = ReadSource.of(source)

        def check_all(asked: Sequence[tuple[str, str]]) -> list[GuardResult]:
            return of_leaves._check_together([(text, f"{question}\n{field}") for text, field in asked], read)

        text = "\n".join(document.text for document in read)
        return checked_object(obj, schema, self.policy, self.threshold, check_all, text)

    @renamed_arguments
    def check_all(self, answers: Sequence[str], source: Source, question: str = "") -> list[GuardResult]:
        """Check several answers to one question and one source, the claims of all in one call of the scorer where that succeeds.

        Raises: what `check` raises for any of the texts.
        """
        return self._check_together([(answer, question) for answer in answers], source)

    def check_pairs(self, pairs: Sequence[tuple[str, Source]], questions: Sequence[str] | None = None) -> list[GuardResult]:
        """Check several answers, each with its own source, in shared calls of the judge: as `check` one by one, but faster.

            Guard().check_pairs([("The rent is due.", lease), ("Pets are allowed.", rules)], questions=["When?", "Pets?"])

        Args:
            pairs: `(answer, source)`. A source that several pairs share is read once a call: pass the same object.
            questions: the question that each answer replies to.

        Raises: InputError before anything is judged, with the number of the pair; what `check` raises for any of them.
        """
        checks = self._pair_checks(pairs, [""] * len(pairs) if questions is None else questions)
        results: list[GuardResult] = []
        while checks:
            together, checks = checks[:_TOGETHER], checks[_TOGETHER:]
            judged = [(steps, Judging(self.scorer, source, self._calls)) for steps, source in together]
            results += drive_pairs(judged, self._calls)
        return results

    @renamed_arguments
    def generate(self, question: str, source: Source) -> GuardResult:
        """Write an answer to `question`, releasing, retrying or replacing each sentence under the policy.

        Raises: InputError for a wrong call, as without a generator; GenerationError, from the generator's own exception,
        where it failed before its first text; under `Policy(fallback="raise")` UnsupportedError for a sentence, and
        GenerationError wherever the generator failed. What a fallback or a stop of the policy raises, and interrupts,
        pass through.
        """
        return run(read_to_end(self.stream(question, source)))

    @renamed_arguments
    def stream(self, question: str, source: Source, *, marks: bool = False) -> "GuardedStream":
        """Like `generate`, but iterable: yields released text as soon as its verdict is known.

        `marks` writes "[1]" behind each supported sentence, for the places in `stream.references`; the generator's own
        marks are taken out, as by `Policy(marks="strip")`. `result.text` has no marks.

            stream = guard.stream("How high is the rent?", lease, marks=True)
            print("".join(stream), stream.references)  # "The rent is 1,450 euros. [1]", the place of [1]

        Models are loaded here, before any deadline runs; the generator is asked for nothing before the first text is.

        Raises: InputError here, what else `generate` raises while it is read; what loading a model raises.
        """
        read = ReadSource.of(source)
        written = (self._unmarked if marks else self)._written(question, read, is_async=False)
        return GuardedStream(*written, _numbering(read) if marks else None)

    @renamed_arguments
    def incremental(self, source: Source, question: str = "") -> IncrementalCheck:
        """Check an answer that someone else writes and hands over piece by piece.

        Raises: InputError for an invalid source; errors of loading a model.
        """
        return IncrementalCheck(*self._generation(question, ReadSource.of(source)))

    async def aread(self, source: Source) -> ReadSource:
        """`read` without blocking the event loop. Raises: what `read` raises."""
        return await self._calls.aside(self.read, source)

    @renamed_arguments
    async def acheck(self, answer: str, source: Source, question: str = "") -> GuardResult:
        """`check` without blocking the event loop. Raises: what `check` raises."""
        read = ReadSource.of(source)
        steps = await self._calls.aside(self._checked, answer, question, read.text)
        judging = Judging(self.scorer, read, self._calls)
        return await read_to_end(AsyncGuardedStream(partial(driven, steps=steps, judging=judging, is_async=True)))

    @renamed_arguments
    async def acheck_object(
        self, obj: Any, source: Source, schema: "Mapping[str, Any] | type[BaseModel] | None" = None, question: str = ""
    ) -> "ObjectResult":
        """`check_object` without blocking the event loop. Raises: what `check_object` raises."""
        return await self._calls.aside(self.check_object, obj, source, schema, question)

    @renamed_arguments
    async def agenerate(self, question: str, source: Source) -> GuardResult:
        """`generate` without blocking the event loop. Raises: what `generate` raises."""
        return await read_to_end(await self.astream(question, source))

    @renamed_arguments
    async def astream(self, question: str, source: Source, *, marks: bool = False) -> "AsyncGuardedStream":
        """`stream` without blocking the event loop: `async for text in await guard.astream(...)`.

        Raises: what `stream` raises.
        """
        read = ReadSource.of(source)
        written = partial((self._unmarked if marks else self)._written, question, read, is_async=True)
        return AsyncGuardedStream(*await self._calls.aside(written), _numbering(read) if marks else None)

    def as_runnable(self, runnable: "Runnable[Any, Any] | None" = None, **options: Any) -> "GuardedRunnable":
        """This guard around a LangChain chain or model, or around its own generator, as a `Runnable`.

        Options are those of `groundrail.integrations.langchain.GuardedRunnable`.
        """
        from groundrail.integrations.langchain.runnable import GuardedRunnable

        return GuardedRunnable(runnable, guard=self, **options)

    def __getattr__(self, name: str) -> Any:
        raise missing(type(self).__name__, name)

    @property
    def _unmarked(self) -> Self:
        return self.with_policy(self.policy.replacing(marks="strip"))

    def _check_together(self, answers: Sequence[tuple[str, str]], source: Source) -> list[GuardResult]:
        """Check several answers, each with its question, to one source."""
        read = ReadSource.of(source)
        steps = [self._checked(answer, question, read.text) for answer, question in answers]
        return drive_together(steps, Judging(self.scorer, read, self._calls))

    def _pair_checks(self, pairs: Sequence[tuple[str, Source]], questions: Sequence[str]) -> list[tuple[Steps, ReadSource]]:
        """The check of each pair with its source; equal objects are one source."""
        if isinstance(questions, str) or len(questions) != len(pairs):
            raise InputError(f"pass one question for each of the {len(pairs)} pairs, '' for an answer without one")
        read: dict[int, ReadSource] = {}
        checks = []
        for number, (pair, question) in enumerate(zip(pairs, questions, strict=True), start=1):
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise InputError(f"pair {number} is no pair of an answer and its source")
            answer, source = pair
            try:
                known = read[id(source)] = read.get(id(source)) or ReadSource.of(source)
                checks.append((self._checked(answer, question, known.text), known))
            except InputError as error:
                raise InputError(f"pair {number}: {error}") from error
        return checks

    def _checked(self, answer: str, question: str, source: SourceText) -> Steps:
        if not isinstance(answer, str):
            raise InputError(f"an answer is text, not {type(answer).__name__}")
        if not is_unicode(answer):
            raise InputError("the answer holds half a surrogate pair, which is no text; decode it as UTF-8 first")
        return checked_text(answer, self._answer(question, source))

    def _generation(self, question: str, source: ReadSource) -> tuple[Steps, Judging]:
        steps = guarded_generation(self._answer(question, source.text))
        return steps, Judging(self.scorer, source, self._calls)

    def _answer(self, question: str, source: SourceText) -> Answer:
        """An answer without sentences. Raises: InputError for a question that is no text, or a numbering of no use."""
        if not is_unicode(question):
            raise InputError("the question holds half a surrogate pair, which is no text; decode it as UTF-8 first")
        if self.numbering is not None:
            source = replace(source, numbering=self.numbering)
            source.naming  # noqa: B018 (raises for numbers that cannot be used)
        metadata = self.scorer.metadata
        read = partial(
            read_claim,
            question=question,
            source=source,
            claim_of=self.claim_of,
            unread=metadata.unread,
            reads_context=metadata.reads_context,
        )
        known = known_first(read, self.policy.known)
        return Answer(Verdicts(known, source, self.policy, self.policy.decisive(metadata)))

    def _written(self, question: str, source: ReadSource, *, is_async: bool) -> tuple[Events, Writing]:
        if self.generator is None:
            raise InputError("this guard has no generator; pass one: Guard(generator), or use check(answer, source)")
        once = isinstance(self.generator, CallableGenerator) and not self.generator.continues
        has_no_text = bool(source.documents) and source.text.is_blank
        reasons = {
            _WRITES_ONCE: once and self.policy.asks_again,
            _NO_SOURCE: has_no_text and self.policy.is_silent_without_source,
        }
        for words in (words for words, applies in reasons.items() if applies and not self._rewritten):
            warnings.warn(words, GroundrailWarning, stacklevel=2)
        steps, judging = self._generation(question, source)
        # a judge that asks the generator's own model, which does one thing at a time, has to wait for it
        ahead = not (isinstance(self.generator, InProcess) and self.scorer.metadata.asks(self.generator.weights))
        how = {"is_async": is_async, "ahead": ahead, "logs_tracebacks": self.policy.keep_refused}
        writing = Writing(self.generator, question, source.documents, self._calls, **how)
        return partial(driven, steps=steps, judging=judging, writing=writing, is_async=is_async), writing

    def _follow(self, policy: Policy) -> None:
        """Take the policy; the scorer under it is made when it is first asked for."""
        if not isinstance(policy, Policy):
            raise InputError(f"a policy is a groundrail.Policy, such as Policy(threshold=0.7), not {type(policy).__name__}")
        if (self._second is None) != (policy.doubt is None):
            raise InputError("a second scorer is asked where the first is in doubt: pass second= and Policy(doubt=...)")
        self._policy, self._scorer = policy, None

    def _copy(self, **changes: Any) -> Self:
        twin = copy.copy(self)
        vars(twin).update(changes)
        return twin


def _numbering(source: ReadSource) -> Numbering:
    return Numbering(document.text for document in source.documents)


def _own_judge(generator: Generator | None, judge: T) -> "T | EntailmentModel":
    """The generator's model where the judge is "self". Raises: InputError where there is none to ask."""
    if judge != "self":
        return judge
    from groundrail.decoding.generator import HFGenerator
    from groundrail.entailment.causal import CausalEntailment

    if not isinstance(generator, HFGenerator):
        raise InputError('judge="self" asks the model that writes, which takes an HFGenerator; pass a judge instead')
    return CausalEntailment(generator.model, generator.tokenizer)
