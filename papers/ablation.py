"""Factual ablation, West et al. (ACL 2022), section 3.2: is a text likelier with the source that supports it?

Each example has one context, one target and two sources; one source supports the target. Targets are scored; nothing is
generated. With steering, the steered distribution scores the tokens of the target.

The paper says that the synthetic set has 162 examples. The authors' file has 85 records, which make 170 examples, and
the shares that table 2 prints for language models are all fractions of 168.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from groundrail.decoding.steering import Steering, combine
from groundrail.errors import InputError, SourceTooLongError
from groundrail.evaluation.loaders import ablation_targets
from groundrail.evaluation.places import Place
from groundrail.evaluation.rows import read_rows

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MARGINS = (0.0, math.log(100), math.log(1000))
"""Margins of the paper's tables in nats: acc, and margin-acc at 100 and at 1000."""

SEPARATOR = "\n\n"
"""Text between a source and the context."""

TooLong: TypeAlias = Literal["error", "cut", "leave out"]
"""Treatment of an example that does not fit the model: an error, sources cut at their ends, or the example left out."""


@dataclass(frozen=True, slots=True)
class AblationExample:
    """`target` continues `context` and is true of `source` but not of `other_source`."""

    context: str
    target: str
    source: str
    other_source: str


@dataclass(frozen=True, slots=True)
class AblationResult:
    """The result of factual ablation.

    log_ratios: log P(target | source) - log P(target | other source) in nats, one for each example. NaN if the target
        is impossible with both sources, for example below the floor of a steering; NaN is above no margin.
    cut: number of these examples with a source that was cut.
    left_out: number of examples that were not measured because they do not fit the model.
    """

    log_ratios: tuple[float, ...]
    margins: tuple[float, ...]
    cut: int = 0
    left_out: int = 0

    @property
    def accuracies(self) -> tuple[float, ...]:
        """acc (margin 0, equation 2) or margin-acc for each margin, in [0, 1]. A tie is a failure, as in the paper."""
        return tuple(sum(ratio > m for ratio in self.log_ratios) / len(self.log_ratios) for m in self.margins)


def load_examples(path: str | Path) -> list[AblationExample]:
    """Read the authors' file: each record has two sources with a target for each, which makes two examples.

    A line is a record, or an object that holds records by id.

    Raises: InputError if there is no record or a field is missing.
    """
    path = Path(path)
    rows = ((Place(path, line), row) for line, row in read_rows(path)[1])
    return [AblationExample(*found) for place, row in rows for found in ablation_targets(place, row)]


def factual_ablation(
    model: PreTrainedModel,
    tokenizer: Any,
    examples: Sequence[AblationExample],
    margins: Sequence[float] = MARGINS,
    steering: Steering | None = None,
    ungrounded_model: PreTrainedModel | None = None,
    too_long: TooLong = "error",
) -> AblationResult:
    """Measure acc and margin-acc of a decoder-only model, with or without steering.

        factual_ablation(tuned, tokenizer, load_examples(path), steering=PMI(0.5), ungrounded_model=tuned_without)

    Args:
        margins: Margins in nats.
        ungrounded_model: Estimates log P(t | context) for the steering; in section 4.1 it is a model tuned without the
            sources. By default `model` estimates it.
        too_long: Treatment of an example with more tokens than `model` reads. "cut" cuts the end of the sources, which
            may remove the fact that distinguishes them (then the example is a tie, so a failure).

    Raises: InputError without examples, or for an `ungrounded_model` without steering; ModelError for an
        `ungrounded_model` with another vocabulary; SourceTooLongError, before anything is scored, if an example does
        not fit the model or leaves no room for its source.
    """
    return ablation_table(model, tokenizer, examples, margins, [steering], ungrounded_model, too_long)[0]


def ablation_table(
    model: PreTrainedModel,
    tokenizer: Any,
    examples: Sequence[AblationExample],
    margins: Sequence[float],
    steerings: Sequence[Steering | None],
    ungrounded_model: PreTrainedModel | None = None,
    too_long: TooLong = "error",
) -> list[AblationResult]:
    """Run `factual_ablation` for several steerings, reading the texts once. Raises: the errors of that function."""
    if not examples:
        raise InputError("factual ablation needs at least one example")
    if ungrounded_model is not None:
        from groundrail.decoding.prompts import require_same_vocabulary

        if all(steering is None for steering in steerings):
            raise InputError("ungrounded_model is only asked when steering: pass steering=PMI(alpha) too")
        require_same_vocabulary(model, ungrounded_model)
    texts = _Texts(model, tokenizer)
    kept, cut = _fitting(examples, texts, too_long)
    estimator, left_out = model if ungrounded_model is None else ungrounded_model, len(examples) - len(kept)
    ratios = [
        row
        for _, group in groupby(kept, key=lambda example: example.context)
        for row in _log_ratios(model, estimator, texts, list(group), steerings)
    ]
    return [AblationResult(found, tuple(margins), cut, left_out) for found in zip(*ratios, strict=True)]


class _Texts:
    """Token ids of texts, and the maximum number of tokens that the model reads."""

    def __init__(self, model: PreTrainedModel, tokenizer: Any) -> None:
        from groundrail.decoding.prompts import context_limit

        marks = (tokenizer.bos_token_id, tokenizer.eos_token_id)
        self.start = [mark for mark in marks if mark is not None][:1]
        self.limit = context_limit(model)
        self._tokenizer = tokenizer

    def ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def prompt(self, source: str, context: str, longest_target: int) -> list[int]:
        """Token ids of source and context; the end of the source is cut if the target would not fit behind them."""
        before, behind = self.ids(source + SEPARATOR), self.ids(context)
        if self.limit is not None and len(self.start) + len(before) + len(behind) + longest_target > self.limit:
            behind = [*self.ids(SEPARATOR), *behind]
            room = self.limit - len(self.start) - len(behind) - longest_target
            if room < 1:
                raise SourceTooLongError(
                    f"context and target have {len(behind) + longest_target} tokens, which leaves no room for a source in "
                    f"a model of {self.limit}: too_long='leave out' leaves such examples out"
                )
            before = self.ids(source)[:room]
        return [*self.start, *before, *behind]

    def tokens(self, example: AblationExample) -> int:
        """Number of tokens of the example with its longer source."""
        sources = (len(self.ids(source + SEPARATOR)) for source in (example.source, example.other_source))
        return len(self.start) + max(sources) + len(self.ids(example.context)) + len(self.ids(example.target))


def _fitting(examples: Sequence[AblationExample], texts: _Texts, too_long: TooLong) -> tuple[Sequence[AblationExample], int]:
    """The examples to measure, and the number of examples to cut. Raises: InputError, SourceTooLongError."""
    if too_long not in get_args(TooLong):
        raise InputError(f"too_long is one of {', '.join(map(repr, get_args(TooLong)))}, not {too_long!r}")
    limit = texts.limit
    if limit is None:
        return examples, 0
    lengths = [texts.tokens(example) for example in examples]
    over = sum(length > limit for length in lengths)
    if over and too_long == "error":
        raise SourceTooLongError(
            f"{over} of {len(examples)} examples do not fit a model of {limit} tokens, the longest has {max(lengths)} tokens: "
            "too_long='cut' cuts the end of their sources, too_long='leave out' leaves them out and counts them"
        )
    if too_long == "cut":
        return examples, over
    kept = [example for example, length in zip(examples, lengths, strict=True) if length <= limit]
    if not kept:
        raise SourceTooLongError(f"none of {len(examples)} examples fits a model of {limit} tokens")
    return kept, 0


def _log_ratios(
    model: PreTrainedModel,
    ungrounded_model: PreTrainedModel,
    texts: _Texts,
    examples: Sequence[AblationExample],
    steerings: Sequence[Steering | None],
) -> list[list[float]]:
    """For each of the examples with the same context its log-ratios, one a steering; each source is read once."""
    from groundrail.decoding.likelihood import continuation_log_probs

    context = examples[0].context
    targets = {text: texts.ids(text) for text in dict.fromkeys(example.target for example in examples)}
    longest = max(map(len, targets.values()))
    sources = dict.fromkeys(source for e in examples for source in (e.source, e.other_source))
    alone = continuation_log_probs(ungrounded_model, [*texts.start, *texts.ids(context)], list(targets.values()))
    ungrounded = [log_p.to(model.device) for log_p in alone]
    found: dict[tuple[str, str], list[float]] = {}
    for source in sources:
        grounded = continuation_log_probs(model, texts.prompt(source, context, longest), list(targets.values()))
        for (text, tokens), with_source, without in zip(targets.items(), grounded, ungrounded, strict=True):
            steered = (with_source if each is None else combine(with_source, without, each) for each in steerings)
            places = with_source.new_tensor(tokens).long()[:, None]
            found[source, text] = [float(log_p.gather(1, places).sum()) for log_p in steered]
    return [
        [own - other for own, other in zip(found[e.source, e.target], found[e.other_source, e.target], strict=True)]
        for e in examples
    ]
