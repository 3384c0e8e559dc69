"""Read JSON: one premise for each field, with the names of the records around the field; the field is cited."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from groundrail.errors import InputError
from groundrail.sources.premise import NOT_GIVEN, Premise, Region, field, words
from groundrail.text.sentences import is_unicode

_TOKEN = re.compile(
    r"(?P<open>[{\[])|(?P<close>[}\]])|(?P<key>\"(?:[^\"\\]|\\.)*+\")(?=[ \t\r\n]*:)|(?P<value>\"(?:[^\"\\]|\\.)*+\"|[^][{}\s,:\"]+)"
)
_SPACE = re.compile(r"[ \t\r\n]*")
_DEEPEST = 100
_HOURS = re.compile(r"(?:[01]?\d|2[0-4]):[0-5]?\d ?[-–] ?(?:[01]?\d|2[0-4]):[0-5]?\d")
_SHORT_MINUTES = re.compile(r"(?<=:)(?=\d(?!\d))")


def read_json(text: str) -> list[Region]:
    """The records of one JSON value, or of several in sequence (JSON Lines).

    Raises: InputError for a text that is not JSON, is nested too deeply, or has a key twice in one object.
    """
    decoder, place = json.JSONDecoder(object_pairs_hook=_with_each_key_once), 0
    try:
        while (place := _SPACE.match(text, place).end()) < len(text):  # type: ignore[union-attr]  # it matches nothing too
            _, place = decoder.raw_decode(text, place)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"it is no valid JSON ({error})") from error
    premises = tuple(_premises(list(_fields(text))))
    return [Region(0, len(text), premises)] if premises else []


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> None:
    """Raises: InputError for a key that an object has twice."""
    for key, count in Counter(key for key, _ in pairs).items():
        if count > 1:
            raise InputError(f"its JSON has the key {key!r} twice in one object")


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


def _fields(text: str) -> Iterator[_Field]:
    """The plain values of a text that is valid JSON, in order. Raises: InputError for one that is nested too deeply."""
    around: tuple[_Record, ...] = ()
    key: re.Match[str] | None = None
    for token in _TOKEN.finditer(text):
        label = json.loads(key[0]) if key else ""
        match token.lastgroup:
            case "key":
                key = token
                continue
            case "open":
                if len(around) > _DEEPEST:
                    raise InputError(f"its JSON is nested more than {_DEEPEST} deep")
                around = (*around, _Record(words(label), listed=bool(around) and key is None))
            case "close":
                around = around[:-1]
            case "value" if around:
                value = json.loads(token[0])
                yield _Field((key or token).start(), token.end(), words(label), _scalar(value), around)
                around[-1].learn(label, value)
        key = None


def _premises(fields: Sequence[_Field]) -> Iterator[Premise]:
    """A premise for each field that is not blank, in order; the naming field of a record stands alone."""
    records = {id(record): record for each in fields for record in each.around if record.listed}
    known = Counter(record.name for record in records.values())
    for each in fields:
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
