"""Parts of a guard that do as a test tells them: a scorer, a session, a generator."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from groundrail import Document, Guard, GuardResult
from groundrail.generators import Generator, Session
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.testing import shares_all_words
from groundrail.types import Source, as_documents

SOURCE = "The lease ends on 28 February 2026. The rent is 950 euros a month. Pets are not allowed."
TRUE, FALSE = "The rent is 950 euros. ", "The rent is 990 euros. "


def nothing(*given: object) -> None:
    """Do nothing."""


def raising(error: BaseException) -> Callable[..., Any]:
    """A function that raises the error."""

    def fail(*given: object) -> Any:
        raise error

    return fail


class Scoring(Scorer):
    """Scores by whether the source has all words of a claim. `before`: called with the claims; a list stands for the scores."""

    def __init__(self, before: Callable[[Sequence[str]], object] = nothing) -> None:
        self.before = before
        self.reads = 0
        self.calls: list[Sequence[str]] = []

    def read(self, source: Source) -> Reader:
        self.reads += 1
        return Prepared(self.judge, as_documents(source))

    def judge(self, claims: Sequence[str], documents: Sequence[Document]) -> list[Score]:
        self.calls.append(claims)
        given, (document, *_) = self.before(claims), documents
        by_words = [Score(shares_all_words(document.text, claim), (document.cite(0, 3, 1.0),)) for claim in claims]
        return given if isinstance(given, list) else by_words


class Told(Session):
    """Writes a text, or what a function writes; calls a function when it is told something, and one when it is closed."""

    def __init__(
        self,
        text: str | Callable[[], Iterator[str]],
        told: Callable[[], object] = nothing,
        closed: Callable[[], object] = nothing,
    ) -> None:
        self._text, self._told, self._closed = text, told, closed

    def propose(self) -> Iterator[str]:
        return iter([self._text]) if isinstance(self._text, str) else self._text()

    def accept(self, n_chars: int) -> None:
        self._told()

    def reject(self, n_chars: int) -> None:
        self._told()

    def close(self) -> None:
        self._closed()


class Starting(Generator):
    """A generator whose sessions come from a function."""

    def __init__(self, start: Callable[..., Session]) -> None:
        self._start = start

    def start(self, prompt: str, documents: Sequence[Document]) -> Session:
        return self._start()


def doubling(levels: int, last: dict[str, Any]) -> dict[str, Any]:
    """A schema that asks for `last` twice as often at each level."""
    parts = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/a0", "$defs": {**parts, f"a{levels}": last}}


def install_wheels(monkeypatch: Any, folder: Path, entry_points: str) -> None:
    """A package named wheels with these entry points, as pip would leave it in the folder."""
    (facts := folder / "wheels-1.0.dist-info").mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: wheels\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(entry_points)
    monkeypatch.syspath_prepend(str(folder))


def generated(subject: Guard, is_async: bool) -> GuardResult:
    """The result of `agenerate` or of `generate`."""
    return asyncio.run(subject.agenerate("?", SOURCE)) if is_async else subject.generate("?", SOURCE)


def both_ways(subject: Guard) -> list[GuardResult]:
    """The result of `generate` and of `agenerate`."""
    return [generated(subject, False), generated(subject, True)]


def first_text(subject: Guard, is_async: bool, source: Source = SOURCE) -> str:
    """The first text of a stream, which is left then."""

    async def afirst() -> str:
        async with await subject.astream("?", source) as stream:
            return await anext(aiter(stream))

    if is_async:
        return asyncio.run(afirst())
    with subject.stream("?", source) as stream:
        return next(iter(stream))
