"""Words by their stem (Snowball's English stemmer), numbers by their digits: how texts are compared word by word."""

import re
import threading
from functools import lru_cache

import Stemmer

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
