"""A drop-in for transformers' `TextIteratorStreamer` that yields only text that the source supports.

One line changes in code that iterates a streamer. There is no retry here, since `generate` runs on in its
own thread; for retries use `Guard` with `HFGenerator`.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from transformers import TextIteratorStreamer

from groundrail.errors import GenerationError
from groundrail.generation.streams import GuardedStream
from groundrail.generators.asked import AskedSession
from groundrail.guard import Guard
from groundrail.types import GuardResult, Source

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase


LOOKS = 0.2
"""Seconds from one look to the next whether the thread that runs `generate` is still alive."""


class GuardedTextIteratorStreamer(TextIteratorStreamer):
    """`TextIteratorStreamer(tokenizer, skip_prompt=True)` with a guard and a source.

    `prompt` is the question of the answer, for sentences such as "Until Friday.".

    Yields sentences once their verdict is known; `result` holds the `GuardResult` after the last one.
    `options` are those of `TextIteratorStreamer`; the prompt is skipped unless told otherwise. A streamer that is left
    early has to be closed, as by a `with` block: nothing more is judged, and further text of `generate` is not read.

    The answer ends with an error where the thread that runs `generate` ends before the text does. A `generate` that
    fails before its first token is noticed where `run` calls it: `Thread(target=streamer.run, args=(model.generate,))`.
    """

    def __init__(
        self, tokenizer: "PreTrainedTokenizerBase", guard: Guard, source: Source, prompt: str = "", **options: Any
    ) -> None:
        super().__init__(tokenizer, **{"skip_prompt": True, "skip_special_tokens": True, **options})
        self._last: int | None = None
        self._writer: threading.Thread | None = None
        self._failure: Exception | None = None
        self._session = _Once(lambda accepted, refused: self.pieces())
        self._stream: GuardedStream = guard.with_generator(self._session).stream(prompt, source)
        self._released = iter(self._stream)

    @property
    def result(self) -> GuardResult:
        """Raises: InputError before the last piece was taken."""
        return self._stream.result

    def put(self, value: "torch.Tensor") -> None:
        """Called by `generate` with every token."""
        self._writer = threading.current_thread()
        self._last = int(value.reshape(-1)[-1])
        super().put(value)  # type: ignore[no-untyped-call]

    def run(self, generate: Callable[..., object], **options: Any) -> None:
        """Call `generate` with this streamer; where it fails, the answer ends with its error."""
        try:
            generate(**options, streamer=self)
        except Exception as error:
            self._failure = error
            self.text_queue.put(self.stop_signal)

    def __next__(self) -> str:
        return next(self._released)

    def close(self) -> None:
        """Stop here: nothing more is judged or released; a thread that waits for text stops waiting."""
        self._stream.close()
        self.text_queue.put(self.stop_signal)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def pieces(self) -> Iterator[str]:
        """The text of `generate`, unchecked. Raises: its error; GenerationError if it ended without one."""
        while (piece := self._piece()) != self.stop_signal:
            yield piece
        if self._failure is not None:
            raise self._failure
        if self._last is not None and self._last not in self.tokenizer.all_special_ids:
            self._session.cut_off = "generate stopped before the answer's end, as at max_new_tokens"

    def _piece(self) -> str:
        end = None if self.timeout is None else time.monotonic() + self.timeout
        while True:
            ended = self._writer is not None and not self._writer.is_alive()  # before the look at the queue
            left = LOOKS if end is None else min(LOOKS, end - time.monotonic())
            try:
                piece: str = self.text_queue.get(block=not ended, timeout=max(0.0, left))
                return piece
            except queue.Empty:
                if ended:
                    raise GenerationError("generate ended before its text did; its thread shows its error") from None
                if left <= 0:
                    raise GenerationError(f"generate wrote nothing for {self.timeout:g} seconds") from None


class _Once(AskedSession):
    """The text that a streamer receives, with no second try."""

    @property
    def can_retry(self) -> bool:
        return False
