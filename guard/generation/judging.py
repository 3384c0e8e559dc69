"""From sentences to verdicts, as the loop asks for them: claims scored together, marks checked, corrections tried.

`groundrail.generation.verdicts` says what a score means; here are the calls of the scorer that a sentence needs.
"""

import contextlib
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from groundrail.generation import correcting, marking
from groundrail.generation.answer import Answer
from groundrail.generation.steps import Asks, Judge
from groundrail.runtime.deadlines import OverdueError
from groundrail.scoring.base import Score
from groundrail.text.claims import Asked, NoClaim
from groundrail.text.sentences import Sentence
from groundrail.types import CheckedSentence, Verdict


def judged(
    answer: Answer, sentences: Sequence[Sentence], since: float, previous: str | None = None
) -> Asks[list[CheckedSentence]]:
    """Verdicts for sentences, their claims scored in one call.

    If the call fails and there are several sentences, each is judged alone: a bad claim costs only itself.

    Args:
        since: when the deadlines of the sentences began to run, by `time.monotonic`.
        previous: the text before the first sentence; None for the text that was released last.
    """
    before = [answer.shown if previous is None else previous, *(s.text for s in sentences[:-1])]
    claims = [answer.verdicts.claim(sentence, text) for sentence, text in zip(sentences, before, strict=False)]
    asked = [answer.verdicts.asked(claim) for claim in claims]
    started, together = time.monotonic(), [each for some in asked for each in some]
    scores: Sequence[Score | NoClaim | Exception] = ()
    if together:
        try:
            scores = yield _judge(answer, together, since, sum(map(bool, asked)))
        except Exception as error:  # whatever a scorer throws, its claims were not checked
            scores = [error] * len(together)
    if len(sentences) > 1 and scores and isinstance(scores[0], Exception) and not isinstance(scores[0], OverdueError):
        alone = []
        for sentence, text in zip(sentences, before, strict=True):
            alone += yield from judged(answer, [sentence], time.monotonic(), text)
        return alone
    seconds = (time.monotonic() - started) / max(1, len(together))
    upcoming = iter(scores)
    parts = [
        [answer.verdicts.of(sentence, each, seconds, claim) for each in tuple(islice(upcoming, len(some))) or (claim,)]
        for sentence, claim, some in zip(sentences, claims, asked, strict=True)
    ]
    if any(each.named for each in together):
        parts = yield from _with_marks(answer, sentences, claims, parts, since)
    return list(map(_gravest, parts))


def _judge(answer: Answer, asked: Sequence[Asked], since: float, sentences: int) -> Judge:
    """The step that scores claims of so many sentences; a calibration needs exact values."""
    threshold = None if answer.policy.calibration else answer.verdicts.threshold
    return Judge(asked, answer.time_left(since, sentences), threshold)


def _with_marks(
    answer: Answer,
    sentences: Sequence[Sentence],
    claims: Sequence[object],
    parts: Sequence[Sequence[CheckedSentence]],
    since: float,
) -> Asks[list[list[CheckedSentence]]]:
    """The parts of sentences with their marks; other documents are asked about the parts that the named ones refuse."""
    source = answer.verdicts.source
    wanting = marking.wanting(claims, parts, len(source.documents))
    scores: Sequence[Score | NoClaim | Exception] = ()
    if wanting:
        asked = [Asked(each.text, each.others) for each in wanting]
        with contextlib.suppress(Exception):  # the named documents do not support them in any case
            scores = yield _judge(answer, asked, since, len(asked))
    elsewhere: dict[int, dict[int, CheckedSentence]] = defaultdict(dict)
    for each, score in zip(wanting, scores, strict=False):
        number, part = each.place
        if (found := answer.verdicts.of(sentences[number], score, 0.0)).verdict is Verdict.SUPPORTED:
            elsewhere[number][part] = found
    return [
        marking.with_marks(claim, some, elsewhere[number], source)
        for number, (claim, some) in enumerate(zip(claims, parts, strict=True))
    ]


def _gravest(checked: Sequence[CheckedSentence]) -> CheckedSentence:
    """A sentence with the gravest of the verdicts on its claim's texts, and the citations and marks of all."""
    if len(checked) == 1:
        return checked[0]
    order = (Verdict.UNSUPPORTED, Verdict.ERROR, Verdict.TIMEOUT, Verdict.NO_SOURCE, Verdict.KNOWN, Verdict.SUPPORTED)
    gravest = min(checked, key=lambda each: (order.index(each.verdict), each.score or 0.0))
    others = (citation for each in checked if each is not gravest for citation in each.citations)
    exact = all(each.exact for each in checked)
    marks = tuple(mark for each in checked for mark in each.marks)
    return gravest.model_copy(update={"citations": (*gravest.citations, *others), "exact": exact, "marks": marks})


def decided(answer: Answer, sentence: Sentence, checked: CheckedSentence, since: float) -> Asks[CheckedSentence]:
    """The sentence as it is read after the released text, with a correction if the policy asks for one and one stands.

    since: when the deadline of the sentence began to run, by `time.monotonic`.
    """
    policy, verdicts = answer.policy, answer.verdicts
    checked = answer.in_place(sentence, checked)
    exchange = marking.exchange(sentence, checked, verdicts.source) if policy.corrects_marks else None
    if policy.fallback == "correct" and checked.score is None and checked.verdict is Verdict.UNSUPPORTED:
        exchange = correcting.quoted_rightly(sentence, verdicts.claim(sentence, answer.shown))
    if exchange is not None:
        (other,) = yield from judged(answer, [exchange.sentence], since)
        checked = exchange.made(checked, answer.in_place(exchange.sentence, other))
    if policy.fallback != "correct" or checked.corrected is not None:
        return checked
    tried = []
    claim = verdicts.claim(sentence, answer.shown)
    for correction, corrected in correcting.offered(sentence, checked, claim, verdicts.source.documents):
        (other,) = yield from judged(answer, [corrected], since)
        tried.append((correction, answer.in_place(corrected, other)))
    return correcting.corrected(checked, tried)
