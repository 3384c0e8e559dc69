"""PMI steering as pure functions: West et al. (ACL 2022), section 3.3.2, equations 4 to 6.

Says how two next-token distributions become one. Where they come from (a logits processor, one joint
pass, a scored target) is left to the modules that call this one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from groundrail.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class PMI:
    """How far to steer by s_pmi = log P(t | source, context) - log P(t | context), equation 4.

    `alpha`: in [0, 1]; 0 leaves the grounded model as it is. The paper's range holds for both methods, but for
    addition more is allowed here, as classifier-free guidance uses it (`guidance_scale` is 1 + alpha) and a retry
    does (`Sampling.retry_alpha`).
    `floor`: beta in (0, 1]; only tokens with P_grounded >= beta * max P_grounded stay possible, which keeps a
    large ratio from promoting a token that the grounded model finds implausible. `None`: no floor, as in the
    paper. `InputError` if a number is out of range.
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
        if self.floor is not None and not 0 < self.floor <= 1:
            raise InputError(f"floor is {self.floor}: it must be in (0, 1], or None for no floor")


def combine(log_p_grounded: Tensor, log_p_ungrounded: Tensor, pmi: PMI, *, renormalize: bool = True) -> Tensor:
    """Steered log-probabilities over the last dimension, in the shape of the inputs.

    Interpolation (equation 5): (1 - alpha) * log P_g + alpha * s_pmi, which is log P_g - alpha * log P_u.
    Addition (equation 6): log P_g + alpha * s_pmi. Both inputs are log-probabilities (after log-softmax). A token
    that the grounded model rules out (-inf) stays out; one that only the ungrounded model rules out has no finite
    s_pmi and keeps log P_g. `renormalize=False` leaves out the softmax of the equations, which changes no ranking
    within a step.
    """
    import torch

    weight = 1 + pmi.alpha if pmi.method == "addition" else 1
    comparable = torch.isfinite(log_p_grounded) & torch.isfinite(log_p_ungrounded)
    steered = torch.where(comparable, weight * log_p_grounded - pmi.alpha * log_p_ungrounded, log_p_grounded)
    if pmi.floor is not None:
        least = log_p_grounded.amax(dim=-1, keepdim=True) + math.log(pmi.floor)
        steered = steered.masked_fill(log_p_grounded < least, -math.inf)
    elif pmi.alpha == 0:
        return log_p_grounded.clone()
    return torch.log_softmax(steered, dim=-1) if renormalize else steered
