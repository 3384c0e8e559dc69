"""A scripted chat model and a shelf of documents, and how the tests of LangChain ask, read and listen."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_core.tools import tool
from tests.guard.parts import FALSE as FALSE
from tests.guard.parts import SOURCE as SOURCE
from tests.guard.parts import TRUE as TRUE

from groundrail import Guard, Policy
from groundrail.testing import FakeEntailment

ALSO_TRUE = "Pets are not allowed."
PROMPT = ChatPromptTemplate.from_template("{context}\n\n{question}")
WAYS = ["invoke", "ainvoke", "stream", "astream"]


def guard(**policy: Any) -> Guard:
    return Guard(scorer="scale", judge=FakeEntailment(), policy=Policy(**policy))


def asked(
    subject: Any, way: str, given: Any, config: Any = None, *, pieces: list[Any] | None = None, **options: Any
) -> list[Any]:
    """The output of a runnable in one of its ways: the pieces of a stream, or all in one piece.

    pieces: the list to put them into, as they come.
    """
    pieces = [] if pieces is None else pieces

    async def streamed() -> None:
        async for piece in subject.astream(given, config, **options):
            pieces.append(piece)

    match way:
        case "astream":
            asyncio.run(streamed())
        case "ainvoke":
            pieces.append(asyncio.run(subject.ainvoke(given, config, **options)))
        case "batch":
            pieces += subject.batch([given], config, **options)
        case "abatch":
            pieces += asyncio.run(subject.abatch([given], config, **options))
        case "stream":
            pieces.extend(subject.stream(given, config, **options))
        case _:
            pieces.append(subject.invoke(given, config, **options))
    return pieces


def events(subject: Any, given: Any, config: Any = None) -> list[Any]:
    """The events of a runnable."""

    async def heard() -> list[Any]:
        return [event async for event in subject.astream_events(given, config, version="v2")]

    return asyncio.run(heard())


class Shelf(BaseRetriever):
    """Finds the documents it was given."""

    found: list[LangChainDocument]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[LangChainDocument]:
        return self.found


def rag(answer: str, *found: LangChainDocument, model: Any = None) -> Any:
    """The usual retrieval chain: documents into the prompt, text out of the model."""
    retrieve = {"context": Shelf(found=list(found)), "question": RunnablePassthrough()}
    return retrieve | PROMPT | (model or GenericFakeChatModel(messages=iter([answer] * 9))) | StrOutputParser()


@tool
def look_up(what: str) -> str:
    """Look something up in the lease."""
    return f"Flat {what} is let." if what.isdigit() else f"{SOURCE} Asked: {what}"


@tool
def note(text: str) -> str:
    """Keep a note."""
    return f"Kept: {text}"


class Scripted(FakeListChatModel):
    """Says the next of its messages whenever it is asked, text letter by letter, and notes what it was asked, with which tools.

    gone: ends the last message.
    """

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
        if self.gone is not None and len(self.asked) >= len(self.messages):
            raise self.gone
        yield ChatGenerationChunk(message=message.model_copy(update={"content": ""}))

    async def _astream(
        self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, **kwargs):
            await asyncio.sleep(0)
            yield chunk

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        return self.bind(tools=[getattr(tool, "name", tool) for tool in tools], **kwargs)


def calling(name: str, arguments: str = '{"what": "rent"}', content: Any = "", **said: Any) -> AIMessageChunk:
    """A message that calls a tool."""
    call: Any = {"name": name, "args": arguments, "id": f"call-{name}", "index": 0}
    return AIMessageChunk(content=content, tool_call_chunks=[call], **said)


def scripted(*said: str | AIMessageChunk, **options: Any) -> Scripted:
    """A model that says this, one message an answer."""
    messages = [AIMessageChunk(content=message) if isinstance(message, str) else message for message in said]
    return Scripted(messages=messages, asked=[], tools=[], **options)
