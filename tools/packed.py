"""Texts and claims as token ids in flat arrays, and training pairs drawn from them. Needs numpy alone.

A premise is the evidence alone, a window of the sentences nearest the claim in the order of the text (as the scorers read
them), the whole text where it is short, or sentences without the evidence. A claim by people has no marked evidence: its
premise is a wide window, for a wrong claim sometimes a narrow one. True claims are asked beside other texts too, some are
asked again with one detail exchanged, and now and then several claims of a text are asked as one sentence.

A pair has the form that `groundrail.text.context` and `groundrail.sources.above` give it in the guard: the premise stands
behind its title and headings, the claim behind its context. Pairs for the second head have no premise but a context.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2, "not_entailment": 3, "claim": 4, "talk": 5, "silence": 6}
"""3 stands for "neutral or contradiction"; 4 to 6 are the kinds of sentences, for the second head."""

KIND = LABELS["claim"]

SILENT = 4
"""Flag of a claim that its text is silent: it is asked as it is, beside much of its text."""

START, END, PAD = 0, 2, 1
"""The tokenizer's ids of `<s>`, `</s>` and `<pad>`. A pair is `<s> premise </s> </s> claim </s>`, or with a context
`<s> premise </s> </s> context </s> claim </s>`."""

STOP = 1016
"""The tokenizer's id of a full stop."""

JOINTS: tuple[tuple[int, ...], ...] = ((STOP,), (1029,), (1014, 2002))
"""How a claim is put behind another where both are asked as one sentence: ".", ";", ", and"."""

AS_WRITTEN = " as written"
"""Ends the name of a set whose tables are packed as they are written, not as the rows that the scorers read."""

LONGEST, MOST = 400, 512
"""Tokens of a premise, and of a pair with its special tokens."""

ROOM_ABOVE, LONGEST_ABOVE = 64, 32
"""As `ROOM` and `LONGEST` in `groundrail.sources.above`."""

IN_CONTEXT, ABOVE = 0.85, 0.85
"""Share of the claims that are read in their context, and of the premises that stand behind their headings."""

BESIDE_OTHER = 0.12
"""Share of the claims without a context that are read behind another claim of their text, which changes nothing."""

Ids = NDArray[np.uint16]


class Ragged:
    """Rows of different lengths in one array: `rows[n]` is row n."""

    def __init__(self, flat: NDArray[Any], ends: NDArray[np.int64]) -> None:
        self.flat, self.ends = flat, ends

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, n: int) -> NDArray[Any]:
        return self.flat[self.ends[n - 1] if n else 0 : self.ends[n]]


class Builder:
    """Collects sets, texts, claims; `arrays()` is what `Packed` reads."""

    def __init__(self) -> None:
        self._sets: list[str] = []
        self._ragged: dict[str, tuple[list[int], list[int]]] = {
            name: ([], []) for name in ("sentence", "text", "heading", "claim", "evidence", "nearest", "context", "twin")
        }
        self._text_set: list[int] = []
        self._rows: list[tuple[int, int, int]] = []  # text, label, written by a model

    def _add(self, name: str, ids: Sequence[int]) -> int:
        flat, ends = self._ragged[name]
        flat.extend(ids)
        ends.append(len(flat))
        return len(ends) - 1

    def text(self, set_name: str, sentences: Sequence[Sequence[int]], headings: Sequence[int] = ()) -> int:
        """Add a text as its sentences' token ids; its number.

        headings: for each sentence the number of its heading, or -1, see `groundrail.sources.above`; by default none.
        """
        if set_name not in self._sets:
            self._sets.append(set_name)
        self._text_set.append(self._sets.index(set_name))
        self._add("heading", headings or [-1] * len(sentences))
        return self._add("text", [self._add("sentence", ids) for ids in sentences])

    def claim(
        self,
        text: int,
        ids: Sequence[int],
        label: str,
        kind: str,
        evidence: Sequence[int],
        nearest: Sequence[int],
        context: Sequence[int],
        by_model: bool,
    ) -> int:
        """Add a claim; sentences are numbered from 0 in their text. Its number."""
        self._rows.append((text, LABELS[label], (kind == "frame") + 2 * by_model + SILENT * (kind == "silence")))
        for name, row in (("evidence", evidence), ("nearest", nearest), ("context", context), ("twin", ())):
            self._add(name, row)
        return self._add("claim", ids)

    def twin(self, claim: int, ids: Sequence[int]) -> None:
        """The same claim, the last one added, with one detail exchanged."""
        flat, ends = self._ragged["twin"]
        flat.extend(ids)
        ends[claim] = len(flat)

    def sizes(self) -> str:
        return f"{len(self._text_set)} texts, {len(self._rows)} claims, {len(self._ragged['sentence'][0])} tokens of text"

    def arrays(self) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = {"sets": np.array(self._sets), "text_set": np.array(self._text_set, np.int16)}
        found["rows"] = np.array(self._rows, np.int32)
        for name, (flat, ends) in self._ragged.items():
            kind = np.int32 if name in ("text", "heading") else np.uint16
            found[name], found[f"{name}_ends"] = np.array(flat, kind), np.array(ends, np.int64)
        return found

    def write(self, file: Path) -> None:
        np.savez_compressed(file, allow_pickle=False, **self.arrays())


@dataclass(frozen=True, slots=True)
class Pair:
    """Token ids with special tokens, the label's number, the set's name."""

    ids: Ids
    label: int
    set: str


class Packed:
    """The content of a packed file; `draw` makes a pair of a claim."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.sets: list[str] = [str(name) for name in arrays["sets"]]
        self.text_set, self.rows = arrays["text_set"], arrays["rows"]
        names = ("sentence", "text", "heading", "claim", "evidence", "nearest", "context", "twin")
        self.sentence, self.text, self.heading, self.claim, self.evidence, self.nearest, self.context, self.twin = (
            Ragged(arrays[name], arrays[f"{name}_ends"]) for name in names
        )
        self._lengths = np.diff(self.sentence.ends, prepend=0)
        order = np.argsort(self.rows[:, 0], kind="stable")
        self._of_text = Ragged(order, np.searchsorted(self.rows[order, 0], np.arange(len(self.text)), side="right"))

    def claims_of(self, set_name: str) -> NDArray[np.int64]:
        """Numbers of a set's claims."""
        if set_name not in self.sets:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.text_set[self.rows[:, 0]] == self.sets.index(set_name))

    def set_of(self, claim: int) -> str:
        return self.sets[int(self.text_set[self.rows[claim, 0]])]

    def premise(self, text: int, places: Sequence[int], with_above: bool = False) -> Ids:
        """Sentences of a text in their order, with the title and the headings above them."""
        sentences = self.text[text]
        rows = {int(n): self.sentence[sentences[n]] for n in places}
        if with_above:
            rows |= {n: self.sentence[sentences[n]][:LONGEST_ABOVE] for n in self.above(text, list(rows))}
        return np.concatenate([rows[n] for n in sorted(rows)])[:LONGEST] if rows else np.zeros(0, np.uint16)

    def above(self, text: int, places: Sequence[int]) -> list[int]:
        """The title and the headings that stand above some sentences, as `groundrail.sources.above` finds them.

        A title is its own heading; where several documents are packed as one text, each has its title.
        """
        headings, sentences = self.heading[text].tolist(), self.text[text]
        titles = [n for n, heading in enumerate(headings) if n == heading]
        above = [max((title for title in titles if title <= n), default=-1) for n in places]
        found, room = [], ROOM_ABOVE
        for place in dict.fromkeys([*above, *(headings[n] for n in places)]):
            size = min(int(self._lengths[sentences[place]]), LONGEST_ABOVE)
            if place >= 0 and place not in places and size <= room:
                found.append(place)
                room -= size
        return found

    def window(self, claim: int, room: float, order: Sequence[int] | None = None) -> list[int]:
        """The evidence, then the nearest sentences (or those in `order`), in about `room` tokens."""
        sentences = self.text[self.rows[claim, 0]]
        chosen = dict.fromkeys(int(n) for n in self.evidence[claim])
        size = sum(int(self._lengths[sentences[n]]) for n in chosen)
        for n in self.nearest[claim] if order is None else order:
            length = int(self._lengths[sentences[n]])
            if n not in chosen and (not chosen or size + length <= room):
                chosen[int(n)] = None
                size += length
        return list(chosen)

    def as_read(self, claim: int, room: int) -> Pair:
        """The pair by which a claim of a development set is measured: its nearest sentences in `room` tokens."""
        premise = self.premise(self.rows[claim, 0], self.window(claim, room), with_above=True)
        return _pair(premise, self.claim[claim], int(self.rows[claim, 1]), self.set_of(claim), self.context[claim])

    def draw(self, claim: int, rng: random.Random, joined: float, exchanged: float) -> Iterator[Pair]:
        """The pair of a claim beside a premise drawn anew, and perhaps its twin."""
        text, label, flags = (int(n) for n in self.rows[claim])
        ids, name, context = self.claim[claim], self.set_of(claim), self._context(claim, rng)
        with_above = rng.random() < ABOVE
        if label >= KIND:
            yield _pair(self.premise(text, range(len(self.text[text]))), ids, label, name)
            return
        if flags & SILENT:
            premise = self.premise(text, self.window(claim, rng.uniform(200, LONGEST)), with_above)
            yield _pair(premise, ids, label, name, self.context[claim])
            return
        by_people = not len(self.evidence[claim])
        if label == 0 and rng.random() < 0.03:  # beside another text it says nothing
            other = int(rng.choice(self._of_set(name))) if rng.random() < 0.5 else rng.randrange(len(self.text))
            if other != text and len(self.text[other]):
                start = rng.randrange(len(self.text[other]))
                places = range(start, min(start + rng.randint(1, 8), len(self.text[other])))
                yield _pair(self.premise(other, places, with_above), ids, 1, name, context)
                return
        if not by_people and rng.random() < 0.08:
            rest = [int(n) for n in self.nearest[claim] if n not in self.evidence[claim]][: rng.randint(1, 6)]
            if rest:
                yield _pair(self.premise(text, rest, with_above), ids, 3, name, context)
            return
        if name != "pool" and rng.random() < joined:
            yield from self._joined(claim, rng)
            return
        premise = self.premise(text, self._places(claim, label, flags, by_people, rng), with_above)
        yield _pair(premise, ids, label, name, context)
        if len(self.twin[claim]) and rng.random() < exchanged:
            yield _pair(premise, self.twin[claim], 2 if not by_people else 3, name, context)

    def _context(self, claim: int, rng: random.Random) -> Ids:
        """The claim's context, none, or another claim of the same text in its place."""
        context, none = self.context[claim], np.zeros(0, np.uint16)
        if len(context):
            return context if rng.random() < IN_CONTEXT else none
        others = self._of_text[int(self.rows[claim, 0])]
        if rng.random() < BESIDE_OTHER and (other := int(rng.choice(others))) != claim:
            return self.claim[other]
        return none

    def _places(self, claim: int, label: int, flags: int, by_people: bool, rng: random.Random) -> Sequence[int]:
        if by_people:
            narrow = label != 0 and rng.random() < 0.3
            return self.window(claim, rng.uniform(15, 200) if narrow else rng.uniform(150, LONGEST))
        if rng.random() < 0.25:
            return [int(n) for n in self.evidence[claim]]
        room = rng.uniform(40, LONGEST) if rng.random() < 0.8 else LONGEST
        if rng.random() < (0.7 if flags & 1 else 0.25):  # the sentences beside the evidence say what it means
            evidence = [int(n) for n in self.evidence[claim]]
            every = range(len(self.text[self.rows[claim, 0]]))
            return self.window(claim, room, sorted(every, key=lambda n: min(abs(n - e) for e in evidence)))
        return self.window(claim, room)

    def _joined(self, claim: int, rng: random.Random) -> Iterator[Pair]:
        """One sentence of this claim, perhaps said again, and of others of its text; supported where all are."""
        text = int(self.rows[claim, 0])
        chosen = [claim] * (rng.randint(2, 5) if rng.random() < 0.2 else 1)
        if len(chosen) == 1 or rng.random() < 0.5:
            chosen += [int(rng.choice(self._of_text[text])) for _ in range(rng.choice((1, 1, 2)))]
        rng.shuffle(chosen)
        while len(chosen) > 1 and sum(len(self.claim[n]) for n in chosen) > 110:
            chosen.pop()
        joint, ids = rng.choice(JOINTS), self.claim[chosen[0]]
        for n in chosen[1:]:
            ids = np.concatenate([ids[:-1] if ids[-1] == STOP else ids, joint, self.claim[n]])
        labels = {int(self.rows[n, 1]) for n in chosen} - {0}
        label = 0 if not labels else labels.pop() if len(labels) == 1 else 3
        room = rng.uniform(200, LONGEST)
        places = dict.fromkeys(place for n in dict.fromkeys(chosen) for place in self.window(n, room / len(set(chosen))))
        yield _pair(self.premise(text, list(places), rng.random() < ABOVE), ids, label, self.set_of(claim))

    def _of_set(self, name: str) -> NDArray[np.int64]:
        return np.flatnonzero(self.text_set == self.sets.index(name))


def _pair(premise: Ids, claim: Ids, label: int, set_name: str, context: Sequence[int] | Ids = ()) -> Pair:
    middle = [END, END, *context, END] if len(context) else [END, END]
    ids = np.concatenate([[START], premise[: MOST - 2 - len(middle) - len(claim)], middle, claim, [END]])
    return Pair(ids.astype(np.uint16), label, set_name)
