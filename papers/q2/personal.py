"""Q²'s filter for questions about personal statements (appendix B), which need no support in a source.

The paper's rules need a parser to find the subject; this module uses word order instead.
"""

import re

from groundrail.text.english import words

_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_OPENING = words.CONJUNCTIONS | {"when", "where", "because", "if", "that", "while", "although", "though"}


def is_personal(question: str) -> bool:
    """Whether the subject is "I" or "you", or a thing belongs to one of them.

    A subject follows an auxiliary (`What do I love?`), opens the question or a clause of it, or stands directly before
    a verb. The I of `World War I` is no subject, and neither is the object of `Who wrote you?`.
    """
    tokens = [match[0] for match in _WORD.finditer(question)]
    return any(
        token.lower() in ("my", "your") or (_pronoun(token) and _is_subject(tokens, place))
        for place, token in enumerate(tokens)
    )


def _pronoun(token: str) -> bool:
    return re.split("['’]", token.lower())[0] in ("i", "you")


def _is_subject(tokens: list[str], place: int) -> bool:
    before = tokens[place - 1] if place else ""
    if tokens[place] == "I" and place > 1 and before[0].isupper():
        return False  # a numeral: World War I, Elizabeth I
    word = before.lower()
    after = tokens[place + 1].lower() if place + 1 < len(tokens) else ""
    if "'" in tokens[place] or "’" in tokens[place]:  # I'm, you've
        return True
    if word in words.AUXILIARIES or word.endswith("n't"):
        return True
    if words.is_finite(word):
        return False  # wrote you
    opens = not word or word in _OPENING or not word[0].isalnum() or words.is_adverb(word)
    return opens or (word not in words.PREPOSITIONS and _is_verb(after))


def _is_verb(word: str) -> bool:
    return words.is_finite(word) or words.is_adverb(word) or word in words.PRESENT_PLURAL
