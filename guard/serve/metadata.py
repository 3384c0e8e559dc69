"""The parts of an answer beside its text, as values of known kinds: calls of offered tools, counts, a reason, a model.

Whatever else an upstream says there is dropped: nobody has judged it.
"""

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.requests import ChatRequest

REASONS = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
_COUNTS = {
    "prompt_tokens_details": "cached_tokens audio_tokens",
    "completion_tokens_details": "reasoning_tokens audio_tokens accepted_prediction_tokens rejected_prediction_tokens",
}
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that the request offers. `kind`: function, custom, or function_call for the older form."""

    kind: str
    id: str
    name: str
    given: str


def counts_of(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Token counts under their known names."""
    told: dict[str, Any] = _known(usage, "prompt_tokens completion_tokens total_tokens")
    inner = {name: _known(usage.get(name), names) for name, names in _COUNTS.items()}
    return told | {name: counts for name, counts in inner.items() if counts}


def _known(counts: Any, names: str) -> dict[str, int]:
    given = counts if isinstance(counts, dict) else {}
    return {name: given[name] for name in names.split() if type(given.get(name)) is int and 0 <= given[name] < 2**53}


def calls_of(deltas: Iterable[Mapping[str, Any]], asked: ChatRequest) -> list[Call]:
    """The calls of tools in the deltas of a stream. Raises: ProtocolError for one that the request does not offer."""
    begun: dict[object, dict[str, Any]] = {}
    for delta in deltas:
        for number, call in enumerate(delta.get("tool_calls") or ()):
            index = call.get("index")
            _add(begun.setdefault(number if index is None else index, {}), call)
        if isinstance(said := delta.get("function_call"), dict):
            _add(begun.setdefault("function_call", {}), {"function_call": said})
    calls = [_call(call) for call in begun.values()]
    if calls and (asked.wants_object or not {(call.kind, call.name) for call in calls} <= {*_offered(asked)}):
        raise ProtocolError(502, "the upstream called a tool that the request does not offer", code="bad_call")
    return calls


def _add(call: dict[str, Any], delta: Mapping[str, Any]) -> None:
    call["id"] = call.get("id") or delta.get("id")
    for kind in ("function", "custom", "function_call"):
        if isinstance(said := delta.get(kind), dict):
            call["kind"], call["name"] = kind, call.get("name") or said.get("name")
            call["given"] = call.get("given", "") + (said.get("input" if kind == "custom" else "arguments") or "")


def _call(call: Mapping[str, Any]) -> Call:
    name = str(call["id"]) if _ID.fullmatch(str(call.get("id") or "")) else f"call_{uuid.uuid4().hex}"
    return Call(str(call.get("kind")), name, str(call.get("name")), str(call.get("given", "")))


def _offered(asked: ChatRequest) -> Iterable[tuple[str, str]]:
    """The kinds and names of the tools in a request, none where it wants no call."""
    if asked.tool_choice == "none":
        return
    for tool in asked.tools or ():
        for kind in ("function", "custom"):
            if isinstance(said := tool.get(kind), dict):
                yield kind, str(said.get("name"))
    yield from (("function_call", str(function.get("name"))) for function in asked.functions or ())
