"""All exceptions that groundrail raises, and its warning.

Catch `GroundrailError` for all of them. Errors about bad arguments are also `ValueError`, so that code which already
catches `ValueError` keeps working.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundrail.objects.results import CheckedField
    from groundrail.types import GuardResult


class GroundrailError(Exception):
    """Base class of all errors that groundrail raises on purpose."""


class InputError(GroundrailError, ValueError):
    """A text, file or argument cannot be used; the message says what to do."""


class ClaimTooLongError(InputError):
    """A claim is so long that no premise fits beside it in the judge; groundrail never truncates a claim."""


class UncheckableError(InputError):
    """A sentence cannot be checked, because readers would read its text in different ways or not at all.

    A guard gives the sentence the verdict UNSUPPORTED, with the message as the reason.
    """


class SourceTooLongError(InputError):
    """Prompt and source together do not fit the generator's context; groundrail never cuts a source silently."""


class ModelError(GroundrailError):
    """A model cannot be used as asked: it has the wrong head, unknown labels, or no token for Yes or No."""


class ScoringError(GroundrailError):
    """A judge or scorer failed while scoring; the sentence gets the verdict ERROR."""


class _EndedError(GroundrailError):
    def __init__(self, message: str, result: "GuardResult | None" = None) -> None:
        super().__init__(message)
        self.result = result


class GenerationError(_EndedError):
    """The generator failed; text that was released before the failure stays released.

    A guard raises it if the generator failed before its first text, and under `Policy(fallback="raise")` wherever it failed;
    `result` then holds the sentences checked before the failure.
    """


class UnsupportedError(_EndedError):
    """A sentence stayed unsupported under `Policy(fallback="raise")`, or a guarded chain of LangChain saw no source.

    `result` holds all sentences checked so far; the last one is the unsupported sentence.
    """


class UnsupportedObjectError(UnsupportedError):
    """An object has a refused field that the schema does not allow to be null, or the policy's fallback is "raise".

    The message names the JSON pointers of the refused fields; `fields` holds the verdict on every field.
    """

    def __init__(self, message: str, fields: "dict[str, CheckedField]") -> None:
        super().__init__(message)
        self.fields = fields


class GroundrailWarning(UserWarning):
    """Something that was asked for has no effect; the message says what to do."""


class MissingExtraError(GroundrailError, ImportError):
    """An optional package is not installed; the message names the extra to install."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional dependency: pip install 'groundrail[{extra}]'")
        self.extra = extra
