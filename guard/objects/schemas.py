"""`Schema`, a JSON schema that names the places of an object and checks whether an object fits it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from groundrail.errors import InputError, MissingExtraError
from groundrail.objects.json_values import PathKey, pointer_of, refuse_unfit
from groundrail.objects.steps import listed, named, referred, refuse_endless

_LONGEST_NAME = 12
"""Number of words from which a description counts as an explanation of a field and not as its name."""

_LARGEST_PATTERN = 100_000
"""Most bytes of a compiled regular expression."""


class Schema:
    """A JSON schema, read and checked. Nothing outside of it is loaded, and the work for an object has a bound.

        Schema({"properties": {"rent": {"title": "Monthly rent"}}}).name_at(["rent"])  # "Monthly rent"

    Patterns are those of the Rust crate `regex`, which takes linear time: they cannot look around or back.

    Raises: InputError for a schema that cannot be read, or takes too many steps (`groundrail.objects.steps`);
    MissingExtraError without the extra `objects`.
    """

    def __init__(self, schema: Mapping[str, Any] | type[BaseModel]) -> None:
        try:
            import jsonschema_rs
        except ModuleNotFoundError as error:
            raise MissingExtraError("Checking an object against a schema", "objects") from error
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            schema = schema.model_json_schema()
        if not isinstance(schema, Mapping):
            raise InputError(f"a schema is a JSON object or a pydantic model, not {type(schema).__name__}")
        self._root: dict[str, Any] = dict(schema)
        refuse_unfit(self._root, "the schema")
        for found in _dicts(self._root):
            reference = found.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                raise InputError(f"the schema refers to {reference!r} outside of it; put that schema into its $defs")
            if found is not self._root and any(isinstance(found.get(name), str) for name in ("$id", "id")):
                raise InputError("a part of the schema has an $id; leave it out, and refer to the part by its place")
        options = jsonschema_rs.RegexOptions(size_limit=_LARGEST_PATTERN, dfa_size_limit=_LARGEST_PATTERN)
        try:
            self._validator = jsonschema_rs.validator_for(
                self._root, retriever=_load_nothing, pattern_options=options, validate_formats=False
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            place = getattr(error, "instance_path", [])
            said = str(error).partition("\n")[0][:200]
            raise InputError(f"the schema cannot be read at {pointer_of(place) or '/'}: {said}") from None
        refuse_endless(self._root)
        self._places: dict[tuple[PathKey, ...], list[Mapping[str, Any]]] = {(): list(self._alternatives(self._root))}

    @property
    def has_patterns(self) -> bool:
        """Whether the schema has regular expressions, whose work has no bound beside the length of a text."""
        return any(isinstance(d.get("pattern"), str) or "patternProperties" in d for d in _dicts(self._root))

    def misfits(self, value: Any) -> list[tuple[tuple[PathKey, ...], str]]:
        """The places where a value does not fit, each with the keyword of the schema.

        Raises: InputError for a schema that takes too many steps for this value.
        """
        refuse_endless(self._root, value)
        return [(tuple(e.instance_path), str(e.schema_path[-1])) for e in self._validator.iter_errors(value)]

    def name_at(self, path: Sequence[PathKey]) -> str | None:
        """The description of the place if it is short, else the title; None if the schema has neither."""
        here = self._at(tuple(path))
        for keyword in ("description", "title"):
            for schema in here:
                text = schema.get(keyword)
                if isinstance(text, str) and 0 < len(text.split()) <= _LONGEST_NAME and "\n" not in text.strip():
                    return text.strip().rstrip(".")
        return None

    def shown(self, path: Sequence[PathKey]) -> str:
        """The JSON pointer of a place as far as the schema lists its keys; a model may say anything in other keys."""
        unknown = (end for end, step in enumerate(path) if isinstance(step, str) and not self.lists(path[: end + 1]))
        return pointer_of(path[: next(unknown, len(path))]) or "/"

    def lists(self, path: Sequence[PathKey]) -> bool:
        """Whether the last key of a path is among the properties that the schema lists for its place."""
        return any(path[-1] in named(schema, "properties") for schema in self._at(tuple(path[:-1])))

    def _at(self, path: tuple[PathKey, ...]) -> list[Mapping[str, Any]]:
        """The schemas of a place."""
        if path not in self._places:
            outer = self._at(path[:-1])
            self._places[path] = [deeper for schema in outer for deeper in self._below(schema, path[-1])]
        return self._places[path]

    def _below(self, schema: Mapping[str, Any], step: PathKey) -> Iterator[Mapping[str, Any]]:
        """The schemas of a key or an item."""
        if isinstance(step, str):
            found = named(schema, "properties").get(step, schema.get("additionalProperties"))
        else:
            first = listed(schema, "prefixItems")
            found = first[step] if step < len(first) else schema.get("items")
        if isinstance(found, Mapping):
            yield from self._alternatives(found)

    def _alternatives(self, schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """A schema and the schemas that it refers to or combines, each once."""
        waiting, seen = [schema], set[int]()
        for schema in waiting:  # which grows
            if id(schema) in seen or not isinstance(schema, Mapping):
                continue
            seen.add(id(schema))
            yield schema
            waiting += referred(self._root, schema)
            for keyword in ("allOf", "anyOf", "oneOf"):
                waiting += listed(schema, keyword)


def _load_nothing(address: str) -> Any:
    raise ValueError(f"the schema refers to {address!r} outside of it")


def _dicts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every JSON object in a schema, itself included."""
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case dict() as found:
                yield found
                waiting += found.values()
            case list() as items:
                waiting += items
