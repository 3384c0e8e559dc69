"""Check an object: read its leaves, judge all statements in one call, release the values that the source supports."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel

from groundrail.errors import InputError
from groundrail.objects.json_values import parsed, refuse_unfit
from groundrail.objects.leaves import leaves
from groundrail.objects.results import ObjectResult, checked_field, released_object
from groundrail.objects.schemas import Schema
from groundrail.policy import Policy
from groundrail.types import GuardResult

CheckAll: TypeAlias = Callable[[Sequence[tuple[str, str]]], Sequence[GuardResult]]
"""Function from several pairs of (text, question that the text answers) to their results."""


def checked_object(
    value: Any,
    schema: Mapping[str, Any] | type[BaseModel] | None,
    policy: Policy,
    threshold: float,
    check_all: CheckAll,
    source: str = "",
) -> ObjectResult:
    """Check an object, or the JSON text of one; `Guard.check_object` says more. `source` shows how dates are written.

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
        told = ", ".join(f"{read.shown(path)} ({keyword})" for path, keyword in misfits[:5])
        raise InputError(f"the object does not fit its schema at {told}")
    found = list(leaves(value, read, policy.fields, source))
    asked = [(said, leaf.question) for leaf in found for said in (leaf.statement, leaf.opposite) if said]
    results = dict(zip(asked, check_all(asked), strict=True))
    fields = [
        checked_field(
            leaf, results.get((leaf.statement, leaf.question)), results.get((leaf.opposite, leaf.question)), policy
        )
        for leaf in found
    ]
    return ObjectResult(
        object=released_object(value, fields, read, policy),
        fields={field.pointer: field for field in fields},
        threshold=threshold,
        seconds=time.monotonic() - started,
    )
