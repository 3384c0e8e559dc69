"""Steering Hugging Face `generate` toward the source."""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported

if TYPE_CHECKING:
    from groundrail.decoding.generator import HFGenerator as HFGenerator
    from groundrail.decoding.generator import Sampling as Sampling
    from groundrail.decoding.joint import PMIDecoding as PMIDecoding
    from groundrail.decoding.likelihood import continuation_log_probs as continuation_log_probs
    from groundrail.decoding.likelihood import token_gains as token_gains
    from groundrail.decoding.pmi import PMIAdditionLogitsProcessor as PMIAdditionLogitsProcessor
    from groundrail.decoding.pmi import PMIInterpolationLogitsProcessor as PMIInterpolationLogitsProcessor
    from groundrail.decoding.pmi import PMILogitsProcessor as PMILogitsProcessor
    from groundrail.decoding.steering import CAD as CAD
    from groundrail.decoding.steering import PMI as PMI
    from groundrail.decoding.steering import AdaCAD as AdaCAD
    from groundrail.decoding.steering import Steering as Steering
    from groundrail.decoding.steering import combine as combine

__getattr__, __dir__, __all__ = exported(
    __name__,
    {
        "generator": "HFGenerator Sampling",
        "joint": "PMIDecoding",
        "likelihood": "continuation_log_probs token_gains",
        "pmi": "PMIAdditionLogitsProcessor PMIInterpolationLogitsProcessor PMILogitsProcessor",
        "steering": "AdaCAD CAD PMI Steering combine",
    },
)
