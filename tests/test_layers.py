"""The order of the rooms: each imports only rooms before it, even inside functions, and no modules import in a circle.

The only imports upwards are in methods that read a value from a file or show it: `Document.from_pdf`, `result.to_html`.
"""

import ast
import re
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
    "papers.pretrained papers.units evaluation papers __main__"
).split()
DOOR = re.compile("to_|as_|from_|_repr_")


def modules() -> dict[str, Path]:
    found = {}
    for folder, package in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = path
    return found


def imported(node: ast.AST) -> Iterator[str]:
    """The names that code imports at any depth, but for type checking and in methods that read a file or call a view."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.FunctionDef) and DOOR.match(child.name):
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module is not None:
            yield from (name for alias in child.names for name in (child.module, f"{child.module}.{alias.name}"))
        yield from imported(child)


def imports() -> dict[str, set[str]]:
    """Each module -> the modules that it imports."""
    paths = modules()
    packages = {name for name, path in paths.items() if path.name == "__init__.py"}
    found: dict[str, set[str]] = {}
    for module, path in paths.items():
        names = set(imported(ast.parse(path.read_text(encoding="utf-8"))))
        inner = {name.rpartition(".")[0] for name in names if name in paths} & packages
        found[module] = {name for name in names if name in paths} - inner - {module}
    return found


def room(module: str) -> str:
    inside = module.removeprefix("groundrail").lstrip(".")
    two = ".".join(inside.split(".")[:2])
    return two if two in ORDER else inside.split(".")[0] or "__init__"


def test_no_modules_import_in_a_circle() -> None:
    found = imports()
    assert found["groundrail.guard"] >= {"groundrail.types", "groundrail.policy", "groundrail.generation.loop"}
    TopologicalSorter(found).prepare()


def test_each_room_imports_only_rooms_before_it() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, names in imports().items()
        for name in names
        if ORDER.index(room(name)) > ORDER.index(room(module))
    ]
    assert not wrong
