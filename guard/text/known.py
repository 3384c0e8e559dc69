"""Sentences that the app itself vouches for, such as "You can reach us in the chat window.", which no source holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Known:
    """A sentence that is one of the app's own, which is `text`."""

    text: str


def same_words(sentence: str) -> str:
    """The sentence without differences of case, white space and punctuation at its end.

    >>> same_words("Click the  Button below!") == same_words("click the button below.")
    True
    """
    return " ".join(sentence.split()).rstrip(" .!?:;…").casefold()


def known_first(read: Callable[..., T], known: Sequence[str]) -> Callable[..., T | Known]:
    """`read`, a way to read the claim of a sentence, for all sentences but those of the app."""
    own = {same_words(sentence): sentence for sentence in known}

    def reading(sentence: str, previous: str, **beside: str) -> T | Known:
        text = own.get(same_words(sentence))
        return read(sentence, previous, **beside) if text is None else Known(text)

    return reading if own else read
