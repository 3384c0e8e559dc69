"""Connections under uvicorn that do not wait for ever: the head of a request must come in time.

uvicorn waits without end for a request that is half sent. Bodies have a time of their own, in
`groundrail.serve.admission`.
"""

import asyncio
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol


def server(app: ASGIApp, seconds: float) -> uvicorn.Server:
    """uvicorn around the app; a connection whose next head is not whole in `seconds` is closed."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=_impatient(seconds),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
            lifespan="on",
        )
    )


def _impatient(seconds: float) -> type[asyncio.Protocol]:

    class Impatient(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._forget()

        def _watch(self) -> None:
            if self.cycle is not None and not self.cycle.response_complete:
                self._forget()
            elif self._timer is None:
                self._timer = self.loop.call_later(seconds, self.transport.close)

        def _forget(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Impatient
