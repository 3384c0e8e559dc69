"""The rule of every adapter: a method, part or field that it does not know is refused, never forwarded.

Frameworks add methods, parts and fields from one release to the next. An adapter lists those that it knows; this module
refuses the rest by name, and keeps of a model's metadata only names, reasons and counts.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, TypeVar

from groundrail.errors import GenerationError, InputError
from groundrail.openai.events import is_cut_off, known_counts

T = TypeVar("T", bound=type)

_NAMES = frozenset("id model model_id model_name model_provider service_tier system_fingerprint".split())
_NAME = re.compile(r"[\w.:/@+-]{1,100}")
_REASONS = ("finish_reason", "stop_reason")
_REASON = frozenset(
    "stop length tool_calls tool_call tool_call_results function_call content_filter end_turn max_tokens stop_sequence "
    "tool_use pause_turn refusal".split()
)
_COUNTS = ("usage", "token_usage")


def closed(package: str, *passed_on: str) -> Callable[[T], T]:
    """A class decorator: each public method that the class neither defines nor names in `passed_on` raises InputError.

    package: the distribution of the base class, whose version the error names.

        @closed("openai-agents", "close")
        class GuardedModel(Model): ...
    """

    def close(adapter: T) -> T:
        for name in unguarded(adapter):
            if name not in passed_on:
                setattr(adapter, name, _refused(adapter, name, package))
        return adapter

    return close


def unguarded(adapter: type) -> list[str]:
    """The public methods and properties that an adapter inherits from its framework and does not define itself."""
    known = vars(adapter).keys() | dir(object)
    found = [name for name in dir(adapter) if not name.startswith("_") and name not in known]
    return [name for name in found if _is_called(inspect.getattr_static(adapter, name))]


def unknown(thing: Any, package: str) -> GenerationError:
    """The error for a part of an answer that no guard reads: an object, or words for it."""
    what = thing if isinstance(thing, str) else f"a {type(thing).__name__}"
    return GenerationError(f"the answer holds {what} which is not guarded ({package} {version(package)})")


def stopped_early(raw: Mapping[str, Any]) -> GenerationError | None:
    """The error for an answer that stopped before its end, by its metadata; None for a whole answer.

    stopped_early({"finish_reason": "length"})  # half a sentence may say the opposite of the whole one
    """
    reason = next((raw[name] for name in _REASONS if is_cut_off(raw.get(name))), None)
    return GenerationError(f"the model stopped before the answer's end ({reason})") if reason else None


def metadata(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of an answer that are of a known kind: names of the model, reasons to end, the index, token counts.

    Other fields, such as `logprobs`, spell unreleased text, as may a known field with another kind of value.

        metadata({"model": "m", "logprobs": ["The"], "finish_reason": "The rent is 990."})  # {"model": "m"}
    """
    return {name: kept for name, value in raw.items() if (kept := _of_known_kind(name, value)) is not None}


def _of_known_kind(name: str, value: Any) -> Any:
    if name in _NAMES:
        return value if isinstance(value, str) and _NAME.fullmatch(value) else None
    if name in _REASONS:
        return value if isinstance(value, str) and value.lower() in _REASON else None
    if name in _COUNTS:
        return known_counts(value) if isinstance(value, Mapping) else None
    return value if name == "index" and isinstance(value, int) else None


def _is_called(member: Any) -> bool:
    return callable(member) or isinstance(member, property | classmethod | staticmethod)


def _refused(adapter: type, name: str, package: str) -> Any:
    def refuse(*call: Any, **named: Any) -> Any:
        raise InputError(
            f"{adapter.__name__} does not guard {name!r} of {package} {version(package)}; "
            f"call it on the wrapped object, whose text is not checked"
        )

    refuse.__name__ = name
    return property(refuse) if isinstance(inspect.getattr_static(adapter, name), property) else refuse
