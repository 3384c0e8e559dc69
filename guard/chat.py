"""`ChatGuard`: a guarded conversation that remembers released text only.

This module adds history, sources that grow with the conversation, claims that are read with the previous sentence, and
retries of whole answers. `groundrail.guard` checks and retries single sentences.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from groundrail.errors import GenerationError, InputError, UncheckableError, UnsupportedError
from groundrail.guard import Guard
from groundrail.policy import Attempts, Policy
from groundrail.runtime.both_ways import closing, each, iterate, run, value_of
from groundrail.scoring.read_source import ReadSource
from groundrail.text.claims import ClaimOf, in_its_context
from groundrail.text.english.phrases import depends_on_sentence, is_refusal
from groundrail.types import (
    CheckedSentence,
    Document,
    Frozen,
    GuardResult,
    PageContent,
    Source,
    Text,
    Verdict,
    as_documents,
)


class Turn(Frozen):
    """A message of the user, the reply that was released, and the checked answer behind the reply.

    discarded: answers that the generator wrote for this message and that another answer replaced.
    abstained: whether the reply answers nothing: it is the policy's abstention or the model's "I don't know".
    """

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


def in_context(guard: Guard) -> ClaimOf:
    """The guard's `claim_of`, with the previous claim in front of a claim that depends on it (`depends_on_sentence`).

    A claim stands alone if the guard's scorer takes no context, or reads the previous sentence as the claim's context.
    """
    claim_of = guard.claim_of

    def joined(sentence: str, previous: str, prompt: str) -> str | None:
        if guard.scorer.metadata.reads_context:
            return in_its_context(claim_of)(sentence, previous, prompt)
        claim = claim_of(sentence, previous, prompt)
        if claim is None or not depends_on_sentence(claim, nouns=True) or not guard.scores_jointly:
            return claim
        try:
            before = claim_of(previous, "", prompt)
        except UncheckableError as error:
            raise UncheckableError(f"it depends on the sentence before, which cannot be checked: {error}") from error
        return claim if before is None else f"{before} {claim}"

    return joined


class ChatGuard:
    """A conversation with a guard's generator, one turn at a time.

    guard: writes and checks answers. Its policy holds for sentences and for whole answers: while attempts are left, an
        answer with unsupported sentences is written again, and the answer with the most supported sentences becomes
        the reply. A stream has no second answer, because the text that it has shown stays.
    source: the source for all turns; `ask` adds the source of one turn.
    user_as_source, answers_as_source: also use the user's messages, or earlier supported sentences, as sources.
    pronouns: score a claim that opens with a pronoun or "this ..." together with the previous sentence, if the
        scorer takes context (`ScorerMetadata.scores_jointly`): a scorer that averages would add the score of the
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
        self.guard = (guard.with_claim_of(in_context(guard)) if pronouns else guard).for_whole_answers()
        self.source = source
        self._read: ReadSource | None = None
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
        prompt, read = self._prepared(message, source)
        attempts = Attempts(self.guard.policy)
        answers, failures = list[GuardResult](), list[UnsupportedError]()
        while not answers or _wants_another(answers[-1], self.guard.policy, attempts):
            try:
                answers.append(await value_of(generate(prompt, read)))
            except UnsupportedError as error:
                if not isinstance(error.result, GuardResult):
                    raise
                answers.append(error.result)
                failures.append(error)
            except GenerationError:
                if not answers:
                    raise
                break  # an earlier answer stands
        standing = [answer for answer in answers if not any(answer is failure.result for failure in failures)]
        if not standing:
            raise failures[-1]
        best = max(standing, key=lambda answer: (_supported_sentences(answer), answer.supported))
        return self._remember(message, best, [answer for answer in answers if answer is not best])

    async def _stream(self, message: str, source: Source, stream: Callable[..., Any]) -> AsyncGenerator[str]:
        prompt, read = self._prepared(message, source)
        shown, held = list[CheckedSentence](), ""  # white space waits for text: a blank answer is an abstention
        result: GuardResult | None = None
        try:
            async with closing(await value_of(stream(prompt, read))) as writing:
                async for sentence in each(writing.sentences()):
                    shown.append(sentence)
                    held += sentence.released_text
                    if held.strip():
                        text, held = held, ""
                        yield text
                result = writing.result
            if rest := held if result.text.strip() else self.guard.policy.abstention:
                yield rest
        finally:
            if result is not None or any(s.released_text for s in shown):
                self._remember(message, result or self._partial(shown))

    def _prepared(self, message: str, source: Source) -> tuple[str, ReadSource]:
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
        # turns of the same documents share what was read of them, also where the caller has read them
        known = (each for each in (source, self.source, self._read) if isinstance(each, ReadSource))
        self._read = next((each for each in known if list(each) == documents), None) or ReadSource(documents)
        return self._prompt(self.turns, message), self._read

    def _remember(self, message: str, result: GuardResult, discarded: Sequence[GuardResult] = ()) -> Turn:
        reply = result.text if result.text.strip() else self.guard.policy.abstention
        abstained = reply.strip() == self.guard.policy.abstention.strip() or is_refusal(reply)
        turn = Turn(message=message, reply=reply, result=result, discarded=tuple(discarded), abstained=abstained)
        self._turns.append(turn)
        return turn

    def _partial(self, shown: Sequence[CheckedSentence]) -> GuardResult:
        return GuardResult(
            text="".join(s.released_text for s in shown),
            answer="".join(s.text for s in shown),
            sentences=tuple(shown),
            threshold=self.guard.threshold,
        )


def _wants_another(answer: GuardResult, policy: Policy, attempts: Attempts) -> bool:
    """Whether to write another answer; retries of a sentence count as attempts at the whole answer too."""
    failed = [s for s in answer.sentences if policy.refuses(s) and not s.corrected]
    spent = max((len(sentence.attempts) for sentence in failed), default=0)
    return bool(failed) and all(attempts.another() for _ in range(max(1, spent)))


def _supported_sentences(answer: GuardResult) -> int:
    return sum(s.verdict is Verdict.SUPPORTED or s.corrected is not None for s in answer.sentences)


def _items(source: Source) -> Sequence[Text]:
    return [source] if isinstance(source, str | Document | PageContent) else source
