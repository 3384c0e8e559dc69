"""Plain callables as generators: `function(prompt)`, `function(prompt, documents)`, with or without `prefix`."""

import collections.abc
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

from groundrail.errors import GenerationError, InputError
from groundrail.generators.base import Generator, Session
from groundrail.types import Document


class CallableGenerator(Generator):
    """Makes a generator of a callable.

    It is called as `function(prompt)`; with the documents too where it has a second parameter without a
    default, or one named `documents`; and, if it has a parameter named `prefix`, with the accepted text to
    continue from. It returns text, or yields it in pieces; both may be
    async. Without `prefix` only the first sentence of an answer can be retried.

    `writes_ahead`: what yields pieces is asked for the next ones, in another thread, while a sentence is judged.
    Switch it off for a function that must stay in the caller's thread, or that needs the processor the judge is on.
    """

    def __init__(self, function: Callable[..., Any], *, writes_ahead: bool = True) -> None:
        self._function, self.writes_ahead = function, writes_ahead
        parameters = inspect.signature(function).parameters.values()
        positional = [
            p
            for p in parameters
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            and (p.default is p.empty or p.name == "documents")
        ]
        self.takes_prefix = any(p.name == "prefix" for p in parameters)
        self._takes_documents = any(p.kind is p.VAR_POSITIONAL for p in parameters) or (
            len([p for p in positional if p.name != "prefix"]) > 1
        )

    def start(self, prompt: str, documents: Sequence[Document]) -> Session:
        """A session that calls the function when text is asked for."""
        return _CallableSession(self, prompt, documents)

    def call(self, prompt: str, documents: Sequence[Document], prefix: str) -> Any:
        """Call the function with as much as it has parameters for."""
        arguments = (prompt, documents) if self._takes_documents else (prompt,)
        return self._function(*arguments, **({"prefix": prefix} if self.takes_prefix else {}))


class _CallableSession(Session):
    def __init__(self, generator: CallableGenerator, prompt: str, documents: Sequence[Document]) -> None:
        self._generator, self._prompt, self._documents = generator, prompt, documents
        self._written = ""  # added to by whoever reads, perhaps ahead of what is accepted
        self._accepted = 0  # characters of it

    @property
    def can_retry(self) -> bool:
        return self._generator.takes_prefix or not self._accepted

    @property
    def writes_ahead(self) -> bool:
        return self._generator.writes_ahead

    def propose(self) -> Iterator[str] | AsyncIterator[str]:
        if not self.can_retry:
            raise GenerationError(
                "this callable cannot continue from accepted text; give it a parameter named `prefix`"
            )
        written = self._generator.call(self._prompt, self._documents, self._written[: self._accepted])
        if isinstance(written, Awaitable) or hasattr(written, "__aiter__"):
            return self._follow_async(written)
        return self._follow(written)

    def accept(self, n_chars: int) -> None:
        self._accepted += n_chars

    def reject(self, n_chars: int) -> None:
        self._written = self._written[: self._accepted]

    def _follow(self, written: str | Iterable[str]) -> collections.abc.Generator[str]:
        try:
            for piece in [written] if isinstance(written, str) else written:
                yield self._noted(piece)
        finally:
            getattr(written, "close", lambda: None)()

    async def _follow_async(self, written: Any) -> AsyncIterator[str]:
        if isinstance(written, Awaitable):
            written = await written
        if hasattr(written, "__aiter__"):
            try:
                async for piece in written:
                    yield self._noted(piece)
            finally:
                if hasattr(written, "aclose"):
                    await written.aclose()
        else:
            with closing(self._follow(written)) as pieces:
                for piece in pieces:
                    yield piece

    def _noted(self, piece: Any) -> str:
        if not isinstance(piece, str):
            raise GenerationError(f"the generator gave {type(piece).__name__}; it must return or yield text")
        self._written += piece
        return piece


def as_generator(generator: Generator | Callable[..., Any]) -> Generator:
    """A generator as it is, a callable wrapped. Raises: InputError for anything else."""
    if isinstance(generator, Generator):
        return generator
    if callable(generator):
        return CallableGenerator(generator)
    raise InputError(f"a generator is a callable or has start(prompt, documents), not {type(generator).__name__}")
