"""The MCP server, asked by the SDK's own client: in one process, over standard input and output, and over HTTP."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.server.mcpserver import MCPServer
from tests.conformance.scripts import FALSE, QUESTION, SOURCE, TRUE

from groundrail import Document, Guard, InputError, Policy
from groundrail.cli.scorers import ScorerChoice
from groundrail.integrations.mcp import create_server, mcp
from groundrail.testing import FakeEntailment

LEASE = Document(text=SOURCE, id="lease")


def asked(
    ask: Callable[[Client], Coroutine[Any, Any, Any]], *sources: Document, policy: Policy | None = None, **options: Any
) -> Any:
    """The answer that a client gets from a server in this process."""
    guard = Guard(scorer="scale", judge=FakeEntailment(), policy=policy)

    async def run() -> Any:
        async with Client(create_server(guard, sources, **options)) as client:
            return await ask(client)

    return asyncio.run(run())


def called(
    tool: str, *sources: Document, policy: Policy | None = None, root: Any = None, largest: int = 10**6, **arguments: Any
) -> Any:
    return asked(lambda client: client.call_tool(tool, arguments), *sources, policy=policy, root=root, largest=largest)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("check", {"answer": TRUE[0], "treshold": 0.99}),
        ("cite", {"claim": TRUE[0], "threshold": 0.99}),
        ("sources", {"root": "/"}),
    ],
)
def test_an_argument_that_a_tool_does_not_know_is_an_error(tool: str, arguments: dict[str, Any]) -> None:
    result = asked(lambda client: client.call_tool(tool, arguments), LEASE)
    assert result.is_error
    assert set(arguments) & set(result.content[0].text.split())


def test_check_tells_verdicts_reasons_citations_and_the_supported_text() -> None:
    result = called("check", LEASE, answer=TRUE[0] + FALSE[0], question=QUESTION)
    told = result.structured_content
    assert (told["supported"], told["text"]) == (False, TRUE[0])
    right, wrong = told["sentences"]
    assert (right["verdict"], wrong["verdict"], wrong["released"]) == ("supported", "unsupported", "")
    (place,) = right["citations"]
    assert SOURCE[place["start"] : place["end"]] == place["text"]
    assert place["document"] == "lease"
    assert FALSE[0].strip() in result.content[0].text


def test_a_check_s_report_is_a_page_of_its_own() -> None:
    async def ask(client: Client) -> list[Any]:
        checks = [await client.call_tool("check", {"answer": text, "sources": [SOURCE]}) for text in TRUE]
        pages = [await client.read_resource(check.structured_content["report"]) for check in checks]
        with pytest.raises(MCPError, match="report"):
            await client.read_resource("groundrail://reports/another")
        return [page.contents[0] for page in pages]

    for text, page in zip(TRUE, asked(ask), strict=True):
        assert page.mime_type == "text/html"
        assert text.strip() in page.text


def test_cite_finds_the_sentence_or_says_that_there_is_none() -> None:
    found = called("cite", claim=TRUE[1], sources=["Cats fly.", SOURCE]).structured_content
    assert found["supported"]
    assert [(place["document"], place["text"]) for place in found["citations"]] == [("source-2", TRUE[1].strip())]
    none = called("cite", LEASE, claim=FALSE[0])
    assert not none.structured_content["supported"]
    assert none.structured_content["citations"] == []
    assert "No source supports it" in none.content[0].text


def test_sources_are_listed() -> None:
    told = called("sources", LEASE).structured_content
    assert told == {"sources": [{"document": "lease", "characters": len(SOURCE)}], "root": None}


def test_every_tool_has_a_schema_of_what_it_gives() -> None:
    tools = asked(lambda client: client.list_tools()).tools
    assert {tool.name for tool in tools} == {"check", "cite", "sources"}
    assert all(tool.output_schema["properties"] and tool.description for tool in tools)


def test_files_are_those_below_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (root / "in" / "lease.txt").write_text(SOURCE, encoding="utf-8")
    (root / "lease.html").write_text(f"<p>{SOURCE}</p>", encoding="utf-8")
    (tmp_path / "secret.txt").write_text(SOURCE, encoding="utf-8")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "image.png").write_bytes(b"\xff\xfe")
    for name in ("in/lease.txt", "lease.html"):
        told = called("cite", claim=TRUE[1], files=[name], root=root).structured_content
        assert [place["document"] for place in told["citations"]] == [name]
    (root / "circle.txt").symlink_to("circle.txt")
    os.mkfifo(root / "pipe.txt")
    outside = ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "in/../../secret.txt", "/dev/zero")
    for name in (*outside, "missing.txt", "in", "", "circle.txt", "pipe.txt", "a" * 5000, "a\0.txt"):
        refused = called("cite", claim=TRUE[1], files=[name], root=root)
        assert refused.is_error
        assert "is no file below the root" in refused.content[0].text
    message = called("cite", claim=TRUE[1], files=["image.png"], root=root).content[0].text
    assert "image.png is not UTF-8 text" in message
    assert str(root) not in message
    assert "--root" in called("cite", claim=TRUE[1], files=["in/lease.txt"]).content[0].text


def test_what_cannot_be_checked_is_the_tool_s_error_and_the_server_goes_on(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text(SOURCE * 20, encoding="utf-8")

    async def ask(client: Client) -> list[Any]:
        wrong: list[dict[str, Any]] = [
            {"answer": TRUE[0]},
            {"answer": TRUE[0], "sources": [SOURCE * 20]},
            {"answer": SOURCE * 20, "sources": [SOURCE]},
            {"answer": TRUE[0], "files": ["large.txt"]},
            {"answer": TRUE[0], "sources": [SOURCE], "fallback": "raise"},
            {"answer": TRUE[0], "sources": [SOURCE], "threshold": "high"},
        ]
        return [await client.call_tool("check", call) for call in [*wrong, {"answer": TRUE[0], "sources": [SOURCE]}]]

    *errors, right = asked(ask, root=tmp_path, largest=500)
    said = ["no source", "too large", "too large", "too large", "fallback", "threshold"]
    assert [word in error.content[0].text for word, error in zip(said, errors, strict=True)] == [True] * 6
    assert all(error.is_error for error in errors)
    assert right.structured_content["supported"]


@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.5, "lenient"])
def test_the_caller_may_not_lower_the_threshold(threshold: float | str) -> None:
    policy = Policy(threshold=0.7)
    refused = called("check", LEASE, policy=policy, answer=FALSE[0], threshold=threshold)
    assert refused.is_error
    assert "threshold" in refused.content[0].text
    assert not called("check", LEASE, policy=policy, answer=TRUE[0], threshold=0.9).is_error


def test_the_root_is_told_without_its_place(tmp_path: Path) -> None:
    assert called("sources", root=tmp_path).structured_content["root"] == "."


def test_the_caller_may_choose_the_rules() -> None:
    flagged = called("check", LEASE, answer=TRUE[0] + FALSE[0], fallback="flag").structured_content
    assert flagged["text"] == TRUE[0] + FALSE[0]
    assert not flagged["supported"]
    corrected = called("check", LEASE, answer=TRUE[0].replace("950", "990"), fallback="correct")
    assert corrected.structured_content["text"] == TRUE[0]
    assert corrected.structured_content["sentences"][0]["corrected"] == "950 euros, not 990 euros"
    assert "950 euros, not 990 euros" in corrected.content[0].text
    for threshold, supported in ((None, True), (0.5, False)):
        strict = called("check", LEASE, policy=Policy(threshold=0.0), answer=FALSE[0], threshold=threshold)
        assert strict.structured_content["supported"] is supported


def test_one_file_counts_once_and_large_files_are_not_all_read(tmp_path: Path) -> None:
    (tmp_path / "lease.txt").write_text(SOURCE, encoding="utf-8")
    told = called("check", answer=TRUE[0], files=["lease.txt"] * 3, root=tmp_path)
    assert told.structured_content["supported"]
    (tmp_path / "broken.txt").write_bytes(b"\xff")
    names = ["lease.txt", "./lease.txt", "broken.txt"]
    largest = int(1.5 * len(SOURCE))
    refused = called("check", answer=TRUE[0], files=names, root=tmp_path, largest=largest)
    assert "too large" in refused.content[0].text


def test_the_command_reads_its_sources_by_their_own_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []
    monkeypatch.setattr(MCPServer, "run", lambda server, *transport, **options: served.append(server))
    names = [tmp_path / part / "lease.txt" for part in ("a", "b")]
    for name in names:
        name.parent.mkdir()
        name.write_text(SOURCE, encoding="utf-8")
    link = tmp_path / "link.txt"
    link.symlink_to(names[0])

    async def listed() -> Any:
        async with Client(served[-1]) as client:
            return (await client.call_tool("sources", {})).structured_content

    mcp(source=(*map(str, names), str(link)), scoring=ScorerChoice("overlap"))
    assert [source["document"] for source in asyncio.run(listed())["sources"]] == [*map(str, names), str(link)]
    for wrong, said in (((str(link), str(link)), "id"), ((str(tmp_path),), "is a folder"), (("none",), "cannot be read")):
        with pytest.raises(InputError, match=said):
            mcp(source=wrong, scoring=ScorerChoice("overlap"))


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_command_serves_both_transports(transport: str, tmp_path: Path) -> None:
    (tmp_path / "lease.txt").write_text(SOURCE, encoding="utf-8")
    program = [sys.executable, "-m", "groundrail", "mcp", "--source", str(tmp_path / "lease.txt")]

    async def ask(client: Client) -> Any:
        return await client.call_tool("check", {"answer": "The rent is 950 euros a month. The rent is 990 euros a month."})

    async def over_stdio() -> Any:
        async with Client(StdioServerParameters(command=program[0], args=program[1:])) as client:
            return await ask(client)

    async def over_http(port: int) -> Any:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                await asyncio.sleep(0.1)
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            return await ask(client)

    if transport == "stdio":
        result = asyncio.run(over_stdio())
    else:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with subprocess.Popen([*program, "--http", str(port)], stderr=subprocess.DEVNULL) as server:
            try:
                result = asyncio.run(over_http(port))
            finally:
                server.terminate()
    assert result.structured_content["text"].strip() == "The rent is 950 euros a month."
