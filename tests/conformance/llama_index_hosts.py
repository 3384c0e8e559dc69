"""The host of LlamaIndex, around one of its own language models that writes the script."""

import itertools
from collections.abc import Generator
from typing import Any

from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import PrivateAttr
from tests.conformance.hosts import TEXT, Host, in_a_loop
from tests.conformance.recorder import Seen, recorded
from tests.conformance.scripts import QUESTION, SOURCE, Script

from groundrail.integrations.llama_index import GuardedSynthesizer

NODES = [NodeWithScore(node=TextNode(text=SOURCE), score=1.0)]


class Written(CustomLLM):
    """A language model that writes the script, one reply each time that it is asked."""

    script: Any
    _asked: Any = PrivateAttr(default_factory=itertools.count)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text="".join(self.script.reply(next(self._asked))))

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Generator[CompletionResponse]:
        text = ""
        for piece in self.script.reply(next(self._asked)):
            text += piece
            yield CompletionResponse(text=text, delta=piece)


def synthesizer(script: Script, seen: Seen, *, streaming: bool) -> GuardedSynthesizer:
    """A guarded synthesizer around LlamaIndex's own."""

    def ended(result: Any) -> None:
        seen.note(result)
        seen.result = result.text

    plain = get_response_synthesizer(llm=Written(script=script), streaming=streaming)
    return GuardedSynthesizer(plain, script.guard(), on_result=ended)


def streamed(script: Script) -> Seen:
    with recorded() as seen:
        response: Any = synthesizer(script, seen, streaming=True).synthesize(QUESTION, NODES)
        for text in response.response_gen:
            seen.pieces.append(text)
        seen.note(response)
    return seen


def astreamed(script: Script) -> Seen:
    async def run(seen: Seen) -> None:
        response: Any = await synthesizer(script, seen, streaming=True).asynthesize(QUESTION, NODES)
        async for text in response.response_gen:
            seen.pieces.append(text)
        seen.note(response)

    return in_a_loop(run)


def whole(script: Script) -> Seen:
    with recorded() as seen:
        response: Any = synthesizer(script, seen, streaming=False).synthesize(QUESTION, NODES)
        seen.note(response)
        seen.pieces.append(response.response)
    return seen


HOSTS = {
    "LlamaIndex `GuardedSynthesizer`, streamed": Host(streamed, TEXT),
    "LlamaIndex `GuardedSynthesizer`, asynthesize": Host(astreamed, TEXT),
    "LlamaIndex `GuardedSynthesizer`, whole": Host(whole, ("whole", "half", "raise"), whole=True),
}
