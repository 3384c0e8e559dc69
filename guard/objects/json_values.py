"""JSON values: parse a text within limits, refuse what JSON cannot hold, and name a place by its pointer (RFC 6901)."""

import datetime
import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any, NoReturn, TypeAlias
from uuid import UUID

from jsonpointer import JsonPointer
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from groundrail.errors import InputError
from groundrail.text.sentences import is_unicode

DEEPEST = 64
"""Maximum depth of nested lists and objects."""

LARGEST = 1_000_000
"""Maximum number of bytes of a value as UTF-8 encoded JSON."""

_WRITTEN = (datetime.date, datetime.time, Decimal, UUID, Enum)

PathKey: TypeAlias = str | int
"""A key of an object, or the position of an item of a list."""


def pointer_of(path: Sequence[PathKey]) -> str:
    """The JSON pointer of a path."""
    return str(JsonPointer.from_parts(path).path)


def parsed(text: str) -> Any:
    """The JSON value of a text.

        parsed('{"rent": 900}')  # {'rent': 900}

    Raises: InputError for a text that is not JSON, has one key twice, is too large or nested too deeply.
    """
    if not is_unicode(text):
        raise InputError("the JSON text holds half a surrogate pair; decode it as UTF-8 first")
    if len(text.encode()) > LARGEST:
        raise InputError(f"the JSON text is over {LARGEST} bytes; check its parts one by one")
    try:
        value = json.loads(text, object_pairs_hook=_with_distinct_keys, parse_constant=_refuse_constant)
    except InputError:
        raise
    except RecursionError:
        raise InputError(f"the JSON text is nested deeper than {DEEPEST} levels") from None
    except ValueError as error:  # it names the place and quotes nothing
        raise InputError(f"the answer is not JSON: {error}") from None
    refuse_unfit(value)
    return value


def as_json(value: Any, inside: frozenset[int] = frozenset()) -> Any:
    """The value, which is in the containers of the ids `inside`, with pydantic models as dicts, and dates, times, decimals, UUIDs and members of enumerations as JSON has
    them; all else stays.

    >>> as_json({"end": datetime.date(2026, 2, 28)})
    {'end': '2026-02-28'}
    """
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, _WRITTEN):
        return to_jsonable_python(value)
    if len(inside) > DEEPEST or id(value) in inside or not isinstance(value, dict | list):
        return value
    inside |= {id(value)}
    if isinstance(value, dict):
        return {key: as_json(part, inside) for key, part in value.items()}
    return [as_json(part, inside) for part in value]


def refuse_unfit(value: Any, name: str = "the object") -> None:
    """Refuse an unfit value. Raises: InputError for a value that is not JSON, or is too deep or too large."""
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size, same = len(written.encode()), json.loads(written) == value
    except RecursionError:
        raise InputError(f"{name} is nested deeper than {DEEPEST} levels") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be written as JSON: {error}; pass plain JSON values") from None
    if not same:
        raise InputError(f"{name} holds a tuple, or a key that is no text; pass plain JSON values")
    if size > LARGEST:
        raise InputError(f"{name} is over {LARGEST} bytes as JSON; check its parts one by one")
    level, depth = [value], 0
    while level := [inner for outer in level for inner in _parts(outer)]:
        depth += 1
        if depth > DEEPEST:
            raise InputError(f"{name} is nested deeper than {DEEPEST} levels")


def _parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _with_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("a JSON object has one key twice, and readers differ on which value counts")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise InputError(f"the answer is not JSON: {name} is no number there")
