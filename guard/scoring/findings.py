"""Details of a refused sentence that the nearest source sentence gives otherwise, or not at all.

They tell a reader where to look. A verdict never comes from here.
"""

from groundrail.text.facts.derived import derivation
from groundrail.text.facts.mentions import Mention, mentions
from groundrail.text.facts.missing import Missing, missing
from groundrail.text.facts.rivals import opens, rivals
from groundrail.types import Citation, Detail, Finding


def findings(sentence: str, nearest: Citation | None) -> tuple[Finding, ...]:
    """The details in the sentence's order; none without a place to compare them with.

    A figure that follows from the place's own figures ("4,350 euros" from 3 months at 1,450) is no finding.
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
    if len(others) == 1:  # with several nobody can say which of them is meant
        start, end = others[0].start, others[0].end
        given = Detail(
            document_id=nearest.document_id,
            start=nearest.start + start,
            end=nearest.start + end,
            text=nearest.text[start:end],
        )
    return Finding(kind=each.kind, start=each.start, end=each.end, given=given)
