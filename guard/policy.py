"""What to do about a verdict: how far to trust, how often to retry, what to release instead.

A policy holds choices and no state. Scoring belongs to scorers, the loop to `groundrail.generation.loop`.
"""

from collections.abc import Callable
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from tenacity import RetryCallState, Retrying, stop_after_attempt
from tenacity.stop import stop_base

from groundrail.text.sentences import LONGEST
from groundrail.types import CheckedSentence, Verdict

Fallback: TypeAlias = Literal["drop", "flag", "quote", "abstain", "raise"] | Callable[[CheckedSentence], str | None]
OpenOrClosed: TypeAlias = Literal["open", "closed"]


class Policy(BaseModel):
    """The rules of release.

    threshold: score from which a claim counts as supported; None takes the calibration's, else the scorer's own.
    stop: when to stop regenerating an unsupported sentence; any tenacity `stop_*`, `|` and `&` included.
    fallback: what happens to a sentence that stays unsupported: `"drop"` leaves it out, `"flag"` releases
        it with its verdict, `"quote"` releases in its place the source's own sentence, in quotation marks, where the
        source contradicts it, and nothing else; `"abstain"` ends the answer with `abstention`, `"raise"` raises
        UnsupportedError, a callable returns the text to release instead, or None to leave it out.
    on_error, on_no_source: `"closed"` keeps back what could not be checked, `"open"` releases it.
    deadline, answer_deadline: seconds for a sentence with its retries, and for a whole answer.
    longest_sentence: characters after which a text without boundary is cut and its piece judged as it is.
    keep_refused: False leaves out of results, attempts, reasons, errors, events and logs every text that was not
        released, errors from what caused them, and hides what a wrapped LangChain runnable writes from handlers and
        tracers.
    fields: which leaves of a JSON object are claims, by key ("amount") or JSON pointer ("/deposit"), with all that is
        below. "!position" names leaves that are none, as numbers that only count. None: every leaf is a claim.
    doubt: (low, high), the scores of the guard's scorer between which its second scorer is asked instead.
    calibration: maps a scorer's value to a probability before it meets the threshold.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    threshold: float | None = None
    stop: stop_base = Field(default_factory=lambda: stop_after_attempt(3))
    fallback: Fallback = "drop"
    on_error: OpenOrClosed = "closed"
    on_no_source: OpenOrClosed = "closed"
    deadline: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    answer_deadline: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    longest_sentence: int = Field(default=LONGEST, ge=100)
    keep_refused: bool = True
    abstention: str = "I cannot answer that from the source."
    fields: tuple[str, ...] | None = None
    doubt: tuple[float, float] | None = None
    calibration: Callable[[float], float] | None = None

    @field_validator("threshold")
    @classmethod
    def _is_number(cls, value: float | None) -> float | None:
        if value is not None and value != value:
            raise ValueError("threshold is NaN; pass a number, or None for the scorer's own")
        return value

    @field_validator("doubt")
    @classmethod
    def _is_band(cls, value: tuple[float, float] | None) -> tuple[float, float] | None:
        if value is not None and not value[0] < value[1]:
            raise ValueError(f"doubt is {value}; pass a lower score and a higher one")
        return value

    @model_validator(mode="before")
    @classmethod
    def _stop_is_tenacity(cls, values: Any) -> Any:
        stop = values.get("stop") if isinstance(values, dict) else None
        if stop is not None and not isinstance(stop, stop_base):
            raise ValueError(f"stop is {stop!r}; pass a tenacity stop such as tenacity.stop_after_attempt(3)")
        return values

    @property
    def nearest_deadline(self) -> float | None:
        """Seconds until the first sentence must be decided, None without a deadline."""
        return min((d for d in (self.deadline, self.answer_deadline) if d is not None), default=None)

    def decisive(self, threshold: float) -> float:
        """The score from which a claim counts as supported, where the scorer's own threshold is this one."""
        fitted = getattr(self.calibration, "threshold", None)
        chosen = (self.threshold, fitted, threshold)
        return next(value for value in chosen if value is not None)

    def replacing(self, **changes: Any) -> Self:
        """The same policy with some choices changed, validated again."""
        return self.model_validate({name: getattr(self, name) for name in type(self).model_fields} | changes)

    def releases(self, verdict: Verdict) -> bool:
        """Whether a sentence with this verdict goes out as it is, before any fallback."""
        match verdict:
            case Verdict.SUPPORTED | Verdict.NO_CLAIM:
                return True
            case Verdict.UNSUPPORTED:
                return self.fallback == "flag"
            case Verdict.NO_SOURCE:
                return self.on_no_source == "open"
            case Verdict.ERROR | Verdict.TIMEOUT:
                return self.on_error == "open"


class Attempts:
    """Counts the attempts at one sentence in tenacity's own terms."""

    def __init__(self, policy: Policy) -> None:
        self._stop = policy.stop
        self._state = RetryCallState(Retrying(stop=policy.stop), None, (), {})

    @property
    def number(self) -> int:
        """Which attempt it is, from 1."""
        return self._state.attempt_number

    def another(self) -> bool:
        """Whether the policy allows one more try after a failed one; if so, counts it."""
        self._state.set_result(None)
        if self._stop(self._state):
            return False
        self._state.prepare_for_next_attempt()
        return True
