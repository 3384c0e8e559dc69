"""Drivers of the loop that ask no generator: for several written answers at once, and for text that is pushed in.

`groundrail.generation.streams` drives an answer that a generator writes.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from groundrail.entailment.asking import answered_together
from groundrail.errors import GenerationError, UnsupportedError
from groundrail.generation.scores import Judging, Scores
from groundrail.generation.steps import Judge, Piece, Read, Release, Step, Steps, advance
from groundrail.runtime.deadlines import Calls
from groundrail.types import CheckedSentence, GuardResult


def drive_together(answers: Sequence[Steps], judging: Judging) -> list[GuardResult]:
    """Drive the checks of several answers to one source: claims that wait at the same time are scored in one call.

    If that call fails, the claims of each answer are scored alone: an answer that fails costs the others nothing.
    Timeouts add up, as the call is made for all answers. Raises: what the steps raise.
    """
    return _driven(answers, lambda waiting: _scored(judging, list(waiting.values())))


def drive_pairs(pairs: Sequence[tuple[Steps, Judging]], calls: Calls) -> list[GuardResult]:
    """Drive several checks, each beside the judging of its source: claims that wait at the same time share judge calls.

    Timeouts add up, as the calls are made for all; if they are missed, each answer is judged alone in its own time.
    Raises: what the steps raise.
    """

    def judged(waiting: Mapping[int, Judge]) -> Sequence[Scores | Exception]:
        asked = [(pairs[number][1], step) for number, step in waiting.items()]
        if len(asked) > 1:
            with contextlib.suppress(Exception):
                askings = [judging.asking(step) for judging, step in asked]
                return calls.within(_in_sum(waiting.values()), answered_together, askings)
        return [_outcome(judging, step) for judging, step in asked]

    return _driven([steps for steps, _ in pairs], judged)


def _driven(
    answers: Sequence[Steps], judge: Callable[[Mapping[int, Judge]], Sequence[Scores | Exception]]
) -> list[GuardResult]:
    """Drive checks that ask no generator. `judge` gives the outcomes of the steps that wait, by the number of the answer."""
    steps = [_to_judge(answer) for answer in answers]
    while waiting := {number: step for number, step in enumerate(steps) if isinstance(step, Judge)}:
        for number, outcome in zip(waiting, judge(waiting), strict=True):
            steps[number] = _to_judge(answers[number], outcome)
    return [step for step in steps if isinstance(step, GuardResult)]


def _to_judge(steps: Steps, outcome: Any = None) -> Step | GuardResult:
    """The loop's next step that is no release, in a check that asks no generator."""
    step = advance(steps, outcome)
    while isinstance(step, Release):
        step = advance(steps)
    return step


def _scored(judging: Judging, asked: Sequence[Judge]) -> list[Scores | Exception]:
    """The outcome of each step, of all in one call if that succeeds."""
    if len(asked) > 1:
        claims = [claim for step in asked for claim in step.claims]
        together = asked[0]._replace(claims=claims, timeout=_in_sum(asked))
        with contextlib.suppress(Exception):  # every answer meets its own failure below
            each = iter(judging.do(together))
            return [list(islice(each, len(step.claims))) for step in asked]
    return [_outcome(judging, step) for step in asked]


def _in_sum(asked: Iterable[Judge]) -> float | None:
    """The timeouts of steps together, None without any."""
    timeouts = [step.timeout for step in asked if step.timeout is not None]
    return sum(timeouts) if timeouts else None


def _outcome(judging: Judging, step: Judge) -> Scores | Exception:
    """The scores, or the error that the loop gives a verdict."""
    try:
        return judging.do(step)
    except Exception as error:
        return error


class IncrementalCheck:
    """An answer that other code writes: feed it pieces, and it returns the judged sentences that they complete.

    Callbacks use it, since they see the text and can neither hold it back nor have it written again. `result` is known
    once the answer has ended. `error` is the UnsupportedError that the policy asks for; the caller raises it after
    telling the findings. An exception of a fallback or of the policy's stop is raised at once, and again by every later
    call.

    Example: `answer = guard.incremental(source); answer.feed("The rent is 950 euros. "); answer.finish()`.
    """

    def __init__(self, steps: Steps, judging: Judging) -> None:
        self._steps, self._judging = steps, judging
        self._given = 0
        self.result: GuardResult | None = None
        self.error: UnsupportedError | None = None
        self._broken: Exception | None = None
        self._advance(None)

    def feed(self, piece: str) -> list[CheckedSentence]:
        """Take the next text; return the sentences that it decides, released or not."""
        return self._advance(Piece(piece))

    def finish(self) -> list[CheckedSentence]:
        """End the answer; return the sentences that were still open."""
        return self._advance(Piece(None))

    def fail(self, error: Exception) -> list[CheckedSentence]:
        """End the answer because its writer failed with `error`, which the writer's caller raises."""
        try:
            return self._advance(error)
        except GenerationError:  # it repeats `error`
            return []

    def _advance(self, outcome: Any) -> list[CheckedSentence]:
        """Go on to the next piece that is asked for, or to the end."""
        decided: list[CheckedSentence] = []
        while self.result is None:
            if self._broken is not None:
                raise self._broken
            try:
                step = advance(self._steps, outcome)
            except Exception as raised:
                if not isinstance(raised, UnsupportedError) or not isinstance(raised.result, GuardResult):
                    self._broken = raised
                    raise
                self.error, self.result = raised, raised.result
                decided = list(raised.result.sentences[self._given :])
                break
            outcome = None  # which also answers that no sentence is written again
            match step:
                case GuardResult():
                    self.result = step
                case Read():
                    break
                case Release(sentence):
                    decided.append(sentence)
                case Judge():
                    outcome = _outcome(self._judging, step)
        self._given += len(decided)
        return decided
