"""Factual ablation, West et al. (ACL 2022), section 3.2: is a text likelier given the source it is true of?

Each example has one context, one target and two sources; the target is true of one. Targets are scored,
nothing is generated. With steering, the target's tokens are scored by the steered distribution.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundrail.decoding.steering import Steering, combine
from groundrail.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MARGINS = (0.0, math.log(100), math.log(1000))
"""The margins of the paper's tables in nats: acc, and margin-acc at 100 and at 1000."""

SEPARATOR = "\n\n"
"""Between a source and the context."""


@dataclass(frozen=True, slots=True)
class AblationExample:
    """`target` continues `context` and is true of `source` but not of `other_source`."""

    context: str
    target: str
    source: str
    other_source: str


@dataclass(frozen=True, slots=True)
class AblationResult:
    """`log_ratios`: log P(target | source) - log P(target | other source) in nats, one an example.

    NaN where both are impossible, as below a steering's floor: that is above no margin.
    """

    log_ratios: tuple[float, ...]
    margins: tuple[float, ...]

    @property
    def accuracies(self) -> tuple[float, ...]:
        """acc (margin 0, equation 2) or margin-acc for each margin, in [0, 1]: a tie is a failure, as in the paper."""
        return tuple(sum(ratio > m for ratio in self.log_ratios) / len(self.log_ratios) for m in self.margins)


def load_examples(path: str | Path) -> list[AblationExample]:
    """The authors' file: each record holds two sources and a target true of each, so it gives two examples.

    A line is a record, or an object of records by id. `InputError` if there is none or a field is missing.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    examples = [e for n, line in enumerate(lines, start=1) if line.strip() for e in _read(line, f"{path}, line {n}")]
    if not examples:
        raise InputError(f"no examples in {path}")
    return examples


def _read(line: str, place: str) -> Iterator[AblationExample]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{place}: expected a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{place}: expected a JSON object, not {type(found).__name__}")
    yield from examples_of(found, place)


def examples_of(found: Mapping[str, Any], place: str) -> Iterator[AblationExample]:
    """Two examples a record; `found` is a record or holds records by id, `place` is named in complaints."""
    for record in [found] if "target" in found else found.values():
        fields = ("context", "target", "new_target", "source", "new_source")
        wrong = [field for field in fields if not isinstance(record, dict) or not isinstance(record.get(field), str)]
        if wrong:
            raise InputError(f"{place}: a record has no text under {wrong}: it needs {', '.join(fields)}")
        context, target, new_target, source, new_source = (record[field] for field in fields)
        yield AblationExample(context, target, source, new_source)
        yield AblationExample(context, new_target, new_source, source)


def factual_ablation(
    model: PreTrainedModel,
    tokenizer: Any,
    examples: Sequence[AblationExample],
    margins: Sequence[float] = MARGINS,
    steering: Steering | None = None,
    ungrounded_model: PreTrainedModel | None = None,
) -> AblationResult:
    """acc and margin-acc of a decoder-only model, steered or not; `margins` in nats.

    `ungrounded_model` estimates log P(t | context) for the steering, as in section 4.1, where it is tuned without
    the sources; by default `model` does.

        factual_ablation(tuned, tokenizer, load_examples(path), steering=PMI(0.5), ungrounded_model=tuned_without)

    Raises `InputError` without examples, or for an `ungrounded_model` without steering, `ModelError` if it has
    another vocabulary, and `SourceTooLongError` for a source that does not fit the model with its context and
    target.
    """
    return ablation_table(model, tokenizer, examples, margins, [steering], ungrounded_model)[0]


def ablation_table(
    model: PreTrainedModel,
    tokenizer: Any,
    examples: Sequence[AblationExample],
    margins: Sequence[float],
    steerings: Sequence[Steering | None],
    ungrounded_model: PreTrainedModel | None = None,
) -> list[AblationResult]:
    """`factual_ablation` for several steerings, from one reading of the texts. Raises: what that raises."""
    if not examples:
        raise InputError("factual ablation needs at least one example")
    if ungrounded_model is not None:
        from groundrail.decoding.prompts import require_same_vocabulary

        if all(steering is None for steering in steerings):
            raise InputError("ungrounded_model is only asked when steering: pass steering=PMI(alpha) too")
        require_same_vocabulary(model, ungrounded_model)
    ratios: list[list[float]] = [[] for _ in steerings]
    for _, group in groupby(examples, key=lambda example: example.context):
        estimator = model if ungrounded_model is None else ungrounded_model
        for found, more in zip(ratios, _log_ratios(model, estimator, tokenizer, list(group), steerings), strict=True):
            found += more
    return [AblationResult(tuple(found), tuple(margins)) for found in ratios]


def _log_ratios(
    model: PreTrainedModel,
    ungrounded_model: PreTrainedModel,
    tokenizer: Any,
    examples: Sequence[AblationExample],
    steerings: Sequence[Steering | None],
) -> list[list[float]]:
    """Log-ratios of examples with one context, a list for every steering; each source is read once."""
    from groundrail.decoding.likelihood import continuation_log_probs

    def ids(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    marks = (tokenizer.bos_token_id, tokenizer.eos_token_id)
    start = [mark for mark in marks if mark is not None][:1]
    context = ids(examples[0].context)
    targets = {text: ids(text) for text in dict.fromkeys(example.target for example in examples)}
    sources = dict.fromkeys(source for e in examples for source in (e.source, e.other_source))
    alone = continuation_log_probs(ungrounded_model, [*start, *context], list(targets.values()))
    ungrounded = [log_p.to(model.device) for log_p in alone]
    found: dict[tuple[str, str], list[float]] = {}
    for source in sources:
        grounded = continuation_log_probs(model, [*start, *ids(source + SEPARATOR), *context], list(targets.values()))
        for (text, tokens), with_source, without in zip(targets.items(), grounded, ungrounded, strict=True):
            found[source, text] = [
                float(
                    (with_source if steering is None else combine(with_source, without, steering))
                    .gather(1, with_source.new_tensor(tokens).long()[:, None])
                    .sum()
                )
                for steering in steerings
            ]
    return [
        [found[e.source, e.target][k] - found[e.other_source, e.target][k] for e in examples]
        for k in range(len(steerings))
    ]
