"""Logic that is written once, as async code, and runs on an event loop or in plain code.

Plain code never awaits: it passes values and plain iterators. `value_of`, `each` and `closing` take either kind; `run`
and `iterate` are the plain way in.
"""

import inspect
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterable
from contextlib import asynccontextmanager
from types import AsyncGeneratorType
from typing import Any, TypeVar, cast

T = TypeVar("T")


def run(awaitable: Awaitable[T]) -> T:
    """The outcome of async code that waits for nothing: `run(value_of(3)) == 3`.

    Raises: RuntimeError where it waits for an event loop after all.
    """
    steps = awaitable.__await__()
    try:
        next(steps)
    except StopIteration as done:
        return cast(T, done.value)
    raise RuntimeError("plain code cannot wait for an event loop")


def iterate(items: AsyncGenerator[T]) -> Generator[T]:
    """A plain generator of the items of an async one that waits for nothing."""
    end = object()
    try:
        while (item := run(anext(items, end))) is not end:
            yield cast(T, item)
    finally:
        run(items.aclose())


async def value_of(value: T | Awaitable[T]) -> T:
    """A value, awaited where it has to be."""
    return await value if inspect.isawaitable(value) else value


def called(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function from async code, which cannot raise StopIteration: a RuntimeError says so instead."""
    try:
        return function(*arguments)
    except StopIteration as stopped:
        raise RuntimeError(f"{stopped!r} was raised") from stopped


def each(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    """The items of either kind of iterable, for `async for`."""
    return aiter(items) if isinstance(items, AsyncIterable) else _each_plain(items)


async def _each_plain(items: Iterable[T]) -> AsyncGenerator[T]:
    try:
        for item in items:
            yield item
    finally:
        if hasattr(items, "close"):
            items.close()


@asynccontextmanager
async def closing(held: T) -> AsyncIterator[T]:
    """Close something at the end of a block, by its `aclose` or its `close`, if it has either."""
    try:
        yield held
    finally:
        close: Any = getattr(held, "aclose", None) or getattr(held, "close", None)
        if close is not None:
            await value_of(close())


def is_running(items: AsyncIterator[T]) -> bool:
    """Whether a task is inside an async generator, which nobody else can close then."""
    return isinstance(items, AsyncGeneratorType) and items.ag_running
