"""Q²'s preprocessing for pronouns (section 2, appendix A): a response with its mentions spelt out from the history.

Which mentions belong together is asked of any coreference resolver; none is shipped. The result is what
`groundrail.papers.q2.q2` is given as the claim.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from groundrail.errors import InputError

Clusters: TypeAlias = Sequence[Sequence[tuple[int, int]]]
"""Of each thing that a text mentions more than once, the spans of its mentions."""

Resolver: TypeAlias = Callable[[str], Clusters]
"""What coreference libraries give for a text; the paper asks AllenNLP's model."""


def resolved(response: str, history: Sequence[str], resolver: Resolver) -> str:
    """The response with every mention in the words of its first one, found in the turns before it or in itself.

    Turn by turn, as in appendix A: the first is resolved alone, each next one together with what came of those before.

    Raises: InputError where the resolver names a span that is not in the text.
    """
    said, last = "", ""
    for turn in (*history, response):
        begin = len(said) + bool(said)
        text = f"{said}\n{turn}" if said else turn
        said, last = _spelt_out(text, resolver(text), begin)
    return last


def _spelt_out(text: str, clusters: Clusters, begin: int) -> tuple[str, str]:
    """The text with its mentions replaced, and of that what comes from `text[begin:]`."""
    spellings: dict[tuple[int, int], str] = {}
    for cluster in clusters:
        spans = sorted((int(start), int(end)) for start, end in cluster)
        if any(not 0 <= start < end <= len(text) for start, end in spans):
            raise InputError(f"the resolver named {spans} in a text of {len(text)} characters")
        spellings.update({span: text[slice(*spans[0])] for span in spans[1:]})
    pieces: list[str] = []
    place = split = 0
    for (start, end), spelling in sorted(spellings.items(), key=lambda found: (found[0][0], -found[0][1])):
        if start < place or start < begin < end:  # inside a mention that was replaced, or across two turns
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
