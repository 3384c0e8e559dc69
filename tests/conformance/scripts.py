"""One scripted model: answers of true and false sentences, written in every awkward way.

A false sentence is in Cyrillic and everything else is not, so a single letter that leaks is found wherever it turns up.
"""

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tenacity import stop_after_attempt

from groundrail import Guard, Policy
from groundrail.testing import FakeEntailment

SOURCE = "The rent is 950 euros a month. Pets are not allowed. The lease ends on 28 February 2026."
QUESTION = "Tell me about the lease."
TRUE = ("The rent is 950 euros. ", "Pets are not allowed. ", "The lease ends on 28 February 2026.\n")
FALSE = ("Жилец держит щенка. ", "Аренда дешевле гаража! ", "Залог вернут через год.\n")
HIDDEN = frozenset(letter for sentence in FALSE for letter in sentence if letter.isalpha())

WAYS = {
    "whole": "the answer in one piece",
    "letters": "a piece at every character",
    "pieces": "pieces of any lengths",
    "half": "the answer stops anywhere",
    "fails": "the model raises anywhere",
    "raise": 'the policy raises at the first false sentence, `fallback="raise"`',
    "again": "after a refusal the model is asked again; it goes on, or begins anew",
    "reasoning": "the model reasons before it answers",
    "tools": "the model calls a tool after its first sentence",
    "choices": "the model writes a second, false choice beside the first",
}
"""The ways of writing, and the meaning of each."""

NO_MORE_THAN = 5
"""Sentences of an answer."""


class ModelFailedError(Exception):
    """The failure of the scripted model."""


@dataclass(frozen=True)
class Script:
    """One answer, as the model writes it.

    replies: the pieces of the text, one tuple for each time that the model is asked.
    required, optional: the text that has to be released, and a text that may follow it.
    """

    way: str
    replies: tuple[tuple[str, ...], ...]
    required: str
    optional: str = ""

    @property
    def fails(self) -> bool:
        """Whether the model raises `ModelFailedError` after its last piece."""
        return self.way == "fails"

    @property
    def ends_mute(self) -> bool:
        """Whether nothing of the last reply is released."""
        return not any(sentence.strip() in "".join(self.replies[-1]) for sentence in TRUE)

    @property
    def raises(self) -> bool:
        return self.way == "raise" and bool(HIDDEN & set(self.text))

    @property
    def text(self) -> str:
        """All text of the first reply."""
        return "".join(self.replies[0])

    def reply(self, asked: int) -> Iterator[str]:
        """The pieces of one reply, counted from 0. Raises: ModelFailedError at the end of an answer that fails."""
        yield from self.replies[asked] if asked < len(self.replies) else ()
        if self.fails:
            raise ModelFailedError("the scripted model fell over")

    def policy(self) -> Policy:
        """The policy that goes with the way of writing; it keeps nothing that was refused."""
        tries = 2 if self.way == "again" else 1
        policy = Policy(stop=stop_after_attempt(tries), keep_refused=False)
        return policy.replacing(fallback="raise") if self.way == "raise" else policy

    def guard(self) -> Guard:
        """A guard with this policy; its judge supports whatever has all its words in a sentence of the source."""
        return Guard(scorer="scale", judge=FakeEntailment(), policy=self.policy())

    def allows(self, text: str) -> bool:
        """Whether this text is exactly the text that may go out."""
        return text.startswith(self.required) and text.removeprefix(self.required) in self.endings

    @property
    def endings(self) -> tuple[str, ...]:
        """The texts that may follow the required text: the optional sentences, or the first few of them."""
        ends = [len(self.optional), *(match.end() for match in re.finditer(r"[.!]\s", self.optional))]
        return ("", *(self.optional[:end] for end in ends))


def script(way: str, seed: int) -> Script:
    """The answer of a way and a seed; the same two numbers give the same answer."""
    rng = random.Random(f"{way} {seed}")
    sentences = [rng.choice(rng.choice((TRUE, FALSE))) for _ in range(rng.randint(1, NO_MORE_THAN))]
    text = "".join(sentences)
    if way in ("half", "fails"):
        return _cut(way, sentences, rng.randint(0, len(text)), rng)
    if way == "raise":
        shown = itertools.takewhile(lambda sentence: sentence in TRUE, sentences)
        return Script(way, (_pieces(text, rng),), "".join(shown))
    if way == "again":
        return _again(sentences, rng)
    if way == "tools":
        return Script(way, (_pieces(sentences[0], rng), _pieces("".join(sentences[1:]), rng)), _released(sentences))
    longest = {"whole": len(text), "letters": 1}.get(way)
    return Script(way, (_pieces(text, rng, longest),), _released(sentences))


def _cut(way: str, sentences: list[str], end: int, rng: random.Random) -> Script:
    """An answer that ends after `end` characters.

    A true sentence is required once a word of the next one is written, since that shows its end. At the end of the answer
    it is optional, and half of it is optional where the answer does not fail: the judge finds its words in the source.
    """
    written, required, optional, ended = 0, "", "", False
    for sentence in sentences:
        part = sentence[: end - written]
        written += len(part)
        if len(part.split()) > 1:
            required, optional = required + optional, ""
        if sentence in TRUE and (way == "half" or part.rstrip() == sentence.rstrip()):
            optional += "\n" + part if ended else part
        shown = required + optional
        ended = sentence not in TRUE and (ended or (shown.endswith(" ") and part.endswith("\n")))
    return Script(way, (_pieces("".join(sentences)[:end], rng),), required, optional)


def _again(sentences: list[str], rng: random.Random) -> Script:
    """An answer whose model is asked again after each refusal: it goes on behind the sentence, or begins anew without it.

    No true sentence comes twice, since the second could be the first, repeated; no two false ones follow each other,
    since the second attempt at the first of them would be the last.
    """
    once = [s for place, s in enumerate(sentences) if s in FALSE or s not in sentences[:place]]
    apart = [s for s, after in itertools.pairwise([*once, ""]) if s in TRUE or after in (*TRUE, "")]
    repeats = rng.random() < 0.5
    replies, accepted, rest = [], "", apart
    while True:
        opening = accepted if repeats else ""
        replies.append(_pieces(opening + "".join(rest), rng))
        refused = next((place for place, sentence in enumerate(rest) if sentence in FALSE), None)
        if refused is None:
            return Script("again", tuple(replies), "".join(sentence for sentence in apart if sentence in TRUE))
        accepted += "".join(rest[:refused])
        rest = rest[refused + 1 :]


def _released(sentences: list[str]) -> str:
    """The true sentences; a line that a false one ends ends before the next one."""
    text, ended = "", False
    for sentence in sentences:
        if sentence in TRUE:
            text += "\n" + sentence if ended else sentence
        ended = sentence not in TRUE and (ended or (text.endswith(" ") and sentence.endswith("\n")))
    return text


def _pieces(text: str, rng: random.Random, longest: int | None = None) -> tuple[str, ...]:
    """The text in pieces: of this length, or of lengths up to a random one."""
    most = rng.choice((1, 3, 8, 40)) if longest is None else longest
    pieces = []
    while text:
        length = most if longest is not None else rng.randint(1, most)
        pieces.append(text[:length])
        text = text[length:]
    return tuple(pieces)
