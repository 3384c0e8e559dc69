"""Written and real claims as training packs: a text is read once, beside it all claims about it.

A pack is one premise and the claims asked about it. The premise is the whole text, a part of it, or a part among
sentences of other texts; a claim whose deciding sentences are not in it is not entailed. Some claims see only the
sentences that decide them, or one that does not, so that the judge can cite; true claims about other texts are
asked too, so that no label can be guessed from a claim alone. What is drawn differs in every pass.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundrail.sentences import split

LONGEST = 400
"""Tokens of a premise."""

_LONGEST_SENTENCE = 150
"""Tokens; a longer one is cut."""


@dataclass(frozen=True, slots=True)
class Claim:
    """`evidence` are the numbers of the sentences that decide it; none where the text is silent."""

    ids: tuple[int, ...]
    label: str
    kind: str
    evidence: frozenset[int]


@dataclass(slots=True)
class Text:
    """A text as its sentences' token ids, and its claims."""

    id: str
    sentences: list[list[int]]
    claims: list[Claim] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Asked:
    """A claim as it is asked: `sees` are the premise's sentences in sight, all of them where None."""

    ids: tuple[int, ...]
    label: str
    kind: str
    sees: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Pack:
    """A premise as its sentences' token ids, and what is asked about it."""

    sentences: list[list[int]]
    asked: list[Asked]


def load_texts(path: Path, tokenizer: Any) -> list[Text]:
    """Texts of a JSON-lines file in the format of `written.jsonl`."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [_text(row, tokenizer) for row in rows]


def _text(row: dict[str, Any], tokenizer: Any) -> Text:
    parts = [part for part in split(row["text"]) if part.text.strip()]
    sentences: list[list[int]] = []
    pieces: list[list[int]] = []  # of every part, the numbers of the sentences it became: a long one is cut
    for ids in tokenizer([part.text for part in parts], add_special_tokens=False, verbose=False)["input_ids"]:
        cut = [ids[start : start + _LONGEST_SENTENCE] for start in range(0, len(ids), _LONGEST_SENTENCE)]
        pieces.append(list(range(len(sentences), len(sentences) + len(cut))))
        sentences += cut
    text = Text(row["id"], sentences)
    if row["claims"]:
        claims = tokenizer([claim["text"] for claim in row["claims"]], add_special_tokens=False)["input_ids"]
        for claim, tokens in zip(row["claims"], claims, strict=True):
            deciding = {
                place
                for part, places in zip(parts, pieces, strict=True)
                for place in places
                if any(part.start < end and start < part.end for start, end in claim["evidence"])
            }
            text.claims.append(Claim(tuple(tokens), claim["label"], claim["kind"], frozenset(deciding)))
    return text


class Packs:
    """Draws one pack, or a few where a text is long, for every text."""

    def __init__(self, texts: Sequence[Text], rng: random.Random) -> None:
        self.texts, self.rng = texts, rng
        self._true = [claim for text in texts for claim in text.claims if claim.label == "entailment"]

    def one_pass(self) -> Iterator[Pack]:
        for text in self.rng.sample(self.texts, len(self.texts)):
            if text.claims:
                yield self.pack(text)

    def pack(self, text: Text) -> Pack:
        first, last = self._run(text)
        before, after = self._others(text, first, last)
        premise = [*before, *text.sentences[first:last], *after]
        whole = first == 0 and last == len(text.sentences)
        inside = range(first, last)
        shift = len(before) - first
        asked = [
            found
            for claim in text.claims
            if (found := self._asked(claim, inside, whole, shift, len(premise))) is not None
        ]
        strange = self.rng.sample(self._true, min(len(self._true), 1 + len(asked) // 6))
        asked += [Asked(claim.ids, "neutral", "other text") for claim in strange if claim not in text.claims]
        self.rng.shuffle(asked)
        return Pack(premise, asked)

    def _run(self, text: Text) -> tuple[int, int]:
        """The whole text where it fits, mostly; else some neighbouring sentences."""
        lengths = [len(sentence) for sentence in text.sentences]
        room = LONGEST
        if self.rng.random() < 0.35:
            room = max(40, int(self.rng.uniform(0.15, 0.8) * min(sum(lengths), LONGEST)))
        if sum(lengths) <= room:
            return 0, len(lengths)
        first = last = self.rng.randrange(len(lengths))
        while last < len(lengths) and sum(lengths[first : last + 1]) <= room:
            last += 1
        while first > 0 and sum(lengths[first - 1 : last]) <= room:
            first -= 1
        return first, max(last, first + 1)

    def _others(self, text: Text, first: int, last: int) -> tuple[list[list[int]], list[list[int]]]:
        """Sentences of another text before and after, at times."""
        room = LONGEST - sum(map(len, text.sentences[first:last]))
        sides: tuple[list[list[int]], list[list[int]]] = ([], [])
        if self.rng.random() < 0.7:
            return sides
        for side in sides:
            other = self.rng.choice(self.texts)
            if other is not text:
                start = self.rng.randrange(len(other.sentences))
                for sentence in other.sentences[start : start + self.rng.randint(1, 8)]:
                    if len(sentence) <= room:
                        side.append(sentence)
                        room -= len(sentence)
        return sides

    def _asked(self, claim: Claim, inside: range, whole: bool, shift: int, sentences: int) -> Asked | None:
        here = {place + shift for place in claim.evidence if place in inside}
        if claim.label == "neutral":
            return Asked(claim.ids, "neutral", claim.kind)
        if not claim.evidence:
            return Asked(claim.ids, claim.label, claim.kind) if whole else None
        if not here:
            return Asked(claim.ids, "not_entailment", "elsewhere") if self.rng.random() < 0.4 else None
        if len(here) < len(claim.evidence):
            return None
        draw = self.rng.random()
        if draw < 0.12:
            return Asked(claim.ids, claim.label, claim.kind, frozenset(here))
        if draw < 0.18 and sentences > len(here):
            other = self.rng.choice([place for place in range(sentences) if place not in here])
            return Asked(claim.ids, "not_entailment", "unseen", frozenset({other}))
        return Asked(claim.ids, claim.label, claim.kind)
