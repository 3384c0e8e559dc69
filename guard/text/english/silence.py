"""The topic of a sentence that says that the source is silent: where the source speaks of it, the sentence is wrong."""

import re

from groundrail.text.english.words import FUNCTION, NEGATIONS, stem, stems

_DENIAL = re.compile(rf"(?i)\b(?:{'|'.join(NEGATIONS)}|silent|cannot|unclear|\w+n['’]t)\b")
_SAYING = frozenset(
    map(
        stem, "say mention state give tell specify list find found see word text source document information details".split()
    )
)
_FUNCTION = frozenset(map(stem, FUNCTION | NEGATIONS | {"whether", "how"}))


def topic_of(sentence: str) -> frozenset[str]:
    """The stems that tell the topic, in the words behind the denial or else before it.

    >>> sorted(topic_of("The lease doesn't say who pays for heating."))
    ['heat', 'pay']
    >>> sorted(topic_of("Whether dogs may stay is not mentioned."))
    ['dog', 'stay']
    """
    denial = _DENIAL.search(sentence)
    before, after = (sentence[: denial.start()], sentence[denial.end() :]) if denial else (sentence, "")
    return _telling(after) or _telling(before)


def _telling(words: str) -> frozenset[str]:
    return frozenset(stem for stem in stems(words) if len(stem) > 2) - _SAYING - _FUNCTION
