"""Source sentences as premises: cut from documents, made to fit beside a claim, joined and cited.

Which sentences a claim is scored against, and what their scores mean, belongs to the scorers.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from groundrail.entailment.base import EntailmentModel, FloatArray
from groundrail.errors import ClaimTooLongError
from groundrail.scoring.base import Score, below_all, best_first
from groundrail.types import Citation, Detail, Document, Source, Span, as_documents


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """`document.text[start:end]`, a sentence or a piece of one, without white space at its ends.

    Equal only to itself, so that it can be a key.

    said: the words that the judge reads instead, where the place does not say itself: a row of a table, for instance
        (`groundrail.sources`). `tokens` counts the words that are read.
    """

    document: Document
    start: int
    end: int
    tokens: int
    said: str | None = None

    @property
    def text(self) -> str:
        """The words that the judge reads."""
        return self.document.text[self.start : self.end] if self.said is None else self.said

    def cite(self, score: float) -> Citation:
        """This passage as a citation."""
        return self.document.cite(self.start, self.end, score)

    def detail(self) -> Detail:
        """Its place in the source, with the source's own words."""
        return Detail(
            document_id=self.document.id, start=self.start, end=self.end, text=self.document.text[self.start : self.end]
        )

    @classmethod
    def trimmed(cls, document: Document, start: int, end: int, model: EntailmentModel) -> Self:
        """A slice without white space at its ends, its tokens counted by `model`."""
        start, end = Span.trimmed(document.text, start, end)
        return cls(document, start, end, len(model.offsets(document.text[start:end])))


def sentences(source: Source, model: EntailmentModel) -> list[list[Passage]]:
    """The sentences of every document, in order, blank ones and blank documents left out."""
    from groundrail.text.sentences import split

    documents = []
    for document in as_documents(source):
        found = [Passage.trimmed(document, part.start, part.end, model) for part in split(document.text)]
        passages = [passage for passage in found if passage.end > passage.start]
        if passages:
            documents.append(passages)
    return documents


def room(claim: str, model: EntailmentModel) -> int:
    """Tokens left for a premise beside `claim`. Raises: ClaimTooLongError where none are."""
    needed = len(model.offsets(claim))
    if needed >= model.max_tokens:
        raise ClaimTooLongError(
            f"a claim of {needed} tokens leaves no room for a source in a model of {model.max_tokens}; "
            f"split it into sentences: {claim[:80]!r}..."
        )
    return model.max_tokens - needed


def fitted(passages: Iterable[Passage], size: int, model: EntailmentModel) -> list[Passage]:
    """The same words in passages of at most `size` tokens: longer ones are cut, between words if possible.

    Raises: ClaimTooLongError where not even one word of the source fits.
    """
    pieces: list[Passage] = []
    waiting = list(passages)[::-1]
    while waiting:
        passage = waiting.pop()
        if passage.tokens <= size:
            pieces.append(passage)
            continue
        place = _cut(passage, min(size, passage.tokens - 1), model)
        waiting += [piece for piece in reversed(_parted(passage, place, model)) if piece.text]
    return pieces


def _parted(passage: Passage, place: int, model: EntailmentModel) -> tuple[Passage, Passage]:
    """The passage cut before character `place` of its words; both parts of what is said cite the whole place."""
    if passage.said is None:
        middle = passage.start + place
        return (
            Passage.trimmed(passage.document, passage.start, middle, model),
            Passage.trimmed(passage.document, middle, passage.end, model),
        )
    first, second = (part.strip() for part in (passage.said[:place], passage.said[place:]))
    return (
        replace(passage, said=first, tokens=len(model.offsets(first))),
        replace(passage, said=second, tokens=len(model.offsets(second))),
    )


def _cut(passage: Passage, size: int, model: EntailmentModel) -> int:
    """The character of its words before which the first `size` tokens end, moved back to white space if there is any."""
    text = passage.text
    ends = [end for _, end in model.offsets(text)[:size]]
    place = max((end for end in ends if end < len(text)), default=0)
    if place <= 0:
        raise ClaimTooLongError(
            f"the claim leaves room for {size} tokens of source, too few for a word of it: {text[:40]!r}"
        )
    spaces = [number for number in range(1, place + 1) if text[number].isspace()]
    return spaces[-1] if spaces else place


def joined(passages: Sequence[Passage]) -> str:
    """Passages of one document as one premise, in document order, with a blank between."""
    return " ".join(passage.text for passage in sorted(passages, key=lambda passage: passage.start))


def as_many_as_fit(ranked: Sequence[Passage], size: int, model: EntailmentModel) -> list[Passage]:
    """The longest run of best passages that, joined, has at most `size` tokens; at least the first."""
    chosen = list(ranked[:1])
    for passage in ranked[1:]:
        if len(model.offsets(joined([*chosen, passage]))) > size:
            break
        chosen.append(passage)
    return chosen


def ranked(scores: FloatArray) -> list[int]:
    """Indices from the highest score to the lowest, equals in order, NaN last."""
    return sorted(range(len(scores)), key=lambda index: below_all(float(scores[index])), reverse=True)


def cited(passages: Iterable[Passage], score_of: Callable[[Passage], float]) -> tuple[Citation, ...]:
    """Citations of passages, the best score first."""
    return best_first(passage.cite(score_of(passage)) for passage in passages)


def best(scores: Sequence[Score]) -> Score:
    """The highest of a claim's scores against each document; NaN where there is none."""
    return max(scores, key=lambda score: below_all(score.value), default=Score(math.nan))
