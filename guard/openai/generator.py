"""`OpenAIGenerator`: writes through the chat completions of any OpenAI-compatible server, under a guard.

vLLM, TGI, llama.cpp and hosted APIs speak this protocol. Requests are made by
`groundrail.openai.client`; judging through such a server is `groundrail.openai.judge`.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from groundrail.errors import GenerationError, InputError
from groundrail.generators import Generator
from groundrail.generators.asked import AskedSession, Refusal, request_to_continue, turns_to_continue
from groundrail.openai.client import ChatCompletions, Connection
from groundrail.openai.events import Completion, add_counts
from groundrail.runtime.both_ways import closing, each, iterate
from groundrail.types import Document

INSTRUCTION = """Answer from the source below and from nothing else.

Source:
{source}

{question}"""

PREFILL: Mapping[str, Any] = {"add_generation_prompt": False, "continue_final_message": True}
"""Fields that make vLLM continue the last assistant message."""


class OpenAIGenerator(Generator):
    """A generator for `Guard`.

    instruction: the user message; `{source}` and `{question}` are filled in by replacement.
    prefill: the server writes on after a partial assistant message: True sends vLLM's fields with it, a
        mapping sends other ones, `{}` none (llama.cpp). False sends it back as a turn that has ended and asks
        to go on, which every server can do.
    parameters: settings of `ChatCompletions`, as `api_key="..."`; all others are further fields of the request, as
        `temperature=0.2, max_tokens=300`.

    Async code gets an async session.

    Raises: InputError for an instruction without its two places, for an invalid `base_url`, or no request at a
    time; MissingExtraError without the openai package.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        instruction: str = INSTRUCTION,
        prefill: bool | Mapping[str, Any] = False,
        **parameters: Any,
    ) -> None:
        if "{source}" not in instruction or "{question}" not in instruction:
            raise InputError("instruction must contain {source} and {question}")
        connection: Any = {name: parameters.pop(name) for name in Connection.__annotations__ if name in parameters}
        self.client = ChatCompletions(base_url, model, failure=GenerationError, **connection)
        self.instruction = instruction
        self._prefill = PREFILL if prefill is True else None if prefill is False else prefill
        self._parameters = parameters

    def __repr__(self) -> str:
        return f"OpenAIGenerator({self.client.server!r}, {self.client.model!r})"

    def start(self, question: str, documents: Sequence[Document]) -> AskedSession:
        """A session for plain code."""
        return self._session(question, documents, self.client.stream, iterate)

    async def astart(self, question: str, documents: Sequence[Document]) -> AskedSession:
        """A session for an event loop."""
        return self._session(question, documents, self.client.astream, aiter)

    def _session(self, question: str, documents: Sequence[Document], stream: Callable[..., Any], form: Any) -> AskedSession:
        """A session that asks by `stream`; `form` turns an async generator into the kind of iterator that it gives."""
        asked = self._asked(question, documents)

        async def write(accepted: str, refused: Sequence[Refusal]) -> AsyncGenerator[str]:
            completion = Completion()
            try:
                async with closing(each(stream(self._body(asked, accepted, refused), completion))) as texts:
                    async for text in texts:
                        if text:
                            yield text
                        session.cut_off = completion.cut_off
                if half := completion.rest():
                    yield half
            finally:  # note the tokens of the call, and how the server ended it
                counts = {name: count for name, count in completion.usage.items() if isinstance(count, int)}
                add_counts(session.counts, counts)
                if completion.cut_off:
                    session.counts[f"ended_by_{completion.finish_reason}"] = 1

        session = AskedSession(lambda accepted, refused: form(write(accepted, refused)))
        return session

    def _asked(self, question: str, documents: Sequence[Document]) -> str:
        source = "\n\n".join(document.text for document in documents)
        head, _, rest = self.instruction.partition("{source}")
        return head.replace("{question}", question) + source + rest.replace("{question}", question)

    def _body(self, asked: str, accepted: str, refused: Sequence[Refusal]) -> dict[str, Any]:
        fields: Mapping[str, Any] = {}
        if self._prefill is None:
            messages = continued([{"role": "user", "content": asked}], accepted, refused)
        else:
            avoided = f"\n\n{request_to_continue('', refused)}" if refused else ""
            messages = [{"role": "user", "content": asked + avoided}]
            if accepted:
                messages.append({"role": "assistant", "content": accepted.rstrip()})
                fields = self._prefill
        return {"messages": messages, **self._parameters, **fields}


def continued(messages: Sequence[Any], accepted: str, refused: Sequence[Refusal]) -> list[Any]:
    """A conversation that asks the model to go on; where nothing was accepted or refused, the conversation as it is."""
    return [*messages, *({"role": role, "content": text} for role, text in turns_to_continue(accepted, refused))]
