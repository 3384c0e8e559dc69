"""The order of the rooms: each imports only rooms before it, even inside functions, and no modules import in a circle.

The only imports upwards are in the methods of `DOORS`, which read a value from a file or show it when a user calls them.
"""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = {"guard": "groundrail"} | {
    name: f"groundrail.{name}" for name in ("decoding", "integrations", "evaluation", "papers")
}
ORDER = (
    "errors runtime __init__ text facts types calibration policy sources entailment generators scoring "
    "generation objects decoding openai guard chat testing report corpus serve cli integrations "
    "evaluation papers __main__"
).split()
DOORS = {
    ("types.Document.from_file", "sources.files"),
    ("types.Document.from_pdf", "sources.files"),
    ("types.Document.from_html", "sources.html"),
    ("types.Document.from_docx", "sources.word"),
    ("types.GuardResult.to_html", "report.html"),
    ("types.GuardResult.to_markdown", "report.markdown"),
    ("types.GuardResult._repr_html_", "report.html"),
    ("guard.Guard.as_runnable", "integrations.langchain.runnable"),
}
"""Methods, each with the module of a later room that it imports when it is called."""


def modules() -> dict[str, Path]:
    found = {}
    for folder, package in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = path
    return found


def imported(node: ast.AST, inside: str) -> Iterator[tuple[str, str]]:
    """Where code imports, as a dotted name of module, class and function, and what; imports for type checking are left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from ((inside, alias.name) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module is not None:
            yield from ((inside, name) for alias in child.names for name in (child.module, f"{child.module}.{alias.name}"))
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imported(child, f"{inside}.{child.name}")
        else:
            yield from imported(child, inside)


def imports() -> dict[str, set[tuple[str, str]]]:
    """Each module -> the places in it that import another module, and that module."""
    paths = modules()
    packages = {name for name, path in paths.items() if path.name == "__init__.py"}
    found: dict[str, set[tuple[str, str]]] = {}
    for module, path in paths.items():
        read = imported(ast.parse(path.read_text(encoding="utf-8")), module)
        places = {(place, name) for place, name in read if name in paths and name != module}
        inner = {name.rpartition(".")[0] for _, name in places} & packages
        found[module] = {(place, name) for place, name in places if name not in inner}
    return found


def short(name: str) -> str:
    return name.removeprefix("groundrail").lstrip(".")


def room(module: str) -> str:
    return short(module).split(".")[0] or "__init__"


def test_no_modules_import_in_a_circle() -> None:
    found = {
        module: {name for place, name in places if (short(place), short(name)) not in DOORS}
        for module, places in imports().items()
    }
    assert found["groundrail.guard"] >= {"groundrail.types", "groundrail.policy", "groundrail.generation.loop"}
    TopologicalSorter(found).prepare()


def test_each_room_imports_only_rooms_before_it_but_for_the_doors() -> None:
    upwards = {
        (short(place), short(name))
        for module, places in imports().items()
        for place, name in places
        if ORDER.index(room(name)) > ORDER.index(room(module))
    }
    assert upwards == DOORS
