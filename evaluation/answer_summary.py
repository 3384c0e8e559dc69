"""Judge whole answers as a guard does, and compare the verdicts with people's marks as the papers do.

A measure counts how well unsupported text is found, at three levels:

- Answers: an answer is unsupported if any passage of it is marked, and found if the guard holds any sentence back.
- Sentences: a sentence is unsupported if it shares a character with a marked passage, and found if it is held back.
- Characters ("span" level): marked passages are to be found, and the sentences held back are the found passages. The
  shared characters are summed over pairs of a marked and a found passage. Precision divides this sum by the characters
  of all found passages, recall by the characters of all marked passages, over all answers together, as LettuceDetect's
  `evaluate_detector_char_level` does.

`groundrail.evaluation.answers` reads the files.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from groundrail.evaluation.answers import MarkedAnswer, Part, Range
from groundrail.evaluation.kept import Keyed, keep, key_of, read_kept
from groundrail.evaluation.metrics import Floats, Interval, bootstrap
from groundrail.evaluation.run import fingerprint
from groundrail.guard import Guard
from groundrail.types import GuardResult, Span, Verdict

Counts: TypeAlias = NDArray[np.int64]


class JudgedSentence(BaseModel):
    """A sentence of an answer, without white space around it, with the guard's verdict and score."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: int
    end: int
    verdict: Verdict
    score: float | None = None

    @property
    def held(self) -> bool:
        """Whether a guard would hold the sentence back: something speaks against it, or it could not be checked."""
        return not self.verdict.is_good


class JudgedAnswer(Keyed):
    """The sentences of an answer in order; `seconds` is the time for judging."""

    sentences: tuple[JudgedSentence, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Detection:
    """Measures of how well unsupported items are found (unsupported is the positive class), at 95 % confidence.

    `balanced_accuracy` is the mean of two shares: unsupported items found, and supported items passed. It is None
    without items of both kinds, and for passages.
    """

    precision: Interval
    recall: Interval
    f1: Interval
    balanced_accuracy: Interval | None = None


@dataclass(frozen=True, slots=True)
class KindRate:
    """How many sentences of a kind are decided rightly: right ones are released, wrong ones held back.

    An answer "whole" is right if all its sentences are released.
    """

    kind: str
    wrong: bool
    decided_rightly: int
    total: int


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """A scorer's measures on the answers of one data set; intervals come from resampling whole answers.

    claimless: number of sentences without anything to check, which a guard releases.
    errors: number of sentences for which judging failed, which a guard holds back.
    kinds: for answers whose sentences have kinds, the share of each kind that is decided rightly.
    best_span_f1: span F1 of a guard that judges every sentence correctly; it is below 1 because sentences are longer
        than the passages that people mark.
    """

    dataset: str
    answers: int
    unsupported_answers: int
    sentences: int
    unsupported_sentences: int
    claimless: int
    errors: int
    threshold: float
    answer_level: Detection
    sentence_level: Detection
    span_level: Detection
    best_span_f1: float
    seconds: float
    kinds: tuple[KindRate, ...] = ()


def judge_answers(
    guard: Guard,
    answers: Sequence[MarkedAnswer],
    *,
    results: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[JudgedAnswer]:
    """Check every answer.

    The guard's policy should be `Policy(fallback="flag")`, so that each sentence is read after the sentence that stands
    before it in the answer.

    Args:
        results: A JSON-lines file to continue.
        progress: Gets the number of answers done and the number of all answers.

    Raises: InputError if `results` is not a file of results.
    """
    scorer = fingerprint(guard.scorer, {**(settings or {}), "threshold": guard.policy.threshold})
    done = read_kept(results, JudgedAnswer)
    keys = [_key(scorer, answer) for answer in answers]
    for _, same in groupby(zip(keys, answers, strict=True), key=lambda keyed: (keyed[1].source, keyed[1].question)):
        asked = {key: answer for key, answer in same if key not in done}
        if asked:
            found = _judge(guard, asked)
            keep(results, found)
            done |= {each.key: each for each in found}
        if progress is not None:
            progress(sum(key in done for key in keys), len(answers))
    return [done[key] for key in keys]


def _key(scorer: str, answer: MarkedAnswer) -> str:
    source = [(document.id, document.text) for document in answer.source]
    return key_of(scorer, source, answer.question, answer.text)


def _judge(guard: Guard, answers: Mapping[str, MarkedAnswer]) -> list[JudgedAnswer]:
    """Judge answers by key, all to one question about one source, in shared calls of the scorer."""
    started, (first, *_) = time.perf_counter(), answers.values()
    results = guard.check_all([answer.text for answer in answers.values()], first.source, first.question)
    seconds = (time.perf_counter() - started) / len(answers)
    return [
        JudgedAnswer(key=key, sentences=_sentences(result), seconds=seconds)
        for key, result in zip(answers, results, strict=True)
    ]


def _sentences(result: GuardResult) -> tuple[JudgedSentence, ...]:
    found = []
    for sentence in result.sentences:
        start, end = Span.trimmed(result.answer, sentence.start, sentence.end)
        if start < end:
            found.append(JudgedSentence(start=start, end=end, verdict=sentence.verdict, score=sentence.score))
    return tuple(found)


_ANSWER, _SENTENCE, _SPAN, _BEST = range(4)
"""Levels of counting: answers, sentences, characters, and characters if all sentences are judged correctly."""


def _counts(answer: MarkedAnswer, judged: JudgedAnswer) -> list[tuple[int, int, int, int]]:
    """For each level the number of items found, falsely held back, missed and passed; no characters are passed.

    At the levels of characters, those shared are found, and the sums of found and held back and of found and missed are
    the characters of all found and of all marked passages.
    """
    sentences = [((s.start, s.end), s.held) for s in judged.sentences]
    held = [passage for passage, is_held in sentences if is_held]
    wrong = [passage for passage, _ in sentences if any(_overlap(passage, mark) for mark in answer.marked)]
    found = sum(passage in wrong for passage in held)
    whole = bool(held), bool(answer.marked)
    return [
        (whole == (True, True), whole == (True, False), whole == (False, True), whole == (False, False)),
        (found, len(held) - found, len(wrong) - found, len(sentences) - len(held) - len(wrong) + found),
        _characters(held, answer.marked),
        _characters(wrong, answer.marked),
    ]


def _overlap(first: Range, second: Range) -> int:
    return max(0, min(first[1], second[1]) - max(first[0], second[0]))


def _characters(found: Sequence[Range], marked: Sequence[Range]) -> tuple[int, int, int, int]:
    shared = sum(_overlap(one, other) for one in found for other in marked)
    all_found, all_marked = (sum(end - start for start, end in passages) for passages in (found, marked))
    return shared, all_found - shared, all_marked - shared, 0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _precision(counts: Counts) -> float:
    found, alarms, _, _ = map(int, counts)
    return _ratio(found, found + alarms)


def _recall(counts: Counts) -> float:
    found, _, missed, _ = map(int, counts)
    return _ratio(found, found + missed)


def _f1(counts: Counts) -> float:
    found, alarms, missed, _ = map(int, counts)
    return _ratio(2 * found, 2 * found + alarms + missed)


def _balanced(counts: Counts) -> float:
    """The mean share of correct decisions over the kinds that occur."""
    found, alarms, missed, passed = map(int, counts)
    shares = [right / (right + wrong) for right, wrong in ((found, missed), (passed, alarms)) if right + wrong]
    return sum(shares) / len(shares)


def summarise_answers(
    answers: Sequence[MarkedAnswer],
    judged: Sequence[JudgedAnswer],
    threshold: float,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> list[AnswerSummary]:
    """One summary for each data set, in order of appearance, and one of all answers if there are several data sets.

    `judged` is the result of `judge_answers` for `answers`.
    """
    pairs = list(zip(answers, judged, strict=True))
    names = list(dict.fromkeys(answer.dataset for answer in answers))
    groups = [(name, [pair for pair in pairs if pair[0].dataset == name]) for name in names]
    if len(groups) > 1:
        groups.append(("all", pairs))
    return [_summarise(name, group, threshold, resamples, seed) for name, group in groups]


def _summarise(
    name: str, pairs: Sequence[tuple[MarkedAnswer, JudgedAnswer]], threshold: float, resamples: int, seed: int
) -> AnswerSummary:
    counts: Counts = np.array([_counts(answer, judged) for answer, judged in pairs], dtype=np.int64)
    total, supported = counts.sum(axis=0), [float(not answer.marked) for answer, _ in pairs]

    def detection(level: int) -> Detection:
        def interval(measure: Callable[[Counts], float]) -> Interval:
            def of_drawn(_: Floats, rows: Floats) -> float:
                return measure(counts[rows.astype(int), level].sum(axis=0))

            return bootstrap(of_drawn, supported, np.arange(len(pairs)), resamples=resamples, seed=seed)

        found, alarms, missed, passed = map(int, total[level])
        both = level != _SPAN and found + missed and alarms + passed
        balanced = interval(_balanced) if both else None
        return Detection(interval(_precision), interval(_recall), interval(_f1), balanced)

    sentences = [sentence for _, judged in pairs for sentence in judged.sentences]
    return AnswerSummary(
        dataset=name,
        answers=len(pairs),
        unsupported_answers=supported.count(0.0),
        sentences=len(sentences),
        unsupported_sentences=int(total[_SENTENCE][0] + total[_SENTENCE][2]),
        claimless=sum(sentence.verdict is Verdict.NO_CLAIM for sentence in sentences),
        errors=sum(sentence.verdict in (Verdict.ERROR, Verdict.TIMEOUT) for sentence in sentences),
        threshold=threshold,
        answer_level=detection(_ANSWER),
        sentence_level=detection(_SENTENCE),
        span_level=detection(_SPAN),
        best_span_f1=_f1(total[_BEST]),
        kinds=_kinds(pairs),
        seconds=sum(judged.seconds for _, judged in pairs) / len(pairs),
    )


def parts_read(answer: MarkedAnswer, judged: JudgedAnswer) -> list[tuple[Part, list[JudgedSentence]]]:
    """The parts of an answer whose kinds are known, each with the sentences that the guard read there.

    Talk that the guard reads as one sentence with a claim, such as "Two more things:" before the first of them, is left out:
    the claim decides.
    """
    read = [(part, [s for s in judged.sentences if _overlap((s.start, s.end), part[:2])]) for part in answer.parts]
    claims = {sentence.start for part, found in read if part.kind != "talk" for sentence in found}
    return [(part, found) for part, found in read if part.kind != "talk" or all(s.start not in claims for s in found)]


def _kinds(pairs: Sequence[tuple[MarkedAnswer, JudgedAnswer]]) -> tuple[KindRate, ...]:
    """The rates of right sentences and whole answers, then of wrong ones; each with all kinds together first."""
    counts: dict[tuple[bool, str], list[bool]] = defaultdict(list)
    for answer, judged in pairs:
        wrong = bool(answer.marked)
        for part, read in parts_read(answer, judged):
            released = not any(sentence.held for sentence in read)
            for kind in ("all", part.kind):
                counts[wrong, kind].append(released != wrong)
        if answer.parts and not wrong:
            counts[False, "whole answers"].append(not any(sentence.held for sentence in judged.sentences))
    return tuple(KindRate(kind, wrong, sum(found), len(found)) for (wrong, kind), found in sorted(counts.items()))
