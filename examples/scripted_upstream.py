"""An upstream without a model, for trying the server offline, for its container's compose file, and for measuring it.

Speaks streamed chat completions. It writes what the last user message holds between `<write>` and `</write>`; else
it answers from the source it is given: the sentences most like the question, and one of them again with other figures,
which the source does not support.
"""

import argparse
import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from groundrail.serve.sources import INSTRUCTION
from groundrail.text.sentences import split

MODEL = "scripted"
_WORD = re.compile(r"\w{3,}")
_WRITE = re.compile(r"<write>(.*)</write>", re.DOTALL)


def answer_to(messages: Sequence[dict[str, Any]]) -> str:
    """The text that this upstream has to say, without the part that stands already."""
    if any(message.get("role") == "assistant" for message in messages):
        return ""  # asked to go on: everything has been said
    question = next((str(m.get("content")) for m in reversed(messages) if m.get("role") == "user"), "")
    if script := _WRITE.search(question):
        return script[1]
    given = " ".join(str(message.get("content")) for message in messages if message.get("role") != "user")
    sentences = [part.text.strip() for part in split(given.replace(INSTRUCTION, "")) if len(part.text.split()) > 3]
    asked = set(_WORD.findall(question.lower()))
    nearest = sorted(sentences, key=lambda text: -len(asked & set(_WORD.findall(text.lower()))))[:2]
    if not nearest:
        return "I do not know."
    return " ".join([nearest[0], re.sub(r"\d", lambda digit: str((int(digit[0]) + 3) % 10), nearest[0]), *nearest[1:]])


def create_upstream(pace: float = 0.0, piece: int = 12) -> Starlette:
    """The app; it sends `piece` characters at a time, `pace` seconds apart."""

    async def chat(request: Request) -> Response:
        body = await request.json()
        if not body.get("stream"):
            return JSONResponse({"error": {"message": "this upstream only streams"}}, 400)
        usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return StreamingResponse(events(answer_to(body["messages"]), usage), media_type="text/event-stream")

    async def events(text: str, usage: bool) -> AsyncIterator[str]:
        for start in range(0, len(text), piece):
            yield _event([{"index": 0, "delta": {"content": text[start : start + piece]}, "finish_reason": None}])
            await asyncio.sleep(pace)
        yield _event([{"index": 0, "delta": {}, "finish_reason": "stop"}])
        if usage:
            words = len(text.split())
            yield _event([], usage={"prompt_tokens": 0, "completion_tokens": words, "total_tokens": words})
        yield "data: [DONE]\n\n"

    async def models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "groundrail"}]})

    return Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"]), Route("/v1/models", models)])


def _event(choices: list[dict[str, Any]], **fields: Any) -> str:
    chunk = {
        "id": "scripted",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": MODEL,
        "choices": choices,
    }
    return f"data: {json.dumps({**chunk, **fields})}\n\n"


def main() -> None:
    """Serve until interrupted."""
    import uvicorn

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--pace", type=float, default=0.02, help="seconds between two pieces")
    options = parser.parse_args()
    uvicorn.run(create_upstream(options.pace), host=options.host, port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
