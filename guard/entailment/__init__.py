"""Entailment models: P(claim | premise)."""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported

if TYPE_CHECKING:
    from groundrail.entailment.base import BinaryEntailment as BinaryEntailment
    from groundrail.entailment.base import EntailmentModel as EntailmentModel
    from groundrail.entailment.causal import CausalEntailment as CausalEntailment
    from groundrail.entailment.cross_encoder import CrossEncoderEntailment as CrossEncoderEntailment
    from groundrail.entailment.loading import load as load
    from groundrail.entailment.respelled import Respelled as Respelled
    from groundrail.entailment.seq2seq import Seq2SeqEntailment as Seq2SeqEntailment
    from groundrail.entailment.token_classifier import TokenEntailment as TokenEntailment

__getattr__, __dir__, __all__ = exported(
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
