"""Closed classes of English words and common verb forms, from `words.toml`: what rules can know of grammar without a parser.

Words are compared by their stem (Snowball's English stemmer), numbers by their digits.
"""

import re
import threading
import tomllib
from functools import lru_cache
from importlib.resources import files

import Stemmer

_FILE = files(__package__).joinpath("words.toml")
_CLASSES = {name: frozenset(listed.split()) for name, listed in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()}

BE, HAVE = _CLASSES["be"], _CLASSES["have"]
DO, MODALS = _CLASSES["do"], _CLASSES["modals"]
AUXILIARIES = BE | HAVE | DO | MODALS
NEGATIONS, ADVERBS = _CLASSES["negations"], _CLASSES["adverbs"]
SUBJECT_PRONOUNS, PERSONAL = _CLASSES["subject_pronouns"], _CLASSES["personal"]
PRONOUNS = SUBJECT_PRONOUNS | PERSONAL | _CLASSES["other_pronouns"]
DETERMINERS, PREPOSITIONS, CONJUNCTIONS = _CLASSES["determiners"], _CLASSES["prepositions"], _CLASSES["conjunctions"]
FUNCTION = AUXILIARIES | PRONOUNS | DETERMINERS | PREPOSITIONS | CONJUNCTIONS
ORGANISATION, ATTRIBUTION, HYPOTHETICAL = _CLASSES["organisation"], _CLASSES["attribution"], _CLASSES["hypothetical"]
PAST, PARTICIPLES, INTRANSITIVE = _CLASSES["past"], _CLASSES["participles"], _CLASSES["intransitive"]


_ED = re.compile(r"[a-z]{2,}ed")


def third_person(verb: str) -> str:
    """`carry` -> `carries`."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")


PRESENT_PLURAL = _CLASSES["present"]
PRESENT_SINGULAR = frozenset(map(third_person, PRESENT_PLURAL))


def is_past(word: str) -> bool:
    """Whether the lower-case `word` can be a past tense: a common irregular one, or one in -ed."""
    return word in PAST or bool(_ED.fullmatch(word) and word not in _CLASSES["not_past"])


def is_finite(word: str) -> bool:
    """Whether the lower-case `word` is, or can well be, a verb with tense; plural presents are left out."""
    return word in AUXILIARIES or word.endswith("n't") or word in PRESENT_SINGULAR or is_past(word)


def is_participle(word: str) -> bool:
    """Whether the lower-case `word` can follow `was` or `has` as a verb."""
    return word in PARTICIPLES or bool(_ED.fullmatch(word) and word not in _CLASSES["not_past"])


def is_adverb(word: str) -> bool:
    """Whether the lower-case `word` is a common adverb or looks like one."""
    return word in ADVERBS or (len(word) > 4 and word.endswith("ly") and word != "family")


_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W_]+")
_stemmer = threading.local()  # a Stemmer must not be shared between threads


def stems(text: str) -> list[str]:
    """The stem of every word of a text in order, lower case; `1,450` is `1450`."""
    return [word.replace(",", "") if word[0].isdigit() else stem(word) for word in _WORD.findall(text)]


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem that a word shares with its inflections: `descaling` and `descaled` are `descal`."""
    if not hasattr(_stemmer, "english"):
        _stemmer.english = Stemmer.Stemmer("english")
    return str(_stemmer.english.stemWord(word.lower()))
