"""Tells whether a full stop ends an English sentence, by sentencex on a bounded window of text.

`groundrail.text.sentences` finds the stops and the other ends of sentences.
"""

import re

from sentencex import get_sentence_boundaries  # type: ignore[import-untyped]

_WINDOW = 200
"""Characters before a stop that sentencex sees, and for which an open bracket holds a sentence together."""

EMOJI = "\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\u20e3"
OPENING = "\"'“‘„‚«‹([{¿¡*_`~"
CLOSING = "\"'”’“‘»›)]}*_`~」』）】》〉"

_ENUMERATOR = re.compile(r"(?:\A[\s#*_>(+•‣◦▪·–-]*|[:;]\s+)(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{2,4})\.\Z")
_ONLY_EMOJI = re.compile(rf"[{EMOJI}]+")
_MARKUP = str.maketrans({"*": "", "`": "", "…": "..."})


_NEVER_LAST = frozenset({"e.g.", "i.e.", "vs.", "cf.", "approx.", "incl.", "resp."})
_ORDINARY = frozenset({"May.", "no.", "art.", "fig."})
"""Words, written like this, that sentencex takes for abbreviations whatever follows."""

_BEFORE_NUMBER = frozenset({"figs.", "eq.", "eqs.", "vol.", "para.", "max.", "tel.", "est."})


def is_full_stop(text: str, start: int, stop: int, closers: str, word: str) -> bool:
    """Whether the sentence from `start` ends with the stop before `stop`, given the word that follows."""
    head = text[max(start, stop - _WINDOW) : stop]
    bracketed = head + closers
    if bracketed.rfind("(") > bracketed.rfind(")"):
        return False
    if _ENUMERATOR.search(text[max(start, stop - 24) : stop]):
        return False
    bare = word.strip(OPENING + CLOSING) or word
    if _ONLY_EMOJI.fullmatch(bare) or (closers and bare[0].islower()):
        return False
    head = " ".join(head.translate(_MARKUP).split())
    written = head.rsplit(" ", 1)[-1].lstrip(OPENING)
    if written in _ORDINARY and bare[0].isupper():
        return True
    last = written.lower()
    if last in _NEVER_LAST or (last in _BEFORE_NUMBER and bare[0].isdigit()):
        return False
    return any(found["start_index"] == len(head) + 1 for found in get_sentence_boundaries("en", f"{head} {bare}"))
