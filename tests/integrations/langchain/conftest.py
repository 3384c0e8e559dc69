"""A scripted chat model, and what the tests of LangChain read and say."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable

SOURCE = "The lease ends on 28 February 2026. The rent is 950 euros a month. Pets are not allowed."
TRUE, FALSE = "The rent is 950 euros. ", "The rent is 990 euros. "


class Scripted(FakeListChatModel):
    """Says the next of its messages whenever it is asked, text letter by letter, and notes what it was asked, with which tools."""

    responses: list[str] = ["unused"]  # noqa: RUF012
    messages: list[AIMessageChunk]
    asked: list[list[BaseMessage]] = []  # noqa: RUF012
    tools: list[Any] = []  # noqa: RUF012
    gone: BaseException | None = None

    def _stream(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.asked.append(messages)
        self.tools.append(kwargs.get("tools"))
        message = self.messages[min(len(self.asked), len(self.messages)) - 1]
        blocks = [{"type": "text", "text": message.content}] if isinstance(message.content, str) else message.content
        for index, block in enumerate(blocks):
            if isinstance(block, dict) and block["type"] == "text":
                for letter in block["text"]:
                    content: Any = (
                        letter if isinstance(message.content, str) else [{**block, "text": letter, "index": index}]
                    )
                    yield ChatGenerationChunk(message=AIMessageChunk(content=content))
            else:
                yield ChatGenerationChunk(message=AIMessageChunk(content=[block]))
        if self.gone is not None:
            raise self.gone
        yield ChatGenerationChunk(message=message.model_copy(update={"content": ""}))

    async def _astream(
        self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, **kwargs):
            await asyncio.sleep(0)
            yield chunk

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        return self.bind(tools=[tool.name for tool in tools], **kwargs)


def calling(name: str, arguments: str = '{"what": "rent"}', content: Any = "", **said: Any) -> AIMessageChunk:
    """A message that calls a tool."""
    call: Any = {"name": name, "args": arguments, "id": f"call-{name}", "index": 0}
    return AIMessageChunk(content=content, tool_call_chunks=[call], **said)


def scripted(*said: str | AIMessageChunk, **options: Any) -> Scripted:
    """A model that says this, one message an answer."""
    messages = [AIMessageChunk(content=message) if isinstance(message, str) else message for message in said]
    return Scripted(messages=messages, asked=[], tools=[], **options)
