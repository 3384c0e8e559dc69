"""Q²'s preprocessing for pronouns (section 2, appendix A): replace mentions in a response by words of the history.

A coreference resolver, which is not included, finds the mentions of the same thing. The result is the claim for
`groundrail.papers.q2.q2`.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from groundrail.errors import InputError

Clusters: TypeAlias = Sequence[Sequence[tuple[int, int]]]
"""For each thing that a text mentions more than once, the spans of the mentions."""

Resolver: TypeAlias = Callable[[str], Clusters]
"""A coreference resolver: text -> clusters. The paper uses AllenNLP's model."""


def resolved(response: str, history: Sequence[str], resolver: Resolver) -> str:
    """Replace each mention in the response by the first mention of the same thing, in earlier turns or the response.

    Turns are resolved one by one, as in appendix A: the first alone, each later turn behind the resolved earlier turns.

    Raises: InputError if the resolver returns a span that is not in the text.
    """
    said, last = "", ""
    for turn in (*history, response):
        begin = len(said) + bool(said)
        text = f"{said}\n{turn}" if said else turn
        said, last = _spelt_out(text, resolver(text), begin)
    return last


def _spelt_out(text: str, clusters: Clusters, begin: int) -> tuple[str, str]:
    """The text with its mentions replaced, and the part of the result that comes from `text[begin:]`."""
    spellings: dict[tuple[int, int], str] = {}
    for cluster in clusters:
        spans = sorted((int(start), int(end)) for start, end in cluster)
        if any(not 0 <= start < end <= len(text) for start, end in spans):
            raise InputError(f"the resolver named {spans} in a text of {len(text)} characters")
        spellings.update({span: text[slice(*spans[0])] for span in spans[1:]})
    pieces: list[str] = []
    place = split = 0
    for (start, end), spelling in sorted(spellings.items(), key=lambda found: (found[0][0], -found[0][1])):
        if start < place or start < begin < end:  # inside a replaced mention, or across two turns
            continue
        if place <= begin <= start:
            split = sum(map(len, pieces)) + begin - place
        pieces += [text[place:start], spelling]
        place = end
    if place <= begin:
        split = sum(map(len, pieces)) + begin - place
    pieces.append(text[place:])
    whole = "".join(pieces)
    return whole, whole[split:]
