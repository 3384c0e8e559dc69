"""Steering Hugging Face `generate` toward the source."""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported

if TYPE_CHECKING:
    from groundrail.decoding.generator import HFGenerator, Sampling
    from groundrail.decoding.joint import PMIDecoding
    from groundrail.decoding.likelihood import continuation_log_probs, token_gains
    from groundrail.decoding.pmi import (
        PMIAdditionLogitsProcessor,
        PMIInterpolationLogitsProcessor,
        PMILogitsProcessor,
    )
    from groundrail.decoding.steering import CAD, PMI, AdaCAD, Steering, combine

__all__ = [
    "AdaCAD",
    "CAD",
    "HFGenerator",
    "PMI",
    "PMIAdditionLogitsProcessor",
    "PMIDecoding",
    "PMIInterpolationLogitsProcessor",
    "PMILogitsProcessor",
    "Sampling",
    "Steering",
    "combine",
    "continuation_log_probs",
    "token_gains",
]

__getattr__, __dir__ = exported(
    __name__,
    {
        "generator": "HFGenerator Sampling",
        "joint": "PMIDecoding",
        "likelihood": "continuation_log_probs token_gains",
        "pmi": "PMIAdditionLogitsProcessor PMIInterpolationLogitsProcessor PMILogitsProcessor",
        "steering": "AdaCAD CAD PMI Steering combine",
    },
)
