"""Every exception groundrail raises, on one page.

Catch `GroundrailError` for all of them. Errors about what the caller passed in are also `ValueError`,
so code that already guards against bad values keeps working.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundrail.objects.results import CheckedField
    from groundrail.types import GuardResult


class GroundrailError(Exception):
    """Base of every error raised on purpose by groundrail."""


class InputError(GroundrailError, ValueError):
    """The caller's text, file or argument cannot be used; the message says what to do."""


class ClaimTooLongError(InputError):
    """A claim leaves no room for any premise in the entailment model; claims are never truncated."""


class UncheckableError(InputError):
    """What a sentence says cannot be told from its text: readers would read it differently, or not at all.

    A guard gives such a sentence the verdict UNSUPPORTED, with this reason.
    """


class SourceTooLongError(InputError):
    """The prompt with its source does not fit the generator's context; a source is never cut silently."""


class ModelError(GroundrailError):
    """A model cannot be used as asked: wrong head, unknown labels, missing Yes or No token."""


class ScoringError(GroundrailError):
    """An entailment model or scorer failed while scoring; the sentence's verdict is ERROR."""


class GenerationError(GroundrailError):
    """The generator failed; what was released before stays released.

    `result` holds what was checked before, where a guard raised it under `Policy(fallback="raise")`.
    """

    def __init__(self, message: str, result: "GuardResult | None" = None) -> None:
        super().__init__(message)
        self.result = result


class UnsupportedError(GroundrailError):
    """Raised under `Policy(fallback="raise")` when a sentence stays unsupported.

    `result` holds everything checked so far, the offending sentence last.
    """

    def __init__(self, message: str, result: "GuardResult | None" = None) -> None:
        super().__init__(message)
        self.result = result


class UnsupportedObjectError(UnsupportedError):
    """Raised for an object with a refused field that the schema does not allow to be null, or that the policy raises.

    The message names the JSON pointers; `fields` holds the verdict on every field.
    """

    def __init__(self, message: str, fields: "dict[str, CheckedField]") -> None:
        super().__init__(message)
        self.fields = fields


class MissingExtraError(GroundrailError, ImportError):
    """An optional dependency is missing; the message names the extra to install."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional dependency: pip install 'groundrail[{extra}]'")
        self.extra = extra
