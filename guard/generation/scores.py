"""The scorer's side of one answer: the scores of the claims that the loop asks about, each call in time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TypeAlias

from groundrail.entailment.asking import Asking, answered
from groundrail.errors import ScoringError
from groundrail.generation.steps import Judge
from groundrail.runtime.deadlines import Calls, in_time
from groundrail.scoring.base import Reader, Score, Scorer
from groundrail.scoring.language_note import with_language_note
from groundrail.scoring.read_source import ReadSource
from groundrail.text.claims import Asked, NoClaim
from groundrail.text.context import claimed
from groundrail.text.kinds import Kind

Scores: TypeAlias = list[Score | NoClaim]
"""One score a claim, or `NoClaim` for talk."""


class Judging:
    """A scorer and the source of one answer, read when the first claim needs it."""

    def __init__(self, scorer: Scorer, source: ReadSource, calls: Calls) -> None:
        self._english_only, self._source, self._calls = scorer.metadata.english_only, source, calls
        self._readers = source.by(scorer)

    def do(self, step: Judge) -> Scores:
        """Score the claims of a step.

        Raises: OverdueError; ScoringError for anything but one score for each claim; what the scorer raises.
        """
        return self._calls.within(step.timeout, lambda: answered(self.asking(step)))

    def asking(self, step: Judge) -> Asking[Scores]:
        """`do` as a coroutine without a deadline, so that several answers can share the judge's calls."""
        kinds = yield from self._kinds(step.claims)
        scores: dict[int, Score | NoClaim] = {}
        for (kind, named), places in _groups(kinds, step.claims).items():
            if kind is Kind.TALK:
                scores |= dict.fromkeys(places, NoClaim())
                continue
            claims, reader = [step.claims[place].text for place in places], self._readers.read(named)
            silent = kind is Kind.SILENCE
            found = reader.score_silence(claims) if silent else (yield from reader.asking(claims, step.threshold))
            scores |= zip(places, self._noted(claims, found), strict=True)
        return [scores[place] for place in range(len(kinds))]

    async def ado(self, step: Judge) -> Scores:
        """`do` without blocking the event loop."""
        with self._calls.current():
            scores: Scores = await in_time(step.timeout, self._ascores(step))
        return scores

    async def _ascores(self, step: Judge) -> Scores:
        beside = partial(self._calls.awithin, None)
        kinds = await beside(answered, self._kinds(step.claims))
        scores: dict[int, Score | NoClaim] = {}
        for (kind, named), places in _groups(kinds, step.claims).items():
            if kind is Kind.TALK:
                scores |= dict.fromkeys(places, NoClaim())
                continue
            claims, known = [step.claims[place].text for place in places], self._readers.known(named)
            reader: Reader = await beside(self._readers.read, named) if known is None else known
            silent = kind is Kind.SILENCE
            found = await (beside(reader.score_silence, claims) if silent else reader.ascore(claims, step.threshold))
            scores |= zip(places, self._noted(claims, found), strict=True)
        return [scores[place] for place in range(len(kinds))]

    def _kinds(self, claims: Sequence[Asked]) -> Asking[list[Kind]]:
        """The kind of each claim."""
        unclear = [(claim.around, claimed(claim.text)) for claim in claims if claim.around is not None]
        if not unclear:
            return [Kind.CLAIM] * len(claims)
        from groundrail.entailment.builtin.kinds import kinds_of  # imports torch

        found = iter((yield from kinds_of(unclear, self._source.words.__contains__)))
        return [Kind.CLAIM if claim.around is None else next(found) for claim in claims]

    def _noted(self, claims: Sequence[str], scores: Sequence[Score]) -> list[Score]:
        if len(scores) != len(claims) or not all(isinstance(s, Score) and isinstance(s.value, int | float) for s in scores):
            raise ScoringError(f"the scorer gave {scores!r:.100} for {len(claims)} claims; it must give one Score each")
        return with_language_note(scores, claims, self._source) if self._english_only else list(scores)


def _groups(kinds: Iterable[Kind], claims: Sequence[Asked]) -> dict[tuple[Kind, tuple[int, ...]], list[int]]:
    """The places of claims by their kind and by the documents that they are scored against, () for all."""
    groups: dict[tuple[Kind, tuple[int, ...]], list[int]] = defaultdict(list)
    for place, (kind, claim) in enumerate(zip(kinds, claims, strict=True)):
        groups[kind, claim.named if kind is Kind.CLAIM else ()].append(place)
    return groups
