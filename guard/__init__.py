"""groundrail: a generation-time guardrail that releases a sentence only when the source supports it."""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported

if TYPE_CHECKING:
    from groundrail.chat import ChatGuard
    from groundrail.errors import (
        ClaimTooLongError,
        GenerationError,
        GroundrailError,
        InputError,
        MissingExtraError,
        ModelError,
        ScoringError,
        SourceTooLongError,
        UnsupportedError,
        UnsupportedObjectError,
    )
    from groundrail.generation.streams import AsyncGuardedStream, GuardedStream
    from groundrail.guard import Guard
    from groundrail.objects.results import CheckedField, ObjectResult
    from groundrail.policy import Policy
    from groundrail.runtime.allocator import tune
    from groundrail.types import Attempt, CheckedSentence, Citation, Document, GuardResult, Span, Verdict

__version__ = "0.2.0.dev0"

__all__ = [
    "AsyncGuardedStream",
    "Attempt",
    "ChatGuard",
    "CheckedField",
    "CheckedSentence",
    "Citation",
    "ClaimTooLongError",
    "Document",
    "GenerationError",
    "GroundrailError",
    "Guard",
    "GuardResult",
    "GuardedStream",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "ObjectResult",
    "Policy",
    "ScoringError",
    "SourceTooLongError",
    "Span",
    "UnsupportedError",
    "UnsupportedObjectError",
    "Verdict",
    "tune",
]

__getattr__, __dir__ = exported(
    __name__,
    {
        "chat": "ChatGuard",
        "errors": "ClaimTooLongError GenerationError GroundrailError InputError MissingExtraError ModelError ScoringError "
        "SourceTooLongError UnsupportedError UnsupportedObjectError",
        "generation.streams": "AsyncGuardedStream GuardedStream",
        "guard": "Guard",
        "objects.results": "CheckedField ObjectResult",
        "policy": "Policy",
        "runtime.allocator": "tune",
        "types": "Attempt CheckedSentence Citation Document GuardResult Span Verdict",
    },
)
