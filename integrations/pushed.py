"""An answer that someone else writes and hands over piece by piece, under the guard's one loop.

For callbacks and the like, which are told what was written and can neither hold it back nor have it
written again.
"""

from collections.abc import Sequence
from typing import Any

from groundrail.deadline import within
from groundrail.errors import GenerationError, UnsupportedError
from groundrail.guard import Guard
from groundrail.loop import CanRetry, Judge, Read, Release, guarded_generation
from groundrail.types import CheckedSentence, Document, GuardResult


class PushedAnswer:
    """Feed it pieces; it returns the sentences they complete, each with its verdict.

    `result` is known once the answer has ended. `error` is the UnsupportedError that the policy asks for;
    raising it is left to the caller, after telling what was found.
    """

    def __init__(self, guard: Guard, documents: Sequence[Document]) -> None:
        self._scorer, self._documents = guard.scorer, documents
        self._steps = guarded_generation(documents, guard.policy, guard.threshold, guard.claim_of)
        self._told = 0
        self.result: GuardResult | None = None
        self.error: UnsupportedError | None = None
        self._advance(None)

    def feed(self, piece: str) -> list[CheckedSentence]:
        return self._advance(piece)

    def finish(self) -> list[CheckedSentence]:
        """The answer is complete."""
        return self._advance(None)

    def fail(self, error: Exception) -> list[CheckedSentence]:
        """Whoever wrote the answer failed with `error`, which they raise themselves."""
        try:
            return self._advance(None, error)
        except GenerationError:  # says that `error` was raised, which the writer's caller is told anyway
            return []

    def _advance(self, outcome: Any, error: Exception | None = None) -> list[CheckedSentence]:
        decided: list[CheckedSentence] = []
        while self.result is None:
            try:
                step = self._steps.throw(error) if error is not None else self._steps.send(outcome)
            except StopIteration as stop:
                self.result = stop.value
                break
            except UnsupportedError as unsupported:
                if not isinstance(unsupported.result, GuardResult):
                    raise
                self.error, self.result = unsupported, unsupported.result
                decided = list(unsupported.result.sentences[self._told :])
                break
            outcome, error = None, None
            match step:
                case Read():
                    break
                case Release():
                    decided.append(step.sentence)
                case CanRetry():
                    outcome = False
                case Judge():
                    try:
                        outcome = within(step.timeout, self._scorer.score, step.claims, self._documents)
                    except Exception as raised:  # the loop gives it a verdict
                        error = raised
        self._told += len(decided)
        return decided
