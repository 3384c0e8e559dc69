"""An object as the answer of a model that was asked for JSON: the requested format and the released text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from groundrail.errors import InputError
from groundrail.objects.results import ObjectResult, gravest, places_of_refused
from groundrail.objects.schemas import Schema
from groundrail.types import CheckedSentence, GuardResult


@dataclass(frozen=True, slots=True)
class ObjectFormat:
    """The request for a JSON object as the answer. `schema`: the schema of the object, None for any object."""

    schema: Mapping[str, Any] | type[BaseModel] | None = None


def object_format(response_format: Any) -> ObjectFormat | None:
    """The format that OpenAI's field `response_format` requests, None for text.

        object_format({"type": "json_schema", "json_schema": {"name": "rent", "schema": {"type": "object"}}})

    Raises: InputError for a format or a schema that cannot be read.
    """
    if response_format is None:
        return None
    if isinstance(response_format, type) and issubclass(response_format, BaseModel):
        return ObjectFormat(response_format)
    match response_format:
        case {"type": "text"}:
            return None
        case {"type": "json_object"}:
            return ObjectFormat()
        case {"type": "json_schema", "json_schema": {"schema": Mapping() as schema}}:
            Schema(schema)
            return ObjectFormat(schema)
    raise InputError("a format is text, json_object, or json_schema with its schema in json_schema.schema")


def as_answer(text: str, result: ObjectResult, *, keep_refused: bool) -> GuardResult:
    """The answer `text` with its checked object as one sentence; the released text is the released object as JSON."""
    refused = places_of_refused(result.fields)
    released = json.dumps(result.object, ensure_ascii=False)
    kept = released if not refused else text if keep_refused else ""
    fields = result.fields.values()
    citations = tuple(dict.fromkeys(place for places in result.citations.values() for place in places))
    sentence = CheckedSentence(
        text=kept,
        start=0,
        end=len(kept),
        verdict=gravest(field.verdict for field in fields),
        score=min((s.score for field in fields for s in field.sentences if s.score is not None), default=None),
        citations=citations,
        seconds=result.seconds,
        released=not refused,
        reason=f"not supported, and left out: {', '.join(refused)}" if refused else None,
        replacement=released if refused else None,
    )
    return GuardResult(text=released, answer=kept, sentences=(sentence,), threshold=result.threshold, seconds=result.seconds)
