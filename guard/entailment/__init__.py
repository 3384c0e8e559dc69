"""Entailment models: P(claim | premise)."""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported

if TYPE_CHECKING:
    from groundrail.entailment.base import BinaryEntailment, EntailmentModel
    from groundrail.entailment.causal import CausalEntailment
    from groundrail.entailment.cross_encoder import CrossEncoderEntailment
    from groundrail.entailment.loading import load
    from groundrail.entailment.respelled import Respelled
    from groundrail.entailment.seq2seq import Seq2SeqEntailment
    from groundrail.entailment.token_classifier import TokenEntailment

__all__ = [
    "BinaryEntailment",
    "CausalEntailment",
    "CrossEncoderEntailment",
    "EntailmentModel",
    "Respelled",
    "Seq2SeqEntailment",
    "TokenEntailment",
    "load",
]

__getattr__, __dir__ = exported(
    __name__,
    {
        "base": "BinaryEntailment EntailmentModel",
        "causal": "CausalEntailment",
        "cross_encoder": "CrossEncoderEntailment",
        "loading": "load",
        "respelled": "Respelled",
        "seq2seq": "Seq2SeqEntailment",
        "token_classifier": "TokenEntailment",
    },
)
