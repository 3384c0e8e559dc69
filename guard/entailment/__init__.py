"""Entailment models: P(claim | premise).

Names resolve when first used, so that importing the package loads neither torch nor transformers.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundrail.entailment.base import EntailmentModel, NLIModel
    from groundrail.entailment.causal import CausalEntailment
    from groundrail.entailment.cross_encoder import CrossEncoderEntailment
    from groundrail.entailment.loading import load
    from groundrail.entailment.respelled import Respelled
    from groundrail.entailment.seq2seq import Seq2SeqEntailment
    from groundrail.entailment.token_classifier import TokenEntailment

__all__ = [
    "CausalEntailment",
    "CrossEncoderEntailment",
    "EntailmentModel",
    "NLIModel",
    "Respelled",
    "Seq2SeqEntailment",
    "TokenEntailment",
    "load",
]

_HOMES = {
    "CausalEntailment": "causal",
    "CrossEncoderEntailment": "cross_encoder",
    "EntailmentModel": "base",
    "NLIModel": "base",
    "Respelled": "respelled",
    "Seq2SeqEntailment": "seq2seq",
    "TokenEntailment": "token_classifier",
    "load": "loading",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
