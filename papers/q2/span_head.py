"""Answer questions with the encoder of the built-in judge and a small head over its token states.

The encoder reads the text as the premise and the question as the claim. The head finds the slice that answers the
question, or that there is no answer. `tools/train_span_head.py` trains the head with the encoder frozen, so that it
fits this encoder only. The answerer is better than the word overlap of `groundrail.papers.q2.answering` and worse than the
paper's model.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Self

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from groundrail.entailment.base import room
from groundrail.entailment.batching import by_length, padded
from groundrail.entailment.cross_encoder import CrossEncoderEntailment
from groundrail.errors import InputError, ModelError
from groundrail.papers.premises import as_many_as_fit
from groundrail.papers.q2.answering import AnswerSpan
from groundrail.scoring.index import SentenceIndex, joined
from groundrail.types import Document

FILE = "span_head.safetensors"


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a head.

    They are the numbers of the encoder states that it reads (0 is the embeddings), their width, the width and layers of
    the head, and the maximum length of an answer (`longest`, in tokens).
    """

    states: tuple[int, ...]
    encoder: int
    width: int = 96
    layers: int = 1
    heads: int = 4
    longest: int = 20


class SpanHead(nn.Module):
    """Project several states of each token to a narrow state, apply attention, and score starts, ends and no answer."""

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        self.norms = nn.ModuleList(nn.LayerNorm(shape.encoder) for _ in shape.states)
        self.narrow = nn.Linear(shape.encoder * len(shape.states), shape.width)
        self.part = nn.Embedding(2, shape.width)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                shape.width, shape.heads, 2 * shape.width, dropout, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(shape.layers)
        )
        self.ends = nn.Linear(shape.width, 2)
        self.none = nn.Linear(shape.width, 1)

    def forward(self, states: Sequence[Tensor], sentence: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of every slice, (batch, first token, last token), and of no answer, (batch).

        states: (batch, tokens, encoder) for each of `shape.states`.
        sentence: number of the token's sentence, from 1; 0 outside the text; (batch, tokens).
        real: whether the token is not padding; (batch, tokens).

        A slice that is not within one sentence, or is too long, has minus infinity.
        """
        beside = torch.cat([norm(state) for norm, state in zip(self.norms, states, strict=True)], dim=-1)
        x = self.dropout(self.narrow(self.dropout(beside))) + self.part((sentence > 0).long())
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=~real)
        first, last = self.ends(x).unbind(-1)
        places = torch.arange(x.shape[1], device=x.device)
        tokens = places[None] - places[:, None]
        same = (sentence[:, :, None] == sentence[:, None]) & (sentence > 0)[:, :, None]
        allowed = same & (tokens >= 0) & (tokens < self.shape.longest)
        slices = (first[:, :, None] + last[:, None]).masked_fill(~allowed, -torch.inf)
        return slices, self.none(x[:, 0]).squeeze(-1)

    def save(self, path: Path, judge: str, threshold: float) -> None:
        """Write the head in 16 bit, with the identity of the judge and the margin from which a slice is an answer."""
        tensors = {name: tensor.half().contiguous() for name, tensor in self.state_dict().items()}
        about = {"judge": judge, "threshold": str(threshold), "shape": json.dumps(asdict(self.shape))}
        save_file(tensors, path, about)

    @classmethod
    def load(cls, path: Path) -> tuple[Self, str, float]:
        """Load the head in float32, the judge's identity and the threshold. Raises: ModelError for another file."""
        try:
            with safe_open(path, "pt") as file:
                about, tensors = file.metadata(), {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
            shape = json.loads(about["shape"])
            head = cls(Shape(**{**shape, "states": tuple(shape["states"])}))
            head.load_state_dict(tensors)
            return head.eval(), about["judge"], float(about["threshold"])
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ModelError(f"{path.name} is no span head as tools/train_span_head.py writes it: {error}") from error


@dataclass(frozen=True, slots=True)
class Reading:
    """A question and a part of a text as one input of the encoder.

    slices: for each token its place in the text; (0, 0) outside the text.
    sentence: for each token the number of its sentence, from 1; 0 outside the text.
    """

    inputs: dict[str, list[int]]
    slices: list[tuple[int, int]]
    sentence: list[int]


class SpanHeadAnswerer:
    """Answer with the slice that the head scores highest, from the `nearest` sentences that are most like the question.

    Likeness compares words. An answer lies within one sentence. The margin of an answer is its logit minus the logit of
    no answer; it counts if the margin is at least `threshold`, and the score is the sigmoid of the difference. A
    sentence that does not fit beside the question is cut.

        SpanHeadAnswerer.builtin().answer([("When does the lease end?", "The lease ends on 28 February 2026.")])
    """

    def __init__(
        self,
        judge: CrossEncoderEntailment,
        head: SpanHead,
        *,
        threshold: float = 0.0,
        nearest: int = 3,
        batch_tokens: int = 4096,
    ) -> None:
        if nearest < 1:
            raise InputError(f"nearest is {nearest}; at least one sentence must be read")
        self.judge = judge
        self.head = head.to(judge.model.device).eval()
        self.threshold = threshold
        self.nearest = nearest
        self.batch_tokens = batch_tokens

    @classmethod
    def builtin(cls, file: Path | None = None) -> Self:
        """Load the built-in judge with the head in `file`, or with the built-in head.

        Raises: ModelError if the head was trained on another judge.
        """
        from groundrail.entailment.builtin import as_cross_encoder

        with as_file(files(__package__) / FILE) as own:
            head, trained_on, threshold = SpanHead.load(own if file is None else file)
        judge = as_cross_encoder()
        if judge.metadata.identity != trained_on:
            raise ModelError(
                f"the span head was trained on {trained_on}, and this is {judge.metadata.identity}; "
                f"train it again with tools/train_span_head.py"
            )
        return cls(judge, head, threshold=threshold)

    def answer(self, pairs: Sequence[tuple[str, str]]) -> list[AnswerSpan | None]:
        """One answer for each `(question, text)`, None where the text is blank or has none.

        Raises: ClaimTooLongError for a question that leaves no room for a text.
        """
        readings = self.readings(pairs)
        answers: list[AnswerSpan | None] = [None] * len(pairs)
        with torch.inference_mode():
            for batch in self._batches(readings):
                chosen = [readings[index] for index in batch]
                slices, none = self.head(*self.states(chosen))
                margins = (slices.flatten(1) - none[:, None]).double().cpu().max(dim=1)
                for index, margin, place in zip(batch, *map(Tensor.tolist, margins), strict=True):
                    answers[index] = self._answer(pairs[index][1], readings[index], margin, *divmod(place, len(slices[0])))
        return answers

    def readings(self, pairs: Sequence[tuple[str, str]]) -> list[Reading]:
        """The model input for each `(question, text)`; only the question if the text is blank."""
        longest = max(1, self.judge.max_tokens // 2)
        texts = dict.fromkeys(text for _, text in pairs)
        indices = {text: SentenceIndex([Document(text=text)], self.judge, longest) for text in texts}
        return [self._reading(question, indices[text]) for question, text in pairs]

    def states(self, readings: Sequence[Reading]) -> tuple[list[Tensor], Tensor, Tensor]:
        """The inputs of the head, padded on the right: hidden states of its layers, each (readings, tokens, size), the
        sentence number of each token, and whether the token is not padding, both (readings, tokens).
        """
        padding = {"input_ids": self.judge.tokenizer.pad_token_id or 0}
        inputs = padded([{**r.inputs, "sentence": r.sentence} for r in readings], padding, self.judge.model.device)
        sentence = inputs.pop("sentence")
        found = self.judge.model.base_model(**inputs, output_hidden_states=True).hidden_states
        states = [found[number].float() for number in self.head.shape.states]
        return states, sentence, inputs["attention_mask"].bool()

    def _batches(self, readings: Sequence[Reading]) -> Iterator[list[int]]:
        lengths, device = [len(reading.slices) for reading in readings], self.judge.model.device
        for batch in by_length(lengths, self.batch_tokens, alike=device.type == "cpu"):
            kept = [index for index in batch if any(readings[index].sentence)]
            if kept:
                yield kept

    def _reading(self, question: str, index: SentenceIndex) -> Reading:
        order = np.argsort(-index.likeness(question), kind="stable")[: self.nearest]
        ranked = [index.passages[int(place)] for place in order]
        read = sorted(as_many_as_fit(ranked, room(question, self.judge), self.judge), key=lambda passage: passage.start)
        encoded = self.judge.tokenizer(joined(read), question, return_offsets_mapping=True, verbose=False)
        slices: list[tuple[int, int]] = []
        sentence: list[int] = []
        number, shift = 0, 0
        begins = np.cumsum([0, *(passage.end - passage.start + 1 for passage in read)]).tolist()
        for part, (start, end) in zip(encoded.sequence_ids(0), encoded.pop("offset_mapping"), strict=True):
            if part != 0:
                slices.append((0, 0))
                sentence.append(0)
                continue
            while start >= begins[number]:
                shift = read[number].start - begins[number]
                number += 1
            slices.append((start + shift, end + shift))
            sentence.append(number)
        return Reading(dict(encoded), slices, sentence)

    def _answer(self, text: str, reading: Reading, margin: float, first: int, last: int) -> AnswerSpan | None:
        if not margin >= self.threshold:
            return None
        start, end = reading.slices[first][0], reading.slices[last][1]
        score = float(torch.sigmoid(torch.tensor(margin - self.threshold, dtype=torch.float64)))
        return AnswerSpan(text[start:end], start, end, score)
