"""Check an object: read its leaves, judge all statements in one call, release the values that the source supports."""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from jsonpointer import JsonPointer, set_pointer
from pydantic import BaseModel

from groundrail.errors import InputError, UnsupportedObjectError
from groundrail.facts.corrections import corrections
from groundrail.facts.mentions import mentions
from groundrail.objects.json_values import as_json, parsed, pointer_of, refuse_unfit
from groundrail.objects.leaves import Leaf, leaves
from groundrail.objects.results import CheckedField, ObjectResult, gravest
from groundrail.objects.schemas import Schema
from groundrail.policy import Policy
from groundrail.types import GuardResult, Verdict

CheckAll: TypeAlias = Callable[[Sequence[tuple[str, str]]], Sequence[GuardResult]]
"""Function from several pairs of (text, question that the text answers) to their results."""

_MARGIN = 0.1
"""By how much the statement of a yes or no must be likelier than its opposite."""


def checked_object(
    value: Any,
    schema: Mapping[str, Any] | type[BaseModel] | None,
    policy: Policy,
    threshold: float,
    check_all: CheckAll,
    source: str = "",
) -> ObjectResult:
    """Check an object, or the JSON text of one; `Guard.check_object` says more. `source` shows how dates are written.

    Raises: InputError for an object or a schema that cannot be read, and for an object that does not fit its schema;
    UnsupportedObjectError.
    """
    started = time.monotonic()
    value = parsed(value) if isinstance(value, str) else as_json(value)
    refuse_unfit(value)
    if not isinstance(value, dict | list):
        raise InputError(
            "an object is a dict, a list or a pydantic model, or the JSON text of one; check a single text with Guard.check"
        )
    read = None if schema is None else Schema(schema)
    if read is not None and (misfits := read.misfits(value)):
        listed = ", ".join(f"{read.shown(path)} ({keyword})" for path, keyword in misfits[:5])
        raise InputError(f"the object does not fit its schema at {listed}")
    found = list(leaves(value, read, policy.fields, source))
    asked = [(said, leaf.question) for leaf in found for said in (leaf.statement, leaf.opposite) if said]
    results = dict(zip(asked, check_all(asked), strict=True))
    fields = {}
    for leaf in found:
        result, opposite = (results.get((said, leaf.question)) for said in (leaf.statement, leaf.opposite))
        fields[leaf.pointer] = _checked(leaf, result, opposite, policy)
    released, kept = _released(value, fields, read, policy), _kept(fields, policy).values()
    seconds = time.monotonic() - started
    return ObjectResult(object=released, fields={f.pointer: f for f in kept}, threshold=threshold, seconds=seconds)


def _kept(fields: Mapping[str, CheckedField], policy: Policy) -> dict[str, CheckedField]:
    """The fields by their own pointers, as results keep them: a refused key without its words, and nothing that is in it."""
    gone = {pointer for pointer, field in fields.items() if field.is_key and not field.released}
    if policy.keep_refused or not gone:
        return dict(fields)
    kept: dict[str, CheckedField] = {}
    for pointer, field in fields.items():
        parts = pointer.split("/")
        if gone.isdisjoint("/".join(parts[:end]) for end in range(1, len(parts))):
            shown = f"{pointer.rpartition('/')[0]}/refused key {len(kept)}" if pointer in gone else pointer
            kept[pointer] = field.model_copy(update={"pointer": shown})
    return kept


def _checked(leaf: Leaf, result: GuardResult | None, opposite: GuardResult | None, policy: Policy) -> CheckedField:
    """The leaf with the verdict on its statement; `result` is None for a leaf that claims nothing."""
    if result is None:
        return CheckedField(pointer=leaf.pointer, value=leaf.value)
    sentences = result.sentences
    if opposite is not None and (result.score or 0.0) < (opposite.score or 0.0) + _MARGIN:
        reason = "the source does not say it more clearly than its opposite"
        refused = {"verdict": Verdict.UNSUPPORTED, "reason": reason, "released": policy.fallback == "flag"}
        sentences = tuple(s.model_copy(update=refused if s.verdict is Verdict.SUPPORTED else {}) for s in sentences)
    released = all(sentence.released for sentence in sentences)
    rest = (result.text.strip() or None) if leaf.is_text else None
    if policy.fallback == "correct" and not leaf.is_text:
        rest = _corrected(leaf, result, opposite)
    return CheckedField(
        pointer=leaf.pointer,
        value=leaf.value if released else rest,
        statement=leaf.statement if released or policy.keep_refused else "",
        verdict=gravest(sentence.verdict for sentence in sentences),
        released=released,
        is_key=leaf.is_key,
        sentences=sentences,
    )


def _corrected(leaf: Leaf, result: GuardResult, opposite: GuardResult | None) -> Any:
    """The source's value in the form of the refused one, where one detail was exchanged; None if there is none.

    A yes or no is turned round if the source supports its opposite.
    """
    if opposite is not None:
        return _turned(leaf.value) if opposite.supported and not result.supported else None
    sentence = result.sentences[0]
    if len(result.sentences) > 1 or leaf.is_key or sentence.corrected is None or sentence.replacement is None:
        return None
    start, now = sentence.corrected.start, sentence.corrected.now
    if start < len(leaf.name):  # the name of another field was judged
        return None
    was = leaf.statement[start : len(leaf.statement) - len(sentence.replacement) + start + len(now)]
    if not isinstance(leaf.value, str):
        return _number(leaf.value, was, now)
    if leaf.value.count(was) == 1:
        return leaf.value.replace(was, now)
    found = corrections(leaf.value, now)
    return found[0].applied(leaf.value) if len(found) == 1 else None


def _turned(value: bool | str) -> bool | str:
    """The other one of a yes or no, spelt like the value."""
    if isinstance(value, bool):
        return not value
    bare = value.strip()
    other = {"yes": "no", "no": "yes", "true": "false", "false": "true"}[bare.lower()]
    return other.upper() if bare.isupper() else other.capitalize() if bare.istitle() else other


def _number(value: float, was: str, now: str) -> int | float | None:
    """The number of the same unit."""
    before, after = mentions(was), mentions(now)
    if len(before) != 1 or len(after) != 1 or before[0].numbers[:1] != (value,) or not after[0].numbers:
        return None
    number = after[0].numbers[0]
    same_unit = was.replace(_digits(was), "") == now.replace(_digits(now), "")
    return None if not same_unit else int(number) if number.is_integer() else number


def _digits(figure: str) -> str:
    return "".join(letter for letter in figure if letter.isdigit() or letter in ",.-−")


def _released(value: Any, fields: dict[str, CheckedField], schema: Schema | None, policy: Policy) -> Any:
    """The object with the released values.

    Raises: UnsupportedObjectError if a refused field has no null to take its place, or under the fallback "raise".
    """
    refused = [field for field in fields.values() if not field.released]
    if not refused:
        return value
    failed, guilty = "is not supported", refused
    if policy.fallback != "raise":
        released = _with_values(value, refused)
        misfits = [] if schema is None else [pointer_of(path) for path, _ in schema.misfits(released)]
        if not misfits:
            return released
        failed += ", and the schema allows nothing in its place"
        guilty = [f for f in refused if any(f"{f.pointer}/".startswith(f"{place}/") for place in misfits)] or refused
    kept = _kept(fields, policy)
    named = [kept[field.pointer] for field in guilty if field.pointer in kept]
    reasons = [f" ({field.reason})" if policy.keep_refused and field.reason else "" for field in named]
    said = (f"{field.pointer} {failed}{reason}" for field, reason in zip(named, reasons, strict=True))
    raise UnsupportedObjectError("; ".join(said), {field.pointer: field for field in kept.values()})


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
