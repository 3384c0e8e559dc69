"""Findings: details of a sentence that the nearest source sentence states differently or not at all, and figures that
follow from figures of the source.

Findings show a reader where to look. They never decide a verdict.
"""

from collections.abc import Sequence
from typing import TypeAlias

from groundrail.facts.computed import computation
from groundrail.facts.mentions import Mention, mentions, opens
from groundrail.facts.missing import Missing, missing
from groundrail.facts.rivals import rivals
from groundrail.types import Citation, Derived, Detail, Finding

Piece: TypeAlias = Citation | Detail
"""A piece of a source with its place."""

_MOST = 20
"""Maximum number of figures of a sentence that computations are looked for: each takes up to a few hundredths of a second."""


def findings(sentence: str, read: Sequence[Piece]) -> tuple[Finding, ...]:
    """Find the details of `sentence` that the first of the pieces that were read, the nearest, does not state, in order.

    A figure that follows exactly from the pieces has its computation as `Finding.derived`. A figure that the nearest piece
    gives roughly, or in several ways, is no finding.
    """
    if not read:
        return ()
    nearest, computed = read[0], {(each.start, each.end): each for each in derived(sentence, read)}
    figures = {(figure.start, figure.end): figure for figure in mentions(sentence)}
    found = []
    for each in sorted(missing(nearest.text, sentence), key=lambda each: each.start):
        place = (each.start, each.end)
        figure = figures.get(place)
        if place in computed:
            found.append(computed[place])
        elif not (figure and (opens(figure, sentence) or computation(figure, sentence, [nearest.text], roughly=True))):
            found.append(_finding(each, figure, sentence, nearest))
    return tuple(found)


def derived(sentence: str, read: Sequence[Piece]) -> tuple[Finding, ...]:
    """Find the figures of `sentence` that no piece that was read states and that follow exactly from these pieces.

    None are found for a sentence of more than 20 figures.

    >>> lease = Detail(document_id="lease", start=0, end=42, text="The rent of 1,450 euros is for 2 tenants.")
    >>> derived("Each tenant pays 725 euros.", [lease])[0].derived.computation
    '1,450 euros / 2'
    """
    figures = mentions(sentence)
    if len(figures) > _MOST:
        return ()
    pieces = list({piece.place: piece for piece in read}.values())
    texts = [piece.text for piece in pieces]
    found = []
    for figure in figures:
        way = None if opens(figure, sentence) else computation(figure, sentence, texts)
        if way is not None:
            operands = tuple(_detail(pieces[each.premise], each.start, each.end) for each in way.operands)
            shown = Derived(computation=way.words, operands=operands)
            found.append(Finding(kind=str(figure.meaning[0]), start=figure.start, end=figure.end, derived=shown))
    return tuple(found)


def _finding(each: Missing, figure: Mention | None, sentence: str, nearest: Piece) -> Finding:
    others = list(rivals(figure, sentence, nearest.text)) if figure else []
    given = None
    if len(others) == 1:  # several details of this kind: it is unknown which of them is meant
        given = _detail(nearest, others[0].start, others[0].end)
    return Finding(kind=each.kind, start=each.start, end=each.end, given=given)


def _detail(piece: Piece, start: int, end: int) -> Detail:
    """The detail `piece.text[start:end]` at its place in the document."""
    text = piece.text[start:end]
    return Detail(document_id=piece.document_id, start=piece.start + start, end=piece.start + end, text=text)
