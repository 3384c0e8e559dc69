"""JSON: one premise for each record, with the names of the records around it; cited are the record's own fields."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from groundrail.errors import InputError
from groundrail.sources.premise import Field, Premise, Region, record, words

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_DEEPEST = 100


def looks_like_json(text: str) -> bool:
    """Whether a text is in the brackets of an object or a list."""
    bare = text.strip()
    return bare[:1] + bare[-1:] in ("{}", "[]") and re.match(r'[{\[]\s*["{\[}\]]', bare) is not None


def read_json(text: str) -> list[Region]:
    """The records of one JSON value, or of several one after the other, as JSON Lines has them.

    Raises: InputError for a text that is no JSON, nested too deep, or has one key twice in one object.
    """
    walk, place = _Walk(text), 0
    try:
        while (place := _skip(text, place)) < len(text):
            place = walk.value(place, (), 0)
    except (json.JSONDecodeError, IndexError) as error:
        raise InputError(f"it is no valid JSON ({error})") from error
    premises = tuple(walk.premises())
    return [Region(0, len(text), premises)] if premises else []


@dataclass(slots=True)
class _Record:
    """The plain fields of one object or list; `path` holds the names of those around it."""

    path: tuple[str, ...]
    start: int = -1
    end: int = -1
    fields: list[Field] = field(default_factory=list)
    naming: str = ""


@dataclass(slots=True)
class _Walk:
    """Goes through a text and keeps every record with its place; the standard library reads the scalars."""

    text: str
    records: list[tuple[_Record, tuple["_Record", ...]]] = field(default_factory=list)

    def value(self, place: int, around: tuple[_Record, ...], depth: int, key: str = "") -> int:
        """Read the object or list at `place`; return its end."""
        if depth > _DEEPEST:
            raise InputError(f"its JSON is nested more than {_DEEPEST} deep")
        if self.text[place] not in "{[":
            return _DECODER.raw_decode(self.text, place)[1]
        own = _Record((key,))
        self.records.append((own, around))
        named = self.text[place] == "{"
        closing = "}" if named else "]"
        seen: set[str] = set()
        place = _skip(self.text, place + 1)
        while self.text[place] != closing:
            start, label = place, ""
            if named:
                label, place = self._key(place)
                if label in seen:
                    raise InputError(f"its JSON has the key {label!r} twice in one object")
                seen.add(label)
            place = self._member(start, place, label, own, (*around, own), depth)
            place = _skip(self.text, place)
            if self.text[place] == ",":
                place = _skip(self.text, place + 1)
                if self.text[place] == closing:
                    raise json.JSONDecodeError("a comma before a closing bracket", self.text, place)
            elif self.text[place] != closing:
                raise json.JSONDecodeError("a comma is missing", self.text, place)
        return place + 1

    def _key(self, place: int) -> tuple[str, int]:
        label, place = _DECODER.raw_decode(self.text, place)
        place = _skip(self.text, place)
        if not isinstance(label, str) or self.text[place] != ":":
            raise json.JSONDecodeError("a key is missing", self.text, place)
        return label, _skip(self.text, place + 1)

    def _member(self, start: int, place: int, label: str, own: _Record, around: tuple[_Record, ...], depth: int) -> int:
        if self.text[place] in "{[":
            return self.value(place, around, depth + 1, words(label))
        value, end = _DECODER.raw_decode(self.text, place)
        own.fields.append((words(label), _scalar(value)))
        if not own.naming and label and isinstance(value, str):
            own.naming = value.strip()
        own.start = start if own.start < 0 else own.start
        own.end = end
        return end

    def premises(self) -> Iterator[Premise]:
        """One for each record that has plain fields, in the order of the text."""
        for own, around in sorted(self.records, key=lambda each: each[0].start):
            names = [part for outer in around for part in (*outer.path, outer.naming)]
            name = ", ".join(filter(None, [*names, *own.path, own.naming]))
            for said in record(name, own.fields):
                yield Premise(own.start, own.end, said)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not given" if value is None else " ".join(str(value).split())


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place
