"""`ChatGuard`: a guarded conversation that remembers released text only.

This module adds history, sources that grow with the conversation, claims that are read with the previous sentence, and
retries of whole answers. `groundrail.guard` checks and retries single sentences.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from groundrail.errors import InputError, UncheckableError, UnsupportedError
from groundrail.guard import Guard
from groundrail.policy import Attempts
from groundrail.runtime.both_ways import closing, each, iterate, run, value_of
from groundrail.text.claims import ClaimOf
from groundrail.text.english.phrases import is_refusal, leans_on_sentence
from groundrail.types import CheckedSentence, Document, GuardResult, Source, Verdict, as_documents


class Turn(BaseModel):
    """A message of the user, the reply that was released, and the checked answer behind the reply.

    discarded: answers that the generator wrote for this message and that another answer replaced.
    abstained: whether the reply answers nothing: it is the policy's abstention or the model's "I don't know".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    message: str
    reply: str
    result: GuardResult
    discarded: tuple[GuardResult, ...] = ()
    abstained: bool = False


def transcript(turns: Sequence[Turn], message: str) -> str:
    """The prompt of a turn: the message, behind the conversation so far if there is any."""
    if not turns:
        return message
    lines = [line for turn in turns for line in (f"User: {turn.message}", f"Assistant: {turn.reply.strip()}")]
    return "\n".join(["The conversation so far:", *lines, "", f"User: {message}"])


def in_context(claim_of: ClaimOf) -> ClaimOf:
    """Wrap `claim_of`: put the previous claim in front of a claim that leans on it (`leans_on_sentence`)."""

    def joined(sentence: str, previous: str, prompt: str) -> str | None:
        claim = claim_of(sentence, previous, prompt)
        if claim is None or not leans_on_sentence(claim, nouns=True):
            return claim
        try:
            before = claim_of(previous, "", prompt)
        except UncheckableError as error:
            raise UncheckableError(f"it leans on the sentence before, which cannot be checked: {error}") from error
        return claim if before is None else f"{before} {claim}"

    return joined


class _Shown:
    """The sentences of a stream and the text to show. White space waits for text: a blank answer is an abstention."""

    def __init__(self) -> None:
        self.sentences: list[CheckedSentence] = []
        self._held = ""

    def ready(self, sentence: CheckedSentence) -> str:
        """Add a sentence that has its verdict; return the text that can be shown now."""
        self.sentences.append(sentence)
        self._held += sentence.released_text
        if not self._held.strip():
            return ""
        ready, self._held = self._held, ""
        return ready

    def last(self, result: GuardResult, abstention: str) -> str:
        """The text to show after the last sentence."""
        return self._held if result.text.strip() else abstention


class ChatGuard:
    """A conversation with a guard's generator, one turn at a time.

    guard: writes and checks answers. Its policy holds for sentences and for whole answers: while attempts are left, an
        answer with unsupported sentences is written again, and the answer with the most supported sentences becomes
        the reply. A stream has no second answer, because the text that it has shown stays.
    source: the source for all turns; `ask` adds the source of one turn.
    user_as_source, answers_as_source: also use the user's messages, or earlier supported sentences, as sources.
    pronouns: score a claim that opens with a pronoun or a bare "the ..." together with the previous sentence, if the
        scorer takes context (`ScorerFacts.takes_context`): a scorer that averages would add the score of the
        previous sentence to the claim's score.
    prompt: makes the generator's prompt from the turns so far and the message.

    If no sentence of an answer is released, the reply is the policy's `abstention`.

        chat = ChatGuard(Guard(generator), source=lease)
        chat.ask("How much is the rent?").reply

    Raises: InputError for a guard without generator.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        source: Source = (),
        user_as_source: bool = False,
        answers_as_source: bool = False,
        pronouns: bool = True,
        prompt: Callable[[Sequence[Turn], str], str] = transcript,
    ) -> None:
        if guard.generator is None:
            raise InputError("a chat needs a guard with a generator: ChatGuard(Guard(generator))")
        leaning = pronouns and guard.takes_context
        self.guard = guard.with_claim_of(in_context(guard.claim_of)) if leaning else guard
        self.source = source
        self.user_as_source, self.answers_as_source = user_as_source, answers_as_source
        self._prompt = prompt
        self._turns: list[Turn] = []

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation so far, as the user saw it."""
        return tuple(self._turns)

    def ask(self, message: str, source: Source = ()) -> Turn:
        """Answer one message.

        Raises: the errors of `Guard.generate`; the conversation then stays as it was before the call.
        """
        return run(self._ask(message, source, self.guard.generate))

    async def aask(self, message: str, source: Source = ()) -> Turn:
        """Run `ask` without blocking the event loop."""
        return await self._ask(message, source, self.guard.agenerate)

    def stream(self, message: str, source: Source = ()) -> Iterator[str]:
        """Yield released text as soon as the verdict is known; `turns` has the turn once the iterator ends.

        If the iterator is closed early or raises, `turns` keeps a turn with the text shown so far, and the generator
        is freed.
        """
        return iterate(self._stream(message, source, self.guard.stream))

    def astream(self, message: str, source: Source = ()) -> AsyncIterator[str]:
        """Run `stream` without blocking the event loop."""
        return self._stream(message, source, self.guard.astream)

    async def _ask(self, message: str, source: Source, generate: Callable[..., Any]) -> Turn:
        prompt, documents = self._prepared(message, source)
        tries = _Tries(self.guard)
        while tries.another():
            try:
                tries.add(await value_of(generate(prompt, documents)))
            except UnsupportedError as error:
                tries.add_failure(error)
        return self._remember(message, *tries.best())

    async def _stream(self, message: str, source: Source, stream: Callable[..., Any]) -> AsyncGenerator[str]:
        prompt, documents = self._prepared(message, source)
        shown = _Shown()
        result: GuardResult | None = None
        try:
            async with closing(await value_of(stream(prompt, documents))) as writing:
                async for sentence in each(writing.sentences()):
                    if text := shown.ready(sentence):
                        yield text
                result = writing.result
            if text := shown.last(result, self.guard.policy.abstention):
                yield text
        finally:
            if result is not None or any(s.released_text for s in shown.sentences):
                self._remember(message, result or self._partial(shown.sentences))

    def _prepared(self, message: str, source: Source) -> tuple[str, tuple[Document, ...]]:
        if not isinstance(message, str) or not message.strip():
            raise InputError("a message is text that is not empty")
        given = [*_items(self.source), *_items(source)]
        documents = list(as_documents([item for n, item in enumerate(given) if item not in given[:n]]))
        for number, turn in enumerate(self._turns, start=1):
            if self.user_as_source:
                documents.append(Document(text=turn.message, id=f"user-{number}"))
            supported = [s.text for s in turn.result.sentences if s.verdict is Verdict.SUPPORTED and s.released]
            if self.answers_as_source and supported:
                documents.append(Document(text="".join(supported), id=f"answer-{number}"))
        if self.user_as_source:
            documents.append(Document(text=message, id=f"user-{len(self._turns) + 1}"))
        return self._prompt(self.turns, message), as_documents(documents)

    def _remember(self, message: str, result: GuardResult, discarded: Sequence[GuardResult] = ()) -> Turn:
        reply = result.text if result.text.strip() else self.guard.policy.abstention
        turn = Turn(
            message=message,
            reply=reply,
            result=result,
            discarded=tuple(discarded),
            abstained=reply.strip() == self.guard.policy.abstention.strip() or is_refusal(reply),
        )
        self._turns.append(turn)
        return turn

    def _partial(self, shown: Sequence[CheckedSentence]) -> GuardResult:
        return GuardResult(
            text="".join(s.released_text for s in shown),
            answer="".join(s.text for s in shown),
            sentences=tuple(shown),
            threshold=self.guard.threshold,
        )


class _Tries:
    """The answers to one message: decides whether to write another, and chooses the best.

    Retries of a sentence count as attempts at the whole answer too.
    """

    def __init__(self, guard: Guard) -> None:
        self._attempts = Attempts(guard.policy)
        self._results: list[GuardResult] = []
        self._failures: list[UnsupportedError | None] = []

    def another(self) -> bool:
        if not self._results:
            return True
        failed = [s for s in self._results[-1].sentences if s.verdict is Verdict.UNSUPPORTED and not s.corrected]
        if not failed:
            return False
        spent = max(len(sentence.attempts) for sentence in failed)
        return all(self._attempts.another() for _ in range(max(1, spent)))

    def add(self, result: GuardResult) -> None:
        self._results.append(result)
        self._failures.append(None)

    def add_failure(self, error: UnsupportedError) -> None:
        if not isinstance(error.result, GuardResult):
            raise error
        self._results.append(error.result)
        self._failures.append(error)

    def best(self) -> tuple[GuardResult, tuple[GuardResult, ...]]:
        """The answer with the most supported sentences (of equals, a fully supported answer), and the other answers.

        Raises: UnsupportedError if all answers failed.
        """
        standing = [n for n, failure in enumerate(self._failures) if failure is None]
        if not standing:
            raise next(failure for failure in reversed(self._failures) if failure is not None)
        chosen = max(standing, key=lambda n: (_count(self._results[n]), self._results[n].supported))
        return self._results[chosen], tuple(r for n, r in enumerate(self._results) if n != chosen)


def _count(result: GuardResult) -> int:
    return sum(s.verdict is Verdict.SUPPORTED or s.corrected is not None for s in result.sentences)


def _items(source: Source) -> Sequence[str | Document]:
    return [source] if isinstance(source, str | Document) else source
