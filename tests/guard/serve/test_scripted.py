"""The container's two services and the docs' settings: what they name exists, and together they do what the docs say."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from scripted_upstream import create_upstream
from tests.guard.serve.conftest import running

from groundrail.cli.main import app
from groundrail.serve.policy_file import KEYS, read_policy

ROOT = Path(__file__).parents[3]
LEASE = "The rent is 950 euros a month. Pets are not allowed in the flat. The lease ends on 28 February 2026."


def test_the_scripted_upstream_is_guarded(serve, client) -> None:
    with running(create_upstream()) as upstream:
        asking = client(serve(upstream=f"{upstream}/v1"))
        assert [model.id for model in asking.models.list()] == ["scripted"]
        chunks = list(
            asking.chat.completions.create(
                model="scripted",
                messages=[{"role": "user", "content": "How much is the rent a month?"}],
                extra_body={"documents": [LEASE]},
                stream=True,
            )
        )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert "The rent is 950 euros a month." in text
    assert "283" not in text


def test_the_scripted_upstream_writes_what_it_is_told(http) -> None:
    with running(create_upstream(piece=3)) as upstream:
        body = {"messages": [{"role": "user", "content": "<write>Word for word.</write>"}], "stream": True}
        streamed = http.post(f"{upstream}/v1/chat/completions", json=body).text
    assert "".join(re.findall(r'"content": "([^"]*)"', streamed)) == "Word for word."


def test_the_container_runs_commands_that_exist() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    services = compose["services"]
    entrypoint = re.search(r"ENTRYPOINT (\[.*\])", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert entrypoint is not None
    command = yaml.safe_load(entrypoint[1])
    assert command[0] == "groundrail"
    given = [*command[1:], *services["groundrail"]["command"]]
    _, bound, _ = app(given).parse_args(given, exit_on_error=False, print_error=False)
    assert (bound.arguments["host"], bound.arguments["port"]) == ("0.0.0.0", 8080)
    assert bound.arguments["settings"].upstream == "http://upstream:8000/v1"
    assert services["upstream"]["entrypoint"][:2] == ["python", "/examples/scripted_upstream.py"]
    assert services["upstream"]["volumes"] == ["./examples:/examples:ro"]
    assert services["upstream"]["build"] == services["groundrail"]["build"]
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert any("docker compose up" in step.get("run", "") for step in workflow["jobs"]["container"]["steps"])


def test_the_docs_policy_has_every_key_and_is_read(tmp_path) -> None:
    block = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "serve.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    assert set(tomllib.loads(block[1])) == set(KEYS)
    (tmp_path / "map.json").write_text(
        '{"method": "isotonic", "x": [0.0, 1.0], "y": [0.0, 1.0], "scorer": "any"}', encoding="utf-8"
    )
    (tmp_path / "policy.toml").write_text(block[1], encoding="utf-8")
    assert read_policy(tmp_path / "policy.toml").deadline == 10


@pytest.mark.parametrize("path", ["/", "/playground.css", "/playground.js", "/examples.json"])
def test_the_playground_is_served_without_a_key_and_asks_no_other_host(serve, http, path) -> None:
    response = http.get(serve(api_key="door") + path)
    assert response.status_code == 200
    if path == "/":
        assert "default-src 'none'" in response.headers["content-security-policy"]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", response.text)
