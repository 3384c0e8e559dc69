"""A drop-in for transformers' `TextIteratorStreamer` that yields only what the source supports.

One line changes in code that iterates a streamer. There is no retry here, since `generate` runs on in its
own thread; for retries use `Guard` with `HFGenerator`.
"""

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from transformers import TextIteratorStreamer

from groundrail.generation.streams import GuardedStream
from groundrail.generators import Generator, Session
from groundrail.guard import Guard
from groundrail.types import Document, GuardResult, Source

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase


class GuardedTextIteratorStreamer(TextIteratorStreamer):
    """`TextIteratorStreamer(tokenizer, skip_prompt=True)` with a guard and a source.

    `prompt` is what the answer answers, for sentences such as "Until Friday.".

    Yields sentences once their verdict is known; `result` holds the `GuardResult` after the last one.
    `options` are those of `TextIteratorStreamer`; the prompt is skipped unless told otherwise. Left early, close it, or
    use it in a `with` block: nothing more is judged, and what `generate` still writes is not read.
    """

    def __init__(
        self, tokenizer: "PreTrainedTokenizerBase", guard: Guard, source: Source, prompt: str = "", **options: Any
    ) -> None:
        super().__init__(tokenizer, **{"skip_prompt": True, "skip_special_tokens": True, **options})
        self._last: int | None = None
        self._stream: GuardedStream = guard.with_generator(_Once(self)).stream(prompt, source)
        self._released = iter(self._stream)

    @property
    def result(self) -> GuardResult:
        """Raises: InputError before the last piece was taken."""
        return self._stream.result

    def put(self, value: "torch.Tensor") -> None:
        """Called by `generate` with every token."""
        self._last = int(value.reshape(-1)[-1])
        super().put(value)  # type: ignore[no-untyped-call]

    def __next__(self) -> str:
        return next(self._released)

    def close(self) -> None:
        """Stop here: nothing more is judged or released."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def pieces(self) -> Iterator[str]:
        """What `generate` writes, unchecked."""
        while True:
            try:
                yield super().__next__()  # type: ignore[no-untyped-call]
            except StopIteration:
                return

    @property
    def cut_off(self) -> str:
        """Why the text ended before its end: `generate` stopped without a token that ends it."""
        ended = self._last is None or self._last in self.tokenizer.all_special_ids
        return "" if ended else "generate stopped before the answer's end, as at max_new_tokens"


class _Once(Generator, Session):
    """A generator and session in one: what the streamer receives, with no second try."""

    can_retry = False

    def __init__(self, streamer: GuardedTextIteratorStreamer) -> None:
        self._streamer = streamer

    def start(self, prompt: str, documents: Sequence[Document]) -> "_Once":
        return self

    @property
    def cut_off(self) -> str:
        return self._streamer.cut_off

    def propose(self) -> Iterator[str]:
        return self._streamer.pieces()

    def accept(self, n_chars: int) -> None:
        """Nothing to remember."""

    def reject(self, n_chars: int) -> None:
        """Nothing to rewind."""
