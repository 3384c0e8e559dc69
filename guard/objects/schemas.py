"""`Schema`, a JSON schema that names the places of an object and checks whether an object fits it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel

from groundrail.errors import InputError, MissingExtraError
from groundrail.objects.json_values import refuse_unfit

Step: TypeAlias = str | int
"""A key of an object, or the position of an item of a list."""

_LONGEST_NAME = 12
"""Number of words from which a description counts as an explanation of a field and not as its name."""


class Schema:
    """A JSON schema, read and checked. Nothing outside of it is loaded.

        Schema({"properties": {"rent": {"title": "Monthly rent"}}}).name_at(["rent"])  # "Monthly rent"

    Raises: InputError for a schema that cannot be read; MissingExtraError without the extra `objects`.
    """

    def __init__(self, schema: Mapping[str, Any] | type[BaseModel]) -> None:
        try:
            from jsonschema.exceptions import SchemaError
            from jsonschema.validators import Draft202012Validator, validator_for
            from referencing import Registry
        except ModuleNotFoundError as error:
            raise MissingExtraError("Checking an object against a schema", "objects") from error
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            schema = schema.model_json_schema()
        if not isinstance(schema, Mapping):
            raise InputError(f"a schema is a JSON object or a pydantic model, not {type(schema).__name__}")
        self._root: dict[str, Any] = dict(schema)
        refuse_unfit(self._root, "the schema")
        chosen = validator_for(self._root, default=Draft202012Validator)
        try:
            chosen.check_schema(self._root)
        except SchemaError as error:
            raise InputError(f"the schema cannot be read at {error.json_path}: {error.message}") from None
        self._validator = chosen(self._root, registry=Registry())  # an empty registry loads nothing from a network
        for found in _dicts(self._root):
            reference = found.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                raise InputError(f"the schema refers to {reference!r} outside of it; put that schema into its $defs")

    @property
    def has_patterns(self) -> bool:
        """Whether the schema has regular expressions, which can take very long on a malicious text."""
        return any(isinstance(d.get("pattern"), str) or "patternProperties" in d for d in _dicts(self._root))

    def misfits(self, value: Any) -> list[str]:
        """The places where a value does not fit, in JSON path notation with the keyword and without the value.

        Raises: InputError for a reference that leads nowhere or in a circle, and for a pattern that cannot be read.
        """
        try:
            return [f"{error.json_path} ({error.validator})" for error in self._validator.iter_errors(value)]
        except RecursionError:
            raise InputError("the schema refers to itself in a circle") from None
        except Exception as error:  # unresolvable references and broken patterns have no common class
            raise InputError(f"the schema cannot be read: {type(error).__name__}: {error}") from None

    def name_at(self, path: Sequence[Step]) -> str | None:
        """The description of the place if it is short, else the title; None if the schema has neither."""
        here = list(self._alternatives(self._root))
        for step in path:
            here = [deeper for schema in here for deeper in self._below(schema, step)]
        for keyword in ("description", "title"):
            for schema in here:
                text = schema.get(keyword)
                if isinstance(text, str) and 0 < len(text.split()) <= _LONGEST_NAME and "\n" not in text.strip():
                    return text.strip().rstrip(".")
        return None

    def _below(self, schema: Mapping[str, Any], step: Step) -> Iterator[Mapping[str, Any]]:
        """The schemas of a key or an item."""
        if isinstance(step, str):
            properties = schema.get("properties", {})
            found = properties.get(step, schema.get("additionalProperties"))
        else:
            first = schema.get("prefixItems", [])
            found = first[step] if step < len(first) else schema.get("items")
        if isinstance(found, Mapping):
            yield from self._alternatives(found)

    def _alternatives(self, schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """A schema and the schemas that it refers to or combines, each once."""
        waiting, seen = [schema], list[int]()
        while waiting:
            schema = waiting.pop(0)
            if id(schema) in seen or not isinstance(schema, Mapping):
                continue
            seen.append(id(schema))
            yield schema
            if isinstance(schema.get("$ref"), str):
                waiting.append(self._referred(schema["$ref"]))
            for keyword in ("allOf", "anyOf", "oneOf"):
                waiting += schema.get(keyword, [])

    def _referred(self, reference: str) -> Mapping[str, Any]:
        """The schema that a reference inside this schema leads to; an empty one for references of other kinds."""
        from jsonpointer import JsonPointerException, resolve_pointer

        try:
            found = resolve_pointer(self._root, reference.removeprefix("#")) if reference.startswith("#") else {}
        except JsonPointerException:
            return {}
        return found if isinstance(found, Mapping) else {}


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
