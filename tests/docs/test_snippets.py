"""The runnable snippets of the docs and the README run, and print what the pages say.

A block fenced as `python runnable` is run, the blocks of a page one after another in one namespace; a `text`
block right after it is its output, but for white space at the ends of lines. `OPENAI_BASE_URL` is a small server on loopback,
and the current folder an empty one. Of all other blocks the groundrail names that Python ones import are looked up, and the
`groundrail` command lines of console ones are parsed.
"""

import ast
import contextlib
import importlib
import io
import json
import re
import shlex
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.http_servers import QuietHandler, serving

from groundrail.cli.main import app

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(
    r"^```python runnable\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```$)?", re.DOTALL | re.MULTILINE
)


class Snippet(NamedTuple):
    line: int
    code: str
    output: str | None


def snippets(page: Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    return [
        Snippet(text.count("\n", 0, match.start("code")), match["code"], match["output"]) for match in _BLOCK.finditer(text)
    ]


TEXTS = [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]
PAGES = [page for page in TEXTS if snippets(page)]


class _Server(QuietHandler):
    """Writes one true and one false sentence; as a judge, says No to the false one."""

    def do_POST(self) -> None:
        body = json.loads(self.body())
        asked = body["messages"][-1]["content"]
        if body.get("stream"):
            pieces = ["The rent is 1,450 euros per month. ", "The lease ends on ", "30 June 2027."]
            events = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
            content = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        else:
            token = {"token": "No" if "2027" in asked else "Yes", "logprob": -0.1}
            content = json.dumps({"choices": [{"logprobs": {"content": [token]}}]})
        self.send(200, content)


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), _Server)) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{running.server_port}/v1")
        yield


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page.stem == "huggingface"), id=page.stem) for page in PAGES],
)
def test_a_page_runs_and_prints_what_it_says(page: Path) -> None:
    namespace: dict[str, Any] = {"__name__": page.stem}
    for snippet in snippets(page):
        printed = io.StringIO()
        padding = "\n" * snippet.line
        with contextlib.redirect_stdout(printed):
            exec(compile(padding + snippet.code, str(page), "exec"), namespace)
        if snippet.output is not None:
            assert _trimmed(printed.getvalue()) == _trimmed(snippet.output), f"{page.name}, line {snippet.line}"


@pytest.mark.parametrize("name", ["index", "choosing", "policies", "report", "langchain", "chat", "openai", "objects"])
def test_the_pages_that_promise_a_snippet_have_one(name: str) -> None:
    assert DOCS / f"{name}.md" in PAGES


def test_the_readme_has_one() -> None:
    assert TEXTS[-1] in PAGES


_FENCED = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
_ENDS_COMMAND = frozenset(["#", "&", "&&", "|"])


def imports(code: str) -> list[tuple[str, str]]:
    """The modules of groundrail that a block names, each with a name from it, empty for the module alone."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
    return [(module, name) for module, name in found if module.partition(".")[0] == "groundrail"]


def commands(console: str) -> list[list[str]]:
    """The arguments of a block's `groundrail` command lines."""
    lines = console.replace("\\\n", " ").splitlines()
    split = [shlex.split(line) for line in lines if line.startswith("groundrail ")]
    ends = [next((n for n, word in enumerate(words) if word in _ENDS_COMMAND), len(words)) for words in split]
    return [words[1:end] for words, end in zip(split, ends, strict=True)]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_what_a_page_names_exists(page: Path) -> None:
    for match in _FENCED.finditer(page.read_text(encoding="utf-8")):
        if match["kind"].startswith("python"):
            for module, name in imports(match["body"]):
                found = importlib.import_module(module)
                assert not name or hasattr(found, name), (module, name)
        elif match["kind"] in ("", "console"):
            for command in commands(match["body"]):
                assert callable(app(command).parse_args(command, exit_on_error=False, print_error=False)[0])


def test_names_and_commands_are_found_in_the_pages() -> None:
    blocks = [match for page in TEXTS for match in _FENCED.finditer(page.read_text(encoding="utf-8"))]
    assert sum(len(imports(match["body"])) for match in blocks if match["kind"].startswith("python")) > 40
    assert sum(len(commands(match["body"])) for match in blocks) > 10
