"""Drive the checks of several written answers, each with a source of its own, in shared calls of the judge."""

import contextlib
from collections.abc import Sequence

from groundrail.entailment.asking import answered_together
from groundrail.generation.drivers import next_to_judge, outcome_of
from groundrail.generation.scores import Judging, Scores
from groundrail.generation.steps import Judge, Steps
from groundrail.runtime.deadlines import Calls
from groundrail.types import GuardResult


def drive_pairs(pairs: Sequence[tuple[Steps, Judging]], calls: Calls) -> list[GuardResult]:
    """Drive several checks, each beside the judging of its source; claims that wait at the same time share judge calls.

    Timeouts add up, as the calls are made for all; if they are missed, each answer is judged alone in its own time. Raises:
    what the steps raise.
    """
    steps = [next_to_judge(answer) for answer, _ in pairs]
    while waiting := {number: step for number, step in enumerate(steps) if isinstance(step, Judge)}:
        judged = _judged([(pairs[number][1], step) for number, step in waiting.items()], calls)
        for number, outcome in zip(waiting, judged, strict=True):
            steps[number] = next_to_judge(pairs[number][0], outcome)
    return [step for step in steps if isinstance(step, GuardResult)]


def _judged(asked: Sequence[tuple[Judging, Judge]], calls: Calls) -> Sequence[Scores | Exception]:
    timeouts = [step.timeout for _, step in asked if step.timeout is not None]
    if len(asked) > 1:
        with contextlib.suppress(Exception):
            askings = [judging.asking(step) for judging, step in asked]
            return calls.within(sum(timeouts) if timeouts else None, answered_together, askings)
    return [outcome_of(judging, step) for judging, step in asked]
