"""Written and real claims as training pairs: each claim beside its text, read in one of several forms.

The forms are those a judge meets: the deciding sentences alone, a window around them, the window that a
`NearestScorer` would build, the whole text, the same among other texts; and, as what is not said, a window
without the deciding sentences, or another text. Which form a claim takes is drawn anew for every pass.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from groundrail.entailment.base import EntailmentModel
from groundrail.scoring.index import SentenceIndex
from groundrail.types import Document

LONGEST = 400
"""Tokens of a premise."""


@dataclass(frozen=True, slots=True)
class Claim:
    """`evidence` are the character spans that decide it; none where the text is silent."""

    text: str
    label: str
    kind: str
    evidence: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Text:
    """A text with its claims, and its sentences as an index makes them."""

    id: str
    document: Document
    claims: list[Claim]
    index: SentenceIndex = field(repr=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """`label` is entailment, neutral, contradiction, or not_entailment where only that is known."""

    premise: str
    claim: str
    label: str
    kind: str


def load_texts(path: Path, model: EntailmentModel) -> list[Text]:
    """Texts of a JSON-lines file in the format of `written.jsonl`; `model` says what a token is."""
    texts = []
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            document = Document(text=row["text"], id=row["id"])
            claims = [
                Claim(c["text"], c["label"], c["kind"], tuple((start, end) for start, end in c["evidence"]))
                for c in row["claims"]
            ]
            texts.append(Text(row["id"], document, claims, SentenceIndex([document], model, LONGEST)))
    return texts


class Forms:
    """Draws a form for every claim. `length` in (0, 1] scales how long premises are: short ones teach faster."""

    def __init__(self, texts: Sequence[Text], rng: random.Random) -> None:
        self.texts, self.rng = texts, rng

    def one_pass(self, length: float) -> Iterator[Pair]:
        """One pair a claim, and for every third true one a second: its text without what it says, or another."""
        for text in self.texts:
            for claim in text.claims:
                yield self.pair(text, claim, length)
                if claim.label == "entailment" and self.rng.random() < 0.3:
                    yield self.unsaid(text, claim, length)

    def pair(self, text: Text, claim: Claim, length: float) -> Pair:
        """The claim beside a premise that decides it as the whole text does."""
        size = max(48, int(LONGEST * length * self.rng.choice((0.25, 0.5, 0.75, 1.0))))
        places = self._places(text, claim)
        draw = self.rng.random()
        if claim.label == "neutral" or not places:  # only the whole text can be silent
            window = self._window(text, claim, places, max(size, 160))
        elif draw < 0.25:
            window = sorted(places)
        elif draw < 0.45:
            window = self._around(text, places, self.rng.choice((1, 1, 2, 3)))
        else:
            window = self._window(text, claim, places, size)
        premise = self._padded(_read(text, window), size) if self.rng.random() < 0.25 else _read(text, window)
        return Pair(premise, claim.text, claim.label, claim.kind)

    def unsaid(self, text: Text, claim: Claim, length: float) -> Pair:
        """A true claim whose premise does not say it."""
        size = max(48, int(LONGEST * length * self.rng.choice((0.25, 0.5, 0.75))))
        places = self._places(text, claim)
        if self.rng.random() < 0.5 and places:
            rest = [place for place in text.index.ranked(claim.text) if place not in places]
            window = [place for place in self._taken(text, rest, size) if place not in places]
            if window:
                return Pair(_read(text, window), claim.text, "not_entailment", "removed")
        other = self.rng.choice([each for each in self.texts if each is not text])
        ranked = other.index.ranked(claim.text) or [0]
        window = self._taken(other, ranked, size) or ranked[:1]
        return Pair(_read(other, window), claim.text, "neutral", "other text")

    def _places(self, text: Text, claim: Claim) -> set[int]:
        return {
            place
            for place, passage in enumerate(text.index.passages)
            if any(passage.start < end and start < passage.end for start, end in claim.evidence)
        }

    def _window(self, text: Text, claim: Claim, places: set[int], size: int) -> list[int]:
        """What a scorer would read, the deciding sentences first so that the label holds."""
        ranked = text.index.ranked(claim.text)
        return self._taken(text, [*sorted(places), *(place for place in ranked if place not in places)], size, places)

    def _taken(self, text: Text, ranked: Sequence[int], size: int, surely: set[int] = frozenset()) -> list[int]:  # type: ignore[assignment]
        passages = text.index.passages
        chosen = set(surely)
        room = size - sum(passages[place].tokens + 2 for place in chosen)
        wanted = [near for place in ranked for near in (place, place - 1, place + 1)]
        for place in [*wanted, *range(len(passages))]:
            if 0 <= place < len(passages) and place not in chosen and passages[place].tokens + 2 <= room:
                chosen.add(place)
                room -= passages[place].tokens + 2
        return sorted(chosen)

    def _around(self, text: Text, places: set[int], width: int) -> list[int]:
        last = len(text.index.passages) - 1
        before = self.rng.randint(0, width)
        near = {min(max(0, p + d), last) for p in places for d in range(-before, width - before + 1)}
        return sorted(near | places)

    def _padded(self, premise: str, size: int) -> str:
        """The premise among sentences of other texts."""
        room = size - len(premise.split()) * 4 // 3
        pieces = [premise]
        while room > 20:
            other = self.rng.choice(self.texts).index.passages
            start = self.rng.randrange(len(other))
            taken = other[start : start + self.rng.randint(1, 5)]
            pieces.insert(self.rng.randint(0, len(pieces)), " ".join(passage.text for passage in taken))
            room -= sum(passage.tokens for passage in taken)
        return self.rng.choice(("\n\n", " ")).join(pieces)


def _read(text: Text, places: Sequence[int]) -> str:
    return text.index.joined(places).text
