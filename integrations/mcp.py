"""An MCP server: agents check their own drafts and find the sentence that supports a claim.

Built on the official Python SDK, over standard input and output or streamable HTTP. The guard decides; this module names
the sources, keeps to the folder that was given at the start, and says the result as data and as text for people.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundrail.cli.scorers import ScorerChoice
from groundrail.errors import GroundrailError, InputError, MissingExtraError
from groundrail.guard import Guard
from groundrail.policy import Fallback
from groundrail.report.telling import correction
from groundrail.types import Citation, Document, GuardResult, Verdict, as_documents

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.tools import Tool

LARGEST = 2_000_000
"""Characters of an answer and its sources, and bytes of a file."""
_KEPT = 20
_FALLBACKS = tuple(name for name in get_args(get_args(Fallback)[0]) if name != "raise")
_INSTRUCTIONS = (
    "Check every answer that you write from sources with `check`, before you give it: say what it returns as `text`. "
    "`cite` finds the sentence that supports one claim."
)

Texts = Annotated[list[str], Field(description="Texts of sources.")]
Files = Annotated[list[str], Field(description="Paths of source files below the server's root.")]
Question = Annotated[str, Field(description="The question that the answer is for.")]
Threshold = Annotated[
    float | str | None,
    Field(description="The score from which a sentence counts, not below the server's: a number, or strict."),
]
ForUnsupported = Annotated[str | None, Field(description=f"For unsupported sentences: {', '.join(_FALLBACKS)}.")]


class CitedPlace(BaseModel):
    """A place in a source: characters `start` to `end` of a document."""

    document: str
    start: int
    end: int
    text: str


class CheckedSentence(BaseModel):
    """A sentence of the answer; `released` is the text that goes out for it, empty where none does.

    corrected: the detail that was exchanged for the source's, "1,450 euros, not 1,650 euros".
    """

    text: str
    verdict: str
    released: str
    corrected: str
    score: float | None
    reason: str | None
    citations: list[CitedPlace]


class Checked(BaseModel):
    """A checked answer. `text`: the text that the sources support; `report`: the resource that shows it as a page."""

    supported: bool
    text: str
    sentences: list[CheckedSentence]
    report: str


class Cited(BaseModel):
    """The places that support a claim; none if no source does, and then `nearest` are the closest ones."""

    supported: bool
    citations: list[CitedPlace]
    nearest: list[CitedPlace]
    reason: str | None


class LoadedSource(BaseModel):
    """A source that counts in every call without sources of its own."""

    document: str
    characters: int


class Loaded(BaseModel):
    """The sources that are loaded, and the folder to which the paths of files are relative; None where none may be named."""

    sources: list[LoadedSource]
    root: str | None


def create_server(
    guard: Guard, sources: Sequence[Document] = (), *, root: str | Path | None = None, largest: int = LARGEST
) -> "MCPServer[Any]":
    """The server, to `run` over a transport, or to hand to the SDK's client.

    sources: count in every call that names none.
    root: the folder below which callers may name files; None for no files.

        create_server(Guard(), root="contracts").run("streamable-http", port=8090)

    Raises: InputError for two sources of one name; MissingExtraError without the extra `mcp`.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
        from mcp.server.mcpserver.tools import Tool
        from mcp.types import CallToolResult, TextContent
    except ImportError as error:
        raise MissingExtraError("groundrail mcp", "mcp") from error
    checks = _Checks(guard, _Sources(as_documents(list(sources)), None if root is None else Path(root).resolve(), largest))

    async def replied(judging: Awaitable[tuple[BaseModel, str]]) -> CallToolResult:
        try:
            found, text = await judging
        except ValidationError as error:
            raise ToolError(f"{error.errors()[0]['loc'][0]}: {error.errors()[0]['msg']}") from None
        except GroundrailError as error:
            raise ToolError(str(error)) from None
        data = found.model_dump(mode="json")
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)

    async def check(
        answer: str,
        sources: Texts = [],  # noqa: B006
        files: Files = [],  # noqa: B006
        question: Question = "",
        threshold: Threshold = None,
        fallback: ForUnsupported = None,
    ) -> Annotated[CallToolResult, Checked]:
        """Check an answer against sources: a verdict, a reason and citations for each sentence, and the supported text."""
        return await replied(checks.check(answer, sources, files, question, threshold=threshold, fallback=fallback))

    async def cite(
        claim: str,
        sources: Texts = [],  # noqa: B006
        files: Files = [],  # noqa: B006
    ) -> Annotated[CallToolResult, Cited]:
        """Find the sentence of the sources that supports a claim, or learn that none does."""
        return await replied(checks.cite(claim, sources, files))

    tools = [_strict(Tool.from_function(*each)) for each in ((check,), (cite,), (checks.list_sources, "sources"))]
    server: MCPServer[Any] = MCPServer("groundrail", instructions=_INSTRUCTIONS, log_level="WARNING", tools=tools)

    @server.resource("groundrail://reports/{name}", mime_type="text/html", title="The report of a check")
    async def report(name: str) -> str:
        """One self-contained page: the answer beside its sources."""
        page = checks.reports.get(f"groundrail://reports/{name}")
        if page is None:
            raise ResourceNotFoundError(f"the last {_KEPT} reports are kept, and this is none of them")
        return page

    return server


class _Checks:
    """The checks of one server: its guard, its sources, and the last reports by their address."""

    def __init__(self, guard: Guard, sources: "_Sources") -> None:
        self._guard, self._sources = guard, sources
        self.reports: OrderedDict[str, str] = OrderedDict()

    async def check(
        self, answer: str, texts: list[str], files: list[str], question: str, **rules: Any
    ) -> tuple[Checked, str]:
        """The checked answer, and the same as Markdown. Raises: InputError, ValidationError, as the guard."""
        result, documents = await self._judged(answer, texts, files, question, **rules)
        address = f"groundrail://reports/{secrets.token_urlsafe(16)}"
        self.reports[address] = await asyncio.to_thread(result.to_html, documents, question=question)
        while len(self.reports) > _KEPT:
            self.reports.popitem(last=False)
        return _checked(result, address), result.to_markdown(held_back=True)

    async def cite(self, claim: str, texts: list[str], files: list[str]) -> tuple[Cited, str]:
        """The places that support a claim, and the same as text. Raises: as `check`."""
        result, _ = await self._judged(claim, texts, files, "", fallback="drop")
        found = _cited(result)
        lines = [f'"{place.text}" ({place.document})' for place in found.citations]
        return found, "\n".join(lines) or f"No source supports it: {found.reason or 'there is no claim in it'}."

    async def list_sources(self) -> Loaded:
        """The sources that count in every call which names none, and the root of the files that may be named."""
        listed = [LoadedSource(document=each.id, characters=len(each.text)) for each in self._sources.loaded]
        return Loaded(sources=listed, root=None if self._sources.root is None else ".")

    async def _judged(
        self, answer: str, texts: list[str], files: list[str], question: str, **rules: Any
    ) -> tuple[GuardResult, list[Document]]:
        documents = await asyncio.to_thread(self._sources.of_call, texts, files, len(answer))
        return await _ruled(self._guard, rules).acheck(answer, documents, question), documents


def _strict(tool: "Tool") -> "Tool":
    """The tool, which refuses arguments that it does not know, where the SDK's leaves them out."""

    class Known(tool.fn_metadata.arg_model):  # type: ignore[misc, name-defined]
        model_config = ConfigDict(extra="forbid")

    metadata = tool.fn_metadata.model_copy(update={"arg_model": Known})
    return tool.model_copy(update={"fn_metadata": metadata, "parameters": Known.model_json_schema(by_alias=True)})


def _ruled(guard: Guard, rules: dict[str, Any]) -> Guard:
    """The guard under the rules of a call that are not None. Raises: InputError, ValidationError."""
    rules = {name: rule for name, rule in rules.items() if rule is not None}
    if rules.get("fallback") not in (None, *_FALLBACKS):
        raise InputError(f"a fallback is one of {', '.join(_FALLBACKS)}")
    ruled = guard.with_policy(guard.policy.replacing(**rules)) if rules else guard
    if not guard.threshold <= ruled.threshold <= max(1.0, guard.threshold):
        raise InputError(f"threshold: pass a number from {guard.threshold:.3g}, the server's own, to 1")
    return ruled


class _Sources(NamedTuple):
    """The sources that are loaded, the folder below which a call may name files, and the most characters of a call."""

    loaded: Sequence[Document]
    root: Path | None
    largest: int

    def of_call(self, texts: Sequence[str], files: Sequence[str], taken: int) -> list[Document]:
        """The sources of a call. Raises: InputError for none, for too much, and for a file that may not be read."""
        room = self.largest - taken
        given = (Document(text=text, id=f"source-{number}") for number, text in enumerate(texts, 1))
        named = (self._below_root(name, room) for name in dict.fromkeys(files))
        counted: Iterable[Document] = chain(given, named) if texts or files else self.loaded
        found: list[Document] = []
        for document in counted:
            found.append(document)
            room -= len(document.text)
            if room < 0:
                raise InputError("answer and sources are too large: pass the parts of the sources that the answer is about")
        if not found:
            raise InputError("there is no source: pass sources, name files, or start groundrail mcp with --source")
        return found

    def _below_root(self, name: str, largest: int) -> Document:
        """A file below the root. Raises: InputError, in the same words for whatever stands elsewhere."""
        if self.root is None:
            raise InputError("no file may be named: start groundrail mcp with --root")
        try:
            path = (self.root / name).resolve()
            is_file = path.is_relative_to(self.root) and path.is_file()
        except (OSError, ValueError, RuntimeError):  # too long a name, a null byte, links in a circle
            is_file = False
        if not is_file:
            raise InputError(f"{name!r} is no file below the root")
        return _read(path, str(path.relative_to(self.root)), largest)


def _read(path: Path, name: str, largest: int) -> Document:
    try:
        if path.stat().st_size > largest:
            raise InputError(f"{name!r} is too large: pass the part of it that the answer is about")
        return Document.from_file(path, id=name)
    except OSError as error:
        raise InputError(f"{name!r} cannot be read: {error.strerror}") from None
    except InputError as error:  # a caller sees no path above the root
        raise InputError(str(error).replace(str(path), name)) from None


def _checked(result: GuardResult, report: str) -> Checked:
    sentences = [
        CheckedSentence(
            text=sentence.text,
            verdict=sentence.verdict,
            released=sentence.released_text,
            corrected=correction(sentence),
            score=sentence.score,
            reason=sentence.reason,
            citations=_places(sentence.supporting),
        )
        for sentence in result.sentences
    ]
    return Checked(supported=result.supported, text=result.text, sentences=sentences, report=report)


def _cited(result: GuardResult) -> Cited:
    claims = [sentence for sentence in result.sentences if sentence.verdict is not Verdict.NO_CLAIM]
    supported = bool(claims) and all(sentence.verdict is Verdict.SUPPORTED for sentence in claims)
    places = _places(citation for sentence in claims for citation in sentence.citations)
    reason = next((sentence.reason for sentence in claims if sentence.reason), None)
    return Cited(
        supported=supported,
        citations=places if supported else [],
        nearest=[] if supported else places,
        reason=None if supported else reason,
    )


def _places(citations: Any) -> list[CitedPlace]:
    distinct: dict[Citation, None] = dict.fromkeys(citations)
    return [CitedPlace(document=c.document_id, start=c.start, end=c.end, text=c.text) for c in distinct]


def mcp(
    *,
    source: tuple[str, ...] = (),
    root: Path | None = None,
    http: int | None = None,
    scoring: ScorerChoice = ScorerChoice(),
) -> int:
    """Serve MCP, so that agents check their own drafts.

    Args:
        source: files, the sources of calls that name none
        root: folder below which callers may name files (no files)
        http: serve streamable HTTP on this port of 127.0.0.1, not standard input and output
    """
    sources = [_read(Path(name), name, LARGEST) for name in source]
    if root is not None and not root.is_dir():
        raise InputError(f"--root is no folder: {root}")
    server = create_server(Guard(scorer=scoring.load()), sources, root=root)
    if http is None:
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=http)
    return 0
