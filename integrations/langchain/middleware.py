"""`GroundrailMiddleware`: guards the answers of a LangChain 1.x agent with the results of its tools.

Gives the agent's model call a guarded model, of this turn's sources. Holding text back and making messages of
what may go out is the guarded chat model's; needs the extra `langchain`.
"""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import Any, ClassVar

from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, patch_config
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from groundrail.errors import InputError, MissingExtraError
from groundrail.generators.asked import Refusal
from groundrail.guard import Guard
from groundrail.integrations.langchain.call import ModelCall
from groundrail.integrations.langchain.chat_model import GuardedChatModel
from groundrail.integrations.langchain.guarded_run import Event, configured, forwards_tokens, quieted
from groundrail.integrations.langchain.retrieved import SourceDocuments, of_tools, tool_names, tool_sources
from groundrail.runtime.both_ways import is_running, run, value_of
from groundrail.runtime.deadlines import calls, in_time
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
    sources_of: finds further sources in the messages that the model is given, as in a question with documents.
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
        if request.response_format is not None:
            raise InputError(
                "a guarded agent has no response_format: ask GuardedChatModel.with_structured_output for the object, "
                "or check it with guard.check_object and leave this middleware out"
            )
        config = ensure_config()
        around: Any = config.get("callbacks")
        listeners = [listener for listener in getattr(around, "handlers", around or ()) if forwards_tokens(listener)]
        options: dict[str, Any] = self._options
        model = _TurnModel(model=request.model, guard=self.guard, callbacks=listeners, **options)
        with configured(patch_config(config, callbacks=quieted(around))):  # no other model's tokens reach a listener
            response: ModelResponse[Any] = await value_of(handler(request.override(model=model)))
        if any(isinstance(message, AIMessage) and message.id not in model._given for message in response.result):
            raise InputError(
                "a middleware after GroundrailMiddleware gave an answer that was not guarded; "
                "put GroundrailMiddleware last: middleware=[..., GroundrailMiddleware(guard)]"
            )
        return response


class _TurnCall(ModelCall):
    """A call whose message may call tools: then it is no answer, and nothing that the guard finds is retried or raised.

    To see whether it does, the message is read to its end early; its reader gets the same pieces and the same failure.
    """

    _pieces: AsyncGenerator[str] | None = None
    _held: deque[str | Exception]

    async def write(self, accepted: str, refused: Sequence[Refusal]) -> AsyncGenerator[str]:
        """The text of a reply; none if the message before, which was refused, calls tools."""
        if await self._turns_to_tools():
            return
        self._pieces, self._held = super().write(accepted, refused), deque()
        while (piece := self._held.popleft() if self._held else await anext(self._pieces, None)) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def events(self) -> AsyncGenerator[Event]:
        """The events of an answer; a message that calls tools ends with the first sentence that would not go out."""
        shown: list[CheckedSentence] = []
        others: Sequence[CheckedSentence]
        events = super().events()
        try:
            async for event in events:
                if isinstance(event, CheckedSentence):
                    if not event.released and await self._turns_to_tools():
                        others = [event]
                        break
                    shown.append(event)
                yield event
            else:
                return
        except Exception as error:
            if not await self._turns_to_tools():
                raise
            result = getattr(error, "result", None)
            others = result.sentences[len(shown) :] if isinstance(result, GuardResult) else ()
        finally:
            await events.aclose()
            if self._pieces is not None and not is_running(self._pieces):
                await self._pieces.aclose()
        as_written = {"replacement": None, "corrected": None}
        sentences = (*shown, *(sentence.model_copy(update=as_written) for sentence in others))
        result = GuardResult(
            text="".join(sentence.released_text for sentence in sentences),
            answer="".join(sentence.text for sentence in sentences),
            sentences=sentences,
            threshold=self.guard.threshold,
        )
        yield self.sources.result(result)

    async def _turns_to_tools(self) -> bool:
        """Whether the current message calls tools: False if its end cannot be read, or not in time."""
        if self._pieces is None:
            return False
        timeout = self.guard.policy.nearest_deadline
        try:
            if self.is_async:
                await in_time(timeout, self._read_on(self._pieces))
            else:
                calls().within(timeout, lambda pieces: run(self._read_on(pieces)), self._pieces)
        except Exception as failure:  # the reader meets it when it gets there
            self._held.append(failure)
            return False
        return self.calls_tools

    async def _read_on(self, pieces: AsyncGenerator[str]) -> None:
        async for piece in pieces:
            self._held.append(piece)


class _TurnModel(GuardedChatModel):
    """The guarded model of one model call in an agent: sources are this turn's, a message that calls tools passes."""

    _kind: ClassVar[type[ModelCall]] = _TurnCall
    _calls: list[ModelCall] = PrivateAttr(default_factory=list)
    """The call, once it is made; shared with the copies that have tools bound."""
    _given: set[str | None] = PrivateAttr(default_factory=set)
    """The ids of its messages."""

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        return self._passed_on(super().invoke(input, config, **kwargs))

    async def ainvoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        return self._passed_on(await super().ainvoke(input, config, **kwargs))

    def _passed_on(self, shown: AIMessage) -> AIMessage:
        self._given.add(shown.id)
        return self._calls[-1].with_thoughts(shown)

    def _call(self, *asked: Any, **options: Any) -> ModelCall:
        self._calls.append(super()._call(*asked, **options))
        return self._calls[-1]

    def _sources(
        self, messages: Sequence[BaseMessage], documents: Any, run_manager: BaseRunManager | None
    ) -> SourceDocuments:
        found = "" if self.sources_of is None else ", and sources_of"
        looked_at = f"the results of the tools called since the user's last message{of_tools(self.tools)}{found}"
        return SourceDocuments(tool_sources(messages, self.tools, this_turn=True), looked_at=looked_at)
