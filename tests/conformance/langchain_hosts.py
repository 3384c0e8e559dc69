"""The hosts of LangChain and LangGraph, around a chat model that writes the script."""

from collections.abc import Iterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from tests.conformance.hosts import AGAIN, TEXT, Host, in_a_loop
from tests.conformance.recorder import Seen, recorded
from tests.conformance.scripts import FALSE, QUESTION, SOURCE, Script

from groundrail.integrations.langchain import (
    GroundrailCallbackHandler,
    GroundrailMiddleware,
    GuardedChatModel,
    GuardedRunnable,
)
from groundrail.integrations.langgraph import guarded_node

INPUT = {"prompt": QUESTION, "documents": [SOURCE]}


class Written(BaseChatModel):
    """A chat model that streams the script, one reply each time that it is asked."""

    script: Script
    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "written"

    def _generate(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError("this model streams")

    def _stream(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        number, self.asked = self.asked, self.asked + 1
        if self.script.way == "reasoning":
            yield _chunk([{"type": "reasoning", "reasoning": "".join(FALSE), "index": 0}])
        for piece in self.script.reply(number):
            block = [{"type": "text", "text": piece, "index": 1}]
            yield _chunk(block if self.script.way == "reasoning" else piece)
        if self.script.way == "tools" and number == 0:
            call = {"name": "look_up", "args": '{"what": "rent"}', "id": "1", "index": 0, "type": "tool_call_chunk"}
            yield _chunk("", tool_call_chunks=[call])
        yield _chunk("", chunk_position="last")

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        return self.bind()


def _chunk(content: Any, **fields: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=content, **fields))


class _Listener(BaseCallbackHandler):
    """A handler of the consumer, which notes whatever it is told."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def on_llm_new_token(self, *told: Any, **fields: Any) -> None:
        self._seen.note((told, fields.get("chunk")))

    def on_llm_end(self, response: Any, **fields: Any) -> None:
        self._seen.note(response)

    def on_llm_error(self, error: Any, **fields: Any) -> None:
        self._seen.note((error, fields.get("response")))

    def on_chain_end(self, outputs: Any, **fields: Any) -> None:
        self._seen.note(outputs)

    def on_chain_error(self, error: Any, **fields: Any) -> None:
        self._seen.note(error)

    def on_custom_event(self, name: str, data: Any, **fields: Any) -> None:
        self._seen.note((name, data))


def runnable(script: Script) -> Seen:
    with recorded() as seen:
        subject = GuardedRunnable(Written(script=script), guard=script.guard())
        seen.pieces += subject.stream(INPUT, {"callbacks": [_Listener(seen)]})
    return seen


def runnable_events(script: Script) -> Seen:
    """`GuardedRunnable.astream_events`: the text of the runnable's own events, and every other event noted."""

    async def run(seen: Seen) -> None:
        subject = GuardedRunnable(Written(script=script), guard=script.guard()).with_config(run_name="guarded")
        async for event in subject.astream_events(INPUT, version="v2"):
            seen.note(event)
            if event["event"] == "on_chain_stream" and event["name"] == "guarded":
                seen.pieces.append(event["data"]["chunk"])

    return in_a_loop(run)


def chat_model(script: Script) -> Seen:
    with recorded() as seen:
        subject = GuardedChatModel(model=Written(script=script), guard=script.guard())
        for chunk in subject.stream(QUESTION, {"callbacks": [_Listener(seen)]}, documents=[SOURCE]):
            seen.note(chunk)
            seen.pieces.append(str(chunk.text))
    return seen


def chat_model_events(script: Script) -> Seen:
    async def run(seen: Seen) -> None:
        subject = GuardedChatModel(model=Written(script=script), guard=script.guard()).bind(documents=[SOURCE])
        async for event in subject.astream_events(QUESTION, version="v2"):
            seen.note(event)
            if event["event"] == "on_chat_model_stream":
                seen.pieces.append(str(event["data"]["chunk"].text))

    return in_a_loop(run)


class _State(MessagesState):
    documents: list[str]


@tool
def look_up(what: str) -> str:
    """Look something up in the lease."""
    return SOURCE


def middleware(script: Script) -> Seen:
    """An agent with `GroundrailMiddleware`, in LangGraph's streams of messages, updates and custom events."""

    async def run(seen: Seen) -> None:
        guarding = GroundrailMiddleware(script.guard(), sources_of=lambda messages: [SOURCE])
        agent: Any = create_agent(Written(script=script), [look_up], middleware=[guarding])
        asked = {"messages": [HumanMessage(QUESTION)]}
        options = {"stream_mode": ["messages", "updates", "custom"], "config": {"callbacks": [_Listener(seen)]}}
        async for mode, told in agent.astream(asked, **options):
            seen.note(told)
            if mode == "messages" and isinstance(told[0], AIMessageChunk):
                seen.pieces.append(str(told[0].text))

    return in_a_loop(run)


def node(script: Script) -> Seen:
    """A graph with a `guarded_node`, in LangGraph's streams of messages, updates, values and custom events."""

    async def run(seen: Seen) -> None:
        graph = StateGraph(_State)
        graph.add_node("answer", guarded_node(Written(script=script), script.guard()))
        graph.add_edge(START, "answer")
        asked: Any = {"messages": [HumanMessage(QUESTION)], "documents": [SOURCE]}
        modes: Any = ["messages", "updates", "values", "custom"]
        async for mode, told in graph.compile().astream(asked, {"callbacks": [_Listener(seen)]}, stream_mode=modes):
            seen.note(told)
            if mode == "messages" and isinstance(told[0], AIMessageChunk):
                seen.pieces.append(str(told[0].text))

    return in_a_loop(run)


def callback(script: Script) -> Seen:
    """`GroundrailCallbackHandler`: the released text that it tells; the model's own chunks go past it."""
    with recorded() as seen:
        handler = GroundrailCallbackHandler(
            script.guard(), on_sentence=lambda sentence: seen.pieces.append(sentence.released_text)
        )
        config: Any = {"callbacks": [handler], "metadata": {"documents": [SOURCE]}}
        for chunk in Written(script=script).stream(QUESTION, config):
            seen.note(chunk)
    return seen


HOSTS = {
    "GuardedRunnable.stream": Host(runnable, (*AGAIN, "reasoning"), cheap=True),
    "GuardedRunnable.astream_events": Host(runnable_events, (*AGAIN, "reasoning")),
    "GuardedChatModel.stream": Host(chat_model, (*AGAIN, "reasoning"), cheap=True),
    "GuardedChatModel.astream_events": Host(chat_model_events, (*AGAIN, "reasoning")),
    "GroundrailMiddleware": Host(middleware, (*AGAIN, "reasoning", "tools")),
    "LangGraph `guarded_node`": Host(node, (*AGAIN, "reasoning")),
    "GroundrailCallbackHandler": Host(callback, (*TEXT, "reasoning"), holds_back=False),
}
