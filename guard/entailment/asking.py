"""Coroutines that ask models, so that several of them can share one call of a model.

An `Asking` yields an `Ask` and is sent the judge's answers. `answered` runs one alone, `answered_together` runs many.
"""

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from groundrail.entailment.base import FloatArray, Pair

T = TypeVar("T")


class Ask(NamedTuple):
    """Send what `classify` answers to these pairs, shape (n, 3), or throw what it raised. It is a method of a model."""

    classify: Callable[[Sequence[Pair]], FloatArray]
    pairs: Sequence[Pair]


Asking: TypeAlias = Generator[Ask, FloatArray, T]
"""A coroutine that asks models and returns a T."""


def answered(asking: Asking[T]) -> T:
    """Run one coroutine; each of its asks is a call. Raises: what the model or the coroutine raises."""
    try:
        ask = next(asking)
        while True:
            try:
                answers = ask.classify(ask.pairs)
            except Exception as error:
                ask = asking.throw(error)
            else:
                ask = asking.send(answers)
    except StopIteration as done:
        result: T = done.value
        return result


def answered_together(askings: Sequence[Asking[T]]) -> list[T | Exception]:
    """The outcomes of several coroutines: what each returns or raises.

    Asks that wait at the same time share a call of their model, and a pair that several ask is judged once. If that call
    fails, each ask is a call of its own: a pair that the model refuses costs only the coroutine that asked it.
    """
    outcomes: dict[int, T | Exception] = {}
    waiting: dict[int, Ask] = {}

    def advance(number: int, answers: FloatArray | Exception | None) -> None:
        asking = askings[number]
        waiting.pop(number, None)
        try:
            if isinstance(answers, Exception):
                waiting[number] = asking.throw(answers)
            else:
                waiting[number] = next(asking) if answers is None else asking.send(answers)
        except StopIteration as done:
            outcomes[number] = done.value
        except Exception as error:
            outcomes[number] = error

    for number in range(len(askings)):
        advance(number, None)
    while waiting:
        asked = dict(waiting)
        for number, answers in zip(asked, _answers(list(asked.values())), strict=True):
            advance(number, answers)
    return [outcomes[number] for number in range(len(askings))]


def _answers(asks: Sequence[Ask]) -> list[FloatArray | Exception]:
    """The answers to each ask, in one call of each model if that succeeds."""
    together: dict[Callable[..., FloatArray], dict[Pair, int]] = {}
    for ask in asks:
        places = together.setdefault(ask.classify, {})
        for pair in ask.pairs:
            places.setdefault(pair, len(places))
    found = {classify: _classified(Ask(classify, list(places))) for classify, places in together.items()}
    answers: list[FloatArray | Exception] = []
    for ask in asks:
        rows, places = found[ask.classify], together[ask.classify]
        is_alone = len(places) == len(ask.pairs)
        if isinstance(rows, Exception):
            answers.append(rows if is_alone else _classified(ask))
        else:
            answers.append(rows[[places[pair] for pair in ask.pairs]])
    return answers


def _classified(ask: Ask) -> FloatArray | Exception:
    try:
        return ask.classify(ask.pairs)
    except Exception as error:
        return error
