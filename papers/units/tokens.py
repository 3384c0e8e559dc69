"""The tokens of a sentence, and the test whether the sentence asserts the words that follow.

The rules that cut are in `groundrail.papers.units.clauses`.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from groundrail.text.english import words

_TOKEN = re.compile(r"\w+(?:['’.,\-/]\w+)*|\S")
_OPENING, _CLOSING = "([{“«", ")]}”»"


@dataclass(frozen=True, slots=True)
class Token:
    """A word or punctuation mark. `protected`: within quotation marks or brackets."""

    text: str
    start: int
    end: int
    index: int
    protected: bool = False

    @property
    def word(self) -> str:
        """The word in lower case with a plain apostrophe; empty for a protected token, which no rule may read."""
        return "" if self.protected else self.text.lower().replace("’", "'")


Tokens: TypeAlias = tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """Tokens in reading order; the first `carried` tokens are repeated from another clause."""

    tokens: Tokens
    carried: int = 0

    @property
    def verb(self) -> int | None:
        """Index of the first verb with tense behind at least one word of subject."""
        return next((i for i, token in enumerate(self.tokens) if i and words.is_finite(token.word)), None)


def tokens_of(claim: str) -> Iterator[Token]:
    """The words and marks of a claim in order."""
    depth, quoted = 0, False
    for index, match in enumerate(_TOKEN.finditer(claim)):
        text = match[0]
        depth += text in _OPENING
        quoted ^= text == '"'
        yield Token(text, match.start(), match.end(), index, depth > 0 or quoted or text == '"')
        depth = max(0, depth - (text in _CLOSING))


def asserted(tokens: Sequence[Token]) -> bool:
    """Whether the sentence asserts the words behind these tokens: they are nobody's speech and no supposition."""
    said = [token.word for token in tokens]
    if any(word in words.ATTRIBUTION or word in words.HYPOTHETICAL for word in said):
        return False
    denied = False
    for before, word in itertools.pairwise(said):
        denied = denied or before in words.NEGATIONS
        if word == "that" and (denied or words.is_finite(before) or before in ("true", "clear", "certain")):
            return False  # "Bob was told that ...", "There is no sign that ..."
        if (before, word) == ("long", "as"):
            return False  # "As long as he pays, ..."
    return True


def trimmed(tokens: Tokens) -> Tokens:
    """The tokens without commas, semicolons and colons at their end."""
    while tokens and tokens[-1].text in ",;:":
        tokens = tokens[:-1]
    return tokens
