"""The rules for what follows a verdict: threshold, retries, and the text released in place of a refused sentence.

A policy holds choices and no state. Scorers give scores; `groundrail.generation.loop` applies the policy.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from tenacity import RetryCallState, Retrying, stop_after_attempt, stop_never
from tenacity.stop import stop_any, stop_base

from groundrail.text.known import same_words
from groundrail.types import CheckedSentence, Verdict

if TYPE_CHECKING:
    from groundrail.scoring.base import ScorerMetadata

Fallback: TypeAlias = (
    Literal["drop", "flag", "quote", "correct", "abstain", "raise"] | Callable[[CheckedSentence], str | None]
)
OpenOrClosed: TypeAlias = Literal["open", "closed"]
Threshold: TypeAlias = Literal["strict", "balanced", "lenient"]
Refuse: TypeAlias = Literal["unsupported", "contradicted"]
Marks: TypeAlias = Literal["check", "correct", "strip", "ignore"]


_THREE = stop_after_attempt(3)


class Policy(BaseModel):
    """The rules of release.

    threshold: the score from which a claim counts as supported: a number, or the name of a threshold that was fitted
        for the judge and the scorer, `"strict"`, `"balanced"` or `"lenient"`. None takes the threshold of the
        calibration, or else of the scorer, which is `"balanced"` if it was fitted.
    attempts: how often an unsupported sentence is written at most. 3 where neither it nor `stop` is given.
    stop: when to stop regenerating an unsupported sentence: any tenacity `stop_*`, also joined by `|` and `&`. Beside
        `attempts`, the first of both ends the tries.
    refuse: the sentences that are refused: `"unsupported"`, all that the source does not support, or `"contradicted"`, those
        that it contradicts. A sentence that it does not state is then released with the verdict `unsupported`
        (`CheckedSentence.flagged`), and reports mark it. That takes a judge of three classes, as the built-in one. What
        cannot be read, or names the wrong document, is refused in any case.
    fallback: what happens to a sentence that stays unsupported. `"drop"` leaves it out. `"flag"` releases it with its
        verdict. `"quote"` replaces it by the source sentence that contradicts it, in quotation marks, and leaves it out
        if none does. `"correct"` exchanges one detail for the source's, such as a figure or a name, and releases the
        sentence if it is then supported (`CheckedSentence.corrected`); where no exchange is, the sentence is written
        again or left out. `"abstain"` ends the answer with `abstention`. `"raise"` raises UnsupportedError. A callable
        returns the text to release instead, or None to leave the sentence out; the white space after it stays.
    on_error, on_no_source: `"closed"` holds back a sentence that could not be checked, `"open"` releases it.
    deadline, answer_deadline: seconds for a sentence with its retries, and for a whole answer.
    longest_sentence: number of characters after which text without a sentence boundary is cut; the piece is then
        judged as a sentence.
    keep_refused: False removes every text that was not released from results, attempts, reasons, errors, events and
        logs, detaches errors from their causes, and hides the text of a wrapped LangChain runnable from handlers and
        tracers.
    marks: what becomes of the answer's own marks of documents, such as "[2]" or "(source 2)", where there is more than one
        document. `"check"` judges a sentence against the documents that it names alone. `"correct"` does so and exchanges
        a mark for one of the document that supports the sentence; `"check"` does that, too, under the fallback
        `"correct"`. `"strip"` takes marks out of the released text, and `"ignore"` leaves them unchecked; both judge a
        sentence against all documents. A mark of a document that is not there is refused in any case.
    fields: the leaves of a JSON object that are claims, by key ("amount") or JSON pointer ("/deposit", with everything
        below it). "!position" names leaves that are no claims, for example numbers of list entries. None: every leaf is
        a claim.
    known: sentences that the app itself vouches for, since no source holds them, such as "You can reach us in the chat
        window.". A sentence of the answer with the same words, or one that the judge finds in one of them, has the verdict
        `known`, is released, and cites nothing. Case, white space and punctuation at the end do not count.
    doubt: (low, high): if the score of the guard's scorer lies in this range, the second scorer decides. "balanced" is the
        range from the scorer's lenient threshold to its strict one.
    calibration: maps a score to a probability before the threshold is applied.

        Guard(policy=Policy(threshold=0.8, fallback="abstain"))
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    threshold: float | Threshold | None = None
    attempts: int | None = Field(default=None, ge=1, strict=True)
    stop: stop_base | None = None
    refuse: Refuse = "unsupported"
    fallback: Fallback = "drop"
    on_error: OpenOrClosed = "closed"
    on_no_source: OpenOrClosed = "closed"
    deadline: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    answer_deadline: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    longest_sentence: int = Field(default=2000, ge=100)
    keep_refused: bool = True
    abstention: str = "I cannot answer that from the source."
    marks: Marks = "check"
    fields: tuple[str, ...] | None = None
    known: tuple[str, ...] = ()
    doubt: tuple[float, float] | Literal["balanced"] | None = None
    calibration: Callable[[float], float] | None = None

    @field_validator("threshold")
    @classmethod
    def _is_number(cls, value: float | Threshold | None) -> float | Threshold | None:
        if value is not None and value != value:
            raise ValueError("threshold is NaN; pass a number, or None for the scorer's own")
        return value

    @field_validator("on_error", "on_no_source", mode="before")
    @classmethod
    def _is_open_or_closed(cls, value: Any, info: ValidationInfo) -> Any:
        if value not in ("open", "closed"):
            raise ValueError(
                f'{info.field_name} is {value!r}; pass "closed", which treats such a sentence as `fallback` says, or "open", '
                "which releases it unchecked"
            )
        return value

    @field_validator("known")
    @classmethod
    def _has_words(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        blank = [number for number, sentence in enumerate(value, start=1) if not same_words(sentence)]
        if blank:
            raise ValueError(f"sentence {blank[0]} of known has no words; leave it out")
        return value

    @field_validator("doubt")
    @classmethod
    def _is_range(cls, value: tuple[float, float] | str | None) -> tuple[float, float] | str | None:
        if isinstance(value, tuple) and not value[0] < value[1]:
            raise ValueError(f"doubt is {value}; pass a lower score and a higher one")
        return value

    @model_validator(mode="after")
    def _names_no_calibrated_score(self) -> Self:
        if isinstance(self.threshold, str) and self.calibration is not None:
            raise ValueError(f"threshold={self.threshold!r} is for scores without calibration; pass a number, or None")
        return self

    @field_validator("stop", mode="before")
    @classmethod
    def _is_tenacitys(cls, stop: Any) -> Any:
        if stop is not None and not isinstance(stop, stop_base):
            raise ValueError(f"stop is {stop!r}; pass a tenacity stop such as tenacity.stop_after_attempt(3)")
        return stop

    @property
    def last_try(self) -> stop_base:
        """When the tries at a sentence end."""
        if self.attempts is None:
            return self.stop or _THREE
        return stop_any(stop_after_attempt(self.attempts), self.stop or stop_never)

    @property
    def asks_again(self) -> bool:
        """Whether the user chose that a sentence may be written more than once."""
        once = isinstance(self.stop, stop_after_attempt) and self.stop.max_attempt_number == 1
        return self.attempts != 1 and not once and (self.attempts or self.stop) is not None

    @property
    def is_silent_without_source(self) -> bool:
        """Whether an answer without a source comes out empty, and nothing says so."""
        return (
            self.on_no_source == "closed"
            and not self.known
            and isinstance(self.fallback, str)
            and self.fallback not in ("abstain", "raise")
        )

    @property
    def nearest_deadline(self) -> float | None:
        """Seconds until the first sentence must be decided, None without a deadline."""
        return min((d for d in (self.deadline, self.answer_deadline) if d is not None), default=None)

    @property
    def checks_marks(self) -> bool:
        """Whether a sentence is judged against the documents that it names alone."""
        return self.marks in ("check", "correct")

    @property
    def corrects_marks(self) -> bool:
        """Whether a mark of the wrong document is exchanged."""
        return self.marks == "correct" or (self.marks == "check" and self.fallback == "correct")

    def decisive(self, scorer: "ScorerMetadata") -> float:
        """The score from which a claim counts as supported. Raises: InputError for a name that was not fitted."""
        if isinstance(self.threshold, str):
            return scorer.named(self.threshold)
        fitted = getattr(self.calibration, "threshold", None)
        chosen = (self.threshold, fitted, scorer.threshold)
        return next(value for value in chosen if value is not None)

    def range_of_doubt(self, scorer: "ScorerMetadata") -> tuple[float, float] | None:
        """The scores at which a second scorer is asked. Raises: InputError for "balanced" where nothing was fitted."""
        return (scorer.named("lenient"), scorer.named("strict")) if self.doubt == "balanced" else self.doubt

    def replacing(self, **changes: Any) -> Self:
        """Copy the policy with some choices changed, and validate the copy."""
        return self.model_validate({name: getattr(self, name) for name in type(self).model_fields} | changes)

    def refuses(self, checked: CheckedSentence) -> bool:
        """Whether an unsupported sentence is written again, and left to the fallback."""
        goes_out = self.refuse == "contradicted" and checked.is_not_stated and checked.corrected is None
        return checked.verdict is Verdict.UNSUPPORTED and not goes_out

    def releases(self, checked: CheckedSentence) -> bool:
        """Whether a sentence is released unchanged, without a fallback."""
        match checked.verdict:
            case Verdict.SUPPORTED | Verdict.KNOWN | Verdict.NO_CLAIM:
                return True
            case Verdict.UNSUPPORTED:
                return self.fallback == "flag" or not self.refuses(checked)
            case Verdict.NO_SOURCE:
                return self.on_no_source == "open"
            case Verdict.ERROR | Verdict.TIMEOUT:
                return self.on_error == "open"


class Attempts:
    """Count the attempts at one sentence for the policy's tenacity stop."""

    def __init__(self, policy: Policy) -> None:
        self._stop = policy.last_try
        self._state = RetryCallState(Retrying(stop=self._stop), None, (), {})

    def another(self) -> bool:
        """Whether the policy allows another attempt after a failed one; if so, count the new attempt."""
        self._state.set_result(None)
        if self._stop(self._state):
            return False
        self._state.prepare_for_next_attempt()
        return True
