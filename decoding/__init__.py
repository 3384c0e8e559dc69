"""Steering Hugging Face `generate` toward the source.

Names are loaded when first used, so that importing this package imports neither torch nor transformers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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

_HOME = {
    "AdaCAD": "steering",
    "CAD": "steering",
    "HFGenerator": "generator",
    "PMI": "steering",
    "PMIAdditionLogitsProcessor": "pmi",
    "PMIDecoding": "joint",
    "PMIInterpolationLogitsProcessor": "pmi",
    "PMILogitsProcessor": "pmi",
    "Sampling": "generator",
    "Steering": "steering",
    "combine": "steering",
    "continuation_log_probs": "likelihood",
    "token_gains": "likelihood",
}

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


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
