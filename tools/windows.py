"""Written and real claims as training pairs: each claim beside a part of its text, drawn anew in every pass.

A premise is the evidence alone, a window of the sentences nearest the claim in the order of the text (what the
default scorer reads), the whole text where it is short, or sentences of the text without the evidence. True claims
about other texts are asked too, so that no label can be guessed from a claim alone. Some true claims are asked again
with a figure, date or unit exchanged, beside the same premise. Now and then several claims of a text, or one said
several times, are asked as one sentence, which is supported where all of them are.
"""

import json
import random
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rewrites

from groundrail.scoring.word_index import WordIndex
from groundrail.sources.reading import read_by_form

LONGEST = 400
"""Tokens of a premise."""

MOST = 500
"""Tokens of a pair; evidence and claims that have more are not asked about."""

JOINED = 0.1
"""Share of claims that are asked together with others, or more than once."""

LONGEST_JOINED = 110
"""Tokens of such a sentence, about."""

EXCHANGED = 0.3
"""Share of true claims that are asked again with a detail exchanged, where they have one."""

FRAMED = 0.7
"""Share of claims of kind "frame" that are asked beside the sentences around their evidence, which say what it means."""

_LOOSE = re.compile(
    r"\b(?:at (?:least|most)|(?:more|less|fewer|later|earlier|other) than|over|under|above|below|up to|within|about|around"
    r"|almost|nearly|roughly|some|between|before|after|by|until|since)\b",
    re.IGNORECASE,
)
"""Beside these words another figure may be as true."""

JOINTS = ("{}; {}", "{}, and {}", "{}. {}", "{} ({})")
"""How one claim is put behind another where both are asked as one sentence."""


@dataclass(frozen=True, slots=True)
class Claim:
    """`evidence` are the numbers of the sentences that decide it; none where the text is silent or nobody marked
    them. `nearest` are the sentences of the text, the most alike first."""

    ids: tuple[int, ...]
    text: str
    label: str
    kind: str
    evidence: frozenset[int]
    nearest: tuple[int, ...]
    by_model: bool


@dataclass(slots=True)
class Text:
    """A text as its sentences' words and token ids, and its claims. A row of a table, a field of a record and an item of a
    list are sentences, in the words in which the judge reads them."""

    id: str
    parts: list[str]
    sentences: list[list[int]]
    claims: list[Claim] = field(default_factory=list)

    def nearest(self, claim: str) -> tuple[int, ...]:
        ranked = WordIndex(self.parts).ranked(claim)
        return (*ranked, *(n for n in range(len(self.parts)) if n not in ranked))


@dataclass(frozen=True, slots=True)
class Pair:
    """A premise and a claim as token ids."""

    premise: list[int]
    claim: tuple[int, ...]
    label: str
    kind: str

    def __len__(self) -> int:
        return len(self.premise) + len(self.claim) + 4


def load_texts(path: Path, tokenizer: Any) -> list[Text]:
    """Texts of a JSON-lines file in the format of `written.jsonl`."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [_text(row, tokenizer) for row in rows if row["claims"]]


def _text(row: dict[str, Any], tokenizer: Any) -> Text:
    parts = [part for part in read_by_form(row["text"]).premises() if row["text"][part.start : part.end].strip()]
    said = [row["text"][part.start : part.end] if part.said is None else part.said for part in parts]
    ids = tokenizer(said, add_special_tokens=False, verbose=False)["input_ids"]
    text = Text(row["id"], said, ids)
    claims = tokenizer([claim["text"] for claim in row["claims"]], add_special_tokens=False)["input_ids"]
    index = WordIndex(text.parts)
    for claim, tokens in zip(row["claims"], claims, strict=True):
        deciding = frozenset(
            place
            for place, part in enumerate(parts)
            if any(part.start < end and start < part.end for start, end in claim["evidence"])
        )
        ranked = index.ranked(claim["text"])
        nearest = (*ranked, *(n for n in range(len(parts)) if n not in ranked))
        text.claims.append(
            Claim(tuple(tokens), claim["text"], claim["label"], claim["kind"], deciding, nearest, "model" in claim)
        )
    return text


class Windows:
    """Draws pairs without end: what was asked least often first, with some of the rest between."""

    def __init__(self, rng: random.Random, tokenizer: Any) -> None:
        self.rng, self.tokenizer = rng, tokenizer
        self.texts: Sequence[Text] = []
        self._asked: Counter[tuple[str, str]] = Counter()
        self._waiting: list[tuple[int, int]] = []  # the numbers of a text and of its claim, the next one last
        self._ready: deque[Pair] = deque()

    def load(self, texts: Sequence[Text]) -> None:
        self.texts, self._waiting = texts, []

    def state(self) -> dict[str, Any]:
        """All that the next pairs depend on, beside the texts, as plain values."""
        return {
            "random": self.rng.getstate(),
            "asked": dict(self._asked),
            "waiting": list(self._waiting),
            "ready": [(pair.premise, pair.claim, pair.label, pair.kind) for pair in self._ready],
        }

    def restore(self, state: dict[str, Any], same_texts: bool) -> None:
        """Go on after a `state`; a new pass begins where the texts are not the same as then."""
        self.rng.setstate(state["random"])
        self._asked = Counter(state["asked"])
        self._waiting = list(state["waiting"]) if same_texts else []
        self._ready = deque(Pair(*fields) for fields in state["ready"])

    def pairs(self) -> Iterator[Pair]:
        while True:
            if not self._ready:
                self._ready.extend(self._next())
            else:
                yield self._ready.popleft()

    def _next(self) -> Iterator[Pair]:
        """The pair of the claim whose turn it is, and perhaps its twin; none where the pair cannot be asked."""
        if not self._waiting:
            every = [(n, m) for n, text in enumerate(self.texts) for m in range(len(text.claims))]
            turn = {at: self._asked[self._key(at)] + 1.2 * self.rng.random() for at in every}
            self._waiting = sorted(every, key=lambda at: -turn[at])
        at = self._waiting.pop()
        text, claim = self.texts[at[0]], self.texts[at[0]].claims[at[1]]
        self._asked[self._key(at)] += 1
        if self.rng.random() < JOINED:
            claim = self.joined(text, claim)
        pair = self.drawn(text, claim)
        if pair is None or not pair.premise or len(pair) > MOST:
            return
        yield pair
        if pair.label == "entailment" and self.rng.random() < EXCHANGED:
            yield from self.exchanged(text, claim, pair)

    def _key(self, at: tuple[int, int]) -> tuple[str, str]:
        text = self.texts[at[0]]
        return text.id, text.claims[at[1]].text

    def exchanged(self, text: Text, claim: Claim, pair: Pair) -> Iterator[Pair]:
        """The same premise beside the claim with one figure, date or unit of another value, if it has one."""
        if claim.kind == "example" or _LOOSE.search(claim.text):  # a claim may pose another figure as well
            return
        edits = [(1.0, name, edit) for _, name, edit in rewrites.WRONG if name in ("number", "date", "unit")]
        nearby = " ".join(text.parts[n] for n in sorted(claim.evidence | {*claim.nearest[:5]}))
        edited = rewrites.apply_one(edits, claim.text, nearby, self.rng)
        if edited is not None:
            kind, said = edited
            ids = self.tokenizer(said, add_special_tokens=False)["input_ids"]
            if len(pair.premise) + len(ids) < MOST:
                yield Pair(pair.premise, tuple(ids), "contradiction", kind)

    def joined(self, text: Text, claim: Claim) -> Claim:
        """One sentence of this claim, perhaps said again, and of others of its text."""
        parts = [claim] * (self.rng.randint(2, 6) if self.rng.random() < 0.25 else 1)
        if len(parts) == 1 or self.rng.random() < 0.5:
            parts += self.rng.sample(text.claims, min(self.rng.choice((1, 1, 2)), len(text.claims)))
        while len(parts) > 1 and sum(len(part.ids) for part in parts) > LONGEST_JOINED:
            parts.pop(0)
        if self.rng.random() < 0.5:
            parts.reverse()
        said, *rest = (part.text.rstrip(" .") for part in parts)
        joint = self.rng.choice(JOINTS)
        for each in rest:
            said = joint.format(said, each)
        said += "."
        labels = {part.label for part in parts} - {"entailment"}
        return Claim(
            tuple(self.tokenizer(said, add_special_tokens=False)["input_ids"]),
            said,
            "entailment" if not labels else labels.pop() if len(labels) == 1 else "not_entailment",
            "joined",
            frozenset().union(*(part.evidence for part in parts)),
            text.nearest(said),
            any(part.by_model for part in parts),
        )

    def drawn(self, text: Text, claim: Claim) -> Pair | None:
        """Short premises most often: they are what single sentences are read as, and cost least."""
        draw = self.rng.random()
        if draw < (0.06 if claim.label == "entailment" else 0.02):
            return self._of_other_text(text, claim)
        if draw < 0.11 and claim.evidence:
            return self._without_evidence(text, claim)
        if draw < 0.41 and claim.evidence:
            return Pair(_joined(text, claim.evidence), claim.ids, claim.label, claim.kind)
        room = LONGEST if draw > 0.95 else self.rng.uniform(40, 260)
        if claim.by_model and not claim.evidence:  # what decides it may stand anywhere
            room = self.rng.uniform(200, LONGEST)
        return Pair(self._near(text, claim, room), claim.ids, claim.label, claim.kind)

    def _near(self, text: Text, claim: Claim, room: float) -> list[int]:
        """The evidence and the nearest sentences around it, or its neighbours, in order, in about `room` tokens."""
        neighbours = sorted(
            (n for n in range(len(text.sentences))),
            key=lambda n: min((abs(n - e) for e in claim.evidence or claim.nearest[:1]), default=0),
        )
        order = neighbours if self.rng.random() < (FRAMED if claim.kind == "frame" else 0.25) else claim.nearest
        chosen = set(claim.evidence)
        size = sum(len(text.sentences[n]) for n in chosen)
        for n in order:
            if n in chosen:
                continue
            if size + len(text.sentences[n]) > room and chosen:
                continue
            chosen.add(n)
            size += len(text.sentences[n])
        return _joined(text, chosen)[: LONGEST + 40]

    def _without_evidence(self, text: Text, claim: Claim) -> Pair | None:
        rest = [n for n in claim.nearest if n not in claim.evidence]
        if not rest:
            return None
        rest = rest[: self.rng.randint(1, 6)]
        return Pair(_joined(text, rest), claim.ids, "not_entailment", "unseen")

    def _of_other_text(self, text: Text, claim: Claim) -> Pair | None:
        other = self.rng.choice(self.texts)
        if other is text:
            return None
        near = other.nearest(claim.text)[: self.rng.randint(1, 6)]
        return Pair(_joined(other, near)[:LONGEST], claim.ids, "neutral", "other text")


def _joined(text: Text, places: Any) -> list[int]:
    return [token for place in sorted(places) for token in text.sentences[place]]
