"""`groundrail serve`: options, keys from the environment, logging, and the server run under uvicorn."""

import logging
import os
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import SecretStr

from groundrail.cli.scorers import ScorerChoice
from groundrail.errors import InputError, MissingExtraError
from groundrail.serve.settings import Settings

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from groundrail.entailment.shared import SharedEntailment
    from groundrail.guard import Guard
    from groundrail.serve.writers import LocalWriter

KEYS = {"api_key": "GROUNDRAIL_API_KEY", "upstream_api_key": "GROUNDRAIL_UPSTREAM_API_KEY"}
"""Settings that are better given in the environment than on the command line."""


def serve(
    *,
    settings: Annotated[Settings, Parameter(name="*")] = Settings(),
    host: str = "127.0.0.1",
    port: int = 8080,
    scoring: ScorerChoice = ScorerChoice(),
    second: str | None = None,
    policy: Path | None = None,
    demo_model: bool = False,
    log_level: Literal["debug", "info", "warning", "error"] = "info",
    otel: bool = False,
    otel_text: bool = False,
    open_browser: bool = False,
) -> int:
    """Serve an OpenAI-compatible API that releases supported sentences only.

    Keys are better given in the environment: GROUNDRAIL_API_KEY, GROUNDRAIL_UPSTREAM_API_KEY.

    Args:
        host: address to listen on
        port: port to listen on, 0 for any free one
        second: judge that is asked where the first is in the policy's doubt
        policy: policy in TOML
        demo_model: answer with SmolLM2-135M-Instruct in this process
        otel: export OpenTelemetry, as OTEL_* variables say
        otel_text: export the sentences and reasons, too
        open_browser: show the playground in a browser
    """
    try:
        from groundrail.serve.app import create_app  # noqa: F401
        from groundrail.serve.connections import server
    except ModuleNotFoundError as error:
        if error.name not in ("uvicorn", "starlette", "prometheus_client", "httpx"):
            raise
        raise MissingExtraError("The server", "serve") from error
    app = app_of(with_keys(settings), scoring, second, policy, demo_model, otel, otel_text)
    _log_to_stderr(log_level)
    listening = _listen(host, port)
    shown = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    print(f"groundrail: serving on {shown}/ (press Ctrl+C to stop)", file=sys.stderr, flush=True)
    if open_browser:
        threading.Timer(1.0, webbrowser.open, [shown]).start()
    server(app, settings.body_timeout).run(sockets=[listening])
    return 0


def with_keys(settings: Settings) -> Settings:
    """The settings with the keys of the environment, unless they have their own; an empty variable is no key."""
    found = {name: os.environ.get(variable) for name, variable in KEYS.items() if getattr(settings, name) is None}
    return settings.model_copy(update={name: SecretStr(key) for name, key in found.items() if key})


def app_of(
    settings: Settings,
    scoring: ScorerChoice = ScorerChoice(),
    second: str | None = None,
    policy: Path | None = None,
    demo_model: bool = False,
    otel: bool = False,
    otel_text: bool = False,
) -> "Starlette":
    """The app, its judge loaded.

    Raises: InputError for two writers or an invalid policy file; MissingExtraError without the packages that `otel`
        needs; the errors of loading a model.
    """
    from groundrail.serve.app import create_app
    from groundrail.serve.observe import Observer
    from groundrail.serve.tracing import exported

    if demo_model and settings.upstream:
        raise InputError("--demo-model and --upstream are two writers; pass one")
    if otel_text and not otel:
        raise InputError("--otel-text says what OpenTelemetry exports: pass --otel, too")
    observer = Observer(exported(content=otel_text) if otel else None, log_text=settings.log_text)
    guard, judge = _guard(settings, scoring, second, policy)
    writer = _demo_writer() if demo_model else None
    return create_app(guard, settings, writer=writer, judge=judge, observer=observer)


def _guard(
    settings: Settings, scoring: ScorerChoice, second: str | None, policy: Path | None
) -> "tuple[Guard, SharedEntailment | None]":
    """The guard, and the judge that all answers share, if its scorer asks one."""
    from groundrail.entailment.shared import shared
    from groundrail.guard import Guard
    from groundrail.policy import Policy
    from groundrail.scoring.batched import BatchedScorer, batched
    from groundrail.serve.policy_file import read_policy

    rules, most = read_policy(policy) if policy else Policy(), settings.max_concurrency
    judges = list[Any]()

    def sharing(judge: Any) -> Any:
        judges.append(shared(judge))
        return judges[0]

    other = None if second is None else batched("scale", second, max_concurrency=most)
    scorer = BatchedScorer(scoring.load(sharing), max_concurrency=most)
    return Guard(scorer=scorer, second=other, policy=rules), next(iter(judges), None)


def _demo_writer() -> "LocalWriter":
    from groundrail.decoding import HFGenerator, Sampling
    from groundrail.generators.smollm2 import smollm2
    from groundrail.serve.writers import LocalWriter

    return LocalWriter(HFGenerator(*smollm2(), sampling=Sampling(max_new_tokens=64)), "SmolLM2-135M-Instruct")


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        raise InputError(f"cannot listen on {host} port {port}: {error}") from error


def _log_to_stderr(level: str) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    logging.getLogger("groundrail").setLevel(level.upper())
