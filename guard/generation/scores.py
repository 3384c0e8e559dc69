"""The scorer's side of one answer: the scores of the claims that the loop asks about, each call in time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

from groundrail.entailment.asking import Asking, answered
from groundrail.errors import ScoringError
from groundrail.generation.steps import Judge
from groundrail.runtime.deadlines import Calls, in_time
from groundrail.scoring.base import Reader, Score, Scorer
from groundrail.scoring.language_note import with_language_note
from groundrail.scoring.read_source import ReadSource
from groundrail.text.claims import Asked, NoClaim
from groundrail.text.context import claimed
from groundrail.text.english.silence import topic_of
from groundrail.text.english.words import stems
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
        scores: dict[int, Score] = {}
        for group in _groups((yield from self._kinds(step.claims)), step.claims):
            reader = self._readers.read(group.named)
            found = yield from reader.asking(group.texts, step.threshold)
            scores |= self._noted(group, found)
        return _in_order(scores, step)

    async def ado(self, step: Judge) -> Scores:
        """`do` without blocking the event loop."""
        with self._calls.current():
            scores: Scores = await in_time(step.timeout, self._ascores(step))
        return scores

    async def _ascores(self, step: Judge) -> Scores:
        beside = partial(self._calls.awithin, None)
        scores: dict[int, Score] = {}
        for group in _groups(await beside(answered, self._kinds(step.claims)), step.claims):
            known = self._readers.known(group.named)
            reader: Reader = await beside(self._readers.read, group.named) if known is None else known
            found = await reader.ascore(group.texts, step.threshold)
            scores |= self._noted(group, found)
        return _in_order(scores, step)

    def _kinds(self, claims: Sequence[Asked]) -> Asking[list[Kind]]:
        """The kind of each claim."""
        asked = [None if claim.around is None else (claim.around, claimed(claim.text)) for claim in claims]
        unclear = list(dict.fromkeys(filter(None, asked)))
        if not unclear:
            return [Kind.CLAIM] * len(claims)
        from groundrail.entailment.builtin.kinds import kinds_of  # imports torch

        found = dict(zip(unclear, (yield from kinds_of(unclear, self._source.words.__contains__)), strict=True))
        return [Kind.CLAIM if each is None else found[each] for each in asked]

    def _noted(self, group: "_Group", scores: Sequence[Score]) -> dict[int, Score]:
        """The scores of a group's claims by their places."""
        texts, places = group.texts, group.places.values()
        if len(scores) != len(texts) or not all(isinstance(s, Score) and isinstance(s.value, int | float) for s in scores):
            given, count = f"{scores!r:.100}", len(texts)
            raise ScoringError(f"the scorer gave {given} for {count} claims; it must give one Score each")
        noted = with_language_note(scores, texts, self._source) if self._english_only else scores
        told = list(map(_of_silence, texts, noted)) if group.is_silence else noted
        return {place: score for score, same in zip(told, places, strict=True) for place in same}


class _Group(NamedTuple):
    """The claims of a step that are scored alike, each text once.

    is_silence: whether they say that the source is silent.
    named: the places of the documents that they are scored against, () for all.
    places: the places in the step of the claims with a text, by the text.
    """

    is_silence: bool
    named: tuple[int, ...]
    places: dict[str, list[int]]

    @property
    def texts(self) -> list[str]:
        return list(self.places)


def _groups(kinds: Iterable[Kind], claims: Sequence[Asked]) -> Iterable[_Group]:
    """The claims of a step by the way that they are scored, without talk.

    A judge reads "The lease does not mention dogs." more surely without the question that it answers.
    """
    groups: dict[tuple[bool, tuple[int, ...]], _Group] = {}
    for place, (kind, claim) in enumerate(zip(kinds, claims, strict=True)):
        if kind is not Kind.TALK:
            is_silence = kind is Kind.SILENCE
            way, text = (is_silence, () if is_silence else claim.named), claimed(claim.text) if is_silence else claim.text
            groups.setdefault(way, _Group(*way, {})).places.setdefault(text, []).append(place)
    return groups.values()


def _of_silence(claim: str, score: Score) -> Score:
    """The score of a claim of silence, which cites nothing; 0 if a place that was found has all words of its topic."""
    topic = topic_of(claim)
    against = next((place for place in score.citations if topic and topic <= set(stems(place.text))), None)
    return replace(score, value=score.value if against is None else 0.0, citations=(), conflict=against or score.conflict)


def _in_order(scores: Mapping[int, Score], step: Judge) -> Scores:
    """The scores in the order of the step's claims; a claim without a score is talk."""
    return [scores.get(place, NoClaim()) for place in range(len(step.claims))]
