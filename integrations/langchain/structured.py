"""Structured output of a guarded chat model: an object goes out whole, once its fields are judged.

A parsed object becomes the JSON values that are judged, and the returned object is built from the released ones. Both
go field by field, by name: serializers, aliases and what an object keeps beside its fields have no say. A field that was
left out has the default of its class, made anew; whatever else a validator made of it is judged.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import NoneType
from typing import Any
from uuid import UUID

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_json_schema
from pydantic import AnyUrl, BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from groundrail.errors import GenerationError, InputError, UnsupportedObjectError
from groundrail.integrations.doors import metadata
from groundrail.integrations.langchain.call import ModelCall
from groundrail.integrations.langchain.guarded_run import configured
from groundrail.objects.results import ObjectResult
from groundrail.runtime.both_ways import run, value_of

_SCALARS = (str, int, float, NoneType, Decimal, date, time, timedelta, UUID, Enum, PurePath, AnyUrl)


def guarded_objects(
    call: Callable[..., ModelCall], objects: Runnable[Any, Any], schema: Any, *, include_raw: bool
) -> Runnable[LanguageModelInput, Any]:
    """A runnable that gives what `objects` parsed, with null in the place of each refused field.

    call: (input, is_async, documents) -> the call whose sources count.
    objects: the wrapped model's structured output, raw messages included.
    """
    is_model = isinstance(schema, type) and issubclass(schema, BaseModel)
    json_schema = schema.model_json_schema(by_alias=False) if is_model else convert_to_json_schema(schema)

    async def answered(input: Any, documents: Any, options: dict[str, Any], *, is_async: bool) -> Any:
        asked = call(input, is_async=is_async, documents=documents)
        ask: Any = objects.ainvoke if is_async else objects.invoke
        with configured(asked.config, traced=asked.traced):
            said = await value_of(ask(asked.messages, asked.config, **options))
            asked.require_whole()  # a parser completes half an object
            parsed = _parsed(said, explained=asked.traced)
            result = await asked.check_object(plain(parsed), json_schema)
        released = rebuilt(parsed, plain(parsed), result.object, result)
        return _with_raw(said["raw"], released, result) if include_raw else released

    def answer(input: Any, documents: Any = None, **options: Any) -> Any:
        return run(answered(input, documents, options, is_async=False))

    async def aanswer(input: Any, documents: Any = None, **options: Any) -> Any:
        return await answered(input, documents, options, is_async=True)

    return RunnableLambda(answer, aanswer, name="guarded_structured_output")


def _parsed(said: dict[str, Any], *, explained: bool) -> Any:
    """The model's object. Raises: GenerationError if there is none."""
    error, parsed = said["parsing_error"], said["parsed"]
    if error is None and parsed is not None:
        return parsed
    reason = f": {error}" if error is not None and explained else ""
    raise GenerationError(f"the model wrote no object of the schema{reason}") from (error if explained else None)


def _with_raw(raw: AIMessage, released: Any, result: ObjectResult) -> dict[str, Any]:
    message = AIMessage(
        content=json.dumps(result.object, ensure_ascii=False),
        response_metadata=metadata(raw.response_metadata) | {"groundrail": result.model_dump(mode="json")},
        usage_metadata=raw.usage_metadata,
    )
    return {"raw": message, "parsed": released, "parsing_error": None}


def plain(value: Any, pointer: str = "") -> Any:
    """The JSON values of a parsed object, without the defaults of its class, which are the caller's.

    Raises: InputError for a value of another kind than pydantic's objects, dataclasses, containers and scalars.
    """
    if (fields := _fields(value)) is not None:
        return {name: plain(inner, f"{pointer}/{name}") for name, inner in fields.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, f"{pointer}/{number}") for number, item in enumerate(value)]
    is_text = isinstance(value, str | int | float) and not isinstance(value, Enum)
    if not isinstance(value, _SCALARS) or (is_text and getattr(value, "__dict__", None)):  # a SecretStr hides its text
        raise InputError(f"{pointer} holds a {type(value).__name__}, which no guard reads; give its class plain fields")
    return to_jsonable_python(value)


def rebuilt(value: Any, judged: Any, released: Any, result: ObjectResult, pointer: str = "") -> Any:
    """The parsed object `value`, whose JSON values were `judged`, made anew of the released ones.

    Raises: UnsupportedObjectError where a validator of its class does not take a released value in a refused one's place.
    """
    if released is None:
        return None

    def within(key: Any, inner: Any) -> Any:
        return rebuilt(inner, judged[key], released[key], result, f"{pointer}/{key}")

    if isinstance(value, list | tuple | set | frozenset):
        items = [within(number, item) for number, item in enumerate(value)]
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    if (fields := _fields(value)) is None:
        return value if judged == released else released
    made = {name: within(name, inner) for name, inner in fields.items() if name in released}  # without refused keys
    if isinstance(value, Mapping):
        return made
    if isinstance(value, BaseModel):
        for name in made:
            if judged[name] != released[name] and not _takes(value, name, made[name]):
                message = f"{pointer}/{name} is not supported, and the validators of {type(value).__name__} allow nothing in its place"
                raise UnsupportedObjectError(message, result.fields)
        rest = {name: _default(field) for name, field in type(value).model_fields.items() if name not in fields}
        return type(value).model_construct(value.model_fields_set, **made, **rest)
    new = object.__new__(type(value))
    for name, inner in made.items():
        object.__setattr__(new, name, inner)
    return new


def _fields(value: Any) -> dict[str, Any] | None:
    """The fields of an object by name; None for a value that has none."""
    if isinstance(value, BaseModel):
        own = {name: getattr(value, name) for name in type(value).model_fields if not _is_default(value, name)}
        return own | (value.model_extra or {})
    if isinstance(value, Mapping):
        return {str(key): inner for key, inner in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _is_default(value: BaseModel, name: str) -> bool:
    """Whether a field was left to its class, which makes nothing of the other fields for it.

    A default that is another one each time, such as an identifier, is not compared: the returned object has its own.
    """
    field = type(value).model_fields[name]
    if name in value.model_fields_set or field.default_factory_takes_validated_data:
        return False
    default = _default(field)
    return bool(getattr(value, name) == default or default != _default(field))


def _default(field: FieldInfo) -> Any:
    """The default of a field, made anew."""
    return field.get_default(call_default_factory=True)


def _takes(value: BaseModel, name: str, released: Any) -> bool:
    """Whether the validators of a field take a released value; that the field is frozen counts for nothing.

    They see copies, since they may write the refused words into what they are given.
    """
    try:
        type(value).__pydantic_validator__.validate_assignment(value.model_copy(deep=True), name, deepcopy(released))
    except ValidationError as error:
        return all(found["type"].startswith("frozen") for found in error.errors(include_input=False))
    return True
