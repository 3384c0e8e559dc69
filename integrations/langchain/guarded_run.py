"""One guarded answer of a LangChain runnable: its sentences as they are decided on, then the result.

The runnable and the chat model share it, in plain and in async code. They say what the runnable is asked and what its
chunks mean.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, BaseCallbackManager, CallbackManager
from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, patch_config, var_child_runnable_config
from langsmith import tracing_context

from groundrail import generators
from groundrail.errors import UnsupportedError
from groundrail.generators.asked import AskedSession, Refusal
from groundrail.guard import Guard
from groundrail.integrations.langchain.retrieved import SourceCollector, SourceDocuments, SourcedResult
from groundrail.runtime.both_ways import closing, each, iterate, value_of
from groundrail.types import CheckedSentence, Document

Event: TypeAlias = CheckedSentence | SourcedResult
T = TypeVar("T")
Write: TypeAlias = Callable[[str, Sequence[Refusal]], AsyncGenerator[str]]
"""(accepted text, refused sentences) -> pieces that follow the accepted text."""


@dataclass(eq=False)
class GuardedRun:
    """One answer under guard, in plain code or in async code.

    tools: names of the tools whose answers are sources; None for all.
    run_manager: of the run that answers. Without one (a chat model gets none while it streams) the chain around is
        the parent of the wrapped runnable's run.
    """

    guard: Guard
    sources: SourceDocuments
    tools: Collection[str] | None
    run_manager: BaseRunManager | None
    is_async: bool

    def __post_init__(self) -> None:
        self.traced = self.guard.policy.keep_refused
        callbacks = quieted(self.run_manager or ensure_config().get("callbacks"), traced=self.traced)
        self._collector = SourceCollector(self.sources, self.tools)
        callbacks.add_handler(self._collector)
        self.config = patch_config(None, callbacks=callbacks)

    async def asked(self, runnable: Runnable[Any, Any], input: Any, **options: Any) -> AsyncGenerator[Any]:
        """The chunks of the wrapped runnable. Raises: GenerationError if its last model stopped before the answer's end."""
        self._collector.stopped = None
        stream: Any = runnable.astream if self.is_async else runnable.stream
        async with closing(each(stream(input, self.config, **options))) as chunks:
            async for chunk in chunks:
                yield chunk
        self.require_whole()

    def require_whole(self) -> None:
        """Raises: GenerationError if the last model that ended below this run stopped before the answer's end."""
        if self._collector.stopped is not None:
            raise self._collector.stopped

    async def answer(self, question: str, write: Write | None, *, continues: bool = True) -> AsyncGenerator[Event]:
        """The sentences of the text that `write` gives, or the guard's own generator where that is None; the result.

        Raises: the exception of `write` where it fails before its first text.
        """
        guard = self.guard
        if write is not None:
            session = AskedSession(write if self.is_async else lambda *said: iterate(write(*said)), continues=continues)
            await value_of((session.aopen if self.is_async else session.open)(guard.policy.nearest_deadline))
            guard = guard.with_generator(_Opened(session))
        stream: Any = guard.astream if self.is_async else guard.stream
        async with closing(await value_of(stream(question, self.sources.documents))) as writing:
            try:
                async for sentence in each(writing.sentences()):
                    yield self.sources.explained(sentence)
            except UnsupportedError as error:
                raise self.sources.raised(error) from error
            yield self.sources.result(writing.result)


class _Opened(generators.Generator):
    """A generator that is asked once and has its session already."""

    def __init__(self, session: AskedSession) -> None:
        self._session = session

    def start(self, prompt: str, documents: Sequence[Document]) -> AskedSession:
        return self._session


async def quietly(config: RunnableConfig, events: AsyncGenerator[T], *, traced: bool = True) -> AsyncGenerator[T]:
    """The events, made under `config`; the code that reads them keeps its own config."""
    end: Any = object()
    try:
        while True:
            with configured(config, traced=traced):
                event = await anext(events, end)
            if event is end:
                return
            yield event
    finally:
        with configured(config, traced=traced):
            await events.aclose()


@contextmanager
def configured(config: RunnableConfig, *, traced: bool = True) -> Iterator[None]:
    """A block that runs under `config`.

    A model that is called without a config, by a runnable that drops it, by a generator or by a judge, finds this
    config. It does not find the config of the caller, whose handlers show every token. `traced`: whether LangSmith,
    where the environment turns it on, sees the unreleased text.
    """
    token = var_child_runnable_config.set(config)
    try:
        with nullcontext() if traced else tracing_context(enabled=False):
            yield
    finally:
        var_child_runnable_config.reset(token)


def quieted(around: Any, *, traced: bool = True) -> CallbackManager:
    """Callbacks for a run below the run or the callbacks `around`, where unreleased text is.

    Handlers that forward raw tokens to a consumer (`astream_events`, `astream_log`, LangGraph's streams) are left out:
    through them unreleased text would reach whoever listens. Tracers stay where the run is to be `traced`.
    """
    quiet = CallbackManager([])
    if isinstance(around, BaseRunManager | BaseCallbackManager):
        quiet.parent_run_id = getattr(around, "run_id", None) or around.parent_run_id
        for handler in around.inheritable_handlers:
            if type(handler) is SourceCollector or (traced and not forwards_tokens(handler)):
                quiet.add_handler(handler)
        quiet.add_tags(around.inheritable_tags)
        quiet.add_metadata(around.inheritable_metadata)
    return quiet


def forwards_tokens(handler: BaseCallbackHandler) -> bool:
    """Whether a handler gives raw tokens to a consumer: it taps runs, or takes a model's stream event by event.

    langchain-core streams to a consumer by these methods alone; the second came after 1.0.
    """
    taps = any(hasattr(handler, name) for name in ("tap_output_iter", "tap_output_aiter"))
    unused = [getattr(base, "on_stream_event", None) for base in (BaseCallbackHandler, AsyncCallbackHandler)]
    return taps or getattr(type(handler), "on_stream_event", None) not in [None, *unused]
