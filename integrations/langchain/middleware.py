"""`GroundrailMiddleware`: guards the answers of a LangChain 1.x agent with the results of its tools.

Gives the agent's model call a guarded model, of this turn's sources. Holding text back and making messages of
what may go out is the guarded chat model's; needs the extra `langchain`.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import Any

from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, set_config_context
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from groundrail.errors import InputError, MissingExtraError
from groundrail.guard import Guard
from groundrail.integrations.langchain.call import ModelCall
from groundrail.integrations.langchain.chat_model import GuardedChatModel
from groundrail.integrations.langchain.guarded_run import AsyncWrite, Event, answer, asked, in_context, silenced
from groundrail.integrations.langchain.retrieved import (
    SourceDocuments,
    SourcedResult,
    of_tools,
    tool_names,
    tool_sources,
)
from groundrail.integrations.langchain.tool_watch import Ended, ToolWatch
from groundrail.runtime.both_ways import run, value_of
from groundrail.types import CheckedSentence, GuardResult

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
except ImportError as error:
    raise MissingExtraError("GroundrailMiddleware", "langchain") from error


class GroundrailMiddleware(AgentMiddleware[Any, Any]):
    """Guards an agent's answers: `create_agent(model, tools, middleware=[..., GroundrailMiddleware(guard)])`.

    guard: checks, and retries under its policy; its own generator is not used.
    source_tools: tools, or names of tools, whose results are sources; None for all. Sources are the results of calls
        since the user's last message. Text that a tool repeats from a call is no source (`groundrail.sources.echoes`).
    sources_of: finds further sources in the messages that the model is given, as in a prompt with documents.
    annotate: put citations on the answer's text block; False keeps its content a plain string.

    It comes last in the list, so that it guards the model which the others have chosen. An answer's sentences
    go out, streamed or not, once they are supported; the message is that of `GuardedChatModel`. A message that
    calls tools goes on as the model gave it, but for the first sentence of its text that is not supported and
    what follows it; nothing of it is retried, replaced or raised. Without any source sentences are NO_SOURCE,
    which the policy holds back unless told otherwise.
    """

    def __init__(
        self,
        guard: Guard | None = None,
        *,
        source_tools: Iterable[str | BaseTool] | None = None,
        sources_of: Callable[[Sequence[BaseMessage]], Any] | None = None,
        annotate: bool = True,
    ) -> None:
        super().__init__()
        self.guard = guard or Guard()
        self._options = {"tools": tool_names(source_tools), "sources_of": sources_of, "annotate": annotate}

    def wrap_model_call(
        self, request: "ModelRequest[Any]", handler: "Callable[[ModelRequest[Any]], ModelResponse[Any]]"
    ) -> "ModelResponse[Any]":
        """Call the model guarded.

        Raises: InputError for structured output, which no guard reads, and where a middleware after this one calls
        another model; UnsupportedError and what else the policy raises.
        """
        return run(self._called(request, handler))

    async def awrap_model_call(
        self, request: "ModelRequest[Any]", handler: "Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]"
    ) -> "ModelResponse[Any]":
        """`wrap_model_call` for an event loop."""
        return await self._called(request, handler)

    async def _called(self, request: "ModelRequest[Any]", handler: Callable[..., Any]) -> "ModelResponse[Any]":
        model, config = self._guarded(request)
        with set_config_context(config) as context:
            called = context.run(handler, request.override(model=model))
            response: ModelResponse[Any] = await in_context(context, value_of(called))
        return model.own(response)

    def _guarded(self, request: "ModelRequest[Any]") -> "tuple[_TurnModel, RunnableConfig]":
        """The model to call, and a config around it in which no other model's tokens reach a listener."""
        if request.response_format is not None:
            raise InputError(
                "a guarded agent has no response_format: ask GuardedChatModel.with_structured_output for the object, "
                "or check it with guard.check_object and leave this middleware out"
            )
        config, listeners = silenced(ensure_config())
        options: dict[str, Any] = self._options
        return _TurnModel(model=request.model, guard=self.guard, callbacks=listeners, **options), config


class _TurnModel(GuardedChatModel):
    """The guarded model of one model call in an agent: sources are this turn's, what calls tools passes."""

    _calls: list[ModelCall] = PrivateAttr(default_factory=list)
    """The call, once it is made; shared with the copies that have tools bound."""

    _given: list[AIMessage] = PrivateAttr(default_factory=list)

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        return self._passed_on(super().invoke(input, config, **kwargs))

    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AIMessage:
        return self._passed_on(await super().ainvoke(input, config, **kwargs))

    def own(self, response: "ModelResponse[Any]") -> "ModelResponse[Any]":
        """The response, whose messages are this model's. Raises: InputError if any is not."""
        given = {message.id for message in self._given}
        if any(isinstance(message, AIMessage) and message.id not in given for message in response.result):
            raise InputError(
                "a middleware after GroundrailMiddleware gave an answer that was not guarded; "
                "put GroundrailMiddleware last: middleware=[..., GroundrailMiddleware(guard)]"
            )
        return response

    def _passed_on(self, shown: AIMessage) -> AIMessage:
        message = self._calls[-1].said_with(shown) if self._calls[-1].calls_tools else shown
        self._given.append(message)
        return message

    def call_for(self, messages: list[BaseMessage], documents: Any, run_manager: BaseRunManager | None) -> ModelCall:
        """A call with the results of this turn's tools."""
        sources = SourceDocuments(tool_sources(messages, self.tools, since=_this_turn(messages)))
        if self.sources_of is not None:
            sources.add(self.sources_of(messages))
        call = ModelCall(messages, sources, annotate=self.annotate)
        self._calls.append(call)
        return call

    def _events(self, call: ModelCall, write: AsyncWrite, *, is_async: bool) -> AsyncGenerator[Event]:
        watch = ToolWatch(write, call, self.guard.policy.nearest_deadline, is_async=is_async)
        session = asked(watch.pieces, is_async=is_async)
        events = answer(self.guard, session, call.question, call.sources, self._looked_at, is_async=is_async)
        return watch.until_tools(events, self._ended(call))

    def _ended(self, call: ModelCall) -> Ended:
        def ended(sentences: Sequence[CheckedSentence]) -> SourcedResult:
            result = GuardResult(
                text="".join(sentence.released_text for sentence in sentences),
                answer="".join(sentence.text for sentence in sentences),
                sentences=tuple(sentences),
                threshold=self.guard.threshold,
            )
            return call.sources.result(result, self._looked_at)

        return ended

    @property
    def _looked_at(self) -> str:
        found = "" if self.sources_of is None else ", and sources_of"
        return f"the results of the tools called since the user's last message{of_tools(self.tools)}{found}"


def _this_turn(messages: Sequence[BaseMessage]) -> int:
    """Where the messages after the user's last one begin."""
    asked = [number for number, message in enumerate(messages) if isinstance(message, HumanMessage)]
    return asked[-1] + 1 if asked else 0
