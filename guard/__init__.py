"""groundrail: a generation-time guardrail that releases a sentence only when the source supports it."""

from importlib import import_module
from typing import TYPE_CHECKING

from groundrail.runtime.views import VIEWS

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

_HOME = {
    "runtime.allocator": ("tune",),
    "chat": ("ChatGuard",),
    "errors": (
        "ClaimTooLongError",
        "GenerationError",
        "GroundrailError",
        "InputError",
        "MissingExtraError",
        "ModelError",
        "ScoringError",
        "SourceTooLongError",
        "UnsupportedError",
        "UnsupportedObjectError",
    ),
    "guard": ("Guard",),
    "objects.results": ("CheckedField", "ObjectResult"),
    "policy": ("Policy",),
    "generation.streams": ("AsyncGuardedStream", "GuardedStream"),
    "types": ("Attempt", "CheckedSentence", "Citation", "Document", "GuardResult", "Span", "Verdict"),
}

VIEWS.update(
    html="report.html:render",
    markdown="report.markdown:render",
    notebook="report.html:short",
    runnable="integrations.langchain.runnable:GuardedRunnable",
)

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


def __getattr__(name: str) -> object:
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(f"groundrail.{module}"), name)
    raise AttributeError(f"module 'groundrail' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
