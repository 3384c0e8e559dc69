"""Names of version 0.1, each with the name that took its place: whoever uses a former name is told the new one."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

FORMER = {
    "facts": "metadata",
    "prompt": "question",
    "pushed": "incremental",
    "reach": "threshold",
    "takes_context": "scores_jointly",
    "told": "show",
    "tune": "tune_allocator",
    "JudgeFacts": "JudgeMetadata",
    "PushedAnswer": "IncrementalCheck",
    "ScorerFacts": "ScorerMetadata",
    "GroundedChatGenerator": "GuardedChatGenerator",
    "GroundedEvaluator": "GuardedEvaluator",
    "GroundedGuardrail": "GuardedGuardrail",
    "GroundedSynthesizer": "GuardedSynthesizer",
}


def current_words(saved: str) -> str:
    """A text that a former version saved, with the words of this one: scorers are known by what they say of themselves."""
    return saved.replace("likest chunk", "most similar chunk")


def missing(holder: str, name: str) -> AttributeError:
    """The error for a name that a holder lacks.

    >>> missing("module 'groundrail'", "tune")
    AttributeError("module 'groundrail' has no attribute 'tune'; it is called 'tune_allocator' now")
    """
    now = f"; it is called {FORMER[name]!r} now" if name in FORMER else ""
    return AttributeError(f"{holder} has no attribute {name!r}{now}")


def renamed_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose error for the former name of an argument has the new name."""

    @wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> T:
        for name in named.keys() & FORMER.keys() - function.__annotations__.keys():
            raise TypeError(f"{function.__qualname__}() has no argument {name!r}; it is called {FORMER[name]!r} now")
        return function(*arguments, **named)

    return called


def refuse_former(defined: type, *names: str) -> None:
    """Raises: TypeError for a class that defines a member by its former name, which nothing would ask for."""
    for name in names:
        if name in vars(defined):
            raise TypeError(f"{defined.__qualname__} defines {name!r}; it is called {FORMER[name]!r} now")
