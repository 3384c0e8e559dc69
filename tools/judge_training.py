"""A judge in training: its weights, their running mean and the optimizer, on a processor or a GPU."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from judge_forward import NUMBER, logits_of, loss_of, parts, precision
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from windows import Pair

SLOWEST = 0.01
"""Share of a step's weights in the running mean, after the first hundred steps."""


class Training:
    """A three-class judge that learns from batches of pairs.

    Dropout is off, so that training draws nothing at random: weights follow from the base and the batches.

    base: folder of a three-class MPNet with its tokenizer
    frozen: lowest layers that stay as they are, beside the embeddings
    at_once: tokens, padding included, that are read at once; a step of more tokens is read in parts
    """

    def __init__(self, base: Path, device: torch.device, lr: float, frozen: int = 0, at_once: int = 2000) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(base)
        model: Any = AutoModelForSequenceClassification.from_pretrained(base, dtype=torch.float32)
        self.model = model.to(device).train()
        self.at_once = at_once
        still = [
            model.mpnet.embeddings,
            model.mpnet.encoder.relative_attention_bias,
            *model.mpnet.encoder.layer[:frozen],
        ]
        for module in still:
            module.requires_grad_(False)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        self._trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self._mean = [p.detach().clone() for p in self._trained.values()]
        self._optimizer = torch.optim.AdamW(
            self._trained.values(), lr=lr, betas=(0.9, 0.98), weight_decay=0.01, fused=True
        )
        self.steps = 0

    def step(self, batch: Sequence[Pair], lr: float) -> list[tuple[Pair, float]]:
        """Learn from a batch; each pair with its loss."""
        for group in self._optimizer.param_groups:
            group["lr"] = lr
        pairs, losses = sorted(batch, key=len), []
        for part in parts(range(len(pairs)), [len(pair) for pair in pairs], self.at_once):
            chosen = [pairs[n] for n in part]
            labels = torch.tensor([NUMBER[pair.label] for pair in chosen], device=self.model.device)
            with precision(self.model.device):
                logits = logits_of(self.model, self.tokenizer, chosen)
            each = loss_of(logits, labels)
            (each.sum() / len(pairs)).backward()  # type: ignore[no-untyped-call]
            losses.append(each.detach())
        trained = list(self._trained.values())
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self.steps += 1
        torch._foreach_lerp_(self._mean, [p.detach() for p in trained], max(SLOWEST, 1 / self.steps))
        return list(zip(pairs, torch.cat(losses).tolist(), strict=True))

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Inside the block the model has the running mean as its weights."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for parameter, mean in zip(self._trained.values(), self._mean, strict=True):
            parameter.data, mean.data = mean.data, parameter.data

    def save(self, folder: Path) -> None:
        """Write the running mean as a judge."""
        with self.averaged():
            self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def state(self) -> dict[str, Any]:
        """All that the next step depends on, beside the base and the batch."""
        return {
            "weights": {name: p.detach() for name, p in self._trained.items()},
            "mean": self._mean,
            "optimizer": self._optimizer.state_dict(),
            "steps": self.steps,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on after a `state`, on whichever device it was made."""
        with torch.no_grad():
            for name, parameter in self._trained.items():
                parameter.copy_(state["weights"][name])
            for mean, saved in zip(self._mean, state["mean"], strict=True):
                mean.copy_(saved)
        self._optimizer.load_state_dict(state["optimizer"])
        self.steps = state["steps"]


def write_checkpoint(file: Path, state: dict[str, Any]) -> None:
    """Write a state; an older file stays whole until the new file is."""
    new = file.with_name(file.name + ".new")
    torch.save(state, new)
    os.replace(new, file)


def read_checkpoint(file: Path) -> dict[str, Any]:
    """The state in a file, on the processor."""
    state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    return state
