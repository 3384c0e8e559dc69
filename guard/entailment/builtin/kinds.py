"""The kind of each sentence, by a head on the built-in encoder (`groundrail.text.kinds`).

The head reads a sentence twice, with the words around it and alone, and no source. A wrong kind must not release a false claim:
talk has to be talk both times, since an echo of the user's claim looks like talk; silence is silence if it is so once.
"""

from collections.abc import Callable, Sequence
from functools import cache

from groundrail.entailment.asking import Ask, Asking
from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped
from groundrail.entailment.builtin import BuiltinEntailment, load_builtin
from groundrail.entailment.shared import shared
from groundrail.errors import ModelError
from groundrail.text.kinds import Kind, may_be_talk, words_of

TALK, SILENCE = 0.38, 0.5
"""Probability from which a sentence counts as talk, or as silence; chosen on development sets (`benchmarks/talk.py`)."""


def kinds_of(sentences: Sequence[tuple[str, str]], is_stated: Callable[[str], bool]) -> Asking[list[Kind]]:
    """The kind of each sentence, given as (the words around it, the sentence).

    Args:
        sentences: the words around a sentence are the user's message and the sentence before it.
        is_stated: whether a word, in small letters, stands in the source.

    Raises: as `load_builtin`; ModelError for weights without a head for kinds.
    """
    alone = [("", sentence) for _, sentence in sentences]
    rows = (yield Ask(head().classify, [*sentences, *alone])).tolist()
    offsets, found = head().offsets, []
    for (around, sentence), (_, talk, silence), (_, talk_alone, silence_alone) in zip(
        sentences, rows, rows[len(alone) :], strict=False
    ):
        is_talk = min(talk, talk_alone) >= TALK and may_be_talk(sentence, around, is_stated)
        if is_talk and _is_read(sentence, offsets):
            found.append(Kind.TALK)
        elif max(silence, silence_alone) >= SILENCE:
            found.append(Kind.SILENCE)
        else:
            found.append(Kind.CLAIM)
    return found


def _is_read(sentence: str, offsets: Callable[[str], Sequence[tuple[int, int]]]) -> bool:
    """Whether the encoder has a token for three quarters of the words; a sentence in another language falls into pieces."""
    words = words_of(sentence)
    return sum(len(offsets(word.split("'")[0])) > 1 for word in words) <= len(words) / 4


class _Head(Wrapped):
    """The head as a model of pairs: (the words around a sentence, the sentence)."""

    def __init__(self, judge: BuiltinEntailment) -> None:
        super().__init__(judge)
        self._judge = judge

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        return self._judge.kinds(pairs)


@cache
def head() -> EntailmentModel:
    """The head, shared by all answers: sentences that come while it reads are read together."""
    judge = load_builtin().model
    if not isinstance(judge, BuiltinEntailment):
        raise ModelError("the built-in judge is not what it was; reinstall groundrail")
    return shared(_Head(judge), wait=0.0)
