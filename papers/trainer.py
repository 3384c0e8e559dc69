"""Training that leaves out what a grounded generator should not learn from (West et al., section 3.3.1).

`LossTruncationTrainer` is a `transformers.Trainer` in everything else. The caller tokenizes and marks the target tokens
(the rest is -100), as with any Trainer.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel, Trainer

from groundrail.decoding.prompts import require_same_vocabulary
from groundrail.errors import InputError, MissingExtraError

if find_spec("accelerate") is None:
    raise MissingExtraError("LossTruncationTrainer", "train")

IGNORED = -100
"""The label of a token that is no target, in transformers."""

UNGROUNDED = "ungrounded_"
"""Prefix of the columns that hold an example without its source."""

Batch: TypeAlias = dict[str, Tensor]


class RunningTruncation:
    """Which of a stream of values are among the highest 1 - c, judged by the last `window` of them.

    Nothing is dropped before `hot_start` values were seen (by default a full window): early in training a
    high loss says little about an example.
    """

    def __init__(self, c: float = 0.8, window: int = 10_000, hot_start: int | None = None) -> None:
        if not 0 < c <= 1:
            raise InputError(f"c is the share of examples that is kept, above 0 and at most 1, not {c}")
        hot_start = window if hot_start is None else hot_start
        if window < 1 or hot_start < 0:
            raise InputError(f"window is at least 1 and hot_start at least 0 examples, not {window} and {hot_start}")
        self.c = c
        self.hot_start = hot_start
        self.seen = 0
        self._window: deque[float] = deque(maxlen=window)

    def keep(self, values: Tensor, *, all_of_them: bool = False) -> Tensor:
        """True for each value, shape (n,), to be kept; the values join the window first.

        `all_of_them` drops none, as in a hot start that is counted elsewhere. A value that is not a number is kept,
        so that the Trainer's own checks see it, and joins nothing.
        """
        self._window.extend(value for value in values.tolist() if np.isfinite(value))
        self.seen += len(values)
        if all_of_them or self.seen <= self.hot_start or not self._window:
            return torch.ones_like(values, dtype=torch.bool)
        return ~(values > float(np.quantile(np.fromiter(self._window, float), self.c)))


class PairedCollator:
    """Collates a grounded example and its `ungrounded_` twin separately, each with `collator`.

    `collator` must pad labels, as `transformers.DataCollatorForSeq2Seq` does for every kind of model.
    """

    def __init__(self, collator: Callable[[list[dict[str, Any]]], Mapping[str, Any]]) -> None:
        self.collator = collator

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """One batch with the columns of both."""
        grounded = [_without(feature) for feature in features]
        ungrounded = [_ungrounded(feature) for feature in features]
        if not all(ungrounded):
            return dict(self.collator(grounded))
        twins = self.collator(ungrounded)
        return {**self.collator(grounded), **{UNGROUNDED + name: value for name, value in twins.items()}}


class LossTruncationTrainer(Trainer):
    """A Trainer in which the examples of highest loss, or of lowest grounding gain, teach nothing.

    c: share of examples kept by their present loss, among the last `window` examples. 1 keeps all.
    c_gnd: share kept by grounding gain (equation 3), log P(y | c, g) from the model being trained minus log P(y | c)
        from `ungrounded_model`. Examples then carry the target without its source in `ungrounded_input_ids`,
        `ungrounded_labels`, ...; see `PairedCollator`, and set `remove_unused_columns=False`. None leaves this out.
    reduce: "mean" compares losses and gains per label token, so that long and short targets compare; "sum" takes the
        whole target's, as equation 3 prints the gain.
    hot_start: examples seen before any is dropped, `window` by default.
    hot_start_epochs: the same in epochs, 3 in section 4.1. Their examples fill the windows. A resumed run goes on
        counting where it was.

    A dropped example adds nothing to the gradient and still counts in the batch's denominator, so with
    nothing dropped this trains exactly as `Trainer`. The share of examples dropped is logged as `dropped`.
    Evaluation drops nothing. Every process keeps its own window, which starts empty after a resume.

    Raises: InputError for c out of range, another `reduce`, two hot starts, a missing second model, label smoothing, a
    custom loss, or several GPUs in one process; ModelError for a second model with another vocabulary.
    """

    def __init__(
        self,
        *args: Any,
        c: float = 0.8,
        c_gnd: float | None = None,
        ungrounded_model: PreTrainedModel | None = None,
        window: int = 10_000,
        reduce: Literal["mean", "sum"] = "mean",
        hot_start: int | None = None,
        hot_start_epochs: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if reduce not in ("mean", "sum"):
            raise InputError(f"label tokens are joined by 'mean' or 'sum', not {reduce!r}")
        self._reduce = reduce
        if hot_start_epochs is not None:
            if hot_start is not None or hot_start_epochs < 0:
                raise InputError(
                    f"a hot start is hot_start={hot_start} examples or hot_start_epochs={hot_start_epochs} epochs "
                    "from 0: pass one of the two"
                )
            hot_start = 0
        self._hot_start_epochs = hot_start_epochs or 0.0
        self._by_loss = RunningTruncation(c, window, hot_start)
        self._by_gain = None if c_gnd is None else RunningTruncation(c_gnd, window, hot_start)
        self._ungrounded_model = ungrounded_model
        self._examples = self._dropped = 0
        self._require_usable()
        if ungrounded_model is not None:
            second: torch.nn.Module = ungrounded_model
            second.to(self.args.device).requires_grad_(False).eval()

    def _require_usable(self) -> None:
        if self.args.label_smoothing_factor or self.compute_loss_func is not None:
            raise InputError(
                "loss truncation ranks examples by cross-entropy: leave out label_smoothing_factor and compute_loss_func"
            )
        if self.args.n_gpu > 1:
            raise InputError(
                f"one process sees {self.args.n_gpu} GPUs and would split a batch between them: start with torchrun"
            )
        if (self._by_gain is None) != (self._ungrounded_model is None):
            raise InputError("c_gnd and ungrounded_model belong together: pass both, or neither")
        if self._ungrounded_model is None:
            return
        if self.args.remove_unused_columns:
            raise InputError(
                f"the {UNGROUNDED}* columns would be removed: set TrainingArguments(remove_unused_columns=False)"
            )
        require_same_vocabulary(self.accelerator.unwrap_model(self.model), self._ungrounded_model)

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: Batch,
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Cross-entropy over the label tokens of the kept examples, per label token of the whole batch."""
        grounded = _without(inputs)
        if not model.training:
            return super().compute_loss(model, grounded, return_outputs, num_items_in_batch)
        losses, targets, outputs = self._token_losses(model, grounded)
        keep = self.kept(inputs, losses.detach(), targets)
        self._examples += len(keep)
        self._dropped += int((~keep).sum())
        total = losses[keep].sum()
        if num_items_in_batch is None:
            loss = total / targets.sum().clamp(min=1)
        else:
            loss = total / num_items_in_batch
            if self.args.average_tokens_across_devices:
                loss = loss * self.accelerator.num_processes
        return (loss, outputs) if return_outputs else loss

    def kept(self, inputs: Batch, losses: Tensor, targets: Tensor) -> Tensor:
        """True for the examples to learn from, shape (n,).

        losses: cross-entropy of every token, 0 where there is no target, shape (n, width).
        targets: which tokens are targets, the same shape.

        Raises: InputError where the batch has no labels without the source, or others than with it.
        """
        count = targets.sum(dim=1)
        nothing = torch.full_like(losses[:, 0], torch.nan)  # no target: kept, and no part of the histogram
        tokens = count.clamp(min=1) if self._reduce == "mean" else torch.ones_like(count)
        loss = torch.where(count > 0, losses.sum(dim=1) / tokens, nothing)
        hot = (self.state.epoch or 0.0) < self._hot_start_epochs
        keep = self._by_loss.keep(loss, all_of_them=hot)
        if self._by_gain is None or self._ungrounded_model is None:
            return keep
        twin = _ungrounded(inputs)
        if "labels" not in twin:
            raise InputError(
                f"a batch has no {UNGROUNDED}labels: give every example its target without the source, "
                "and collate with PairedCollator"
            )
        with torch.no_grad():
            plain, plain_targets, _ = self._token_losses(self._ungrounded_model, twin)
        plain_count = plain_targets.sum(dim=1)
        unlike = (plain_count != count).nonzero().flatten().tolist()
        if unlike:
            row = unlike[0]
            raise InputError(
                f"example {row} of a batch has {int(count[row])} label tokens with its source and "
                f"{int(plain_count[row])} without: both must be the same target"
            )
        gain = plain.sum(dim=1) / tokens - loss
        return keep & self._by_gain.keep(-gain, all_of_them=hot)

    def _token_losses(self, model: torch.nn.Module, inputs: Batch) -> tuple[Tensor, Tensor, Any]:
        """Cross-entropy of every token (n, width), which of them are targets, and the model's output."""
        if "labels" not in inputs:
            raise InputError("examples have no labels: loss truncation needs the target's token ids")
        labels = inputs["labels"]
        inputs = {name: value for name, value in inputs.items() if name != "labels"}
        network = self.accelerator.unwrap_model(model)
        if network.config.is_encoder_decoder:
            if "decoder_input_ids" not in inputs:
                inputs["decoder_input_ids"] = network.prepare_decoder_input_ids_from_labels(labels)
        else:
            labels = F.pad(labels[:, 1:], (0, 1), value=IGNORED)
        outputs = model(**inputs)
        logits = outputs.logits.float()
        losses = F.cross_entropy(logits.transpose(1, 2), labels.to(logits.device), ignore_index=IGNORED, reduction="none")
        return losses, labels != IGNORED, outputs

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """As the Trainer's, with the share of examples dropped since the last time."""
        if self._examples and "loss" in logs:
            logs["dropped"] = self._dropped / self._examples
            self._examples = self._dropped = 0
        super().log(logs, *args, **kwargs)


def _without(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in columns.items() if not name.startswith(UNGROUNDED)}


def _ungrounded(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(UNGROUNDED): value for name, value in columns.items() if name.startswith(UNGROUNDED)}
