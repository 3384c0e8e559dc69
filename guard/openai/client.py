"""Chat completions of an OpenAI-compatible server over httpx: retries, timeouts, bounded concurrency.

What is asked, and what an answer means, belongs to `groundrail.openai.generator` and
`groundrail.openai.judge`; streams are read by `groundrail.openai.events`.
"""

import asyncio
import json
import threading
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Self

from pydantic import SecretStr
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)
from tenacity.stop import stop_base

from groundrail.errors import GroundrailError, InputError, MissingExtraError
from groundrail.openai.events import StreamError, achunks_of, chunks_of
from groundrail.runtime.both_ways import each, iterate, run, value_of

if TYPE_CHECKING:
    import httpx

LONGEST_WAIT = 60.0
"""Seconds: a server that asks for more before a retry has failed."""

_backoff = wait_exponential(multiplier=0.5, max=20) + wait_random(0, 0.5)


class ChatCompletions(AbstractContextManager["ChatCompletions"]):
    """One model on one server. Close it, or use it in a `with` block, to close its connections.

    base_url: up to and including the version, as `http://localhost:8000/v1`.
    api_key: sent as a bearer token and kept out of every repr, log and message.
    timeout: seconds to wait for a connection, and for each piece of an answer.
    stop: when to stop repeating a request that got 429 or 5xx, or no answer; any tenacity `stop_*`.
    max_concurrency: requests at a time; the rest wait.
    failure: the exception to raise.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        stop: stop_base | None = None,
        max_concurrency: int = 8,
        failure: type[GroundrailError],
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError("Talking to an OpenAI-compatible server", "openai") from error
        if max_concurrency < 1:
            raise InputError(f"max_concurrency is {max_concurrency}; at least one request must be allowed")
        url = httpx.URL(base_url)
        if url.scheme not in ("http", "https") or not url.host:
            raise InputError("base_url must start with http:// or https:// and name a host")
        self.model, self.max_concurrency = model, max_concurrency
        self._key = SecretStr(api_key or "")
        self._url = url.copy_with(path=url.path.rstrip("/") + "/chat/completions")
        self._timeout = timeout
        self._stop = stop or stop_after_attempt(4)
        self._failure = failure
        self._client = httpx.Client(timeout=timeout)
        self._free = threading.BoundedSemaphore(max_concurrency)
        self._free_in: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )
        weakref.finalize(self, self._client.close)

    def __repr__(self) -> str:
        return f"ChatCompletions({self.server!r}, {self.model!r})"

    @property
    def server(self) -> str:
        """The address, without any user name, password or query in it."""
        return str(self._url.copy_with(userinfo=b"", query=None))

    def close(self) -> None:
        """Close the connections; nothing can be asked after that."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The server's whole answer. Raises: `failure`."""
        return run(self._whole(body))

    def stream(self, body: Mapping[str, Any]) -> Generator[dict[str, Any]]:
        """The events of a streamed answer. Raises: `failure`, also if the stream ends before its end."""
        return iterate(self._chunks(body, self._client))

    async def astream(self, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """`stream` for an event loop; each call has its own connection."""
        import httpx

        async with httpx.AsyncClient(timeout=self._timeout) as client, aclosing(self._chunks(body, client)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _whole(self, body: Mapping[str, Any]) -> dict[str, Any]:
        async with self._slot(is_async=False):
            response = await self._retried(body, self._client, stream=False)
        try:
            answer = json.loads(response.content)
        except ValueError as error:
            raise self._failure(f"{self.server} sent malformed JSON: {self._clean(response.text)}") from error
        if not isinstance(answer, dict) or not answer.get("choices"):
            raise self._failure(f"{self.server} sent an answer without choices: {self._clean(str(answer))}")
        return answer

    async def _chunks(
        self, body: Mapping[str, Any], client: "httpx.Client | httpx.AsyncClient"
    ) -> AsyncGenerator[dict[str, Any]]:
        import httpx

        is_async = isinstance(client, httpx.AsyncClient)
        async with self._slot(is_async=is_async):
            response = await self._retried({**body, "stream": True}, client, stream=True)
            chunks = achunks_of(response.aiter_bytes()) if is_async else each(chunks_of(response.iter_bytes()))
            try:
                async for chunk in chunks:
                    yield chunk
            except (StreamError, httpx.HTTPError) as error:
                raise self._broken(error) from error
            finally:
                await _read_and_closed(response, is_async=is_async, read=False)

    @asynccontextmanager
    async def _slot(self, *, is_async: bool) -> AsyncIterator[None]:
        """One of the requests that plain code, or this event loop, may make at a time.

        Raises: `failure` after the timeout: streams that nobody reads on or closes would hold all slots forever.
        """
        free: Any = self._free
        if is_async:
            free = self._free_in.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.max_concurrency))
        try:
            if is_async:
                await asyncio.wait_for(free.acquire(), self._timeout)
            elif not free.acquire(timeout=self._timeout):
                raise TimeoutError
        except TimeoutError as error:
            raise self._failure(
                f"{self.max_concurrency} requests to {self.server} are still open after {self._timeout:g} seconds; "
                f"read their streams to the end, close them, or raise max_concurrency"
            ) from error
        try:
            yield
        finally:
            free.release()

    async def _retried(
        self, body: Mapping[str, Any], client: "httpx.Client | httpx.AsyncClient", *, stream: bool
    ) -> "httpx.Response":
        import httpx

        is_async = isinstance(client, httpx.AsyncClient)
        attempts = AsyncRetrying(
            sleep=asyncio.sleep if is_async else _block, stop=self._stop, wait=_wait, retry=_IF_TRANSIENT, reraise=True
        )
        try:
            async for attempt in attempts:
                with attempt:
                    try:
                        response = await value_of(client.send(self._request(body), stream=stream))
                        if not response.is_success:
                            await _read_and_closed(response, is_async=is_async)
                    except httpx.TransportError as error:
                        raise self._unreached(error) from error
                    self._require_success(response)
        except _TransientError as error:
            raise self._failure(str(error)) from error
        return response

    def _request(self, body: Mapping[str, Any]) -> "httpx.Request":
        key = self._key.get_secret_value()
        headers = {b"Authorization": f"Bearer {key}".encode()} if key else {}
        return self._client.build_request("POST", self._url, json={"model": self.model, **body}, headers=headers)

    def _require_success(self, response: "httpx.Response") -> None:
        """Raises: `_TransientError` where another try makes sense, else `failure`."""
        if response.is_success:
            return
        message = f"{self.server} answered {response.status_code}: {self._clean(response.text)}"
        if response.status_code != 429 and response.status_code < 500:
            raise self._failure(message)
        after = _seconds(response.headers.get("Retry-After"))
        if after is not None and after > LONGEST_WAIT:
            raise self._failure(f"{message}; it asks to wait {after:.0f} seconds, longer than {LONGEST_WAIT:.0f}")
        raise _TransientError(message, after)

    def _unreached(self, error: Exception) -> "_TransientError":
        return _TransientError(f"{self.server} gave no answer: {type(error).__name__}: {self._clean(str(error))}", None)

    def _broken(self, error: Exception) -> GroundrailError:
        if isinstance(error, StreamError):
            return self._failure(f"{self.server} {self._clean(str(error))}")
        return self._failure(f"the stream from {self.server} broke off: {type(error).__name__}")

    def _clean(self, text: str) -> str:
        """Server text for a message: short, and the key taken out should it be repeated there."""
        key = self._key.get_secret_value()
        text = " ".join((text.replace(key, "***") if key else text).split())
        return text if len(text) <= 300 else text[:300] + " ..."


class _TransientError(Exception):
    """Worth another try, after `after` seconds if the server said so."""

    def __init__(self, message: str, after: float | None) -> None:
        super().__init__(message)
        self.after = after


async def _block(seconds: float) -> None:
    """Sleep in plain code, which has no event loop to wait on."""
    time.sleep(seconds)


async def _read_and_closed(response: "httpx.Response", *, is_async: bool, read: bool = True) -> None:
    """Close a response, read to its end before if `read`."""
    if read:
        await response.aread() if is_async else response.read()
    await response.aclose() if is_async else response.close()


_IF_TRANSIENT = retry_if_exception_type(_TransientError)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    after = getattr(error, "after", None)
    return float(after) if after is not None else _backoff(state)


def _seconds(retry_after: str | None) -> float | None:
    """A Retry-After header in seconds: a number, or the time until a date; None for what is neither."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None
