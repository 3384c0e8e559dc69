"""Answers from an extractive question-answering model: the slice of a text between its best start and end.

Long texts are read in overlapping windows and never cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from groundrail.entailment.batching import padded
from groundrail.entailment.pretrained import longest_input, require_fast
from groundrail.errors import ClaimTooLongError, InputError
from groundrail.papers.pretrained import Pretrained
from groundrail.papers.q2.answering import AnswerSpan

PAPER_ANSWERER = "ktrapeznikov/albert-xlarge-v2-squad-v2"
"""Hub id of the paper's answerer."""


@dataclass(frozen=True, slots=True)
class _Window:
    """One model input. `first` and `last` bound the tokens of the text; `offsets` has their characters."""

    pair: int
    inputs: dict[str, list[int]]
    offsets: list[tuple[int, int]]
    first: int
    last: int


class ExtractiveAnswerer(Pretrained):
    """Answer with any `AutoModelForQuestionAnswering`; the paper uses an ALBERT tuned on SQuAD 2.0.

    The answer of a window is the pair of start and end with the highest sum of logits.

    max_answer_tokens: maximum distance of start and end.
    no_answer: True for a model that was tuned on unanswerable questions and points at its first token for them. A pair
        is an answer if its sum is higher than that of the first token, and the score is the sigmoid of the difference.
        False: every question has an answer, and the score is the pair's probability among all pairs of all windows.
    overlap: number of tokens that neighbouring windows share, so that no answer up to this length is cut.

        ExtractiveAnswerer.from_pretrained(PAPER_ANSWERER)
    """

    auto_class = "AutoModelForQuestionAnswering"

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        no_answer: bool = True,
        overlap: int = 64,
        max_answer_tokens: int = 30,
        batch_size: int = 16,
        max_length: int | None = None,
    ) -> None:
        if not 1 <= max_answer_tokens <= overlap:
            raise InputError(
                f"max_answer_tokens is at least 1 and at most the overlap, not {max_answer_tokens} with {overlap}"
            )
        super().__init__(model.eval(), require_fast(tokenizer))  # type: ignore[no-untyped-call]
        self.no_answer, self.overlap = no_answer, overlap
        self.max_answer_tokens, self.batch_size = max_answer_tokens, batch_size
        self.max_length = max_length or longest_input(model, tokenizer) or 512

    def answer(self, pairs: Sequence[tuple[str, str]]) -> list[AnswerSpan | None]:
        """One answer for each `(question, text)`, None where the text is blank or has none.

        Raises: ClaimTooLongError for a question that leaves no room for a window.
        """
        windows = [window for number, pair in enumerate(pairs) for window in self._windows(number, *pair)]
        margins: list[list[tuple[float, float, tuple[int, int]]]] = [[] for _ in pairs]
        for start in range(0, len(windows), self.batch_size):
            batch = windows[start : start + self.batch_size]
            for window, found in zip(batch, self._read(batch), strict=True):
                margins[window.pair].append(found)
        return [self._best(pair[1], found) for pair, found in zip(pairs, margins, strict=True)]

    def _best(self, text: str, found: list[tuple[float, float, tuple[int, int]]]) -> AnswerSpan | None:
        """From each window's (score of its best span, of no span or of all spans, the span)."""
        if not found:
            return None
        score, _, (start, end) = max(found)
        others = torch.tensor([other for _, other, _ in found], dtype=torch.float64)
        if self.no_answer:
            margin = score - float(others.min())
            return AnswerSpan(text[start:end], start, end, _sigmoid(margin)) if margin > 0 else None
        return AnswerSpan(text[start:end], start, end, float(torch.exp(score - torch.logsumexp(others, 0))))

    def _windows(self, number: int, question: str, text: str) -> list[_Window]:
        if not text.strip():
            return []
        asked = len(self.tokenizer(question, add_special_tokens=False, verbose=False)["input_ids"])
        asked += self.tokenizer.num_special_tokens_to_add(pair=True)
        room = self.max_length - asked
        if room <= self.overlap:
            raise ClaimTooLongError(
                f"a question of {asked} tokens leaves {room} of {self.max_length} for the source, which must be "
                f"more than the overlap of {self.overlap}: {question[:80]!r}"
            )
        found = self.tokenizer(
            question,
            text,
            truncation="only_second",
            max_length=self.max_length,
            stride=self.overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        windows = []
        for row in range(len(found["input_ids"])):
            of_text = [place for place, part in enumerate(found.sequence_ids(row)) if part == 1]
            inputs = {name: found[name][row] for name in self.tokenizer.model_input_names if name in found}
            if of_text:
                windows.append(_Window(number, inputs, found["offset_mapping"][row], of_text[0], of_text[-1]))
        return windows

    def _read(self, batch: Sequence[_Window]) -> list[tuple[float, float, tuple[int, int]]]:
        padding = {"input_ids": self.tokenizer.pad_token_id or 0}
        tensors = padded([window.inputs for window in batch], padding, self.model.device)
        with torch.inference_mode():
            outputs = self.model(**tensors)
        starts, ends = outputs.start_logits.double().cpu(), outputs.end_logits.double().cpu()
        return [self._span(window, starts[row], ends[row]) for row, window in enumerate(batch)]

    def _span(self, window: _Window, starts: torch.Tensor, ends: torch.Tensor) -> tuple[float, float, tuple[int, int]]:
        first, last = window.first, window.last + 1
        pairs = starts[first:last, None] + ends[None, first:last]
        allowed = torch.ones_like(pairs).triu() - torch.ones_like(pairs).triu(self.max_answer_tokens)
        pairs = pairs.masked_fill(allowed == 0, -torch.inf)
        place = int(pairs.argmax())
        begin, end = first + place // len(pairs), first + place % len(pairs)
        other = starts[0] + ends[0] if self.no_answer else pairs.logsumexp((0, 1))
        span = window.offsets[begin][0], window.offsets[end][1]
        return float(pairs.max()), float(other), span


def _sigmoid(value: float) -> float:
    return float(torch.sigmoid(torch.tensor(value, dtype=torch.float64)))
