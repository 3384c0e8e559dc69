"""The server under uvicorn on loopback, and an upstream of plain sockets that does what a test scripts, good or bad."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx
import openai
import pytest
import uvicorn.server
from starlette.types import ASGIApp
from tenacity import stop_after_attempt
from tests.guard.parts import FALSE as FALSE
from tests.guard.parts import SOURCE as SOURCE
from tests.guard.parts import TRUE as TRUE
from tests.http_servers import Handler as Handler
from tests.http_servers import Reply as Reply
from tests.http_servers import ScriptedServer, serving

from groundrail import Guard, Policy
from groundrail.entailment.shared import SharedEntailment
from groundrail.scoring import NearestScorer
from groundrail.scoring.base import Prepared, Score, Scorer
from groundrail.scoring.batched import BatchedScorer
from groundrail.serve import Settings, create_app
from groundrail.serve.connections import server
from groundrail.testing import FakeEntailment
from groundrail.types import Source

MORE = "The lease ends on 28 February 2026. "
KEY = "sk-client-0123456789"
ONCE = Policy(stop=stop_after_attempt(1))
CHAT = "/v1/chat/completions"


class Upstream(ScriptedServer):
    """The server that writes, before which groundrail serves; without a script it writes a true and a false sentence."""

    def __init__(self) -> None:
        super().__init__(writing(TRUE, FALSE))


def writing(*texts: str, finish: str = "stop", piece: int = 6, usage: int = 11) -> Reply:
    """Streams the texts in small pieces, then the finish reason, then counts if they were asked for."""

    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk({"role": "assistant", "content": ""})
        for text in texts:
            for start in range(0, len(text), piece):
                handler.chunk({"content": text[start : start + piece]})
        handler.chunk({}, finish)
        if (body.get("stream_options") or {}).get("include_usage"):
            counts = {"prompt_tokens": 5, "completion_tokens": usage, "total_tokens": 5 + usage}
            handler.raw(f"data: {json.dumps({'choices': [], 'usage': counts})}\n\n")
        handler.end()

    return reply


def chunks(*deltas: dict[str, Any], finish: str | None = "stop", done: bool = True, **fields: Any) -> Reply:
    """Streams the deltas, each in a chunk with `fields`, then the finish reason, if any."""

    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        for delta in deltas:
            handler.chunk(delta, **fields)
        if finish:
            handler.chunk({}, finish)
        handler.end(done=done)

    return reply


def calling(*calls: dict[str, Any], text: str = "") -> Reply:
    """Streams a text, then the deltas of calls of tools."""
    return chunks({"content": text}, *({"tool_calls": [call]} for call in calls), finish="tool_calls")


def sending(status: int, content: str = "{}", **headers: str) -> Reply:
    return lambda handler, body: handler.send(status, content, **headers)


def going_wrong(text: str, event: str = "") -> Reply:
    """Writes a text and then an event; without one, nothing until the client has left."""

    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.chunk({"content": text})
        if event:
            handler.raw(f"data: {event}\n\n")
            handler.end()
        else:
            time.sleep(3)

    return reply


HALF = TRUE + "The rent"
ENDING_EARLY = chunks({"content": HALF}, finish=None, done=False)
"""Ends in the middle of a sentence, without a finish reason."""


def endless(text: str) -> Reply:
    """A reply that writes a text again and again."""

    def reply(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        while True:
            handler.chunk({"content": text})
            time.sleep(0.02)

    return reply


class Broken(Scorer):
    """A scorer that fails with a message that quotes the claim."""

    def read(self, source: Source) -> Prepared[Source]:
        return Prepared(self._fail, source)

    def _fail(self, claims: Sequence[str], source: Source) -> list[Score]:
        raise RuntimeError(f"cannot score {claims}")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving(Upstream()) as running:
        yield running


class Hasty:
    """asyncio with short sleeps: uvicorn looks every tenth of a second whether to end, and waits for as long at its end."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 20)


uvicorn.server.asyncio = Hasty()  # type: ignore[assignment, attr-defined]
# every client would read the same certificates
httpx._transports.default.create_ssl_context = cache(httpx.create_ssl_context)  # type: ignore[attr-defined]


@contextmanager
def running(app: ASGIApp, wait: float = 30.0) -> Iterator[str]:
    """The app under uvicorn in a thread, with `wait` seconds for the head of a request; gives its address."""
    made, listening = server(app, wait), socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=made.run, args=([listening],))
    thread.start()
    while not made.started:
        if not thread.is_alive():
            raise RuntimeError("the server did not start")
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        made.should_exit = True
        thread.join()


Serve = Callable[..., str]


@pytest.fixture
def judge() -> FakeEntailment:
    """Supports a claim whose words are all in one source sentence."""
    return FakeEntailment()


@pytest.fixture
def serve(upstream: Upstream, judge: FakeEntailment) -> Iterator[Serve]:
    """Starts servers before the scripted upstream: `serve(policy=..., scorer=..., **settings)` gives an address."""
    with ExitStack() as stack:

        def start(
            *, policy: Any = None, scorer: Any = None, observer: Any = None, writer: Any = None, **settings: Any
        ) -> str:
            shared = SharedEntailment(judge)
            pool = BatchedScorer(scorer or NearestScorer(shared))
            stack.callback(pool.close)
            guard = Guard(scorer=pool, policy=policy or Policy())
            chosen = Settings(**{"upstream": upstream.url, **settings})
            app = create_app(guard, chosen, writer=writer, judge=shared, observer=observer)
            return stack.enter_context(running(app, chosen.body_timeout))

        yield start


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=20) as client:
        yield client


Client = Callable[..., openai.OpenAI]


@pytest.fixture
def client() -> Iterator[Client]:
    """Official clients of an address, which do not repeat requests unless told to."""
    with ExitStack() as stack:

        def connect(address: str, **options: Any) -> openai.OpenAI:
            chosen = {"api_key": KEY, "max_retries": 0, "timeout": 20, **options}
            return stack.enter_context(openai.OpenAI(base_url=f"{address}/v1", **chosen))

        yield connect


def asking(**fields: Any) -> dict[str, Any]:
    """A chat request about the source."""
    messages = [{"role": "user", "content": "How much is the rent?"}]
    return {"model": "scripted", "messages": messages, "documents": [SOURCE], **fields}


def sent_by_hand(address: str, body: dict[str, Any] | None, *, buffer: int = 65536) -> socket.socket:
    """The connection over which a chat request was sent; one that is begun and never ends, where it has no body."""
    where, data = urlsplit(address), b"{" if body is None else json.dumps(body).encode()
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.settimeout(20)
    connection.connect((where.hostname, where.port))
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {99 if body is None else len(data)}\r\n\r\n".encode() + data)
    return connection


def for_client(**fields: Any) -> dict[str, Any]:
    """`asking` as arguments of the official client, which knows no documents."""
    asked = asking(**fields)
    documents = asked.pop("documents")
    return {**asked, "extra_body": {"documents": documents}}


def completion(client: openai.OpenAI, stream: bool, **fields: Any) -> Any:
    """The answer to `for_client(**fields)` as the official client has it in the end, streamed or not."""
    if not stream:
        return client.chat.completions.create(**for_client(**fields))
    with client.chat.completions.stream(**for_client(**fields)) as streamed:
        return streamed.get_final_completion()
