"""Sub-sentences by a dependency parse: joined clauses, relative clauses behind a comma, participles of a noun.

A part must never state something that its sentence does not state. Nothing is therefore cut in a question, inside a
clause that somebody says, wants or supposes, behind a clause that sets a condition or a time, or if a negation or a
word like "few" applies to both parts. `groundrail.papers.units.clauses` has rules that need no parser.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from groundrail.errors import MissingExtraError, ModelError
from groundrail.evaluation.units import Unit

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

PIPELINE = "en_core_web_sm"
"""The pipeline of Q²'s authors, spaCy's smallest for English."""

_JOINING = frozenset({"and", "but", "so", "yet"})
_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_AUXILIARIES = frozenset({"aux", "auxpass"})
_NOT_ASSERTED = frozenset({"ccomp", "xcomp", "advcl", "csubj", "csubjpass", "pcomp", "parataxis", "acl", "relcl"})
_RESTRICTED = frozenset(
    {"no", "not", "nobody", "nothing", "neither", "nor", "never", "few", "fewer", "less", "only", "just", "any", "every", "each", "most", "all"}
)  # fmt: skip
_DEFINITE = frozenset({"the", "this", "that", "these", "those", "his", "her", "its", "their", "our", "my", "your"})


@lru_cache(maxsize=2)
def load_parser(pipeline: str = PIPELINE) -> "Language":
    """Load a pipeline by its package name or folder.

    Raises: MissingExtraError without spaCy; ModelError where the pipeline is not installed, or does not parse.
    """
    try:
        import spacy
    except ImportError as error:
        raise MissingExtraError("A dependency parser", "parse") from error
    try:
        parser = spacy.load(pipeline)
    except OSError as error:
        raise ModelError(
            f"spaCy has no pipeline {pipeline!r} here: python -m spacy download {pipeline}, or pass another one's name"
        ) from error
    if "parser" not in parser.pipe_names:
        raise ModelError(f"the pipeline {pipeline!r} has no parser among {', '.join(parser.pipe_names) or 'no parts'}")
    return parser


class ParsedSplitter:
    """Cut a sentence by a spaCy pipeline (extra `parse`).

        ParsedSplitter().split("His weight went up six pounds and he reports his diet is not good.")

    gives "His weight went up six pounds." and "He reports his diet is not good.". `parser` is the name or folder of a
    pipeline, or a callable that makes a spaCy `Doc` from a text.

    Raises: MissingExtraError without spaCy, ModelError without the pipeline.
    """

    def __init__(self, parser: "Callable[[str], Doc] | str" = PIPELINE) -> None:
        self.parser: Callable[[str], Doc] = load_parser(parser) if isinstance(parser, str) else parser

    def split(self, claim: str) -> list[Unit]:
        """The sub-sentences of one sentence, in order; a sentence that cannot be cut is returned whole."""
        if not claim.strip():
            return []
        read = self.parser(claim)
        cut = list(_cuts(read))
        if not cut:
            return [Unit.whole(claim)]
        inside = {head.i: {token.i for token in head.subtree} for head, _ in cut}
        parts = []
        for head, opening in [(None, ()), *cut]:
            own = set(range(len(read))) if head is None else inside[head.i]
            for other, tokens in inside.items():
                if tokens < own and (head is None or other != head.i):
                    own = own - tokens
            parts.append(_part(read, own, opening))
        return sorted(parts, key=lambda part: (part.start, part.end))


def _cuts(read: "Doc") -> "Iterator[tuple[Token, Sequence[str]]]":
    """The head of each part to cut out, with the words that replace the first words of the part."""
    roots = [token for token in read if token.head.i == token.i]
    if len(roots) != 1 or read.text.rstrip().endswith("?"):
        return
    (root,) = roots
    clauses = [root]
    for verb in clauses:
        for token in verb.children:
            if token.dep_ == "conj" and token.pos_ in ("VERB", "AUX") and _is_joined(verb, token):
                opening = _shared(root, token)
                if opening is not None:
                    clauses.append(token)
                    yield token, opening
    for token in read:
        if token.dep_ in ("relcl", "acl") and _is_asserted(token.head):
            opening = _antecedent(token, root)
            if opening:
                yield token, opening


def _is_joined(verb: "Token", other: "Token") -> bool:
    """Whether a conjunction that states both clauses joins them, and no word before them applies to both."""
    words = [token.lower_ for token in verb.children if token.dep_ == "cc" and token.i < other.i]
    first = [token for token in verb.children if token.i < verb.i]
    conditional = any(token.dep_ in ("advcl", "mark", "preconj") for token in first)
    return bool(words) and set(words) <= _JOINING and not conditional


def _shared(root: "Token", verb: "Token") -> "Sequence[str] | None":
    """The missing words of a joined clause: none, or the sentence's subject; None if the clause must not be cut."""
    if any(token.dep_ in _SUBJECTS for token in verb.children):
        return ()
    before = [token for token in root.children if token.i < root.i]
    subjects = [token for token in before if token.dep_ in _SUBJECTS]
    said = [token.lower_ for child in before for token in child.subtree] + [
        token.lower_ for token in root.children if token.dep_ == "neg"
    ]
    if len(subjects) != 1 or _RESTRICTED.intersection(said) or "n't" in said:
        return None
    opening = [token.text for token in _without_insertions(subjects[0])]
    own = any(token.dep_ in _AUXILIARIES for token in verb.children)
    if not own and verb.tag_ in ("VBN", "VBG", "VB"):
        opening += [token.text for token in before if token.dep_ in _AUXILIARIES]
    return opening


def _without_insertions(subject: "Token") -> "list[Token]":
    """The subject without clauses between commas."""
    clauses = [token for token in subject.subtree if token.dep_ == "relcl" and token.left_edge.nbor(-1).text == ","]
    inserted = {token.i for clause in clauses for token in clause.subtree}
    return [token for token in subject.subtree if token.i not in inserted and token.text != ","]


def _is_asserted(noun: "Token") -> bool:
    """Whether the noun is outside all clauses that are only said, wanted or supposed."""
    return not any(token.dep_ in _NOT_ASSERTED for token in (noun, *noun.ancestors))


def _antecedent(verb: "Token", root: "Token") -> Sequence[str]:
    """The noun that is the subject of a relative clause or participle; empty if the clause cannot stand alone."""
    noun = verb.head
    phrase = [token for token in noun.subtree if token.i <= noun.i]
    determiner = next((token.lower_ for token in phrase if token.dep_ in ("det", "poss")), "")
    if noun.pos_ not in ("NOUN", "PROPN") or _RESTRICTED.intersection(token.lower_ for token in phrase):
        return ()
    words = [token.text for token in phrase]
    if determiner in ("a", "an"):
        words[0] = "the"
    if verb.dep_ == "relcl":
        first = verb.left_edge
        subject = first.dep_ in _SUBJECTS and first.lower_ in ("who", "which")
        return words if subject and first.i > 0 and first.nbor(-1).text == "," else ()
    definite = determiner in _DEFINITE or noun.pos_ == "PROPN"
    if not definite or verb.tag_ not in ("VBG", "VBN") or verb.left_edge.i < noun.i:
        return ()
    past = root.tag_ == "VBD" or any(token.tag_ == "VBD" for token in root.children if token.dep_ in _AUXILIARIES)
    many = noun.tag_ in ("NNS", "NNPS")
    return [*words, ("were" if many else "was") if past else ("are" if many else "is")]


def _part(read: "Doc", own: Iterable[int], opening: Sequence[str]) -> Unit:
    """Write the tokens as a separate sentence that begins with `opening`."""
    tokens = [read[place] for place in sorted(own)]
    while tokens and (tokens[0].lower_ in _JOINING or tokens[0].is_punct or tokens[0].is_space):
        tokens.pop(0)
    if opening and tokens and tokens[0].lower_ in ("who", "which"):
        tokens.pop(0)
    while tokens and (tokens[-1].lower_ in _JOINING or tokens[-1].is_punct or tokens[-1].is_space):
        tokens.pop()
    pieces = [word + " " for word in opening]
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        gap = after is not None and after.i != token.i + 1
        if token.text == "," and (gap or (before is not None and before.i != token.i - 1)):
            pieces.append(" ")
            continue  # a comma beside a part that was cut out
        pieces.append(token.text + (" " if gap else token.whitespace_))
    text = " ".join("".join(pieces).split()).replace(" ,", ",")
    return Unit(f"{text[:1].upper()}{text[1:]}.", tokens[0].idx, tokens[-1].idx + len(tokens[-1]))
