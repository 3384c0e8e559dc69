"""Read JSON: one premise for each field, with the names of the records around the field; the field is cited."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from groundrail.errors import InputError
from groundrail.sources.premise import NOT_GIVEN, Premise, Region, field, words
from groundrail.text.sentences import is_unicode

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_DEEPEST = 100
_HOURS = re.compile(r"(?:[01]?\d|2[0-4]):[0-5]?\d ?[-–] ?(?:[01]?\d|2[0-4]):[0-5]?\d")
_SHORT_MINUTES = re.compile(r"(?<=:)(?=\d(?!\d))")


def looks_like_json(text: str) -> bool:
    """Whether a text begins and ends with the brackets of an object or a list."""
    bare = text.strip()
    return bare[:1] + bare[-1:] in ("{}", "[]") and re.match(r'[{\[]\s*["{\[}\]]', bare) is not None


def read_json(text: str) -> list[Region]:
    """The records of one JSON value, or of several in sequence (JSON Lines).

    Raises: InputError for a text that is not JSON, is nested too deeply, or has a key twice in one object.
    """
    walk, place = _Walk(text), 0
    try:
        while (place := _skip(text, place)) < len(text):
            place = walk.value(place, (), 0)
    except InputError:
        raise
    except (ValueError, IndexError) as error:
        raise InputError(f"it is no valid JSON ({error})") from error
    premises = tuple(walk.premises())
    return [Region(0, len(text), premises)] if premises else []


_NAMING = frozenset({"name", "title"})
"""Keys whose value names their record."""


_SHORT = 60
"""Maximum number of characters of a text that tells two records apart."""


@dataclass(slots=True)
class _Record:
    """An object or a list, with its key and the value that names it.

    A record in a list without a name or title is named by its first field, like a row of a table. `detail` is its first
    other short text, which tells it from a record of the same name.
    """

    key: str
    listed: bool
    name: str = ""
    certain: bool = False
    detail: str = ""

    def learn(self, key: str, value: object) -> None:
        """Take the name from a field if the field names the record."""
        if self.name and not self.detail and isinstance(value, str) and len(value) <= _SHORT:
            self.detail = f"{words(key)} {_scalar(value)}"
        if isinstance(value, bool) or not isinstance(value, str | int) or not key or self.certain:
            return
        self.certain = key.lower() in _NAMING
        if self.certain or (self.listed and not self.name):
            self.name = _scalar(value)


@dataclass(frozen=True, slots=True)
class _Field:
    """A plain value with its key, and the records around it, the outermost first."""

    start: int
    end: int
    key: str
    value: str
    around: tuple[_Record, ...]


class _Walk:
    """Walk through a text and record each field with its place; the standard library parses keys and plain values."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._fields: list[_Field] = []

    def value(self, place: int, around: tuple[_Record, ...], depth: int, key: str = "", listed: bool = False) -> int:
        """Read the object or list at `place`; return its end."""
        if depth > _DEEPEST:
            raise InputError(f"its JSON is nested more than {_DEEPEST} deep")
        if self.text[place] not in "{[":
            return _DECODER.raw_decode(self.text, place)[1]
        around = (*around, _Record(key, listed))
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
            place = self._member(start, place, label, around, depth)
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

    def _member(self, start: int, place: int, label: str, around: tuple[_Record, ...], depth: int) -> int:
        if self.text[place] in "{[":
            return self.value(place, around, depth + 1, words(label), listed=start == place)
        value, end = _DECODER.raw_decode(self.text, place)
        self._fields.append(_Field(start, end, words(label), _scalar(value), around))
        around[-1].learn(label, value)
        return end

    def premises(self) -> Iterator[Premise]:
        """A premise for each field that is not blank, in order; the naming field of a record stands alone."""
        records = {id(record): record for each in self._fields for record in each.around if record.listed}
        known = Counter(record.name for record in records.values())
        for each in self._fields:
            if not each.value:
                continue
            names = [part for record in each.around for part in (record.key, record.name)]
            if names[-1] == each.value:
                names.pop()
            elif known[names[-1]] > 1 and each.around[-1].detail != f"{each.key} {each.value}":
                names.append(each.around[-1].detail)
            for said in field(", ".join(filter(None, names)), each.key, each.value):
                if not is_unicode(said):
                    raise InputError("its JSON has an escape that is half a character, such as \\ud800 alone")
                yield Premise(each.start, each.end, said)


def _scalar(value: object) -> str:
    """The value in words; hours such as "11:30-22:0" with minutes of two digits, as clocks show them."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return NOT_GIVEN
    said = " ".join(str(value).split())
    return _SHORT_MINUTES.sub("0", said) if _HOURS.fullmatch(said) else said


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place
