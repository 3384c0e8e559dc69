"""Structured output of a guarded chat model: an object goes out whole, once its fields are judged."""

import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.utils.function_calling import convert_to_json_schema
from pydantic import BaseModel

from groundrail.errors import GenerationError
from groundrail.guard import Guard
from groundrail.integrations.doors import metadata
from groundrail.integrations.langchain.call import ModelCall
from groundrail.integrations.langchain.guarded_run import AsyncWrite, Event, inner_config, quietly
from groundrail.integrations.langchain.parsed import plain, rebuilt
from groundrail.integrations.langchain.retrieved import SourceCollector, SourcedResult
from groundrail.objects.answers import ObjectFormat, as_answer
from groundrail.objects.results import ObjectResult
from groundrail.runtime.both_ways import run, value_of
from groundrail.text.rendering.visible import is_blank

if TYPE_CHECKING:
    from groundrail.integrations.langchain.chat_model import GuardedChatModel


class GuardedStructuredOutput(Runnable[LanguageModelInput, Any]):
    """Asks a chat model for an object, and returns it with null in the place of each refused field.

        GuardedChatModel(model=model).with_structured_output(Lease).invoke(question, documents=documents)

    The sources are the guarded chat model's. `include_raw=True` returns a dict with the object under "parsed" and a
    message under "raw", whose metadata holds the verdicts and citations by JSON pointer.

    Raises: UnsupportedObjectError if the schema does not allow null in the place of a refused field; GenerationError
    if the model wrote no object of the schema. `with_retry` asks again.
    """

    def __init__(self, chat: "GuardedChatModel", schema: Any, *, include_raw: bool = False, **kwargs: Any) -> None:
        self.name = "guarded_structured_output"
        wrapped: Any = chat.model
        self._structured: Any = wrapped.with_structured_output(schema, include_raw=True, **kwargs)
        self._chat, self._include_raw = chat, include_raw
        is_model = isinstance(schema, type) and issubclass(schema, BaseModel)
        self._schema = schema.model_json_schema(by_alias=False) if is_model else convert_to_json_schema(schema)

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The checked object."""
        return self._call_with_config(self._plain, input, config, **kwargs)

    async def ainvoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke` for an event loop."""
        return await self._acall_with_config(self._async, input, config, **kwargs)

    def _plain(self, input: LanguageModelInput, run_manager: BaseRunManager, **kwargs: Any) -> Any:
        return run(self._asked(input, run_manager, kwargs, is_async=False))

    async def _async(self, input: LanguageModelInput, run_manager: BaseRunManager, **kwargs: Any) -> Any:
        return await self._asked(input, run_manager, kwargs, is_async=True)

    async def _asked(
        self, input: LanguageModelInput, run_manager: BaseRunManager, kwargs: dict[str, Any], *, is_async: bool
    ) -> Any:
        chat = self._chat
        call = chat.call_for(chat.messages_of(input), kwargs.pop("documents", None), run_manager)
        traced = chat.guard.policy.keep_refused
        collector = SourceCollector(call.sources, chat.tools)
        config = inner_config(None, run_manager, collector, is_async=is_async, traced=traced)

        async def checked() -> AsyncGenerator[Any]:
            ask = self._structured.ainvoke if is_async else self._structured.invoke
            said = await value_of(ask(call.request("", ()), config, **kwargs))
            parsed = self._parsed(said, explained=traced)
            check: Any = chat.guard.acheck_object if is_async else chat.guard.check_object
            result = await value_of(check(plain(parsed), call.sources.documents, self._schema, call.question))
            yield self._told(said["raw"], parsed, result)

        (told,) = [each async for each in quietly(config, checked(), traced=traced)]
        return told

    def _parsed(self, said: dict[str, Any], *, explained: bool) -> Any:
        """The model's object. Raises: GenerationError if there is none."""
        error, parsed = said["parsing_error"], said["parsed"]
        if error is None and parsed is not None:
            return parsed
        reason = f": {error}" if error is not None and explained else ""
        raise GenerationError(f"the model wrote no object of the schema{reason}") from (error if explained else None)

    def _told(self, raw: AIMessage, parsed: Any, result: ObjectResult) -> Any:
        released = rebuilt(parsed, result)
        if not self._include_raw:
            return released
        message = AIMessage(
            content=json.dumps(result.object, ensure_ascii=False),
            response_metadata=metadata(raw.response_metadata) | {"groundrail": result.model_dump(mode="json")},
            usage_metadata=raw.usage_metadata,
        )
        return {"raw": message, "parsed": released, "parsing_error": None}


async def checked_answer(
    guard: Guard, write: AsyncWrite, call: ModelCall, wanted: ObjectFormat, *, is_async: bool
) -> AsyncGenerator[Event]:
    """The text that `write` gives, read whole and checked as an object: one sentence, then the result.

    A message that calls tools and has no text passes. Raises: InputError for a text that is no object of the schema;
    UnsupportedObjectError.
    """
    text = "".join([piece async for piece in write("", ())])
    if call.calls_tools and is_blank(text):
        yield SourcedResult(text="", answer="", threshold=guard.threshold)
        return
    check: Any = guard.acheck_object if is_async else guard.check_object
    result = await value_of(check(text, call.sources.documents, wanted.schema, call.question))
    answer = as_answer(text, result, keep_refused=guard.policy.keep_refused)
    for sentence in answer.sentences:
        yield sentence
    yield call.sources.result(answer, "the documents of the call")
