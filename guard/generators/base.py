"""The seam to generators: writers of text that a guard can stop, rewind and start again; a plain callable is one, too.

Other adapters are beside this module, language models with caches in `groundrail.decoding`;
`groundrail.generation.loop` decides what to reject.
"""

import inspect
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, runtime_checkable

from groundrail.errors import GenerationError, InputError
from groundrail.runtime.both_ways import closing, each, iterate, value_of
from groundrail.runtime.deadlines import calls
from groundrail.runtime.former import refuse_former
from groundrail.types import Document


@runtime_checkable
class Session(Protocol):
    """One answer being written. Subclass it for the defaults.

    The text is what was accepted, then what was proposed and not yet decided on.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        refuse_former(cls, "told")

    @property
    def can_retry(self) -> bool:
        """Whether it can write on after a rejection now."""
        return True

    @property
    def cut_off(self) -> str:
        """Why the answer was cut off, so that half a sentence is not released; "" if it is complete."""
        return ""

    @property
    def writes_ahead(self) -> bool:
        """Whether it can, and should, write on while what it wrote is being judged.

        Its iterator is then asked for pieces in another thread, by one at a time, and `accept` may be called meanwhile.
        Useless if the text arrives by itself, as from a server. Asked at the start and before every judgement.
        """
        return False

    @property
    def stats(self) -> Mapping[str, float]:
        """Its own counts, for `GuardResult.generation`."""
        return {}

    @abstractmethod
    def propose(self) -> Iterator[str] | AsyncIterator[str]:
        """Write on after the accepted text, in pieces of any size, until the answer ends."""
        ...

    @abstractmethod
    def accept(self, n_chars: int) -> None:
        """The first `n_chars` undecided characters stay; an iterator in use goes on."""
        ...

    def show(self, evidence: str) -> None:
        """The source says `evidence` instead of the text that is rejected next. A session may show it to its model."""
        return

    @abstractmethod
    def reject(self, n_chars: int) -> None:
        """The first `n_chars` undecided characters are refused and everything undecided is forgotten.

        The next `propose` starts after the accepted text and should not write the refused again.
        """
        ...

    def close(self) -> None:
        """End the session: free caches, connections, slots. May be called more than once."""
        return


@runtime_checkable
class Generator(Protocol):
    """Anything that can start an answer. Subclass it: only `start` is required."""

    @abstractmethod
    def start(self, question: str, documents: Sequence[Document]) -> Session:
        """Begin an answer to `question` from `documents`; nothing needs to be written yet."""
        ...

    async def astart(self, question: str, documents: Sequence[Document]) -> Session:
        """`start` without blocking the event loop, by default in a thread."""
        return await calls().awithin(None, self.start, question, documents, late=close_late)


@runtime_checkable
class InProcess(Protocol):
    """A generator whose model is in this process. A judge that asks the same model has to wait for it."""

    weights: object
    """The model that writes, to be compared with `JudgeMetadata.weights`."""


def close_late(started: "Future[Session]") -> None:
    """Close a session that was started too late, if it was started."""
    if started.exception() is None:
        started.result().close()


_CONTINUED = frozenset({"accepted", "prefix"})
"""Names of a callable's parameter for the accepted text."""

_NAMED = _CONTINUED | {"refused"}
"""Names of a callable's parameters that are for the answer so far."""


class CallableGenerator(Generator):
    """Makes a generator of a callable.

    It is called as `function(question)`; with the documents too where it has a further parameter named `documents`, or
    else one without a default. A parameter named `accepted` (or `prefix`) gets the accepted text to continue from, one named
    `refused` the sentences that were refused in its next place. It returns text, or yields it in pieces; both may be
    async. Without `accepted` only the first sentence of an answer can be retried.

    `writes_ahead`: what yields pieces is asked for the next ones, in another thread, while a sentence is judged.
    Switch it off for a function that must stay in the caller's thread, or that needs the processor the judge is on.
    """

    def __init__(self, function: Callable[..., Any], *, writes_ahead: bool = True) -> None:
        self._function, self.writes_ahead = function, writes_ahead
        parameters = list(inspect.signature(function).parameters.values())
        self._named = {parameter.name for parameter in parameters} & _NAMED
        self.continues = bool(self._named & _CONTINUED)
        self._for_documents = _for_documents(parameters)

    def start(self, question: str, documents: Sequence[Document]) -> Session:
        """A session that calls the function when text is asked for."""
        return _CallableSession(self, question, documents)

    def call(self, question: str, documents: Sequence[Document], accepted: str, refused: tuple[str, ...]) -> Any:
        """Call the function with as much as it has parameters for."""
        taken = self._for_documents
        by_place = taken is not None and taken.kind in (taken.POSITIONAL_ONLY, taken.VAR_POSITIONAL)
        by_name = {} if taken is None or by_place else {taken.name: documents}
        known: dict[str, Any] = {"refused": refused, **dict.fromkeys(_CONTINUED, accepted)}
        so_far = {name: known[name] for name in self._named}
        return self._function(question, *([documents] if by_place else []), **by_name, **so_far)


def _for_documents(parameters: Sequence[inspect.Parameter]) -> inspect.Parameter | None:
    """The parameter that the documents are for: one of that name, else the first after the question that must be given."""
    for parameter in parameters[1:]:
        if parameter.name == "documents":
            return parameter
    for number, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_POSITIONAL:
            return parameter
        needed = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        if number > 0 and needed and parameter.name not in _NAMED:
            return parameter
    return None


class _CallableSession(Session):
    def __init__(self, generator: CallableGenerator, question: str, documents: Sequence[Document]) -> None:
        self._generator, self._prompt, self._documents = generator, question, documents
        self._written = ""  # grows as pieces are read, which may be ahead of the accepted text
        self._accepted = 0  # characters of it
        self._refused: tuple[str, ...] = ()

    @property
    def can_retry(self) -> bool:
        return self._generator.continues or not self._accepted

    @property
    def writes_ahead(self) -> bool:
        return self._generator.writes_ahead

    def propose(self) -> Iterator[str] | AsyncIterator[str]:
        if not self.can_retry:
            raise GenerationError("this callable cannot continue from accepted text; give it a parameter named `accepted`")
        accepted = self._written[: self._accepted]
        written = self._generator.call(self._prompt, self._documents, accepted, self._refused)
        is_async = isinstance(written, Awaitable) or hasattr(written, "__aiter__")
        return self._follow(written) if is_async else iterate(self._follow(written))

    def accept(self, n_chars: int) -> None:
        self._accepted += n_chars
        self._refused = ()

    def reject(self, n_chars: int) -> None:
        self._refused += (self._written[self._accepted :][:n_chars].strip(),)
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
    raise InputError(f"a generator is a callable or has start(question, documents), not {type(generator).__name__}")
