"""`OpenAIGenerator`: writes through the chat completions of any OpenAI-compatible server, under a guard.

vLLM, TGI, llama.cpp and hosted APIs speak this protocol. Requests are made by
`groundrail.openai.client`; judging through such a server is `groundrail.openai.judge`.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from tenacity.stop import stop_base

from groundrail.errors import GenerationError, InputError
from groundrail.generators import Generator
from groundrail.generators.asked import AskedSession, request_to_continue
from groundrail.openai.client import ChatCompletions
from groundrail.types import Document

INSTRUCTION = """Answer from the source below and from nothing else.

Source:
{source}

{prompt}"""

PREFILL: Mapping[str, Any] = {"add_generation_prompt": False, "continue_final_message": True}
"""What makes vLLM write on in the last assistant message."""


class OpenAIGenerator(Generator):
    """A generator for `Guard`.

    instruction: the user message; `{source}` and `{prompt}` are filled in by replacement.
    prefill: the server writes on after a partial assistant message: True sends vLLM's fields with it, a
        mapping sends other ones, `{}` none (llama.cpp). False sends it back as a turn that has ended and asks
        to go on, which every server can do.
    parameters: further fields of the request, as `temperature=0.2, max_tokens=300`.

    The other arguments are those of `ChatCompletions`. Async code gets an async session.

    Raises: InputError for an instruction without its two places, for a `base_url` that is none, or no request at a
    time; MissingExtraError without httpx.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        instruction: str = INSTRUCTION,
        prefill: bool | Mapping[str, Any] = False,
        timeout: float = 60.0,
        stop: stop_base | None = None,
        max_concurrency: int = 8,
        **parameters: Any,
    ) -> None:
        if "{source}" not in instruction or "{prompt}" not in instruction:
            raise InputError("instruction must contain {source} and {prompt}")
        self.client = ChatCompletions(
            base_url,
            model,
            api_key=api_key,
            timeout=timeout,
            stop=stop,
            max_concurrency=max_concurrency,
            failure=GenerationError,
        )
        self.instruction = instruction
        self._prefill = PREFILL if prefill is True else None if prefill is False else prefill
        self._parameters = parameters

    def __repr__(self) -> str:
        return f"OpenAIGenerator({self.client.server!r}, {self.client.model!r})"

    def start(self, prompt: str, documents: Sequence[Document]) -> AskedSession:
        """A session for plain code."""
        asked = self._asked(prompt, documents)

        def write(accepted: str, refused: Sequence[str]) -> Iterator[str]:
            whole = _WholeCharacters()
            for event in self.client.stream(self._body(asked, accepted, refused)):
                if text := whole.feed(_text(event, session)):
                    yield text
            if whole.half:
                yield whole.half

        session = AskedSession(write)
        return session

    async def astart(self, prompt: str, documents: Sequence[Document]) -> AskedSession:
        """A session for an event loop."""
        asked = self._asked(prompt, documents)

        async def write(accepted: str, refused: Sequence[str]) -> AsyncIterator[str]:
            whole = _WholeCharacters()
            async with aclosing(self.client.astream(self._body(asked, accepted, refused))) as events:
                async for event in events:
                    if text := whole.feed(_text(event, session)):
                        yield text
            if whole.half:
                yield whole.half

        session = AskedSession(write)
        return session

    def _asked(self, prompt: str, documents: Sequence[Document]) -> str:
        source = "\n\n".join(document.text for document in documents)
        head, _, rest = self.instruction.partition("{source}")
        return head.replace("{prompt}", prompt) + source + rest.replace("{prompt}", prompt)

    def _body(self, asked: str, accepted: str, refused: Sequence[str]) -> dict[str, Any]:
        messages = [{"role": "user", "content": asked}]
        fields: Mapping[str, Any] = {}
        if self._prefill is not None:
            if refused:
                messages[0]["content"] += "\n\n" + request_to_continue("", refused)
            if accepted:
                messages.append({"role": "assistant", "content": accepted.rstrip()})
                fields = self._prefill
        elif accepted or refused:
            if accepted:
                messages.append({"role": "assistant", "content": accepted.rstrip()})
            messages.append({"role": "user", "content": request_to_continue(accepted, refused)})
        return {"messages": messages, **self._parameters, **fields}


def _text(event: Mapping[str, Any], session: AskedSession) -> str:
    """The text of an event; its counts, and whether the answer was cut off, go to the session."""
    stats = session.counts
    for name, count in (event.get("usage") or {}).items():
        if isinstance(count, int):
            stats[name] = stats.get(name, 0) + count
    pieces = []
    for choice in (event.get("choices") or ())[:1]:
        if choice.get("finish_reason") in ("length", "content_filter"):
            stats[f"ended_by_{choice['finish_reason']}"] = 1
            session.cut_off = f"the server cut the answer off ({choice['finish_reason']})"
        pieces.append((choice.get("delta") or {}).get("content") or "")
    return "".join(pieces)


class _WholeCharacters:
    """Joins surrogate pairs that a server sent in two events; `half` is one that waits for the other."""

    def __init__(self) -> None:
        self.half = ""

    def feed(self, text: str) -> str:
        text, self.half = self.half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self.half = text[:-1], text[-1]
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
