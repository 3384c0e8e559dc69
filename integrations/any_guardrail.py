"""groundrail as a guardrail of `any-guardrail`, with the signature that its other hallucination detectors have.

Tested with any-guardrail 0.7, whose factory takes no guardrails of other packages: make this one by its class.
"""

from typing import Any

from groundrail.errors import InputError, MissingExtraError
from groundrail.guard import Guard

try:
    from any_guardrail.base import Guardrail, GuardrailName
    from any_guardrail.registry import GUARDRAIL_METADATA
    from any_guardrail.types import GuardrailOutput, SpanResult
except ImportError as error:
    raise MissingExtraError("groundrail.integrations.any_guardrail", "any-guardrail") from error


class GuardedGuardrail(Guardrail):
    """Checks an answer against its context; `modified_text` is the text that the context supports.

    Example: `GuardedGuardrail(Guard()).validate(answer, context=[lease], question="How much is the rent?").valid`.
    """

    METADATA = GUARDRAIL_METADATA[GuardrailName.LETTUCE_DETECT].model_copy(
        update={"display_name": "groundrail", "vendor": "groundrail", "default_license": "apache-2.0"}
    )

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    def validate(
        self, input_text: str, context: str | list[str] | None = None, question: str | None = None, **options: Any
    ) -> GuardrailOutput:
        """Check an answer. `spans`: the sentences that are not supported. Raises: InputError without a context."""
        if context is None:
            raise InputError("an answer is checked against its context: pass context=")
        result = self.guard.check(input_text, context, question or "")
        refused = [s for s in result.sentences if not s.verdict.is_good]
        return GuardrailOutput(
            valid=result.supported,
            explanation="; ".join(f"{s.verdict}: {s.reason or s.text.strip()}" for s in refused) or None,
            score=None if result.score is None else 1 - result.score,
            spans=[SpanResult(start=s.start, end=s.end, text=s.text, label=s.verdict, score=s.score) for s in refused],
            modified_text=result.text,
            extra={"groundrail": result.model_dump(mode="json")},
        )
