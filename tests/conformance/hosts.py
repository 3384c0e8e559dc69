"""The table of hosts: each runs one scripted answer through the real integration and returns what a consumer saw.

The hosts of LangChain and of the other frameworks are in the modules beside this one.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import torch
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from tests.conformance.recorder import Seen, recorded
from tests.conformance.scripts import FALSE, QUESTION, SOURCE, Script

from groundrail import ChatGuard
from groundrail.generators.asked import AskedSession, Refusal
from groundrail.integrations.streamer import GuardedTextIteratorStreamer
from groundrail.serve import Settings, create_app
from groundrail.serve.writers import UpstreamWriter

TEXT = ("whole", "letters", "pieces", "half", "fails", "raise")
"""The ways that every host has which is given text."""


@dataclass(frozen=True)
class Host:
    """A way into an app.

    run: runs an answer, and returns what a consumer saw of it.
    ways: the ways of writing that its protocol has.
    cheap: whether thousands of streams take seconds.
    holds_back: False for a host that can only report, while the text goes past it.
    knows_half: whether the host is told that an answer stopped before its end.
    whole: whether an exception leaves a reader without any text.
    tells_errors: whether an error is told as data, so that no exception comes.
    blank: the text in place of an answer of which nothing is released.
    """

    run: Callable[[Script], Seen]
    ways: Sequence[str] = TEXT
    cheap: bool = False
    holds_back: bool = True
    knows_half: bool = False
    whole: bool = False
    tells_errors: bool = False
    blank: str = ""

    def allows(self, script: Script, text: str) -> bool:
        """Whether this is exactly the text that a reader may see."""
        if script.way == "raise" and script.raises:
            return text == ("" if self.whole else script.required)
        if self.knows_half and script.way == "half" and text[-1:] not in ("", ".", "!", " ", "\n"):
            return False
        if script.way == "tools" and script.ends_mute:
            return text == script.required + self.blank
        return script.allows(text) or (text == self.blank and script.allows(""))


def asked_model(script: Script) -> Callable[[str, Sequence[Refusal]], Iterator[str]]:
    """The scripted model as a function that a session asks, again after each refusal."""
    asked = iter(range(100))
    return lambda accepted, refused: script.reply(next(asked))


def check(script: Script) -> Seen:
    with recorded() as seen:
        result = script.guard().check(script.text, SOURCE, QUESTION)
        seen.note(result)
        seen.pieces.append(result.text)
        seen.result = result.text
    return seen


def stream(script: Script) -> Seen:
    guard = script.guard().with_generator(AskedSession(asked_model(script)))
    with recorded() as seen, guard.stream(QUESTION, SOURCE) as answer:
        for sentence in answer.sentences():
            seen.note(sentence)
            seen.pieces.append(sentence.released_text)
        seen.note(answer.result)
        seen.result = answer.result.text
    return seen


def astream(script: Script) -> Seen:
    model = asked_model(script)

    async def write(accepted: str, refused: Sequence[Refusal]) -> AsyncIterator[str]:
        for piece in model(accepted, refused):
            yield piece

    async def run(seen: Seen) -> None:
        guard = script.guard().with_generator(AskedSession(write))
        async with await guard.astream(QUESTION, SOURCE) as answer:
            async for text in answer:
                seen.pieces.append(text)
            seen.note(answer.result)
            seen.result = answer.result.text

    return in_a_loop(run)


def pushed(script: Script) -> Seen:
    with recorded() as seen:
        answer = script.guard().incremental(SOURCE, QUESTION)
        decided = []
        try:
            for piece in script.reply(0):
                decided += answer.feed(piece)
            decided += answer.finish()
        except Exception as error:
            decided += answer.fail(error)
        for sentence in decided:
            seen.note(sentence)
            seen.pieces.append(sentence.released_text)
        seen.note(answer.error)
        seen.note(answer.result)
        seen.result = None if answer.result is None else answer.result.text
    return seen


def chat(script: Script) -> Seen:
    talk = ChatGuard(script.guard().with_generator(AskedSession(asked_model(script))))
    with recorded() as seen:
        seen.pieces += talk.stream(QUESTION, SOURCE)
        seen.note(talk.turns)
        seen.result = talk.turns[-1].reply
    return seen


def achat(script: Script) -> Seen:
    talk = ChatGuard(script.guard().with_generator(AskedSession(asked_model(script))))

    async def run(seen: Seen) -> None:
        async for text in talk.astream(QUESTION, SOURCE):
            seen.pieces.append(text)
        seen.note(talk.turns)
        seen.result = talk.turns[-1].reply

    return in_a_loop(run)


class _Letters:
    """A tokenizer whose tokens are letters; 0 ends a text."""

    all_special_ids = (0,)

    def decode(self, tokens: Sequence[int], **options: Any) -> str:
        """The letters."""
        return "".join(chr(token) for token in tokens if token)


def streamer(script: Script) -> Seen:
    tokens: Any = _Letters()
    released = GuardedTextIteratorStreamer(tokens, script.guard(), SOURCE, QUESTION, skip_prompt=False)

    def generate(streamer: GuardedTextIteratorStreamer) -> None:
        for piece in script.reply(0):
            for letter in piece:
                streamer.put(torch.tensor([ord(letter)]))
        if script.way != "half":
            streamer.put(torch.tensor([0]))
        streamer.end()

    with recorded() as seen, released:
        released.run(generate)
        for text in released:
            seen.pieces.append(text)
        seen.note(released.result)
        seen.result = released.result.text
    return seen


def server(script: Script) -> Seen:
    """`POST /v1/chat/completions` of the real app, streamed, before a scripted upstream; every byte is read."""

    async def run(seen: Seen) -> None:
        body = await _asked(script, stream=True)
        seen.note(body)
        for line in body.splitlines():
            if not line.startswith("data: {"):
                continue
            event = json.loads(line.removeprefix("data: "))
            for choice in event.get("choices", ()):
                seen.pieces.append(choice["delta"].get("content") or "")

    return in_a_loop(run)


def whole_server(script: Script) -> Seen:
    """The same request, not streamed."""

    async def run(seen: Seen) -> None:
        body = await _asked(script, stream=False)
        seen.note(body)
        for choice in json.loads(body).get("choices", ()):
            seen.pieces.append(choice["message"]["content"] or "")

    return in_a_loop(run)


async def _asked(script: Script, *, stream: bool) -> str:
    settings = Settings(upstream="http://upstream/v1")
    writer = UpstreamWriter(settings)
    writer._client = httpx.AsyncClient(transport=httpx.ASGITransport(_upstream(script)))
    app = create_app(script.guard(), settings, writer=writer)
    messages = [{"role": "user", "content": QUESTION}]
    offered = [{"type": "function", "function": {"name": "look_up"}}] if script.way == "tools" else []
    request = {"model": "scripted", "messages": messages, "documents": [SOURCE], "stream": stream, "tools": offered}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        reply = await client.post("/v1/chat/completions", json=request, headers={"groundrail-details": "full"})
    await writer.aclose()
    return reply.text


def _upstream(script: Script) -> Starlette:
    """A server that speaks chat completions and writes the script."""
    asked = iter(range(100))

    async def complete(request: Request) -> Response:
        return StreamingResponse(_events(script, next(asked)), media_type="text/event-stream")

    return Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])


async def _events(script: Script, asked: int) -> AsyncIterator[str]:
    if script.way == "reasoning":
        yield _event({"reasoning_content": "".join(FALSE)})
    if script.way == "tools":
        function = {"name": "look_up", "arguments": '{"what": "rent"}'}
        call = {"index": 0, "id": "1", "type": "function", "function": function}
    for number, reply in enumerate(script.replies if script.way == "tools" else [script.replies[0]]):
        for piece in script.reply(asked) if script.way != "tools" and not script.fails else reply:
            yield _event({"content": piece}, script)
        if script.way == "tools" and number == 0:
            yield _event({"tool_calls": [call]})
    if script.fails:
        yield 'data: {"error": {"message": "the scripted model fell over"}}\n\n'
    yield _event({}, finish="length" if script.way == "half" else "tool_calls" if script.way == "tools" else "stop")
    yield "data: [DONE]\n\n"


def _event(delta: dict[str, Any], script: Script | None = None, finish: str | None = None) -> str:
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": finish}]
    if script is not None and script.way == "choices":
        choices.append({"index": 1, "delta": {"content": FALSE[0]}, "finish_reason": None})
    return f"data: {json.dumps({'model': 'scripted', 'choices': choices})}\n\n"


def in_a_loop(run: Callable[[Seen], Any]) -> Seen:
    """Record an answer that is read on an event loop."""
    with recorded() as seen:
        asyncio.run(run(seen))
    return seen


ABSTENTION = "I cannot answer that from the source."
AGAIN = (*TEXT, "again")

HOSTS = {
    "Guard.check": Host(check, ("whole", "half", "raise"), cheap=True, whole=True),
    "Guard.stream": Host(stream, AGAIN, cheap=True),
    "Guard.astream": Host(astream, AGAIN, cheap=True),
    "Guard.incremental": Host(pushed, cheap=True, tells_errors=True),
    "ChatGuard.stream": Host(chat, AGAIN, cheap=True, blank=ABSTENTION),
    "ChatGuard.astream": Host(achat, AGAIN, cheap=True, blank=ABSTENTION),
    "GuardedTextIteratorStreamer": Host(streamer, cheap=True, knows_half=True),
    "/v1/chat/completions": Host(server, (*AGAIN, "reasoning", "tools", "choices"), knows_half=True, tells_errors=True),
    "/v1/chat/completions, whole": Host(
        whole_server, (*AGAIN, "reasoning", "tools", "choices"), knows_half=True, whole=True, tells_errors=True
    ),
}
