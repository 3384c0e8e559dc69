"""The files of the built-in judge are read only if they are the ones that were shipped."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from groundrail.entailment import builtin

SENTENCE = "The rent is 950 euros.\n"


def changed(weights: Path) -> None:
    with weights.open("r+b") as opened:
        opened.seek(50_000_000)
        byte = opened.read(1)
        opened.seek(50_000_000)
        opened.write(bytes([byte[0] ^ 1]))


def truncated(weights: Path) -> None:
    with weights.open("r+b") as opened:
        opened.truncate(1_000_000)


@pytest.mark.parametrize("spoil", [changed, truncated, Path.unlink])
def test_weights_with_other_bytes_are_one_line_and_exit_code_2(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    files = Path(shutil.copytree(builtin.folder(), tmp_path / "builtin"))
    spoil(files / builtin.WEIGHTS)
    text = tmp_path / "text.txt"
    text.write_text(SENTENCE)
    code = f"""
import contextlib, pathlib, sys
from groundrail.entailment import builtin
builtin.files = lambda name: pathlib.Path({str(files)!r})
from groundrail.cli.main import main
sys.exit(main(["check", {str(text)!r}, "--source", {str(text)!r}]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("groundrail: ")
    assert done.stderr.count("\n") == 1
    assert "einstall groundrail" in done.stderr


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_missing_package_is_one_line_and_exit_code_2(tmp_path: Path, package: str) -> None:
    text = tmp_path / "text.txt"
    text.write_text(SENTENCE)
    code = f"""
import sys
sys.modules[{package!r}] = None
from groundrail.cli.main import main
sys.exit(main(["check", {str(text)!r}, "--source", {str(text)!r}]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"groundrail: {package} cannot be imported")
    assert done.stderr.count("\n") == 1
