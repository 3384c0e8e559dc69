"""`Example`, a labelled claim with its source, the common form of all benchmark files.

`groundrail.evaluation.loaders` reads files, `groundrail.evaluation.run` scores examples.
"""

import re
from dataclasses import dataclass, replace
from typing import TypeAlias

from groundrail.types import Document, Span

EvidenceSet: TypeAlias = tuple[Span, ...]

_SUPPORTED = "entailment entailed supported consistent faithful true yes"
_UNSUPPORTED = "neutral contradiction not_entailment not_supported unsupported refuted inconsistent unfaithful false no"
_WORDS = dict.fromkeys(_SUPPORTED.split(), 1.0) | {"partially_supported": 0.5} | dict.fromkeys(_UNSUPPORTED.split(), 0.0)


@dataclass(frozen=True, slots=True)
class Example:
    """A claim to score against its source.

    label: 1 if the source supports the claim, 0 if not, a number between for grades (WiCE's "partially supported" is
        0.5), None if there is no label.
    evidence: alternative sets of spans, each of which is sufficient; None if evidence was not annotated.
    group: name shared by claims with exactly one true claim among them (Evidence Inference's prompts, a claim and its
    twin).
    kind: how the claim was made, or its kind of error, if the benchmark says so.
    system: the system that wrote the claim.
    context: text that the claim continues, separate from the source (West et al.'s c).
    question: the question that the claim answers, or "".
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
    question: str = ""

    def in_context(self) -> "Example":
        """Copy the example with the context as the last paragraph of every document, as a language model reads it."""
        if not self.context:
            return self
        longer = tuple(each.model_copy(update={"text": f"{each.text}\n\n{self.context}"}) for each in self.source)
        return replace(self, source=longer, context="")


def parse_label(value: object) -> float | None:
    """Parse a label of a benchmark file: a number from 0 to 1, a boolean, or a word such as "entailment".

    Raises: ValueError (which pydantic's validators expect) for any other value.
    """
    if value is None or value == "":
        return None
    word = re.sub(r"[\s-]+", "_", str(value).strip().lower())
    try:
        number = _WORDS[word] if word in _WORDS else float(word)
    except ValueError:
        raise ValueError(f"expected a number from 0 to 1 or one of {', '.join(_WORDS)}") from None
    if not 0 <= number <= 1:
        raise ValueError("expected a number from 0 to 1")
    return number
