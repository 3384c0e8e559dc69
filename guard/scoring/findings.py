"""Which details of a refused sentence the nearest source sentence gives otherwise, or not at all.

They tell a reader where to look. A verdict never comes from here.
"""

from collections.abc import Iterator

from groundrail.english.details import Missing, missing
from groundrail.english.mentions import Mention, mentions
from groundrail.types import Citation, Detail, Finding


def findings(sentence: str, nearest: Citation | None) -> tuple[Finding, ...]:
    """In the sentence's order; none without a place to compare it with."""
    if nearest is None:
        return ()
    found = sorted(missing(nearest.text, sentence), key=lambda each: each.start)
    return tuple(_finding(each, sentence, nearest) for each in found if not _opens(each.kind, each.start, sentence))


def _opens(kind: object, start: int, text: str) -> bool:
    """Whether it is a number that a line begins with, as clauses and points do: 3.2 says nothing of the rent."""
    return kind == "number" and not text[:start].strip()


def _finding(each: Missing, sentence: str, nearest: Citation) -> Finding:
    rivals = list(_rivals(each, sentence, nearest.text))
    given = None
    if len(rivals) == 1:  # with several nobody can say which of them is meant
        start, end = rivals[0].start, rivals[0].end
        given = Detail(
            document_id=nearest.document_id,
            start=nearest.start + start,
            end=nearest.start + end,
            text=nearest.text[start:end],
        )
    return Finding(kind=each.kind, start=each.start, end=each.end, given=given)


def _rivals(each: Missing, sentence: str, premise: str) -> Iterator[Mention]:
    """What the premise has of the same kind, and the sentence nowhere."""
    own = mentions(sentence)
    mine = next((mention for mention in own if (mention.start, mention.end) == (each.start, each.end)), None)
    for other in mentions(premise) if mine else ():
        alike = mine is not None and _sort(other) == _sort(mine)
        if (
            alike
            and not _opens(other.meaning[0], other.start, premise)
            and all(other.meaning != mention.meaning for mention in own)
        ):
            yield other


def _sort(mention: Mention) -> tuple[object, ...]:
    """What competes: a quantity with those of its family, everything else with its kind."""
    kind = mention.meaning[0]
    return mention.meaning[:2] if kind == "quantity" else (kind,)
