"""The kind of each sentence, by a head on the built-in encoder (`groundrail.text.kinds`).

The head reads a sentence with the words around it and no source. A wrong kind must not release a false claim, so talk is
only taken for talk where the head is sure.
"""

from collections.abc import Callable, Sequence

from groundrail.entailment.asking import Ask, Asking
from groundrail.entailment.builtin import BuiltinEntailment, load_builtin
from groundrail.errors import ModelError
from groundrail.text.kinds import Kind, may_be_talk

TALK, SILENCE = 0.97, 0.7
"""Probability from which a sentence counts as talk, or as silence."""


def kinds_of(sentences: Sequence[tuple[str, str]], is_stated: Callable[[str], bool]) -> Asking[list[Kind]]:
    """The kind of each sentence, given as (the words around it, the sentence).

    Args:
        sentences: the words around a sentence are the user's message and the sentence before it.
        is_stated: whether a word, in small letters, stands in the source.

    Raises: as `load_builtin`; ModelError for weights without a head for kinds.
    """
    judge = load_builtin().model
    if not isinstance(judge, BuiltinEntailment):
        raise ModelError("the built-in judge is not what it was; reinstall groundrail")
    rows = yield Ask(judge.kinds, sentences)
    return [
        Kind.TALK
        if talk >= TALK and may_be_talk(sentence, around, is_stated)
        else Kind.SILENCE
        if silence >= SILENCE
        else Kind.CLAIM
        for (around, sentence), (_, talk, silence) in zip(sentences, rows.tolist(), strict=True)
    ]
