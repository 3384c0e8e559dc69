"""A checked object: a verdict for each leaf by JSON pointer, and the object that is released."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jsonpointer import JsonPointer, set_pointer
from pydantic import BaseModel, ConfigDict, Field

from groundrail.errors import UnsupportedObjectError
from groundrail.objects.correcting import corrected_value
from groundrail.objects.leaves import Leaf
from groundrail.objects.places import pointer_of
from groundrail.objects.schemas import Schema
from groundrail.policy import Policy
from groundrail.types import CheckedSentence, Citation, GuardResult, Verdict

_GRAVEST = (
    Verdict.ERROR,
    Verdict.TIMEOUT,
    Verdict.NO_SOURCE,
    Verdict.UNSUPPORTED,
    Verdict.SUPPORTED,
    Verdict.NO_CLAIM,
)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CheckedField(_Frozen):
    """A leaf of an object with its verdict.

    pointer: the place of the leaf as a JSON pointer (RFC 6901), for example "/deposit/amount".
    value: the value in the released object; None for a refused value that was not corrected.
    statement: the text that was judged; empty if the leaf claims nothing, or is not kept.
    released: whether the whole value is in the released object. If a text is partly refused, the released object has
        only its supported sentences.
    is_key: whether the key makes the statement. Refused, the key is not in the released object, nor is what it holds.
    sentences: the sentences of the statement.
    """

    pointer: str
    value: Any = None
    statement: str = ""
    verdict: Verdict = Verdict.NO_CLAIM
    released: bool = True
    is_key: bool = False
    sentences: tuple[CheckedSentence, ...] = ()

    @property
    def supported(self) -> bool:
        """Whether the source supports the field, or the field claims nothing."""
        return self.verdict in (Verdict.SUPPORTED, Verdict.NO_CLAIM)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The pieces of source that support the field; for an unsupported one the nearest."""
        return tuple(dict.fromkeys(citation for sentence in self.sentences for citation in sentence.citations))

    @property
    def reason(self) -> str | None:
        """Why the field is not supported, None if it is."""
        reasons = [s.reason for s in self.sentences if s.reason is not None and s.verdict is self.verdict]
        return None if self.supported else "; ".join(reasons) or None


class ObjectResult(_Frozen):
    """A checked object.

        result = Guard().check_object({"rent": "1,650 euros"}, "The rent is 1,450 euros.")
        result.fields["/rent"].verdict  # unsupported
        result.object  # {'rent': None}

    object: the released object, with null, or the source's value under `"correct"`, in the place of each refused leaf.
    fields: each leaf by its JSON pointer, in the order of the object.
    """

    object: Any
    fields: dict[str, CheckedField] = Field(default_factory=dict)
    threshold: float
    seconds: float = 0.0

    @property
    def supported(self) -> bool:
        """Whether every field is supported or claims nothing."""
        return all(field.supported for field in self.fields.values())

    @property
    def refused(self) -> tuple[str, ...]:
        """The pointers of the fields whose value is not released unchanged."""
        return tuple(pointer for pointer, field in self.fields.items() if not field.released)

    @property
    def citations(self) -> dict[str, tuple[Citation, ...]]:
        """The pieces of source that support each released field."""
        return {
            pointer: field.citations
            for pointer, field in self.fields.items()
            if field.released and field.verdict is Verdict.SUPPORTED
        }


def places_of_refused(fields: Mapping[str, CheckedField]) -> list[str]:
    """The pointers of the refused fields, each as far as the released object has it: a refused key is not repeated."""
    gone = [field.pointer for field in fields.values() if field.is_key and not field.released]
    told: dict[str, None] = {}
    for pointer in (field.pointer for field in fields.values() if not field.released):
        key = next((key for key in gone if f"{pointer}/".startswith(f"{key}/")), None)
        told[pointer if key is None else key.rpartition("/")[0] or "/"] = None
    return list(told)


def gravest(verdicts: Iterable[Verdict]) -> Verdict:
    """The gravest of the verdicts of several parts, which becomes the verdict of the whole."""
    return min(verdicts, key=_GRAVEST.index, default=Verdict.NO_CLAIM)


_MARGIN = 0.1
"""By how much a boolean's statement must be likelier than its opposite."""


def checked_field(leaf: Leaf, result: GuardResult | None, opposite: GuardResult | None, policy: Policy) -> CheckedField:
    """The leaf with the verdict on its statement; `result` is None for a leaf that claims nothing."""
    if result is None:
        return CheckedField(pointer=leaf.pointer, value=leaf.value)
    sentences = result.sentences
    if opposite is not None and _score(result) < _score(opposite) + _MARGIN:
        reason = "the source does not say it more clearly than its opposite"
        refused = {"verdict": Verdict.UNSUPPORTED, "reason": reason, "released": policy.fallback == "flag"}
        sentences = tuple(s.model_copy(update=refused if s.verdict is Verdict.SUPPORTED else {}) for s in sentences)
    released = all(sentence.released for sentence in sentences)
    rest = result.text.strip() if leaf.is_text else None
    if policy.fallback == "correct" and not leaf.is_text:
        rest = corrected_value(leaf, result, opposite)
    return CheckedField(
        pointer=leaf.pointer,
        value=leaf.value if released else None if rest == "" else rest,
        statement=leaf.statement if released or policy.keep_refused else "",
        verdict=gravest(sentence.verdict for sentence in sentences),
        released=released,
        is_key=leaf.is_key,
        sentences=sentences,
    )


def _score(result: GuardResult) -> float:
    return min((sentence.score for sentence in result.sentences if sentence.score is not None), default=0.0)


def released_object(value: Any, fields: Sequence[CheckedField], schema: Schema | None, policy: Policy) -> Any:
    """The object with the released values.

    Raises: UnsupportedObjectError if a refused field has no null to take its place, or under the fallback "raise".
    """
    refused = [field for field in fields if not field.released]
    if not refused:
        return value
    if policy.fallback == "raise":
        raise _error("is not supported", refused, fields, policy)
    released = _with_values(value, refused)
    misfits = [] if schema is None else [pointer_of(path) for path, _ in schema.misfits(released)]
    if misfits:
        guilty = [f for f in refused if any(f"{f.pointer}/".startswith(f"{place}/") for place in misfits)] or refused
        raise _error("is not supported, and the schema allows nothing in its place", guilty, fields, policy)
    return released


def _with_values(value: Any, fields: Sequence[CheckedField]) -> Any:
    changed = copy.deepcopy(value)
    for field in fields:
        if not field.is_key:
            changed = set_pointer(changed, field.pointer, field.value)
    for field in reversed(fields):  # the deepest first
        if field.is_key:
            holder, key = JsonPointer(field.pointer).to_last(changed)
            del holder[key]
    return changed


def _error(
    what: str, refused: Sequence[CheckedField], fields: Sequence[CheckedField], policy: Policy
) -> UnsupportedObjectError:
    told = "; ".join(
        f"{field.pointer} {what}" + (f" ({field.reason})" if policy.keep_refused and field.reason else "")
        for field in refused
    )
    return UnsupportedObjectError(told, {field.pointer: field for field in fields})
