"""HTTP servers on loopback for tests: any handler in a thread, and an OpenAI-compatible server that follows a script."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

Started = TypeVar("Started", bound=ThreadingHTTPServer)


@contextmanager
def serving(server: Started) -> Iterator[Started]:
    """Serve in a thread until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class QuietHandler(BaseHTTPRequestHandler):
    """Reads and answers requests, and prints nothing."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def send(self, status: int, content: str = "", kind: str = "application/json", **headers: str) -> None:
        data = content.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Quiet."""


class Handler(QuietHandler):
    """Speaks chat completions; the server's `replies` come first, one a request, then `usual`."""

    protocol_version = "HTTP/1.1"
    server: "ScriptedServer"

    def do_POST(self) -> None:
        body = json.loads(self.body())
        with self.server.counting:
            self.server.bodies.append(body)
            self.server.headers.append(dict(self.headers.items()))
            self.server.at_once += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.at_once)
            reply = self.server.replies.pop(0) if self.server.replies else self.server.usual
        try:
            reply(self, body)
        except (BrokenPipeError, ConnectionResetError):
            self.server.left.set()
            self.close_connection = True
        finally:
            with self.server.counting:
                self.server.at_once -= 1

    def do_GET(self) -> None:
        self.send(200, json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}))

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def raw(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def chunk(self, delta: dict[str, Any], finish: str | None = None, **fields: Any) -> None:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        self.raw(f"data: {json.dumps({'model': 'scripted', 'choices': choices, **fields})}\n\n")

    def end(self, *, done: bool = True) -> None:
        if done:
            self.raw("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")


Reply = Callable[[Handler, dict[str, Any]], None]


class ScriptedServer(ThreadingHTTPServer):
    """Remembers the bodies and headers of requests, how many there were at once, and whether a client `left` early."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, usual: Reply) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.counting = threading.Lock()
        self.replies: list[Reply] = []
        self.usual = usual
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.at_once = self.most_at_once = 0
        self.left = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *arguments: Any) -> None:
        """A client that leaves early is part of the tests."""
