"""Lets requests in: addresses and origins, the key, whole bodies, and the number of answers at a time.

A request takes the place of an answer when it is read and can be answered (`Places.answer`), so that a client that
sends half a body, or a schema that takes long to read, holds up nobody's answer. `groundrail.serve.app` has the
addresses.
"""

import asyncio
import hmac
import time
from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.guarded import ClientLeftError
from groundrail.serve.observe import Observer
from groundrail.serve.settings import Settings

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PATIENCE = 0.3
"""Seconds in which a place that is being left may become free."""


class Admission:
    """The middleware: checks a request, reads its body, and tells metrics and log when the request is over.

    answered: the addresses that check an answer, each with its name in metrics. Their number at a time is limited.
    without_key: the addresses that need no key.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        observer: Observer,
        answered: Mapping[str, str],
        without_key: frozenset[str],
    ) -> None:
        self._app, self._settings, self._observer = app, settings, observer
        self._answered, self._without_key = answered, without_key
        self._receiving, self._answering = map(asyncio.Semaphore, (settings.max_bodies, settings.max_concurrency))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        endpoint, started, status = self._answered.get(scope["path"]), time.monotonic(), 0

        async def seen(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            self._admit(scope)
            if endpoint is None or scope["method"] != "POST":
                await self._app(scope, receive, seen)
            else:
                await self._answer(scope, receive, seen)
        except ProtocolError as error:
            await error.response(scope["path"])(scope, receive, seen)
        except (ClientLeftError, ClientDisconnect):
            status = 499
        except Exception as error:
            self._observer.unexpected(error)
            if not status:
                said = ProtocolError(500, "the server failed; its log says where", code="internal_error")
                await said.response(scope["path"])(scope, receive, seen)
        finally:
            if endpoint is not None:
                self._observer.request(endpoint, status or 499, time.monotonic() - started)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = Headers(scope=scope).get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/json":
            raise ProtocolError(415, "send the request as JSON, with Content-Type: application/json")
        places = Places(self._receiving, self._answering)
        try:
            await places.receive()
            body = await _whole_body(Request(scope, receive), self._settings)
            deadline = asyncio.get_running_loop().time() + self._settings.request_timeout
            with self._observer.open.track_inprogress():
                await self._app({**scope, "body": body, "deadline": deadline, "places": places}, receive, send)
        finally:
            places.leave()

    def _admit(self, scope: Scope) -> None:
        """Check address, origin and key. The server's own key goes no further. Raises: ProtocolError."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if scope["path"] != "/healthz" and not self._is_allowed(host):  # probes call it by the machine's address
            said = "this server does not answer to this host name; --allowed-hosts adds one"
            raise ProtocolError(403, said, code="unknown_host")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
            raise ProtocolError(403, "pages of other sites may not ask this server", code="foreign_origin")
        if self._settings.api_key is not None and scope["path"] not in self._without_key:
            self._require_key(scope, headers, self._settings.api_key.get_secret_value().encode())

    def _is_allowed(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        return name in _LOOPBACK or not self._settings.allowed_hosts.isdisjoint({"*", name})

    def _require_key(self, scope: Scope, headers: Headers, key: bytes) -> None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = {"x-api-key": headers.get("x-api-key", "")}
        if scheme.lower() == "bearer":
            given["authorization"] = token.strip()
        # Starlette decodes headers as latin-1: encoding them so gives the bytes that came.
        ours = {name for name, value in given.items() if hmac.compare_digest(value.encode("latin-1"), key)}
        if not ours:
            said = "this server needs its key, as x-api-key or as the bearer token"
            raise ProtocolError(401, said, code="invalid_api_key")
        scope["headers"] = [(name, value) for name, value in scope["headers"] if name.decode("latin-1") not in ours]


class Places:
    """The place that a request holds: first among the requests that are received and read, then among the answers."""

    def __init__(self, receiving: asyncio.Semaphore, answering: asyncio.Semaphore) -> None:
        self.receive = partial(self._take, receiving, "as many requests as this server takes are being received")
        self.answer = partial(self._take, answering, "as many answers as this server takes are being checked")
        self._held: asyncio.Semaphore | None = None

    def leave(self) -> None:
        """Leave the place that is held."""
        held, self._held = self._held, None
        if held is not None:
            held.release()

    async def _take(self, places: asyncio.Semaphore, taken: str) -> None:
        """Take a place, and leave the one before. Raises: ProtocolError where all are taken."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await places.acquire()
        except TimeoutError:
            raise ProtocolError(429, f"{taken}; try again", code="too_many_requests", retry_after="1") from None
        self.leave()
        self._held = places


async def _whole_body(request: Request, settings: Settings) -> bytes:
    """Raises: ProtocolError for a body that is too large or too slow; ClientDisconnect."""
    data = bytearray()
    try:
        async with asyncio.timeout(settings.body_timeout):
            async for piece in request.stream():
                data += piece
                if len(data) > settings.max_body:
                    raise ProtocolError(413, f"the request is over {settings.max_body} bytes", code="request_too_large")
    except TimeoutError:
        late = f"the request had not arrived after {settings.body_timeout:g} seconds"
        raise ProtocolError(408, late, code="request_timeout") from None
    return bytes(data)
