"""Read turns: lines of a chat with their speaker, answers of an FAQ with their question, long fields with their label.

A text has turns if at least three lines begin with a label and a colon, and every other line that is not blank stands
before the first of them.
"""

import re
from collections.abc import Iterator

from groundrail.sources.premise import Premise, Region
from groundrail.text.sentences import split
from groundrail.types import Span

_TURN = re.compile(r"^[ \t]*(?P<label>[^\W\d_](?:[^\n:.!?|]{0,38}[^\s:.!?|])?):(?=\s)[ \t]*", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*\S.*$", re.MULTILINE)
_QUESTION = frozenset({"q", "question"})
_ANSWER = frozenset({"a", "answer"})
_MAIL = frozenset({"from", "to", "cc", "subject", "date", "sent"})
"""Labels in the head of an e-mail, which are not speakers of the lines below."""
_FEWEST = 3


def read_turns(text: str) -> list[Region]:
    """One region from the first label to the end; an empty list if the text is no sequence of turns."""
    turns = list(_TURN.finditer(text))
    if len(turns) < _FEWEST or any(turn["label"].lower() in _MAIL for turn in turns):
        return []
    start = turns[0].start()
    if len(turns) < sum(1 for _ in _LINE.finditer(text, start)):
        return []
    premises = tuple(_premises(text, turns))
    return [Region(start, len(text), premises)]


def _premises(text: str, turns: list[re.Match[str]]) -> Iterator[Premise]:
    """A premise for each sentence: the first of a turn unchanged with its label, later sentences behind the label."""
    question = ""
    ends = [turn.start() for turn in turns[1:]] + [len(text)]
    for turn, end in zip(turns, ends, strict=True):
        label = turn["label"].strip()
        if label.lower() in _QUESTION:
            question = " ".join(text[turn.end() : end].split())
        if not text[turn.end() : end].strip():
            yield Premise(turn.start("label"), turn.end())
        asked = question if label.lower() in _ANSWER else ""
        for number, part in enumerate(split(text[turn.end() : end])):
            start, last = Span.trimmed(text, turn.end() + part.start, turn.end() + part.end)
            if start == last:
                continue
            if asked:
                yield Premise(start, last, f"{asked} {text[start:last]}")
            elif number == 0:
                yield Premise(turn.start("label"), last)
            else:
                yield Premise(start, last, f"{label}: {text[start:last]}")
