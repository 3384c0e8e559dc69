"""`groundrail serve` as a process of its own, and what it says of arguments it cannot use."""

import os
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from tests.guard.serve.conftest import KEY, asking

from groundrail.cli.main import app, main
from groundrail.cli.serve import with_keys
from groundrail.serve.settings import Settings


def settings_of(*given: str) -> Settings:
    _, bound, _ = app(["serve"]).parse_args(["serve", *given], exit_on_error=False, print_error=False)
    return with_keys(bound.arguments.get("settings", Settings()))


def started(*arguments: str, **environment: str) -> tuple["subprocess.Popen[str]", str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "groundrail.cli.main", "serve", "--port", "0", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if match := re.search(r"serving on (\S+)/", line):
            return process, match[1]
    raise RuntimeError(f"the server ended with {process.wait()}")


@pytest.mark.slow
def test_the_command_serves_with_keys_from_the_environment_until_it_is_told_to_stop(upstream, tmp_path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('fallback = "abstain"\nabstention = "Nobody knows."\nattempts = 1\n', encoding="utf-8")
    process, address = started(
        "--upstream", upstream.url, "--policy", str(policy), GROUNDRAIL_API_KEY="door", GROUNDRAIL_UPSTREAM_API_KEY=KEY
    )
    try:
        assert address.startswith("http://127.0.0.1:")
        assert httpx.get(address + "/").status_code == 200
        body = {**asking(), "documents": ["Nothing about it."]}
        assert httpx.post(address + "/v1/chat/completions", json=body, timeout=60).status_code == 401
        headers = {"x-api-key": "door"}
        answer = httpx.post(address + "/v1/chat/completions", json=body, headers=headers, timeout=60).json()
        assert answer["choices"][0]["message"]["content"] == "Nobody knows."
        assert upstream.headers[0]["authorization"] == f"Bearer {KEY}"
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode in (0, 130)
    assert "Traceback" not in said
    assert KEY not in said
    assert "Nothing about it" not in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--upstream", "localhost:8000"], "--upstream"),
        (["--upstream", "http://"], "--upstream"),
        (["--upstream", "http://localhost:80000/v1"], "--upstream"),
        (["--upstream", "http://[::1/v1"], "--upstream"),
        (["--api-key", ""], "--api-key"),
        (["--upstream-api-key", ""], "--upstream-api-key"),
        (["--max-concurrency", "0"], "--max-concurrency"),
        (["--max-bodies", "0"], "--max-bodies"),
        (["--body-timeout", "0"], "--body-timeout"),
        (["--timeout", "-1"], "--timeout"),
        (["--markers", "", "x"], "--markers"),
        (["--upstream", "http://localhost:1/v1", "--demo-model"], "two writers"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(capsys, arguments, said) -> None:
    assert main(["serve", *arguments]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert len(printed.splitlines()) == 1


@pytest.mark.parametrize(("variable", "key"), [("", None), ("door", "door")])
def test_a_variable_that_is_set_to_nothing_is_no_key(monkeypatch, variable, key) -> None:
    """As the compose file passes on what was not given."""
    for name in ("GROUNDRAIL_API_KEY", "GROUNDRAIL_UPSTREAM_API_KEY"):
        monkeypatch.setenv(name, variable)
    settings = settings_of()
    for found in (settings.api_key, settings.upstream_api_key):
        assert (None if found is None else found.get_secret_value()) == key


def test_tools_that_count_are_named() -> None:
    assert settings_of().source_tools is None
    settings = settings_of("--source-tools", "search", "read")
    assert settings.source_tools == frozenset({"search", "read"})


def test_hosts_and_limits_of_requests_reach_the_settings() -> None:
    settings = settings_of()
    assert (settings.allowed_hosts, settings.max_bodies, settings.body_timeout) == (frozenset(), 128, 30)
    given = ["--allowed-hosts", "Gate.example", "other.example", "--max-bodies", "7", "--body-timeout", "3"]
    settings = settings_of(*given)
    assert settings.allowed_hosts == frozenset({"gate.example", "other.example"})
    assert (settings.max_bodies, settings.body_timeout) == (7, 3)


def test_a_port_in_use_is_one_line(capsys) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", "--port", str(taken.getsockname()[1])]) == 2
    assert "cannot listen on 127.0.0.1" in capsys.readouterr().err
