"""The source's value for a refused field, where one detail of its statement was exchanged."""

from typing import Any

from groundrail.objects.leaves import Leaf
from groundrail.text.facts.corrections import corrections
from groundrail.text.facts.mentions import mentions
from groundrail.types import GuardResult


def corrected_value(leaf: Leaf, result: GuardResult, opposite: GuardResult | None) -> Any:
    """The value in the form of the refused one; None if there is none.

    A boolean is turned round if the source supports its opposite.
    """
    if opposite is not None:
        return not leaf.value if opposite.supported and not result.supported else None
    sentence = result.sentences[0]
    if len(result.sentences) > 1 or leaf.is_key or sentence.corrected is None or sentence.replacement is None:
        return None
    start, now = sentence.corrected.start, sentence.corrected.now
    was = leaf.statement[start : len(leaf.statement) - len(sentence.replacement) + start + len(now)]
    return _text(leaf.value, was, now) if isinstance(leaf.value, str) else _number(leaf.value, was, now)


def _text(value: str, was: str, now: str) -> str | None:
    if value.count(was) == 1:
        return value.replace(was, now)
    found = corrections(value, now)
    return found[0].applied(value) if len(found) == 1 else None


def _number(value: float, was: str, now: str) -> int | float | None:
    """The number of the same unit."""
    before, after = mentions(was), mentions(now)
    if len(before) != 1 or len(after) != 1 or before[0].numbers[:1] != (value,) or not after[0].numbers:
        return None
    number = after[0].numbers[0]
    same_unit = was.replace(_digits(was), "") == now.replace(_digits(now), "")
    return None if not same_unit else int(number) if number.is_integer() else number


def _digits(figure: str) -> str:
    return "".join(letter for letter in figure if letter.isdigit() or letter in ",.-−")
