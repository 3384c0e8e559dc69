"""A parsed object as the JSON values that are judged, and the object that is built from the released ones.

Both go field by field, by name: serializers, aliases and what an object keeps beside its fields have no say.
"""

import dataclasses
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import NoneType
from typing import Any
from uuid import UUID

from pydantic import AnyUrl, BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from groundrail.errors import InputError, UnsupportedObjectError
from groundrail.objects.results import ObjectResult

_SCALARS = (str, int, float, NoneType, Decimal, date, time, timedelta, UUID, Enum, PurePath, AnyUrl)


def plain(value: Any, pointer: str = "") -> Any:
    """The JSON values of a parsed object, without the defaults of its class, which are the caller's.

    Raises: InputError for a value of another kind than pydantic's objects, dataclasses, containers and scalars.
    """
    if (fields := _fields(value)) is not None:
        return {name: plain(inner, f"{pointer}/{name}") for name, inner in fields.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, f"{pointer}/{number}") for number, item in enumerate(value)]
    if not isinstance(value, _SCALARS):  # a SecretStr, for example, is another text than it says
        raise InputError(f"{pointer} holds a {type(value).__name__}, which no guard reads; give its class plain fields")
    return to_jsonable_python(value)


def rebuilt(parsed: Any, result: ObjectResult) -> Any:
    """The parsed object made anew of the released values.

    Raises: UnsupportedObjectError where a validator of its class does not take a released value in a refused one's place.
    """
    return _rebuilt(parsed, plain(parsed), result.object, result, "")


def _rebuilt(value: Any, judged: Any, released: Any, result: ObjectResult, pointer: str) -> Any:
    if released is None:
        return None
    if isinstance(value, list | tuple | set | frozenset):
        places = range(len(judged))
        items = [
            _rebuilt(v, judged[n], released[n], result, f"{pointer}/{n}") for n, v in zip(places, value, strict=True)
        ]
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    fields = _fields(value)
    if fields is None:
        return value if judged == released else released
    made = {
        name: _rebuilt(inner, judged[name], released[name], result, f"{pointer}/{name}")
        for name, inner in fields.items()
    }
    if isinstance(value, BaseModel):
        for name in made:
            if judged[name] != released[name]:
                _require_taken(value, name, made[name], result, f"{pointer}/{name}")
        rest = {name: getattr(value, name) for name in type(value).model_fields if name not in made}
        return type(value).model_construct(value.model_fields_set, **made, **rest)
    if isinstance(value, Mapping):
        return made
    new = object.__new__(type(value))
    for name, inner in made.items():
        object.__setattr__(new, name, inner)
    return new


def _fields(value: Any) -> dict[str, Any] | None:
    """The fields of an object by name; None for a value that has none."""
    if isinstance(value, BaseModel):
        defaults = {name for name in type(value).model_fields if _is_default(value, name)}
        own = {name: getattr(value, name) for name in type(value).model_fields if name not in defaults}
        return own | (value.model_extra or {})
    if isinstance(value, Mapping):
        return {str(key): inner for key, inner in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _is_default(value: BaseModel, name: str) -> bool:
    """Whether a field was left to its class, which makes nothing of the other fields for it."""
    field = type(value).model_fields[name]
    return name not in value.model_fields_set and not field.default_factory_takes_validated_data


def _require_taken(value: BaseModel, name: str, released: Any, result: ObjectResult, pointer: str) -> None:
    try:
        type(value).__pydantic_validator__.validate_assignment(value.model_copy(), name, released)
    except ValidationError as error:
        if any(not found["type"].startswith("frozen") for found in error.errors(include_input=False)):
            told = (
                f"{pointer} is not supported, and the validators of {type(value).__name__} allow nothing in its place"
            )
            raise UnsupportedObjectError(told, result.fields) from None
