"""The check of an object: read its leaves, judge all statements in one call, release what the source supports."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from pydantic import BaseModel

from groundrail.errors import InputError
from groundrail.generation.judging import Reading
from groundrail.generation.steps import Judge, Step, Steps
from groundrail.objects.json_values import parsed, refuse_unfit
from groundrail.objects.leaves import leaves
from groundrail.objects.results import ObjectResult, checked_field, released_object
from groundrail.objects.schemas import Schema
from groundrail.policy import Policy
from groundrail.types import GuardResult

CheckAll: TypeAlias = Callable[[Sequence[tuple[str, str]]], Sequence[GuardResult]]
"""(text, the question that it answers or "") of several answers -> the result of each."""


def checked_object(
    value: Any,
    schema: Mapping[str, Any] | type[BaseModel] | None,
    policy: Policy,
    threshold: float,
    check_all: CheckAll,
) -> ObjectResult:
    """Check an object, or the JSON text of one; `Guard.check_object` says more.

    Raises: InputError for an object or a schema that cannot be read, and for an object that does not fit its schema;
    UnsupportedObjectError.
    """
    started = time.monotonic()
    if isinstance(value, str):
        value = parsed(value)
    refuse_unfit(value)
    if not isinstance(value, dict | list):
        raise InputError("an object is a dict or a list, or the JSON text of one; check a single text with Guard.check")
    read = None if schema is None else Schema(schema)
    if read is not None and (misfits := read.misfits(value)):
        raise InputError(f"the object does not fit its schema at {', '.join(misfits[:5])}")
    found = list(leaves(value, read, policy.fields))
    claims = [leaf for leaf in found if leaf.statement]
    results = check_all([(leaf.statement, leaf.question) for leaf in claims])
    by_pointer = {leaf.pointer: result for leaf, result in zip(claims, results, strict=True)}
    fields = [checked_field(leaf, by_pointer.get(leaf.pointer), policy) for leaf in found]
    return ObjectResult(
        object=released_object(value, fields, read, policy),
        fields={field.pointer: field for field in fields},
        threshold=threshold,
        seconds=time.monotonic() - started,
    )


def drive_together(answers: Sequence[Steps], judged: Reading, longest: float | None) -> list[GuardResult]:
    """Drive the checks of several answers: claims that wait at the same time are scored in one call.

    If that call fails, the claims of each answer are scored alone, so that a bad claim costs only its answer.
    `longest`: the seconds that one call may take; the timeouts of the answers add up to no more.
    """
    steps: list[Step | GuardResult] = [_to_judge(answer, None) for answer in answers]
    while waiting := [(number, step) for number, step in enumerate(steps) if isinstance(step, Judge)]:
        claims = [claim for _, step in waiting for claim in step.claims]
        limits = [step.timeout for _, step in waiting if step.timeout is not None]
        limit = min(sum(limits), longest or sum(limits)) if limits else None
        try:
            scores = judged.do(replace(waiting[0][1], claims=claims, timeout=limit))
        except Exception:  # each answer meets its own failure below
            scores = []
        shared = iter(scores if len(scores) == len(claims) else ())
        for number, step in waiting:
            own = [score for _, score in zip(step.claims, shared, strict=False)]
            steps[number] = _to_judge(answers[number], own) if own else _alone(answers[number], step, judged)
    return [step for step in steps if isinstance(step, GuardResult)]


def _alone(answer: Steps, step: Judge, judged: Reading) -> Step | GuardResult:
    """The next step of an answer whose claims are scored without those of others."""
    try:
        scores = judged.do(step)
    except Exception as error:  # the answer makes a verdict of it
        failure = error
    else:
        return _to_judge(answer, scores)
    return _to_judge(answer, None, failure)


def _to_judge(answer: Steps, outcome: Any, error: Exception | None = None) -> Step | GuardResult:
    """The next claims that an answer asks to judge, or its result."""
    try:
        step = answer.send(outcome) if error is None else answer.throw(error)
        while not isinstance(step, Judge):  # a check releases sentences and asks no generator
            step = answer.send(None)
    except StopIteration as stop:
        result: GuardResult = stop.value
        return result
    return step
