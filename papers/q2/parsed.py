"""The parts of Q² that use spaCy: the spans to ask for, and the test for personal questions (section 2, appendix B).

The rules that need no parser are `groundrail.papers.q2.candidates` and `.personal`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from groundrail.papers.q2.candidates import Candidate, Kind
from groundrail.papers.units.parsed import PIPELINE, load_parser

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span


class ParsedText:
    """Find named entities, noun phrases and subjects by a spaCy pipeline (extra `parse`), as Q²'s authors do.

        text = ParsedText()
        Q2Scorer(NLI_ID, spans=text.spans, personal=text.is_personal)

    `parser` is the name or folder of a pipeline, or a callable that makes a spaCy `Doc` from a text.

    Raises: MissingExtraError without spaCy, ModelError without the pipeline.
    """

    def __init__(self, parser: "Callable[[str], Doc] | str" = PIPELINE) -> None:
        self.parser: Callable[[str], Doc] = load_parser(parser) if isinstance(parser, str) else parser

    def spans(self, claim: str) -> list[Candidate]:
        """Entities, then noun phrases with other words, without the pronoun I; other pronouns are included."""
        read = self.parser(claim)
        found = [_candidate(entity, Kind.NAME) for entity in read.ents]
        for phrase in read.noun_chunks:
            if phrase.text.lower() not in {candidate.text.lower() for candidate in found}:
                found.append(_candidate(phrase, Kind.PHRASE))
        return [candidate for candidate in found if candidate.text.lower() != "i"]

    def is_personal(self, question: str) -> bool:
        """Whether "I" or "you" is a subject, or "my" or "your" an owner."""
        wanted = {"nsubj": ("i", "you"), "poss": ("my", "your")}
        return any(token.text.lower() in wanted.get(token.dep_, ()) for token in self.parser(question))


def _candidate(span: "Span", kind: Kind) -> Candidate:
    return Candidate(span.text, span.start_char, span.end_char, kind)
