"""The leaves of an object, each with the statement that it makes.

list(leaves({"deposit": {"amount": "2,900 euros"}}))[0].statement  # "The deposit's amount is 2,900 euros."
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from groundrail.objects.json_values import PathKey, pointer_of
from groundrail.objects.schemas import Schema
from groundrail.objects.statements import ENDS_LIKE_SENTENCE, WHETHER, both_ways, statement, truth_of
from groundrail.text.english import words
from groundrail.text.english.phrases import depends_on_question, is_fragment
from groundrail.text.sentences import split

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
"""The words of a key: "depositAmount", "deposit_amount" and "deposit-amount" have the same."""

_LONGEST_NAME = 60
"""Characters of a text that names a record of a list."""

_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_IDENTIFIER = re.compile(r"[\w$@][\w$@.:/#-]*")
"""A key that names a field and says nothing."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that contains no other values.

    path: the keys and positions that lead to the value.
    statement: the text to judge; empty if the leaf claims nothing.
    name: the beginning of the statement, which only names the field.
    opposite: the statement of a yes or no of the other value; the leaf's own must be likelier.
    question: a question for the field; a short answer is judged together with it.
    is_text: whether the statement is the value itself, made of sentences.
    is_key: whether the key makes the statement, so that refused it goes with all that is in it.
    """

    path: tuple[PathKey, ...]
    value: Any
    statement: str = ""
    name: str = ""
    opposite: str = ""
    question: str = ""
    is_text: bool = False
    is_key: bool = False

    @property
    def pointer(self) -> str:
        """The place of the value as a JSON pointer (RFC 6901)."""
        return pointer_of(self.path)


def leaves(
    value: Any, schema: Schema | None = None, fields: Sequence[str] | None = None, source: str = ""
) -> Iterator[Leaf]:
    """The leaves in the order of the object, and the places whose keys make a statement.

    fields: see `Policy.fields`, which says which leaves are claims. source: the text whose way to write dates is taken.
    """
    waiting: list[tuple[tuple[PathKey, ...], Any]] = [((), value)]
    records: _Records = {}
    while waiting:
        path, found = waiting.pop()
        states = _states(path, schema)
        if states and (_is_empty(found) or isinstance(found, dict | list)):
            yield Leaf(path, found, _spoken(str(path[-1])) if is_claim(path, fields) else "", is_key=True)
        elif not isinstance(found, dict | list):
            leaf = _leaf(path, found, schema, fields, source, records)
            together = states and leaf.statement and (not leaf.is_text or _says(str(path[-1])))
            yield _with_key(leaf) if together else leaf
        if isinstance(found, dict):
            if path and isinstance(path[-1], int) and (named_by := next(filter(_is_name, found.items()), None)):
                records[path] = named_by
            waiting += [((*path, key), inner) for key, inner in reversed(found.items())]
        elif isinstance(found, list):
            waiting += [((*path, number), inner) for number, inner in reversed(list(enumerate(found)))]


_Records: TypeAlias = dict[tuple[PathKey, ...], tuple[str, str]]
"""The key and value that name a record of a list, by the record's path: the first short text in it."""


def _is_name(field: tuple[str, Any]) -> bool:
    """Whether a field can name its record: a short text under a key that makes no statement."""
    key, value = field
    is_short = isinstance(value, str) and len(value) <= _LONGEST_NAME and value.isprintable()
    if not is_short or not value[:1].isalpha() or truth_of(value) is not None:
        return False
    return not _is_text(value) and not _states((key,), None)


def _with_key(leaf: Leaf) -> Leaf:
    """A leaf whose key makes a statement, too: its words say both, and both are refused together."""
    key = " ".join(str(leaf.path[-1]).split())
    if leaf.is_text or not key.isprintable():
        said = f"{key if ENDS_LIKE_SENTENCE.search(key) else f'{key}.'} {leaf.statement}"
        leaf = replace(leaf, statement=said, opposite="", is_text=False)
    return replace(leaf, is_key=True)


def _states(path: Sequence[PathKey], schema: Schema | None) -> bool:
    """Whether the last key makes a statement: it has a verb, a "no", a figure, an end or what cannot be seen; an identifier
    has an auxiliary behind its first word. A key that the schema lists is the caller's own and makes none.
    """
    if not path or not isinstance(path[-1], str):
        return False
    key = " ".join(path[-1].split())
    if not key or key.endswith("?") or (schema is not None and schema.lists(path)):
        return False
    if _IDENTIFIER.fullmatch(key):
        return any(word in words.AUXILIARIES for word in _spoken(key).lower().split()[1:])
    return any(letter.isdigit() for letter in key) or _says(key)


def _spoken(key: str) -> str:
    """A key as words, if it is an identifier: "rent_is_1650" is "rent is 1650"."""
    return " ".join(_WORDS.findall(key)) if _IDENTIFIER.fullmatch(key) else key


def _says(key: str) -> bool:
    """Whether a key has a verb, a "no", an end, or what cannot be seen; a figure alone may number a section."""
    key = " ".join(key.split())
    if not key.isprintable() or ENDS_LIKE_SENTENCE.search(key):
        return True
    found = [word.lower() for word in _LETTERS.findall(key)]
    if any(map(words.is_finite, found)) or any(word in words.PRESENT_PLURAL for word in found[1:-1]):
        return True
    return len(found) > 1 and any(word in words.NEGATIONS for word in found)


def _is_empty(value: Any) -> bool:
    """Whether a value is nothing: null, white space, or a list or an object without anything in it."""
    return value is None or value in ({}, []) or (isinstance(value, str) and not value.strip())


def is_claim(path: Sequence[PathKey], fields: Sequence[str] | None) -> bool:
    """Whether the leaf at `path` is a claim, by the rule of `Policy.fields`."""
    wanted = [field for field in fields or () if not field.startswith("!")]
    unwanted = [field[1:] for field in fields or () if field.startswith("!")]
    return not _named(path, unwanted) and (not wanted or _named(path, wanted))


def _named(path: Sequence[PathKey], fields: Sequence[str]) -> bool:
    pointers = {pointer_of(path[:end]) for end in range(1, len(path) + 1)}
    return any(field in pointers if field.startswith("/") else field in path for field in fields)


def _leaf(
    path: tuple[PathKey, ...],
    value: Any,
    schema: Schema | None,
    fields: Sequence[str] | None,
    source: str,
    records: _Records,
) -> Leaf:
    if _is_empty(value) or not is_claim(path, fields):
        return Leaf(path, value)
    names_record = records.get(path[:-1], ("",))[0] == path[-1]
    label = _label(path[:-2], schema, records) if names_record else _label(path, schema, records)
    question = f"What is the {label}?"
    if (truth := truth_of(value)) is not None:
        said, opposite = both_ways(label)[:: 1 if truth else -1]
        return Leaf(path, value, said, opposite=opposite, question=question)
    if isinstance(value, str) and _is_text(value):
        return Leaf(path, value, value, question=question, is_text=True)
    name, stated = statement(label, value, in_list=isinstance(path[-1], int), source=source)
    if names_record:
        name = f"One {_singular(label)} is "
    return Leaf(path, value, name + stated, name, question=question)


def _is_text(value: str) -> bool:
    """Whether a string is one or more sentences, not the value of its field."""
    said = value.strip()
    if len(split(said)) > 1:
        return True
    return bool(ENDS_LIKE_SENTENCE.search(said)) and not is_fragment(said) and not depends_on_question(said)


def _label(path: tuple[PathKey, ...], schema: Schema | None, records: _Records) -> str:
    """The words for a place, from the names of the keys on the path: "deposit's amount", "item bolt M8's quantity".

    A name whose words are also in the next name is left out: "deposit", "deposit amount" becomes "deposit amount".
    """
    names = []
    for end in range(1, len(path) + 1):
        if isinstance(path[end - 1], str):
            names.append(_name(path[:end], schema))
        elif path[:end] in records:
            names[-1:] = [" ".join([*map(_singular, names[-1:]), records[path[:end]][1]])]
    if names and WHETHER.match(names[-1]):
        return names[-1]
    names = [
        name
        for name, following in zip(names, [*names[1:], ""], strict=False)
        if name and not set(name.lower().split()) <= set(following.lower().split())
    ]
    return "'s ".join(names) or "value"


def _singular(name: str) -> str:
    return re.sub(r"(?<=[a-z])s$", "", re.sub(r"ies$", "y", name))


def _name(path: Sequence[PathKey], schema: Schema | None) -> str:
    """The schema's name for a place, else the words of its key."""
    named = schema.name_at(path) if schema is not None else None
    if named is not None:
        bare = _ARTICLE.sub("", named, count=1)
        first, _, rest = bare.partition(" ")
        return bare if first.isupper() else f"{first[:1].lower()}{first[1:]} {rest}".strip()
    named_by = _WORDS.findall(str(path[-1])) or [str(path[-1])]
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in named_by)
