"""Plain callables as generators: `function(prompt)`, `function(prompt, documents)`, with or without `prefix`."""

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any

from groundrail.errors import GenerationError, InputError
from groundrail.generators.base import Generator, Session
from groundrail.runtime.both_ways import closing, each, iterate, value_of
from groundrail.types import Document


class CallableGenerator(Generator):
    """Makes a generator of a callable.

    It is called as `function(prompt)`; with the documents too where it has a further parameter named `documents`, or
    else one without a default; and, if it has a parameter named `prefix`, with the accepted text to continue from. It returns text, or yields it in pieces; both may be
    async. Without `prefix` only the first sentence of an answer can be retried.

    `writes_ahead`: what yields pieces is asked for the next ones, in another thread, while a sentence is judged.
    Switch it off for a function that must stay in the caller's thread, or that needs the processor the judge is on.
    """

    def __init__(self, function: Callable[..., Any], *, writes_ahead: bool = True) -> None:
        self._function, self.writes_ahead = function, writes_ahead
        parameters = list(inspect.signature(function).parameters.values())
        self.takes_prefix = any(p.name == "prefix" for p in parameters)
        self._for_documents = _for_documents(parameters)

    def start(self, prompt: str, documents: Sequence[Document]) -> Session:
        """A session that calls the function when text is asked for."""
        return _CallableSession(self, prompt, documents)

    def call(self, prompt: str, documents: Sequence[Document], prefix: str) -> Any:
        """Call the function with as much as it has parameters for."""
        taken = self._for_documents
        by_place = taken is not None and taken.kind in (taken.POSITIONAL_ONLY, taken.VAR_POSITIONAL)
        by_name = {} if taken is None or by_place else {taken.name: documents}
        prefixed = {"prefix": prefix} if self.takes_prefix else {}
        return self._function(prompt, *([documents] if by_place else []), **by_name, **prefixed)


def _for_documents(parameters: Sequence[inspect.Parameter]) -> inspect.Parameter | None:
    """The parameter that the documents are for: one of that name, else the first after the prompt that must be given."""
    for parameter in parameters[1:]:
        if parameter.name == "documents":
            return parameter
    for number, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_POSITIONAL:
            return parameter
        needed = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        if number > 0 and needed and parameter.name != "prefix":
            return parameter
    return None


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
        is_async = isinstance(written, Awaitable) or hasattr(written, "__aiter__")
        return self._follow(written) if is_async else iterate(self._follow(written))

    def accept(self, n_chars: int) -> None:
        self._accepted += n_chars

    def reject(self, n_chars: int) -> None:
        self._written = self._written[: self._accepted]

    async def _follow(self, written: Any) -> AsyncGenerator[str]:
        written = await value_of(written)
        async with closing(each([written] if isinstance(written, str) else written)) as pieces:
            async for piece in pieces:
                yield self._noted(piece)

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
