"""`groundrail serve`: arguments, keys from the environment, logging, and the server run under uvicorn."""

import argparse
import logging
import os
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundrail.cli.scorers import ScorerChoice, add_scorer_arguments
from groundrail.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from groundrail.serve.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_KEY, _UPSTREAM_KEY = "GROUNDRAIL_API_KEY", "GROUNDRAIL_UPSTREAM_API_KEY"

_SETTINGS = (
    "documents",
    "max_concurrency",
    "max_bodies",
    "max_body",
    "body_timeout",
    "timeout",
    "request_timeout",
    "heartbeat",
    "log_text",
)
"""Options that go into the settings under their own names."""


def add_serve_parser(subparsers: "Subparsers") -> None:
    """Add `serve`, with `run_serve` as its `run` default."""
    parser = subparsers.add_parser("serve", help="an OpenAI-compatible server that releases supported sentences only")
    parser.add_argument(
        "--upstream", metavar="URL", help="server that writes, as http://localhost:8000/v1 (only check)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8080, help="port to listen on, 0 for any free one (8080)")
    parser.add_argument(
        "--allowed-hosts",
        nargs="+",
        default=(),
        metavar="NAME",
        help="host names that clients may call this server by, * for all (loopback names)",
    )
    add_scorer_arguments(parser)
    parser.add_argument("--second", metavar="ID", help="judge that is asked where the first is in the policy's doubt")
    parser.add_argument("--policy", type=Path, metavar="FILE", help="policy in TOML")
    parser.add_argument("--api-key", metavar="KEY", help=f"what clients must send; better in {_KEY}")
    parser.add_argument(
        "--upstream-api-key", metavar="KEY", help=f"for requests without a key of their own; better in {_UPSTREAM_KEY}"
    )
    parser.add_argument("--documents", choices=("insert", "forward", "drop"), default="insert")
    parser.add_argument("--markers", nargs=2, metavar=("BEGIN", "END"), help="what a source stands between in messages")
    parser.add_argument("--source-tools", nargs="+", metavar="NAME", help="tools whose results are sources (all)")
    parser.add_argument("--max-concurrency", type=int, default=64, metavar="N", help="answers at a time (64)")
    parser.add_argument("--max-body", type=int, default=8 * 1024 * 1024, metavar="BYTES", help="longest request")
    parser.add_argument("--max-bodies", type=int, default=128, metavar="N", help="requests received at a time (128)")
    parser.add_argument("--body-timeout", type=float, default=30.0, metavar="SECONDS", help="for receiving a request")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="for each piece from upstream")
    parser.add_argument("--request-timeout", type=float, default=600.0, metavar="SECONDS", help="for a whole answer")
    parser.add_argument("--heartbeat", type=float, default=10.0, metavar="SECONDS", help="between signs of life")
    parser.add_argument("--demo-model", action="store_true", help="answer with SmolLM2-135M-Instruct in this process")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    parser.add_argument("--log-text", action="store_true", help="write sentences to the log (at debug)")
    parser.add_argument("--otel", action="store_true", help="export OpenTelemetry, as OTEL_* variables say")
    parser.add_argument("--otel-text", action="store_true", help="export the sentences and reasons, too")
    parser.set_defaults(run=run_serve, open_browser=False)


def run_demo() -> int:
    """The playground on the example documents, with the demo model, in a browser."""
    parser = argparse.ArgumentParser()
    add_serve_parser(parser.add_subparsers())
    options = parser.parse_args(["serve", "--port", "0", "--demo-model"])
    options.open_browser = True
    return run_serve(options)


def run_serve(options: argparse.Namespace) -> int:
    """Serve until interrupted. Raises: InputError, MissingExtraError."""
    try:
        import uvicorn

        from groundrail.serve.connections import impatient
    except ModuleNotFoundError as error:
        if error.name not in ("uvicorn", "starlette", "prometheus_client", "httpx"):
            raise
        raise MissingExtraError("The server", "serve") from error
    settings = settings_of(options)
    app = app_of(options, settings)
    _log_to_stderr(options.log_level)
    listening = _listen(options.host, options.port)
    shown = f"http://{f'[{options.host}]' if ':' in options.host else options.host}:{listening.getsockname()[1]}"
    print(f"groundrail: serving on {shown}/ (press Ctrl+C to stop)", file=sys.stderr, flush=True)
    if options.open_browser:
        threading.Timer(1.0, webbrowser.open, [shown]).start()
    config = uvicorn.Config(
        app,
        http=impatient(settings.body_timeout),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
        lifespan="on",
    )
    uvicorn.Server(config).run(sockets=[listening])
    return 0


def settings_of(options: argparse.Namespace) -> "Settings":
    """Raises: InputError naming the option that cannot be used."""
    from pydantic import ValidationError

    from groundrail.serve.settings import Settings

    given: dict[str, Any] = {
        "upstream": options.upstream,
        "api_key": _key(options.api_key, _KEY),
        "upstream_api_key": _key(options.upstream_api_key, _UPSTREAM_KEY),
    }
    if options.markers:
        given["markers"] = tuple(options.markers)
    if options.source_tools:
        given["source_tools"] = frozenset(options.source_tools)
    given["allowed_hosts"] = frozenset(name.lower() for name in options.allowed_hosts)
    for name in _SETTINGS:
        given[name] = getattr(options, name)
    try:
        return Settings(**given)
    except ValidationError as error:
        wrong = error.errors(include_input=False)[0]
        raise InputError(f"--{'-'.join(map(str, wrong['loc'])).replace('_', '-')}: {wrong['msg']}") from error


def _key(given: str | None, variable: str) -> str | None:
    """An option's value, even an empty one, which is a mistake; an empty variable is none, as compose files have it."""
    return os.environ.get(variable) or None if given is None else given


def app_of(options: argparse.Namespace, settings: "Settings") -> "Starlette":
    """The app, its judge loaded.

    Raises: InputError for two writers or a policy file that is none; MissingExtraError without what `--otel` needs;
    what loading a model raises.
    """
    from transformers.utils import logging as loading

    from groundrail.entailment.base import EntailmentModel
    from groundrail.entailment.shared import SharedEntailment, shared
    from groundrail.guard import Guard
    from groundrail.policy import Policy
    from groundrail.scoring.batched import BatchedScorer, batched
    from groundrail.serve.app import create_app
    from groundrail.serve.observe import Observer
    from groundrail.serve.policy_file import read_policy
    from groundrail.serve.tracing import exported
    from groundrail.serve.writers import LocalWriter

    policy = read_policy(options.policy) if options.policy else Policy()
    if options.demo_model and options.upstream:
        raise InputError("--demo-model and --upstream are two writers; pass one")
    if options.otel_text and not options.otel:
        raise InputError("--otel-text says what OpenTelemetry exports: pass --otel, too")
    tracing = exported(content=options.otel_text) if options.otel else None
    loading.disable_progress_bar()  # type: ignore[no-untyped-call]
    judges = list[SharedEntailment]()

    def sharing(judge: EntailmentModel) -> SharedEntailment:
        judges.append(shared(judge))
        return judges[0]

    most = settings.max_concurrency
    second = None if options.second is None else batched("scale", options.second, max_concurrency=most)
    scorer = BatchedScorer(ScorerChoice.of(options).load(sharing), max_concurrency=most)
    guard = Guard(scorer=scorer, second=second, policy=policy)
    writer = None
    if options.demo_model:
        from groundrail.decoding import HFGenerator, Sampling
        from groundrail.generators.smollm2 import smollm2

        writer = LocalWriter(HFGenerator(*smollm2(), sampling=Sampling(max_new_tokens=64)), "SmolLM2-135M-Instruct")
    observer = Observer(tracing, log_text=settings.log_text)
    return create_app(guard, settings, writer=writer, judge=next(iter(judges), None), observer=observer)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        raise InputError(f"cannot listen on {host} port {port}: {error}") from error


def _log_to_stderr(level: str) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    logging.getLogger("groundrail").setLevel(level.upper())
    logging.getLogger("bm25s").setLevel(logging.WARNING)  # which sets a lower one of its own
