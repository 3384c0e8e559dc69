"""The ASGI app: which address does what.

The endpoints are the modules beside this one. `groundrail.serve.admission` lets requests in, and
`groundrail.cli.serve` runs the app under uvicorn.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
from groundrail.serve import playground_page
from groundrail.serve.admission import Admission
from groundrail.serve.chat_completions import ChatForm
from groundrail.serve.check import Check, LiteLLMGuardrail
from groundrail.serve.endpoint import Endpoint, Writing
from groundrail.serve.error_forms import MESSAGES, ProtocolError, json_response
from groundrail.serve.messages_events import MessagesForm
from groundrail.serve.observe import Observer
from groundrail.serve.read_sources import ReadSources
from groundrail.serve.responses_events import ResponsesForm
from groundrail.serve.settings import Settings
from groundrail.serve.writers import UpstreamWriter, Writer


def create_app(
    guard: Guard,
    settings: Settings | None = None,
    *,
    writer: Writer | None = None,
    observer: Observer | None = None,
    judge: SharedEntailment | None = None,
) -> Starlette:
    """The server around a guard, whose scorer and policy count; its generator does not.

    writer: writes the answers; by default the upstream of the settings. Without either the server only checks.
    judge: the model whose calls the metrics count.
    """
    settings = settings or Settings()
    observer = observer or Observer(log_text=settings.log_text)
    if writer is None and settings.upstream is not None:
        writer = UpstreamWriter(settings)
    if judge is not None:
        judge.on_batch = observer.batch
    around = guard, settings, observer, ReadSources(settings.max_kept)
    answering: dict[str, Endpoint] = {
        "/v1/chat/completions": Writing(*around, ChatForm, writer),
        "/v1/responses": Writing(*around, ResponsesForm, writer),
        MESSAGES: Writing(*around, MessagesForm, writer),
        "/v1/check": Check(*around),
        "/beta/litellm_basic_guardrail_api": LiteLLMGuardrail(*around),
    }
    others = _Others(guard, observer, writer)
    open_to_all = playground_page.addresses() | {"/healthz": others.health}
    names = {path: endpoint.name for path, endpoint in answering.items()}
    return Starlette(
        routes=[
            *(Route(path, endpoint.answer, methods=["POST"]) for path, endpoint in answering.items()),
            *(Route(path, answer) for path, answer in open_to_all.items()),
            Route("/v1/models", others.models),
            Route("/metrics", others.metrics),
        ],
        lifespan=others.lifespan,
        middleware=[Middleware(Admission, settings, observer, names, frozenset(open_to_all))],
        exception_handlers={HTTPException: _as_protocol},
    )


class _Others:
    """The addresses that check nothing, and the app's beginning and end."""

    def __init__(self, guard: Guard, observer: Observer, writer: Writer | None) -> None:
        self._guard, self._observer, self._writer = guard, observer, writer

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        _ = self._guard.scorer  # loaded before the first request
        yield
        if self._writer is not None:
            await self._writer.aclose()

    async def health(self, request: Request) -> Response:
        return json_response({"status": "ok", "version": __version__, "threshold": self._guard.threshold})

    async def metrics(self, request: Request) -> Response:
        return Response(self._observer.metrics(), media_type=CONTENT_TYPE_LATEST)

    async def models(self, request: Request) -> Response:
        none = {"object": "list", "data": list[Any]()}
        return json_response(none if self._writer is None else await self._writer.models(request.headers))


async def _as_protocol(request: Request, error: Any) -> Response:
    """An address or a method that does not exist, in the form of the protocols."""
    path, status = request.url.path, error.status_code
    said = {404: f"there is nothing at {path}", 405: f"{request.method} is not for {path}"}
    return ProtocolError(status, said.get(status, error.detail)).response(path)
