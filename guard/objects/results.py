"""A checked object: a verdict for each leaf by JSON pointer, and the object that is released."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from groundrail.types import CheckedSentence, Citation, Frozen, Verdict, lowest_score


class CheckedField(Frozen):
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
        return self.verdict.is_good

    @property
    def score(self) -> float | None:
        """The score of the field's least supported sentence; None where none was scored."""
        return lowest_score(self.sentences)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The pieces of source that support the field; for an unsupported one the nearest."""
        return tuple(dict.fromkeys(citation for sentence in self.sentences for citation in sentence.citations))

    @property
    def reason(self) -> str | None:
        """Why the field is not supported, None if it is."""
        reasons = [s.reason for s in self.sentences if s.reason is not None and s.verdict is self.verdict]
        return None if self.supported else "; ".join(reasons) or None


class ObjectResult(Frozen):
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
    def score(self) -> float | None:
        """The score of the least supported field; None where none was scored."""
        return lowest_score(sentence for field in self.fields.values() for sentence in field.sentences)

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
    pointers: dict[str, None] = {}
    for pointer in (field.pointer for field in fields.values() if not field.released):
        key = next((key for key in gone if f"{pointer}/".startswith(f"{key}/")), None)
        pointers[pointer if key is None else key.rpartition("/")[0] or "/"] = None
    return list(pointers)


def gravest(verdicts: Iterable[Verdict]) -> Verdict:
    """The gravest of the verdicts of several parts, which becomes the verdict of the whole."""
    order = [
        Verdict.ERROR,
        Verdict.TIMEOUT,
        Verdict.NO_SOURCE,
        Verdict.UNSUPPORTED,
        Verdict.KNOWN,
        Verdict.SUPPORTED,
        Verdict.NO_CLAIM,
    ]
    return min(verdicts, key=order.index, default=Verdict.NO_CLAIM)
