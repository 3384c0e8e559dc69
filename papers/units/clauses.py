"""Cut a sentence into clauses that can be checked separately, by punctuation and closed word classes, without a model.

A part must never state something that its sentence does not state. Text that somebody says, or that is supposed, asked,
quoted, denied or in brackets, is therefore not cut, because its parts are not asserted. Relative clauses and appositions
stay where they are: `groundrail.papers.units.parsed` cuts them by a parse. A clause without a subject gets the subject of
the sentence.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from groundrail.evaluation.units import Unit
from groundrail.papers.units.tokens import Clause, Token, Tokens, asserted, tokens_of, trimmed
from groundrail.text.english import words

_JOINING = frozenset({"and", "but", "so", "yet"})
_CONTRASTING = frozenset({"while", "whereas", "although", "though"})
_NO_SUBJECT = words.PREPOSITIONS | words.DETERMINERS | {"be", "been", "being", "having"}
_RELATIVES = frozenset({"who", "which", "that", "whose"})
_SUBORDINATING = frozenset({"because", "since", "when", "where", "after", "before", "until", "as", "than"}) | _RELATIVES
_RESTRICTED = frozenset({"few", "fewer", "less", "only", "alone", "just", "exactly", "almost", "nearly"})
"""Words in a subject or before a verb with which `did this and did that` does not state that either was done."""

_REACH = 8
"""Maximum number of tokens before the verb of a new clause."""


class ClauseSplitter:
    """Cut a sentence by rule at joined clauses and joined verb phrases.

    ClauseSplitter().split("Ada wrote the program, and Charles built the engine.")
    """

    def split(self, claim: str) -> list[Unit]:
        """The sub-sentences of one sentence, in order; a sentence that cannot be cut is returned whole."""
        if not claim.strip():
            return []
        tokens = tuple(tokens_of(claim))
        if tokens[-1].text == "?" or not any(token.word for token in tokens):
            clauses = [Clause(tokens)]
        else:
            clauses = list(_divided(Clause(tokens)))
        if len(clauses) == 1:
            return [Unit.whole(claim)]
        stop = tokens[-1].text if tokens[-1].text in (".", "!") else ""
        return [_written(claim, clause, stop) for clause in clauses]


def _divided(clause: Clause) -> Iterator[Clause]:
    """The parts of a clause, divided recursively; the clause itself if no rule applies."""
    for rule in _RULES:
        for place in range(1, len(clause.tokens) - 1):
            parts = rule(clause, place)
            if parts is not None:
                for part in parts:
                    yield from _divided(part)
                return
    yield clause


def _starts_clause(tokens: Sequence[Token]) -> bool:
    """Whether these tokens begin with a subject, and a verb follows within `_REACH` tokens."""
    said = [token.word for token in tokens]
    skip = 0
    while skip < len(said) and (words.is_adverb(said[skip]) or (skip and said[skip] == ",")):
        skip += 1
    if skip < len(said) and said[skip] in words.PREPOSITIONS and "," in said[skip : skip + _REACH]:
        skip = said.index(",", skip) + 1  # "and in 1990, he ..."
    ahead = said[skip : skip + _REACH]
    if len(ahead) < 2 or not ahead[0]:
        return False
    first = tokens[skip]
    if ahead[0] in words.SUBJECT_PRONOUNS:
        reach = ahead[1:4]
        return any(words.is_finite(word) or word in words.PRESENT_PLURAL for word in reach)
    if ahead[0] not in words.DETERMINERS and not first.text[0].isupper():
        return False
    for before, word in itertools.pairwise(ahead):
        if words.is_finite(word) and before not in _NO_SUBJECT:
            return True
        if word in words.CONJUNCTIONS or not word or not word[0].isalnum():
            return False
    return False


def _joined_clauses(clause: Clause, place: int) -> list[Clause] | None:
    """Cut `X did this, and Y did that`, also with a semicolon, `, while` or `, although`."""
    tokens = clause.tokens
    word, before = tokens[place].word, tokens[place - 1].word
    opens = word == ";" or word in _JOINING or (word in _CONTRASTING and before == ",")
    if not opens or clause.verb is None or clause.verb >= place or place <= clause.carried:
        return None
    left, right = tokens[:place], tokens[place + 1 :]
    if right and right[0].word in _JOINING:
        right = right[1:]
    said = [token.word for token in left]
    recent = said[len(said) - said[::-1].index(";") :] if ";" in said else said
    if before in words.SUBJECT_PRONOUNS or not any(map(words.is_finite, recent[1:])):
        return None  # "she and Daz would ...", "the novel and its author were ..."
    if before == "," and _RELATIVES.intersection(recent):
        return None  # "Anna, who lives in Paris, and Bob met"
    if not asserted(left) or not _starts_clause(right):
        return None
    if word in _CONTRASTING and any(token.word == "," and _starts_clause(right[i + 1 :]) for i, token in enumerate(right)):
        return None  # "..., although it rained, they played"
    return [replace(clause, tokens=trimmed(left)), Clause(right)]


def _joined_verbs(clause: Clause, place: int) -> list[Clause] | None:
    """Cut `X did this and did that`: the second part gets the subject, and a shared auxiliary."""
    tokens, verb = clause.tokens, clause.verb
    if tokens[place].word not in ("and", "but") or verb is None or verb >= place or place <= clause.carried:
        return None
    left, right = tokens[:place], tokens[place + 1 :]
    said = [token.word for token in left[verb:]]
    if any(word in words.NEGATIONS | _RESTRICTED or word.endswith("n't") for word in (t.word for t in left)):
        return None  # "No tenant paid and left", "Anna rarely eats meat and drinks wine"
    if not asserted(left):
        return None
    if words.is_finite(said[-1]) or words.is_participle(said[-1]) or not _is_verb_phrase(right):
        return None  # "owns and runs a shop"
    subject = _subject(tokens[:verb])
    if not subject or said[0] in words.MODALS | words.DO:
        return None
    if _SUBORDINATING.intersection(said) or _RELATIVES.intersection(token.word for token in subject):
        return None  # "Bob bought it because it was new and ran well", "who broke it and left paid"
    if _shares_auxiliary(said, [token.word for token in right if not words.is_adverb(token.word)]):
        subject += (tokens[verb],)
    return [replace(clause, tokens=trimmed(left)), Clause(subject + right, carried=len(subject))]


def _is_verb_phrase(tokens: Tokens) -> bool:
    """Whether these tokens begin with a verb: `reduced the weight` does, `reduced weight` does not."""
    rest = [token for token in tokens if not words.is_adverb(token.word)]
    if not rest or not words.is_finite(rest[0].word):
        return False
    bare = len(rest) > 1 and rest[1].text.islower() and rest[1].word not in words.FUNCTION
    return not (bare and rest[0].word.endswith("ed"))


def _shares_auxiliary(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether the right part shares the auxiliary, as `was` in `was developed by X and published by Y`.

    The right part must have no object.
    """
    main = next((word for word in left[1:] if not words.is_adverb(word)), "")
    if left[0] not in words.BE | words.HAVE or not words.is_participle(main) or main == "born":
        return False
    head, following = right[0], right[1] if len(right) > 1 else "."
    if head in words.AUXILIARIES | words.INTRANSITIVE or not words.is_participle(head):
        return False
    return following in words.PREPOSITIONS | words.CONJUNCTIONS or not following[:1].isalnum()


def _subject(tokens: Tokens) -> Tokens:
    """The subject among the tokens before the verb, without opening phrase, insertions and adverbs."""
    said = [token.word for token in tokens]
    if "," in said:
        place = said.index(",")
        opening = said[0] in words.PREPOSITIONS or words.is_adverb(said[0]) or tokens[0].text[0].isdigit()
        tokens = tokens[len(said) - said[::-1].index(",") :] if opening else tokens[:place]
    while tokens and words.is_adverb(tokens[-1].word):
        tokens = tokens[:-1]
    while tokens and words.is_adverb(tokens[0].word):
        tokens = tokens[1:]
    return tokens if not tokens or tokens[0].word not in words.PREPOSITIONS else ()


_RULES: tuple[Callable[[Clause, int], list[Clause] | None], ...] = (_joined_clauses, _joined_verbs)


def _written(claim: str, clause: Clause, stop: str) -> Unit:
    """Write the clause as a sentence, with the original spacing between words that stood together."""
    pieces: list[str] = []
    before: Token | None = None
    for token in clause.tokens:
        if before is not None and token.index == before.index + 1:
            pieces.append(claim[before.end : token.start])
        elif before is not None and (token.text not in ".,;:!)" or len(token.text) > 1):
            pieces.append(" ")
        pieces.append(token.text)
        before = token
    text = "".join(pieces)
    own = clause.tokens[clause.carried :]
    ended = text if text.endswith((".", "!", "?")) else text + stop
    return Unit(ended[:1].upper() + ended[1:], min(t.start for t in own), max(t.end for t in own))
