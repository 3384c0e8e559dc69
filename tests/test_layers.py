"""Views stand above the values that they show: nothing below imports them, not even inside a function."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundrail.runtime.lazy import VIEWS, view

ROOT = Path(__file__).parents[1]
FOLDERS = {"guard": "groundrail"} | {
    name: f"groundrail.{name}" for name in ("decoding", "integrations", "evaluation", "papers")
}


def modules() -> dict[str, Path]:
    found = {}
    for folder, package in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = path
    return found


def imported(node: ast.AST) -> Iterator[str]:
    """The names that code imports at any depth, but for type checking."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module is not None:
            yield from (name for alias in child.names for name in (child.module, f"{child.module}.{alias.name}"))
        yield from imported(child)


def reached(module: str, paths: dict[str, Path]) -> set[str]:
    """The modules that a module imports, and those that they import."""
    found, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name in paths and name not in found:
            found.add(name)
            waiting += imported(ast.parse(paths[name].read_text(encoding="utf-8")))
    return found


@pytest.mark.parametrize("module", ["types", "guard", "chat", "generation.streams", "generation.loop"])
def test_no_value_imports_a_view_of_it(module: str) -> None:
    found = reached(f"groundrail.{module}", modules())
    assert "groundrail.errors" in found
    assert not {name for name in found if name.startswith(("groundrail.report", "groundrail.integrations"))}


def test_an_engine_does_not_import_what_starts_it() -> None:
    assert "groundrail.corpus.folder" not in reached("groundrail.integrations.ray", modules())


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_is_there(name: str) -> None:
    assert callable(view(name))
