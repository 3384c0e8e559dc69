"""One labelled claim with its source: what every benchmark file is read into.

Reading files belongs to `groundrail.evaluation.loaders`, scoring to `groundrail.evaluation.run`.
"""

import re
from dataclasses import dataclass, replace
from typing import TypeAlias

from groundrail.types import Document, Span

EvidenceSet: TypeAlias = tuple[Span, ...]

_WORDS = {
    **dict.fromkeys(("entailment", "entailed", "supported", "consistent", "faithful", "true", "yes"), 1.0),
    "partially_supported": 0.5,
    **dict.fromkeys(
        (
            "neutral",
            "contradiction",
            "not_entailment",
            "not_supported",
            "unsupported",
            "refuted",
            "inconsistent",
            "unfaithful",
            "false",
            "no",
        ),
        0.0,
    ),
}


@dataclass(frozen=True, slots=True)
class Example:
    """A claim to score against its source.

    `label` is 1 where the source supports the claim, 0 where it does not, between where a benchmark
    grades (WiCE's "partially supported" is 0.5), None where nobody said.
    `evidence` lists alternative sets of spans, each of which suffices; None where it was not annotated.
    `group` joins claims of which exactly one is true (Evidence Inference's prompts, a claim and its twin).
    `kind` is how a claim was made or what is wrong with it, where a benchmark says so, `system` who wrote it.
    `context` is text that the claim goes on from, apart from its source (West et al.'s c).
    """

    id: str
    dataset: str
    source: tuple[Document, ...]
    claim: str
    label: float | None = None
    evidence: tuple[EvidenceSet, ...] | None = None
    group: str | None = None
    kind: str | None = None
    system: str | None = None
    context: str = ""

    def in_context(self) -> "Example":
        """The same with the context as the last paragraph of every document, where a language model expects it."""
        if not self.context:
            return self
        longer = (
            document.model_copy(update={"text": f"{document.text}\n\n{self.context}"}) for document in self.source
        )
        return replace(self, source=tuple(longer), context="")


def parse_label(value: object) -> float | None:
    """A label as benchmark files write it: a number from 0 to 1, a boolean, or a word such as "entailment".

    Raises: ValueError (as pydantic's validators want it) for anything else.
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool | int | float):
        number = float(value)
    elif isinstance(value, str):
        word = re.sub(r"[\s-]+", "_", value.strip().lower())
        if word in _WORDS:
            return _WORDS[word]
        try:
            number = float(word)
        except ValueError:
            raise ValueError(f"expected a number from 0 to 1 or one of {', '.join(_WORDS)}") from None
    else:
        raise ValueError("expected a number from 0 to 1 or a word")
    if not 0 <= number <= 1:
        raise ValueError("expected a number from 0 to 1")
    return number
