"""What a model wrote into a tool call is no evidence: it is taken out of what the tool gives back."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

_PHRASE = 3
"""Words from which a repeated argument is taken out; shorter ones, as a search for "rent", are in every true answer."""

_WORD = re.compile(r"\w+")


def without_echo(output: Any, arguments: Any) -> Any:
    """A tool's output, text or a message, without the phrases of its arguments.

    Nothing is left of an output that repeats arguments and says nothing beside; what is not text stays as it is.
    """
    if isinstance(output, BaseMessage):
        return output.model_copy(update={"content": _rest(str(output.text), arguments)})
    return _rest(output, arguments) if isinstance(output, str) else output


def calls_of(messages: Sequence[BaseMessage]) -> dict[str, ToolCall]:
    """Every tool call among messages, by its id."""
    calls = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    return {str(call["id"]): call for call in calls}


def _rest(text: str, arguments: Any) -> str:
    written = sorted({value.strip() for value in _strings(arguments) if value.strip()}, key=len, reverse=True)
    rest = text
    for value in written:
        rest = _pattern(value).sub(" ", rest)
    if not _WORD.search(rest):
        return ""
    for value in written:
        if len(_WORD.findall(value)) >= _PHRASE:
            text = _pattern(value).sub(" … ", text)
    return text


def _pattern(value: str) -> re.Pattern[str]:
    """The value in any case, with any white space and punctuation between its words."""
    words = _WORD.findall(value)
    return re.compile(r"\b" + r"\W+".join(map(re.escape, words)) + r"\b" if words else re.escape(value), re.IGNORECASE)


def _strings(arguments: Any) -> Iterator[str]:
    match arguments:
        case str():
            yield arguments
        case Mapping():
            for value in arguments.values():
                yield from _strings(value)
        case list() | tuple():
            for value in arguments:
                yield from _strings(value)
        case int() | float():
            yield str(arguments)
        case _:
            return
