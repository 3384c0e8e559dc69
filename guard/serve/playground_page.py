"""The addresses of the playground: its page, which asks no other host, and its examples."""

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from groundrail.serve.error_forms import json_response

Answer: TypeAlias = Callable[[Request], Awaitable[Response]]

_FILES = {
    "/": ("index.html", "text/html"),
    "/playground.css": ("playground.css", "text/css"),
    "/playground.js": ("playground.js", "text/javascript"),
}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def addresses() -> dict[str, Answer]:
    """The answers at each address of the playground."""
    return {path: _file(name, kind) for path, (name, kind) in _FILES.items()} | {"/examples.json": _examples}


def _file(name: str, kind: str) -> Answer:
    content = (files("groundrail.serve") / "playground" / name).read_bytes()

    async def serve(request: Request) -> Response:
        return Response(content, headers=_HEADERS, media_type=kind)

    return serve


async def _examples(request: Request) -> Response:
    """The example documents with an answer to each, and questions."""
    from groundrail.serve.playground_examples import EXAMPLES

    return json_response([example.model_dump() for example in EXAMPLES])
