"""The ASGI app: which address does what.

The endpoints are the modules beside this one. `groundrail.serve.admission` lets requests in, and
`groundrail.cli.serve` runs the app under uvicorn.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from groundrail import __version__
from groundrail.entailment.shared import SharedEntailment
from groundrail.guard import Guard
from groundrail.serve.admission import Admission
from groundrail.serve.chat_completions import ChatForm
from groundrail.serve.check import Check, LiteLLMGuardrail
from groundrail.serve.endpoint import Endpoint
from groundrail.serve.error_forms import MESSAGES, ProtocolError, json_response
from groundrail.serve.forms import Form
from groundrail.serve.messages_events import MessagesForm
from groundrail.serve.observe import Observer
from groundrail.serve.read_sources import ReadSources
from groundrail.serve.responses_events import ResponsesForm
from groundrail.serve.settings import Settings
from groundrail.serve.writers import UpstreamWriter, Writer

_PROTOCOLS: dict[str, type[Form]] = {
    "/v1/chat/completions": ChatForm,
    "/v1/responses": ResponsesForm,
    MESSAGES: MessagesForm,
}

_PLAYGROUND = {
    "/": ("index.html", "text/html"),
    "/playground.css": ("playground.css", "text/css"),
    "/playground.js": ("playground.js", "text/javascript"),
}
_PLAYGROUND_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def create_app(
    guard: Guard,
    settings: Settings | None = None,
    *,
    writer: Writer | None = None,
    observer: Observer | None = None,
    judge: SharedEntailment | None = None,
) -> Starlette:
    """The server around a guard, whose scorer and policy count; its generator does not.

    writer: writes the answers. None: the upstream of the settings, if there is one; else the server only checks.
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
        return json_response({"status": "ok", "version": __version__, "threshold": guard.threshold})

    async def metrics(request: Request) -> Response:
        return Response(observer.metrics(), media_type=CONTENT_TYPE_LATEST)

    async def models(request: Request) -> Response:
        if writer is None:
            return json_response({"object": "list", "data": []})
        return json_response(await writer.models(request.headers))

    sources = ReadSources(settings.max_kept)
    answering: dict[str, Endpoint | Check | LiteLLMGuardrail] = {
        **{path: Endpoint(form, writer, guard, settings, observer, sources) for path, form in _PROTOCOLS.items()},
        "/v1/check": Check(guard, settings, observer, sources),
        "/beta/litellm_basic_guardrail_api": LiteLLMGuardrail(guard, settings, observer, sources),
    }
    open_to_all = {
        **{path: _file(name, kind) for path, (name, kind) in _PLAYGROUND.items()},
        "/examples.json": _examples,
        "/healthz": health,
    }
    admission = Middleware(
        Admission,
        settings=settings,
        observer=observer,
        answered={path: endpoint.name for path, endpoint in answering.items()},
        without_key=frozenset(open_to_all),
    )
    return Starlette(
        routes=[
            *(Route(path, endpoint.answer, methods=["POST"]) for path, endpoint in answering.items()),
            *(Route(path, told) for path, told in open_to_all.items()),
            Route("/v1/models", models),
            Route("/metrics", metrics),
        ],
        lifespan=lifespan,
        middleware=[admission],
        exception_handlers={HTTPException: _as_protocol},
    )


def _file(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = (files("groundrail.serve") / "playground" / name).read_bytes()

    async def serve(request: Request) -> Response:
        return Response(content, headers=_PLAYGROUND_HEADERS, media_type=kind)

    return serve


async def _examples(request: Request) -> Response:
    """The example documents with an answer to each, and questions, for the playground."""
    from groundrail.serve.playground_examples import EXAMPLES

    return json_response([example.model_dump() for example in EXAMPLES])


async def _as_protocol(request: Request, error: Any) -> Response:
    """An address or a method that does not exist, in the form of the protocols."""
    path, status = request.url.path, error.status_code
    said = {404: f"there is nothing at {path}", 405: f"{request.method} is not for {path}"}
    return ProtocolError(status, said.get(status, error.detail)).response(path)
