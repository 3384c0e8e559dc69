"""A model that cannot be had is said at once: nothing is loaded for a missing folder, and a dead hub is asked once."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from groundrail.runtime.places import answers


@pytest.fixture
def port() -> Iterator[int]:
    """A port on which a server listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_host_answers_or_not(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert answers(f"http://127.0.0.1:{port}")
    assert not answers("http://127.0.0.1:9")
    assert not answers("https://hub.invalid")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid")
    assert answers("https://hub.invalid")  # the proxy may reach it


@pytest.mark.parametrize("name", ["./nothing", "minicheck-flan-t5-large:./nothing"])
def test_a_missing_folder_is_said_before_a_model_library_is_imported(name: str) -> None:
    program = f"""
import sys
from groundrail import ModelError
from groundrail.entailment import load
try:
    load({name!r})
except ModelError as error:
    print(error)
print("transformers" in sys.modules, "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "./nothing" in done.stdout
    assert done.stdout.endswith("False False\n")


@pytest.mark.slow
def test_a_hub_that_does_not_answer_is_not_asked_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    program = "from groundrail.entailment import load\nload('someone/nothing')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "ModelError" in done.stderr
    assert "Retrying" not in done.stderr
