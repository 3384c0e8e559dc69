"""The ASGI app: which address does what, who may come in, and how many at a time.

What the addresses do is in the modules beside this one; running the app under uvicorn is `groundrail.serve.cli`'s.
"""

import hmac
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundrail import __version__
from groundrail.entailment.shared import SharedEntailment
from groundrail.guard import Guard
from groundrail.serve.chat_completions import Chat
from groundrail.serve.check import Check
from groundrail.serve.error_forms import ProtocolError, json_response
from groundrail.serve.guarded import ClientLeftError
from groundrail.serve.litellm import LiteLLMGuardrail
from groundrail.serve.observe import Observer
from groundrail.serve.settings import Settings
from groundrail.serve.writers import UpstreamWriter, Writer

_OPEN = frozenset({"/", "/playground.css", "/playground.js", "/examples.json", "/healthz"})
"""What needs no key: the playground's own files, and whether the server lives."""

_COUNTED = {
    "/v1/chat/completions": "chat",
    "/v1/check": "check",
    "/beta/litellm_basic_guardrail_api": "litellm",
}
"""What counts as an answer, bounded by `max_concurrency`, with its name in metrics."""

_PAGE_ONLY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def create_app(
    guard: Guard,
    settings: Settings | None = None,
    *,
    writer: Writer | None = None,
    observer: Observer | None = None,
    judge: SharedEntailment | None = None,
) -> Starlette:
    """The server around a guard, whose scorer and policy count; its generator does not.

    writer: whoever writes answers; None is the upstream of the settings, or nobody, if there is none.
    judge: the model whose calls the metrics count.
    """
    settings = settings or Settings()
    observer = observer or Observer(log_text=settings.log_text)
    if writer is None and settings.upstream is not None:
        writer = UpstreamWriter(settings)
    if judge is not None:
        judge.on_batch = observer.batch

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        _ = guard.scorer  # loaded before the first request
        yield
        if writer is not None:
            await writer.aclose()

    async def health(request: Request) -> Response:
        threshold = guard.policy.decisive(guard.scorer.facts.threshold)
        return json_response({"status": "ok", "version": __version__, "threshold": threshold})

    async def metrics(request: Request) -> Response:
        return Response(observer.metrics(), media_type=CONTENT_TYPE_LATEST)

    async def models(request: Request) -> Response:
        if writer is None:
            return json_response({"object": "list", "data": []})
        return json_response(await writer.models(request.headers))

    routes = [
        Route("/v1/chat/completions", Chat(guard, writer, settings, observer).__call__, methods=["POST"]),
        Route("/v1/check", Check(guard, settings, observer).__call__, methods=["POST"]),
        Route(
            "/beta/litellm_basic_guardrail_api",
            LiteLLMGuardrail(guard, settings, observer).__call__,
            methods=["POST"],
        ),
        Route("/v1/models", models),
        Route("/healthz", health),
        Route("/metrics", metrics),
        *(Route(path, _file(name, kind)) for path, name, kind in _PLAYGROUND),
        Route("/examples.json", _examples),
    ]
    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(_Admission, settings=settings, observer=observer)],
        exception_handlers={ProtocolError: _as_protocol, HTTPException: _as_protocol},
    )


_PLAYGROUND = (
    ("/", "index.html", "text/html"),
    ("/playground.css", "playground.css", "text/css"),
    ("/playground.js", "playground.js", "text/javascript"),
)


def _file(name: str, kind: str):  # type: ignore[no-untyped-def]
    content = (files("groundrail.serve") / "playground" / name).read_bytes()
    headers = {
        "content-security-policy": _PAGE_ONLY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
    }

    async def serve(request: Request) -> Response:
        return Response(content, headers=headers, media_type=kind)

    return serve


async def _examples(request: Request) -> Response:
    """The example documents with an answer to each, and questions, for the playground."""
    from groundrail.serve.playground_examples import EXAMPLES

    return json_response([example.model_dump() for example in EXAMPLES])


async def _as_protocol(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        path = request.url.path
        said = {404: f"there is nothing at {path}", 405: f"{request.method} is not for {path}"}
        error = ProtocolError(error.status_code, said.get(error.status_code, error.detail))
    return error.response() if isinstance(error, ProtocolError) else ProtocolError(500, "failed").response()


class _Admission:
    """Lets requests in: keys, the number of answers at a time, and a word to metrics and log when they are over."""

    def __init__(self, app: ASGIApp, settings: Settings, observer: Observer) -> None:
        self._app, self._settings, self._observer = app, settings, observer
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        endpoint = _COUNTED.get(scope["path"])
        seen = _Seen(send)
        started = time.monotonic()
        try:
            self._admit(scope)
            if endpoint is None:
                await self._app(scope, receive, seen.send)
            else:
                await self._counted(scope, receive, seen.send)
        except ProtocolError as error:
            await error.response()(scope, receive, seen.send)
        except (ClientLeftError, ClientDisconnect):
            seen.status = 499
        except Exception as error:
            self._observer.unexpected(error)
            if seen.status is None:
                said = ProtocolError(500, "the server failed; its log says where", code="internal_error")
                await said.response()(scope, receive, seen.send)
        finally:
            if endpoint is not None:
                self._observer.request(endpoint, seen.status or 499, time.monotonic() - started)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._open >= self._settings.max_concurrency:
            raise ProtocolError(
                429, f"{self._open} answers are being checked; try again", code="too_many_requests", retry_after="1"
            )
        self._open += 1
        self._observer.open.inc()
        try:
            await self._app(scope, receive, send)
        finally:
            self._open -= 1
            self._observer.open.dec()

    def _admit(self, scope: Scope) -> None:
        """Check the key, and take it out of what goes upstream. Raises: ProtocolError."""
        if self._settings.api_key is None or scope["path"] in _OPEN:
            return
        key, headers = self._settings.api_key.get_secret_value().encode(), Headers(scope=scope)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), key)
        if is_bearer:
            scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
        elif not hmac.compare_digest(headers.get("x-api-key", "").encode(), key):
            raise ProtocolError(
                401, "this server needs its key, as x-api-key or as the bearer token", code="invalid_api_key"
            )


class _Seen:
    """Passes messages on and remembers the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)
