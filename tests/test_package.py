"""The package as it is installed: complete, light to import, honest about its names and extras."""

import doctest
import importlib
import importlib.metadata
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import groundrail

ROOT = Path(__file__).parent.parent
FOLDERS = {
    "groundrail": "guard",
    "groundrail.decoding": "decoding",
    "groundrail.integrations": "integrations",
    "groundrail.evaluation": "evaluation",
    "groundrail.papers": "papers",
    "groundrail.documents": "examples/documents",
}


def modules_of_the_tree() -> set[str]:
    return {
        f"{name.replace('.', '/')}/{path.relative_to(ROOT / folder)}"
        for name, folder in FOLDERS.items()
        for path in (ROOT / folder).rglob("*.py")
    }


def modules_with_examples() -> list[str]:
    paths = [(name, path) for name, folder in FOLDERS.items() for path in (ROOT / folder).rglob("*.py")]
    return sorted(
        ".".join([name, *path.relative_to(ROOT / FOLDERS[name]).with_suffix("").parts])
        for name, path in paths
        if ">>> " in path.read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_of_docstrings_print_what_they_say(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(build, check=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


@pytest.mark.slow
def test_the_wheel_holds_every_module_and_nothing_generic(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {name for name in names if name.endswith(".py")} == modules_of_the_tree()
    assert {name.split("/")[0] for name in names} == {"groundrail", f"groundrail-{groundrail.__version__}.dist-info"}


@pytest.mark.slow
def test_the_wheel_holds_the_judge_the_documents_and_the_type_marker(wheel: zipfile.ZipFile) -> None:
    sizes = {info.filename: info.file_size for info in wheel.infolist()}
    judge = {name: size for name, size in sizes.items() if name.startswith("groundrail/entailment/builtin/")}
    assert "groundrail/entailment/builtin/model.safetensors" in judge
    assert "groundrail/entailment/builtin/MODEL_CARD.md" in judge
    assert sum(judge.values()) <= 95e6
    assert {"groundrail/py.typed", "groundrail/documents/lease.txt"} <= set(sizes)
    assert {name for name in sizes if name.startswith("groundrail/report/templates/")} == {
        f"groundrail/report/templates/{path.name}" for path in (ROOT / "guard" / "report" / "templates").iterdir()
    }


def test_every_public_name_resolves() -> None:
    for name in groundrail.__all__:
        assert getattr(groundrail, name) is not None
    assert set(groundrail.__all__) <= set(dir(groundrail))
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = groundrail.nothing_here


def test_public_names_are_enumerated() -> None:
    assert sorted(groundrail.__all__) == [
        "AsyncGuardedStream", "Attempt", "ChatGuard", "CheckedField", "CheckedSentence", "Citation", "ClaimTooLongError", "Document",
        "GenerationError", "GroundrailError", "GroundrailWarning", "Guard", "GuardResult", "GuardedStream", "InputError",
        "MissingExtraError", "ModelError", "ObjectResult", "Policy", "ReadSource", "ScoringError", "SourceTooLongError", "Span",
        "UnsupportedError", "UnsupportedObjectError", "Verdict", "tune_allocator",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "package", ["groundrail.entailment", "groundrail.scoring", "groundrail.decoding", "groundrail.generators"]
)
def test_subpackages_resolve_what_they_export(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "unneeded"),
    [
        (
            "import groundrail.entailment, groundrail.scoring, groundrail.decoding, groundrail.integrations; "
            "from groundrail import Guard, Policy, Document",
            "torch transformers langchain_core rich sklearn httpx",
        ),
        ("import groundrail.evaluation", "sklearn scipy matplotlib rich torch"),
        (
            "import groundrail.cli.main; groundrail.cli.main.app(['check'])",
            "starlette uvicorn prometheus_client opentelemetry",
        ),
        ("from groundrail.cli.serve import Settings, app_of; app_of(Settings())", "transformers sympy torch._dynamo"),
        ("from groundrail import Guard; assert Guard().check('It is.', 'It is.')", "transformers sympy torch._dynamo"),
    ],
)
def test_nothing_is_imported_that_is_not_needed(program: str, unneeded: str) -> None:
    program += f"; import sys; print(*set({unneeded.split()}) & set(sys.modules))"
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == groundrail.__version__
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    newest = "Unreleased" if ".dev" in groundrail.__version__ else groundrail.__version__
    assert headings[0] == newest
    assert groundrail.__version__ not in headings[1:]
    assert importlib.metadata.version("groundrail") == groundrail.__version__


def test_every_job_of_a_workflow_ends_in_time() -> None:
    for path in (ROOT / ".github" / "workflows").iterdir():
        for name, job in yaml.safe_load(path.read_text())["jobs"].items():
            assert 0 < job["timeout-minutes"] <= 60, (path.name, name)


@pytest.mark.parametrize("extra", ["cli", "corpus", "ray", "eval", "serve", "mcp"])
def test_an_extra_of_a_command_has_what_the_command_line_prints_with(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert any(needed.startswith("cyclopts>=") for needed in project["optional-dependencies"][extra])
