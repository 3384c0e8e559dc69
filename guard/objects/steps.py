"""A bound on the work of a JSON schema: how often a validator applies one of its parts to a part of an object.

Schemas that refer to each other double with every step, so that 2 kB can take years. The number is counted, not
walked: each pair of a part of the schema and a part of the object once.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from jsonpointer import JsonPointerException, resolve_pointer

from groundrail.errors import InputError

MOST_STEPS = 1_000_000
"""Most applications of a part of a schema, and comparisons with the values of an `enum`, for one object."""

_MOST_PAIRS = 200_000
"""Most different pairs that are counted."""

_LOOKAHEAD = 3
"""Levels of an object that are assumed where there is none yet."""

_COMBINED = ("allOf", "anyOf", "oneOf")
_SAME = ("not", "if", "then", "else")
_DEPENDENT = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_MAPS = ("properties", "patternProperties")
_REST = ("additionalProperties", "unevaluatedProperties")
_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")


class _Any:
    """Whatever an object may hold; None below the levels that are assumed."""

    def __init__(self, levels: int) -> None:
        self.below = _Any(levels - 1) if levels else None


_ANY = _Any(_LOOKAHEAD)


def refuse_endless(root: Mapping[str, Any], value: Any = _ANY) -> None:
    """Raises: InputError for a schema that takes too many steps for a value, or refers to itself in a circle."""
    try:
        _count(root, root, value, {})
    except RecursionError:
        raise InputError("the schema refers from part to part without end; write its parts out") from None


def referred(root: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Any]:
    """The parts that a part of a schema refers to. Raises: InputError for a reference that is no JSON pointer in it."""
    for keyword in _REFERENCES:
        reference = schema.get(keyword)
        if isinstance(reference, str):
            try:
                yield resolve_pointer(root, unquote(reference.removeprefix("#")))
            except JsonPointerException:
                raise InputError(
                    f"the schema refers to {reference!r}, which is no place in it, as '#/$defs/name' is"
                ) from None


def _count(root: Mapping[str, Any], schema: Any, value: Any, known: dict[tuple[int, int], int]) -> int:
    """The steps for one pair. `known` has the pairs so far, with 0 while they are being counted."""
    if not isinstance(schema, Mapping):
        return 1
    pair = (id(schema), id(value) if isinstance(value, dict | list | _Any) else 0)
    if pair in known:
        if not known[pair]:
            raise InputError("the schema refers to itself in a circle")
        return known[pair]
    known[pair] = 0
    steps = 1 + len(listed(schema, "enum"))
    for part, inner in (*_here(root, schema, value), *_below(schema, value)):
        steps += _count(root, part, inner, known)
        if steps > MOST_STEPS or len(known) > _MOST_PAIRS:
            raise InputError(f"the schema takes over {MOST_STEPS:,} steps for one object; make it smaller")
    known[pair] = steps * (2 if "unevaluatedProperties" in schema or "unevaluatedItems" in schema else 1)
    return known[pair]


def _here(root: Mapping[str, Any], schema: Mapping[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of a schema that are applied to the same value."""
    yield from ((part, value) for keyword in _COMBINED for part in listed(schema, keyword))
    yield from ((schema[keyword], value) for keyword in _SAME if keyword in schema)
    yield from ((part, value) for keyword in _DEPENDENT for part in named(schema, keyword).values())
    yield from ((part, value) for part in referred(root, schema))


def _below(schema: Mapping[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of a schema that are applied to what a value holds, each with it."""
    match value:
        case _Any(below=None):
            return
        case _Any(below=below):
            yield from ((part, below) for keyword in _MAPS for part in named(schema, keyword).values())
            yield from ((part, below) for keyword in (*_ITEMS, "prefixItems") for part in listed(schema, keyword))
            yield from ((schema[keyword], below) for keyword in (*_REST, *_ITEMS) if keyword in schema)
        case dict():
            properties, patterns = named(schema, "properties"), named(schema, "patternProperties").values()
            rest = [*patterns, *(schema[keyword] for keyword in _REST if keyword in schema)]
            for key, inner in value.items():
                yield from ((part, inner) for part in [*([properties[key]] if key in properties else []), *rest])
                if "propertyNames" in schema:
                    yield schema["propertyNames"], key
        case list():
            by_place = [listed(schema, keyword) for keyword in ("prefixItems", "items")]
            rest = [schema[keyword] for keyword in _ITEMS if isinstance(schema.get(keyword), Mapping)]
            for number, inner in enumerate(value):
                yield from ((parts[number], inner) for parts in by_place if number < len(parts))
                yield from ((part, inner) for part in rest)


def listed(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    """The list under a keyword; no keyword of the schema's draft holds anything else there."""
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def named(schema: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
    """The parts by name under a keyword, as in `listed`."""
    found = schema.get(keyword)
    return found if isinstance(found, Mapping) else {}
