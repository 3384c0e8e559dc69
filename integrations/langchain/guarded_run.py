"""One guarded answer of a LangChain runnable: its sentences as they are decided on, then the result.

The runnable and the chat model share it, in plain and in async code, and the config of the wrapped runnable. They say
what the runnable is asked and what its chunks mean.
"""

import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import ExitStack
from contextvars import Context
from typing import Any, TypeAlias, TypeVar

from langchain_core.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManager,
    BaseCallbackHandler,
    BaseCallbackManager,
    CallbackManager,
)
from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, patch_config, set_config_context
from langsmith import tracing_context

from groundrail import generators
from groundrail.errors import UnsupportedError
from groundrail.generators.asked import AskedSession, Pieces
from groundrail.guard import Guard
from groundrail.integrations.langchain.retrieved import SourceCollector, SourceDocuments, SourcedResult
from groundrail.runtime.both_ways import closing, each, iterate, value_of
from groundrail.types import CheckedSentence, Document

Event: TypeAlias = CheckedSentence | SourcedResult
T = TypeVar("T")
AsyncWrite: TypeAlias = Callable[[str, Sequence[str]], AsyncGenerator[str]]
"""(accepted text, refused sentences) -> pieces that follow the accepted text."""


def asked(write: AsyncWrite, *, is_async: bool, continues: bool = True) -> AskedSession:
    """A session that asks by `write`, in plain code by a plain iterator."""

    def written(accepted: str, refused: Sequence[str]) -> Pieces:
        pieces = write(accepted, refused)
        return pieces if is_async else iterate(pieces)

    return AskedSession(written, continues=continues)


async def answer(
    guard: Guard, session: AskedSession | None, prompt: str, sources: SourceDocuments, looked_at: str, *, is_async: bool
) -> AsyncGenerator[Event]:
    """Drive `session`, or the guard's own generator where there is none, against `sources`.

    Raises: the session's own exception where it fails before its first text.
    """
    if session is not None:
        deadline = guard.policy.nearest_deadline
        if is_async:
            await session.aopen(deadline)
        else:
            session.open(deadline)
        guard = guard.with_generator(_Started(session))
    stream: Any = guard.astream if is_async else guard.stream
    async with closing(await value_of(stream(prompt, sources.documents))) as writing:
        try:
            async for sentence in each(writing.sentences()):
                yield sources.explained(sentence, looked_at)
        except UnsupportedError as error:
            raise sources.raised(error, looked_at) from error
        yield sources.result(writing.result, looked_at)


async def quietly(config: RunnableConfig, events: AsyncGenerator[T], *, traced: bool = True) -> AsyncGenerator[T]:
    """The events, made in a context whose config is `config`.

    A model that is called without a config, by a runnable that drops it, by a generator or by a judge, finds this
    config. It does not find the config of the caller, whose handlers show every token. `traced`: whether LangSmith,
    where the environment turns it on, sees the unreleased text.
    """
    end: Any = object()
    with set_config_context(config) as context, ExitStack() as ending:
        _set_tracing(context, ending, traced)
        try:
            while (event := await in_context(context, anext(events, end))) is not end:
                yield event
        finally:
            await in_context(context, events.aclose())


@types.coroutine
def in_context(context: Context, awaitable: Awaitable[T]) -> Generator[Any, Any, T]:
    """Await something in a context of its own, without a task, so that plain code can do it as well."""
    steps: Any = awaitable.__await__()
    given: Any = None
    resume = steps.send
    while True:
        try:
            awaited = context.run(resume, given)
        except StopIteration as done:
            outcome: T = done.value
            return outcome
        try:
            resume, given = steps.send, (yield awaited)
        except BaseException as raised:  # such as the cancellation of the task, which the awaitable handles
            resume, given = steps.throw, raised


def _set_tracing(context: Context, ending: ExitStack, traced: bool) -> None:
    """Turn LangSmith off in `context`, until `ending`, where nothing is to be traced."""
    if not traced:
        off = tracing_context(enabled=False)
        context.run(off.__enter__)
        ending.callback(context.run, off.__exit__, None, None, None)


def inner_config(
    config: RunnableConfig | None,
    run_manager: BaseRunManager | None,
    collector: SourceCollector,
    *,
    is_async: bool,
    traced: bool = True,
) -> RunnableConfig:
    """A config for the wrapped runnable: its run is a child, its retrievers and tools report to `collector`.

    Without a run manager (a chat model gets none while it streams) the chain around is the parent. Handlers
    that forward raw tokens to a consumer (`astream_events`, `astream_log`, LangGraph's streams) are left out:
    through them unreleased text would reach whoever listens. Tracers stay where the run is to be `traced`.
    """
    around = run_manager or ensure_config().get("callbacks")
    parent = getattr(around, "run_id", None) or getattr(around, "parent_run_id", None)
    manager = (AsyncCallbackManager if is_async else CallbackManager)([], parent_run_id=parent)
    if isinstance(around, BaseRunManager | BaseCallbackManager):
        for handler in around.inheritable_handlers:
            if isinstance(handler, SourceCollector) or (traced and not forwards_tokens(handler)):
                manager.add_handler(handler)
        manager.add_tags(around.inheritable_tags)
        manager.add_metadata(around.inheritable_metadata)
    manager.add_handler(collector)
    return patch_config(config, callbacks=manager)


def silenced(config: RunnableConfig) -> tuple[RunnableConfig, list[BaseCallbackHandler]]:
    """The config without the handlers that forward raw tokens, and these handlers."""
    around = config.get("callbacks")
    quiet = around.copy() if isinstance(around, BaseCallbackManager) else CallbackManager(list(around or []))
    listeners = [handler for handler in quiet.handlers if forwards_tokens(handler)]
    for handler in listeners:
        quiet.remove_handler(handler)
    return patch_config(config, callbacks=quiet), listeners


def forwards_tokens(handler: BaseCallbackHandler) -> bool:
    """Whether a handler gives raw tokens to a consumer: it taps runs, or takes a model's stream event by event.

    langchain-core streams to a consumer by these methods alone; the second came after 1.0.
    """
    taps = any(hasattr(handler, name) for name in ("tap_output_iter", "tap_output_aiter"))
    unused = [getattr(base, "on_stream_event", None) for base in (BaseCallbackHandler, AsyncCallbackHandler)]
    return taps or getattr(type(handler), "on_stream_event", None) not in [None, *unused]


class _Started(generators.Generator):
    """A generator that is asked once and has its session already."""

    def __init__(self, session: AskedSession) -> None:
        self._session = session

    def start(self, prompt: str, documents: Sequence[Document]) -> AskedSession:
        return self._session
