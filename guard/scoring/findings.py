"""Findings: details of a refused sentence that the nearest source sentence states differently or not at all.

Findings show a reader where to look. They never decide a verdict.
"""

from groundrail.text.facts.derived import derivation
from groundrail.text.facts.mentions import Mention, mentions
from groundrail.text.facts.missing import Missing, missing
from groundrail.text.facts.rivals import opens, rivals
from groundrail.types import Citation, Detail, Finding


def findings(sentence: str, nearest: Citation | None) -> tuple[Finding, ...]:
    """Find the details of `sentence` that `nearest` does not state, in order; none if `nearest` is None.

    A figure that follows from figures in `nearest` is no finding ("4,350 euros" from 3 months at 1,450).
    """
    if nearest is None:
        return ()
    found = sorted(missing(nearest.text, sentence), key=lambda each: each.start)
    figures = {(figure.start, figure.end): figure for figure in mentions(sentence)}
    of_each = [(each, figures.get((each.start, each.end))) for each in found]
    return tuple(
        _finding(each, figure, sentence, nearest)
        for each, figure in of_each
        if not (figure and (opens(figure, sentence) or derivation(figure, nearest.text)))
    )


def _finding(each: Missing, figure: Mention | None, sentence: str, nearest: Citation) -> Finding:
    others = list(rivals(figure, sentence, nearest.text)) if figure else []
    given = None
    if len(others) == 1:  # several details of this kind: it is unknown which of them is meant
        start, end = others[0].start, others[0].end
        given = Detail(
            document_id=nearest.document_id,
            start=nearest.start + start,
            end=nearest.start + end,
            text=nearest.text[start:end],
        )
    return Finding(kind=each.kind, start=each.start, end=each.end, given=given)
