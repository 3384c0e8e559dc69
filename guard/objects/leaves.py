"""The leaves of an object, each with the statement that it makes.

list(leaves({"deposit": {"amount": "2,900 euros"}}))[0].statement  # "The deposit's amount is 2,900 euros."
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from groundrail.objects.places import Step, pointer_of
from groundrail.objects.schemas import Schema
from groundrail.text.english.phrases import is_fragment, leans_on_question
from groundrail.text.rendering.visible import is_blank
from groundrail.text.sentences import split

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
"""The words of a key: "depositAmount", "deposit_amount" and "deposit-amount" have the same."""

_ENDS_LIKE_SENTENCE = re.compile(r"""[.!?…]["'”’)]*$""")
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_WHETHER = re.compile(r"(?:whether|if)\s+", re.IGNORECASE)
_UNIT = re.compile(r"(?P<name>.+) in (?P<unit>.+)")
"""A name with its unit: "amount in euros"."""

_YEARS = range(1900, 2101)
"""Range of numbers that may be years and are written without commas."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that contains no other values.

    pointer: the place of the value as a JSON pointer (RFC 6901).
    statement: the text to judge; empty if the leaf claims nothing.
    question: a question for the field; a short answer is judged together with it.
    is_text: whether the statement is the value itself, made of sentences.
    """

    pointer: str
    path: tuple[Step, ...]
    value: Any
    statement: str = ""
    question: str = ""
    is_text: bool = False


def leaves(value: Any, schema: Schema | None = None, fields: Sequence[str] | None = None) -> Iterator[Leaf]:
    """The leaves in the order of the object. `fields`: see `Policy.fields`, which says which leaves are claims."""
    waiting: list[tuple[tuple[Step, ...], Any]] = [((), value)]
    while waiting:
        path, found = waiting.pop()
        match found:
            case dict():
                waiting += [((*path, key), inner) for key, inner in reversed(found.items())]
            case list():
                waiting += [((*path, number), inner) for number, inner in reversed(list(enumerate(found)))]
            case _:
                yield _leaf(path, found, schema, fields)


def is_claim(path: Sequence[Step], fields: Sequence[str] | None) -> bool:
    """Whether the leaf at `path` is a claim, by the rule of `Policy.fields`."""
    wanted = [field for field in fields or () if not field.startswith("!")]
    unwanted = [field[1:] for field in fields or () if field.startswith("!")]
    return not _named(path, unwanted) and (not wanted or _named(path, wanted))


def _named(path: Sequence[Step], fields: Sequence[str]) -> bool:
    pointers = {pointer_of(path[:end]) for end in range(1, len(path) + 1)}
    return any(field in pointers if field.startswith("/") else field in path for field in fields)


def _leaf(path: tuple[Step, ...], value: Any, schema: Schema | None, fields: Sequence[str] | None) -> Leaf:
    pointer = pointer_of(path)
    if value is None or (isinstance(value, str) and is_blank(value)) or not is_claim(path, fields):
        return Leaf(pointer, path, value)
    label = _label(path, schema)
    is_text = isinstance(value, str) and _is_text(value)
    statement = value if is_text else _statement(label, value, in_list=isinstance(path[-1], int))
    return Leaf(pointer, path, value, statement, f"What is the {label}?", is_text)


def _is_text(value: str) -> bool:
    """Whether a string is one or more sentences, not the value of its field."""
    said = value.strip()
    if len(split(said)) > 1:
        return True
    return bool(_ENDS_LIKE_SENTENCE.search(said)) and not is_fragment(said) and not leans_on_question(said)


def _statement(label: str, value: Any, *, in_list: bool) -> str:
    """One sentence that states the value of the field."""
    if isinstance(value, bool):
        if clause := _WHETHER.match(label):
            said = label[clause.end() :]
            return f"{said[:1].upper()}{said[1:]}." if value else f"It is not true that {said}."
        return f"{label[:1].upper()}{label[1:]}: {'yes' if value else 'no'}."
    written = _written(value)
    if not isinstance(value, str) and (measured := _UNIT.fullmatch(label)):
        label, written = measured["name"], f"{written} {measured['unit']}"
    verb = "is" if not in_list else "include" if label.endswith("s") else "includes"
    return f"The {label} {verb} {written}{'' if _ENDS_LIKE_SENTENCE.search(written) else '.'}"


def _written(value: str | int | float) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    number = int(value) if value == int(value) else value
    return str(number) if number in _YEARS else f"{number:,}"


def _label(path: Sequence[Step], schema: Schema | None) -> str:
    """The words for a place, from the names of the keys on the path: "deposit's amount".

    A name whose words are also in the next name is left out: "deposit", "deposit amount" becomes "deposit amount".
    """
    keys = [end for end in range(1, len(path) + 1) if isinstance(path[end - 1], str)]
    names = [_name(path[:end], schema) for end in keys]
    if names and _WHETHER.match(names[-1]):
        return names[-1]
    told = [
        name
        for name, following in zip(names, [*names[1:], ""], strict=False)
        if name and not set(name.lower().split()) <= set(following.lower().split())
    ]
    return "'s ".join(told) or "value"


def _name(path: Sequence[Step], schema: Schema | None) -> str:
    """The schema's name for a place, else the words of its key."""
    named = schema.name_at(path) if schema is not None else None
    if named is not None:
        bare = _ARTICLE.sub("", named, count=1)
        first, _, rest = bare.partition(" ")
        return bare if first.isupper() else f"{first[:1].lower()}{first[1:]} {rest}".strip()
    words = _WORDS.findall(str(path[-1])) or [str(path[-1])]
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in words)
