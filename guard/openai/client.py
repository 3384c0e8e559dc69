"""Chat completions of an OpenAI-compatible server, asked by the official `openai` package, which repeats failed requests.

The number of requests at a time, and the words for a failure without the key, are up to this module. What is asked, and
what an answer means, belongs to `groundrail.openai.generator` and `groundrail.openai.judge`.
"""

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pydantic import SecretStr

from groundrail.errors import GroundrailError, InputError, MissingExtraError
from groundrail.openai.events import Completion, StreamError
from groundrail.runtime.both_ways import closing, each, iterate, run, value_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI


class Connection(TypedDict, total=False):
    """The settings of `ChatCompletions` that its users pass on."""

    api_key: str | None
    timeout: float
    max_retries: int
    max_concurrency: int


class ChatCompletions(AbstractContextManager["ChatCompletions"]):
    """One model on one server. Close it, or use it in a `with` block, to close its connections.

    base_url: up to and including the version, as `http://localhost:8000/v1`.
    api_key: sent as a bearer token and kept out of every repr, log and message.
    timeout: seconds to wait for a connection, and for each piece of an answer.
    max_retries: how often a request is repeated that got 408, 409, 429 or 5xx, or no answer.
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
        max_retries: int = 3,
        max_concurrency: int = 8,
        failure: type[GroundrailError],
    ) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingExtraError("Talking to an OpenAI-compatible server", "openai") from error
        if max_concurrency < 1:
            raise InputError(f"max_concurrency is {max_concurrency}; at least one request must be allowed")
        url = urlsplit(base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise InputError("base_url must start with http:// or https:// and name a host")
        self.model, self.max_concurrency = model, max_concurrency
        self.server = urlunsplit((url.scheme, url.netloc.rpartition("@")[2], url.path.rstrip("/"), "", ""))
        self._timeout, self._failure = timeout, failure
        self._key = SecretStr(api_key or "")
        self._options: dict[str, Any] = {
            "base_url": urlunsplit((url.scheme, url.netloc, url.path, "", "")),
            "api_key": "none",  # and not the environment's
            "timeout": timeout,
            "max_retries": max_retries,
            "default_query": dict(parse_qsl(url.query)),
        }
        http = openai.DefaultHttpxClient(follow_redirects=False)
        self._client = openai.OpenAI(http_client=http, **self._options)
        self._free = threading.BoundedSemaphore(max_concurrency)
        self._free_in = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]()
        weakref.finalize(self, self._client.close)

    def __repr__(self) -> str:
        return f"ChatCompletions({self.server!r}, {self.model!r})"

    def close(self) -> None:
        """Close the connections; nothing can be asked after that."""
        self._client.close()

    def __exit__(self, *exception: object) -> None:
        self.close()

    def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The server's whole answer. Raises: `failure`."""
        answer = run(self._whole(body))
        if not isinstance(answer, dict) or not answer.get("choices"):
            raise self._failure(f"{self.server} sent an answer without choices: {self._clean(str(answer))}")
        return answer

    def stream(self, body: Mapping[str, Any], completion: Completion) -> Generator[str]:
        """The text of each event of a streamed answer, which `completion` reads.

        Raises: `failure`, also if the stream ends before its end.
        """
        return iterate(self._texts(body, completion, self._client, is_async=False))

    async def astream(self, body: Mapping[str, Any], completion: Completion) -> AsyncGenerator[str]:
        """`stream` for an event loop; each call has its own connection."""
        import openai

        http = openai.DefaultAsyncHttpxClient(follow_redirects=False)
        async with (
            openai.AsyncOpenAI(http_client=http, **self._options) as client,
            closing(self._texts(body, completion, client, is_async=True)) as texts,
        ):
            async for text in texts:
                yield text

    async def _whole(self, body: Mapping[str, Any]) -> Any:
        async with self._slot(is_async=False), self._telling("sent"):
            return self._post(self._client, body)

    async def _texts(
        self, body: Mapping[str, Any], completion: Completion, client: "OpenAI | AsyncOpenAI", *, is_async: bool
    ) -> AsyncGenerator[str]:
        import openai

        kind: Any = openai.AsyncStream[object] if is_async else openai.Stream[object]
        async with self._slot(is_async=is_async), self._telling("streamed"):
            asked = self._post(client, {**body, "stream": True}, stream=True, stream_cls=kind)
            stream: Any = await value_of(asked)
            async with closing(stream), self._telling("streamed", begun=True):
                async for event in each(stream):
                    yield completion.read(event)
                completion.require_end()

    def _post(self, client: Any, body: Mapping[str, Any], **options: Any) -> Any:
        """Ask, with no header that comes from the environment."""
        from openai import Omit

        key = self._key.get_secret_value()
        theirs = {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
        headers = {**theirs, "Authorization": f"Bearer {key}" if key else Omit()}
        asked = {"body": {"model": self.model, **body}, "options": {"headers": headers}}
        return client.post("/chat/completions", cast_to=object, **asked, **options)

    @asynccontextmanager
    async def _slot(self, *, is_async: bool) -> AsyncIterator[None]:
        """One of the requests that plain code, or this event loop, may make at a time.

        Raises: `failure` after the timeout: a stream that is neither read nor closed would hold its slot forever.
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

    @asynccontextmanager
    async def _telling(self, verb: str, *, begun: bool = False) -> AsyncIterator[None]:
        """Raises: `failure` for what the package raises, whose own exceptions may hold the key."""
        import openai

        try:
            yield
            return
        except openai.APIStatusError as error:
            after = error.response.headers.get("retry-after")
            message = f"answered {error.status_code}: {error.response.text}" + (f" (retry after {after})" if after else "")
        except openai.APIConnectionError as error:
            message = f"{'broke the stream off' if begun else 'gave no answer'}: {type(error).__name__}"
        except openai.OpenAIError as error:
            message = f"failed while it {verb}: {error}"
        except StreamError as error:
            message = str(error)
        except (ValueError, RecursionError) as error:
            message = f"{verb} malformed JSON: {error}"
        raise self._failure(f"{self.server} {self._clean(message)}")

    def _clean(self, text: str) -> str:
        """Text of a server for a message: short, and the key taken out should it be repeated there."""
        key = self._key.get_secret_value()
        text = " ".join((text.replace(key, "***") if key else text).split())
        return text if len(text) <= 300 else text[:300] + " ..."
