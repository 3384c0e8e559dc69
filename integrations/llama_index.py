"""groundrail for LlamaIndex: a response synthesizer, which holds text back, and an evaluator, which reports.

Tested with llama-index-core 0.14. The source of an answer is the text of the retrieved nodes. Handlers of LlamaIndex that
listen to the language model itself still see all that it writes.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from groundrail.errors import InputError, MissingExtraError
from groundrail.guard import Guard
from groundrail.integrations.doors import closed
from groundrail.runtime.both_ways import closing, each, iterate, run, value_of
from groundrail.types import GuardResult

try:
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
    from llama_index.core.llms.structured_llm import StructuredLLM
    from llama_index.core.response_synthesizers import BaseSynthesizer
except ImportError as error:
    raise MissingExtraError("groundrail.integrations.llama_index", "llama-index") from error


@closed("llama-index-core", "synthesize", "asynthesize", "get_prompts", "update_prompts", "callback_manager")
class GuardedSynthesizer(BaseSynthesizer):
    """A response synthesizer around another one: its text goes out sentence by sentence once the nodes support it.

    synthesizer: writes the answer. Where it streams, the released sentences are streamed as well.
    on_result: called with the `GuardResult` of every answer.

    The first sentence of an answer can be written again under the guard's policy, later ones cannot.

    Example: `index.as_query_engine(response_synthesizer=GuardedSynthesizer(synthesizer, guard))`.
    """

    def __init__(
        self, synthesizer: BaseSynthesizer, guard: Guard, on_result: Callable[[GuardResult], None] | None = None
    ) -> None:
        if synthesizer._output_cls is not None or isinstance(synthesizer._llm, StructuredLLM):
            raise InputError("structured output is not checked against any source: leave out output_cls")
        super().__init__(llm=synthesizer._llm, streaming=synthesizer._streaming)
        self.synthesizer, self.guard, self.on_result = synthesizer, guard, on_result

    def get_response(self, query_str: str, text_chunks: Sequence[str], **options: Any) -> Any:
        """The released text, or a generator of it. Raises: what `Guard.stream` raises."""
        pieces = self._released(query_str, text_chunks, options, is_async=False)
        return iterate(pieces) if self._streaming else run(_joined(pieces))

    async def aget_response(self, query_str: str, text_chunks: Sequence[str], **options: Any) -> Any:
        """`get_response` for an event loop."""
        pieces = self._released(query_str, text_chunks, options, is_async=True)
        return pieces if self._streaming else await _joined(pieces)

    async def _released(
        self, query: str, chunks: Sequence[str], options: dict[str, Any], *, is_async: bool
    ) -> AsyncGenerator[str]:
        respond: Any = self.synthesizer.aget_response if is_async else self.synthesizer.get_response
        guard = self.guard.with_generator(lambda question: respond(query_str=question, text_chunks=chunks, **options))
        stream: Any = guard.astream if is_async else guard.stream
        async with closing(await value_of(stream(query, list(chunks)))) as released:
            async for text in each(released):
                yield text
            if self.on_result is not None:
                self.on_result(released.result)

    def _get_prompts(self) -> Any:
        return self.synthesizer.get_prompts()

    def _update_prompts(self, prompts: Any) -> None:
        self.synthesizer.update_prompts(prompts)


async def _joined(pieces: AsyncGenerator[str]) -> str:
    return "".join([piece async for piece in pieces])


@closed("llama-index-core", "evaluate", "evaluate_response", "aevaluate_response", "get_prompts", "update_prompts")
class GuardedEvaluator(BaseEvaluator):
    """An evaluator of answers against their contexts: passing where every sentence is supported or claims nothing.

    The score is the share of such sentences, and the feedback names every other one with its reason.

    Example: `GuardedEvaluator(guard).evaluate_response(query, response)`.
    """

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    def _get_prompts(self) -> Any:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """There is no question."""

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **options: Any,
    ) -> EvaluationResult:
        """Check an answer. Raises: InputError without a response or contexts."""
        if response is None or contexts is None:
            raise InputError("an answer is checked against its contexts: pass response= and contexts=")
        result = await self.guard.acheck(response, list(contexts), query or "")
        refused = [s for s in result.sentences if not s.verdict.is_good]
        share = 1 - len(refused) / len(result.sentences) if result.sentences else 1.0
        feedback = "\n".join(f"{s.verdict}: {s.text.strip()} ({s.reason or 'no reason is known'})" for s in refused)
        return EvaluationResult(
            query=query,
            contexts=list(contexts),
            response=response,
            passing=result.supported,
            score=share,
            feedback=feedback or "every sentence is supported or claims nothing",
        )
