"""groundrail: a generation-time guardrail that releases a sentence only when the source supports it."""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported
from groundrail.runtime.threads import let_threads_sleep

if TYPE_CHECKING:
    from groundrail.chat import ChatGuard as ChatGuard
    from groundrail.errors import ClaimTooLongError as ClaimTooLongError
    from groundrail.errors import GenerationError as GenerationError
    from groundrail.errors import GroundrailError as GroundrailError
    from groundrail.errors import GroundrailWarning as GroundrailWarning
    from groundrail.errors import InputError as InputError
    from groundrail.errors import MissingExtraError as MissingExtraError
    from groundrail.errors import ModelError as ModelError
    from groundrail.errors import ScoringError as ScoringError
    from groundrail.errors import SourceTooLongError as SourceTooLongError
    from groundrail.errors import UnsupportedError as UnsupportedError
    from groundrail.errors import UnsupportedObjectError as UnsupportedObjectError
    from groundrail.generation.streams import AsyncGuardedStream as AsyncGuardedStream
    from groundrail.generation.streams import GuardedStream as GuardedStream
    from groundrail.guard import Guard as Guard
    from groundrail.objects.results import CheckedField as CheckedField
    from groundrail.objects.results import ObjectResult as ObjectResult
    from groundrail.policy import Policy as Policy
    from groundrail.runtime.allocator import tune_allocator as tune_allocator
    from groundrail.scoring.read_source import ReadSource as ReadSource
    from groundrail.types import Attempt as Attempt
    from groundrail.types import CheckedSentence as CheckedSentence
    from groundrail.types import Citation as Citation
    from groundrail.types import Document as Document
    from groundrail.types import GuardResult as GuardResult
    from groundrail.types import Span as Span
    from groundrail.types import Verdict as Verdict

let_threads_sleep()

__version__ = "0.2.0.dev0"

__getattr__, __dir__, __all__ = exported(
    __name__,
    {
        "chat": "ChatGuard",
        "errors": "ClaimTooLongError GenerationError GroundrailError GroundrailWarning InputError MissingExtraError ModelError "
        "ScoringError "
        "SourceTooLongError UnsupportedError UnsupportedObjectError",
        "generation.streams": "AsyncGuardedStream GuardedStream",
        "guard": "Guard",
        "objects.results": "CheckedField ObjectResult",
        "policy": "Policy",
        "runtime.allocator": "tune_allocator",
        "scoring.read_source": "ReadSource",
        "types": "Attempt CheckedSentence Citation Document GuardResult Span Verdict",
    },
)
