"""Steering as pure functions that combine the next-token distributions with and without the source.

`PMI` is West et al. (ACL 2022), section 3.3.2, equations 4 to 6; `CAD` is Shi et al. (NAACL 2024) and `AdaCAD` Wang
et al. (NAACL 2025). The callers (logits processor, joint pass, scored targets) compute the two distributions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self

from groundrail.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


class Steering(ABC):
    """How far to steer toward the source: the weights of `combine`.

    `floor`: beta in (0, 1]; only tokens with P_grounded >= beta * max P_grounded stay possible, however large their
    ratio is. `None`: no floor, as in the papers.
    """

    __slots__ = ()

    floor: float | None

    @abstractmethod
    def weights(self, log_p_grounded: Tensor, log_p_ungrounded: Tensor) -> tuple[float | Tensor, float | Tensor]:
        """(a, b) of a * log P_g - b * log P_u: two numbers, or two tensors with a value for each row (..., 1)."""

    @abstractmethod
    def harder(self, factor: float) -> Self:
        """A copy that steers `factor` times as strongly, for the retry of a refused sentence."""


@dataclass(frozen=True, slots=True)
class PMI(Steering):
    """Steer by s_pmi = log P(t | source, context) - log P(t | context), equation 4, with one strength throughout.

    `alpha`: in [0, 1] in the paper; 0 leaves the grounded model as it is. For addition more is allowed, as in
    classifier-free guidance (`guidance_scale` is 1 + alpha). `floor`: see `Steering`. `InputError` if out of range.

        HFGenerator(model, tokenizer, steering=PMI(0.5))
    """

    alpha: float
    method: Literal["addition", "interpolation"] = "addition"
    floor: float | None = None

    def __post_init__(self) -> None:
        if self.method not in ("addition", "interpolation"):
            raise InputError(f"method is {self.method!r}: choose 'addition' or 'interpolation'")
        if not (math.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"alpha is {self.alpha}: it must be a finite number of at least 0")
        if self.method == "interpolation" and self.alpha > 1:
            raise InputError(f"alpha is {self.alpha}: interpolation needs 0 <= alpha <= 1")
        _require_floor(self.floor)

    def weights(self, log_p_grounded: Tensor, log_p_ungrounded: Tensor) -> tuple[float, float]:
        """(1 + alpha, alpha) for addition, (1, alpha) for interpolation."""
        return (1 + self.alpha if self.method == "addition" else 1), self.alpha

    def harder(self, factor: float) -> Self:
        """`factor` times alpha, for interpolation at most 1."""
        alpha = self.alpha * factor
        return replace(self, alpha=min(1.0, alpha) if self.method == "interpolation" else alpha)


@dataclass(frozen=True, slots=True)
class CAD(PMI):
    """Context-aware decoding (Shi et al., NAACL 2024), which is PMI-addition with the same alpha.

    Its softmax((1 + alpha) * log P_g - alpha * log P_u) is softmax(log P_g + alpha * s_pmi), for
    (1 + alpha) * log P_g - alpha * log P_u = log P_g + alpha * (log P_g - log P_u).

        HFGenerator(model, tokenizer, steering=CAD(0.5))
    """

    method: Literal["addition"] = field(default="addition", init=False)


@dataclass(frozen=True, slots=True)
class AdaCAD(Steering):
    """Adaptive context-aware decoding (Wang et al., NAACL 2025): CAD with another alpha in each step.

    alpha = scale * max(JSD, least), where JSD is the Jensen-Shannon divergence of the next-token distributions with
    the source and without it, in bits and so in [0, 1].

    `least`: the paper's warm-up for long answers, 0.3 there for summaries; 0, the default, is none.
    `scale`: 1 counts in bits. The authors' program counts in nats: `scale=math.log(2)` equals it, with its threshold
    divided by log 2 as `least`. `floor`: see `Steering`. `InputError` if a number is out of range.

        HFGenerator(model, tokenizer, steering=AdaCAD())
    """

    least: float = 0.0
    scale: float = 1.0
    floor: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.least <= 1:
            raise InputError(f"least is {self.least}: it must be in [0, 1], as the divergence is")
        if not (math.isfinite(self.scale) and self.scale >= 0):
            raise InputError(f"scale is {self.scale}: it must be a finite number of at least 0")
        _require_floor(self.floor)

    def weights(self, log_p_grounded: Tensor, log_p_ungrounded: Tensor) -> tuple[Tensor, Tensor]:
        """(1 + alpha, alpha) of every row."""
        divergence = jensen_shannon(log_p_grounded, log_p_ungrounded)
        alpha = self.scale * divergence.clamp(min=self.least)[..., None]
        return 1 + alpha, alpha

    def harder(self, factor: float) -> Self:
        """`factor` times alpha in every step."""
        return replace(self, scale=self.scale * factor)


def _require_floor(floor: float | None) -> None:
    if floor is not None and not 0 < floor <= 1:
        raise InputError(f"floor is {floor}: it must be in (0, 1], or None for no floor")


def combine(log_p_grounded: Tensor, log_p_ungrounded: Tensor, steering: Steering, *, renormalize: bool = True) -> Tensor:
    """Steered log-probabilities over the last dimension, in the shape of the inputs.

    Interpolation (equation 5): (1 - alpha) * log P_g + alpha * s_pmi, which is log P_g - alpha * log P_u.
    Addition (equation 6): log P_g + alpha * s_pmi; `CAD` and `AdaCAD` are this. Both inputs are log-probabilities
    (after log-softmax). A token that the grounded model rules out (-inf) stays out; one that only the ungrounded
    model rules out has no finite s_pmi and keeps log P_g. `renormalize=False` leaves out the softmax of the
    equations, which changes no ranking within a step.
    """
    import torch

    own, other = steering.weights(log_p_grounded, log_p_ungrounded)
    comparable = torch.isfinite(log_p_grounded) & torch.isfinite(log_p_ungrounded)
    steered = torch.where(comparable, own * log_p_grounded - other * log_p_ungrounded, log_p_grounded)
    if steering.floor is not None:
        least = log_p_grounded.amax(dim=-1, keepdim=True) + math.log(steering.floor)
        steered = steered.masked_fill(log_p_grounded < least, -math.inf)
    elif not isinstance(other, torch.Tensor) and other == 0:
        return log_p_grounded.clone()
    return torch.log_softmax(steered, dim=-1) if renormalize else steered


def jensen_shannon(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Jensen-Shannon divergence over the last dimension in bits, in [0, 1]: 0 for equal distributions, 1 for disjoint.

    Half of KL(P || M) and half of KL(Q || M), where M is the mean of P and Q. Both inputs are log-probabilities.
    """
    import torch

    log_m = torch.logaddexp(log_p, log_q) - math.log(2)

    def to_mean(log: Tensor) -> Tensor:
        terms = log.exp() * (log - log_m)
        return terms.where(torch.isfinite(log), 0.0).sum(dim=-1)

    return ((to_mean(log_p) + to_mean(log_q)) / (2 * math.log(2))).clamp(0, 1)
