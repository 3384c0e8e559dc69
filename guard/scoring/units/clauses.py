"""Cuts a sentence into clauses that can be checked apart, by punctuation and closed word classes. No model.

Conservative by design: what is said by somebody, supposed, asked, quoted or put in brackets is never cut, since
its parts are not asserted. A clause without its own subject gets the sentence's. Cutting text into sentences
comes before, scoring after.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from groundrail.english import words
from groundrail.types import Span

_TOKEN = re.compile(r"\w+(?:['’.,\-/]\w+)*|\S")
_OPENING, _CLOSING = "([{“«", ")]}”»"
_JOINING = frozenset({"and", "but", "so", "yet"})
_CONTRASTING = frozenset({"while", "whereas", "although", "though"})
_NO_SUBJECT = words.PREPOSITIONS | words.DETERMINERS | {"be", "been", "being", "having"}
_RELATIVES = frozenset({"who", "which", "that", "whose"})
_SUBORDINATING = frozenset({"because", "since", "when", "where", "after", "before", "until", "as", "than"}) | _RELATIVES
_REACH = 8
"""Tokens in which a new clause must show its verb."""


@dataclass(frozen=True, slots=True)
class SubSentence:
    """A part of a claim that can be judged alone.

    `text` may repeat the subject and is cased and closed as a sentence; `claim[start:end]` is the part it is
    about.
    """

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Token:
    """A word or mark. `protected`: within quotation marks or brackets. `index` is -1 for an added word."""

    text: str
    start: int
    end: int
    index: int
    protected: bool = False

    @property
    def word(self) -> str:
        return "" if self.protected else self.text.lower().replace("’", "'")


_Tokens: TypeAlias = tuple[_Token, ...]


@dataclass(frozen=True, slots=True)
class _Clause:
    """Tokens in reading order, of which the first `carried` are repeated from another clause."""

    tokens: _Tokens
    carried: int = 0

    @property
    def verb(self) -> int | None:
        """Where the first verb with tense is, after at least one word of subject."""
        return next((i for i, token in enumerate(self.tokens) if i and words.is_finite(token.word)), None)


class ClauseSplitter:
    """Sub-sentences by rule: joined clauses, joined verb phrases, `, who` and `, which` clauses, appositions.

    Measured by `benchmarks/subsentences.py`.
    """

    def split(self, claim: str) -> list[SubSentence]:
        """The sub-sentences of one sentence, in order; one that cannot be cut comes back whole."""
        if not claim.strip():
            return []
        tokens = tuple(_tokens(claim))
        if tokens[-1].text == "?" or not any(token.word for token in tokens):
            clauses = [_Clause(tokens)]
        else:
            clauses = list(_divided(_Clause(tokens)))
        if len(clauses) == 1:
            return [SubSentence(claim.strip(), *Span.trimmed(claim))]
        stop = tokens[-1].text if tokens[-1].text in (".", "!") else ""
        return [_written(claim, clause, stop) for clause in clauses]


def _tokens(claim: str) -> Iterator[_Token]:
    depth, quoted = 0, False
    for index, match in enumerate(_TOKEN.finditer(claim)):
        text = match[0]
        depth += text in _OPENING
        quoted ^= text == '"'
        yield _Token(text, match.start(), match.end(), index, depth > 0 or quoted or text == '"')
        depth = max(0, depth - (text in _CLOSING))


def _divided(clause: _Clause) -> Iterator[_Clause]:
    """The clause's parts, themselves divided; the clause where no rule applies."""
    for rule in _RULES:
        for place in range(1, len(clause.tokens) - 1):
            parts = rule(clause, place)
            if parts is not None:
                for part in parts:
                    yield from _divided(part)
                return
    yield clause


def _asserted(tokens: Sequence[_Token]) -> bool:
    """Whether what follows these tokens is asserted by the sentence: nobody's words, no supposition."""
    said = [token.word for token in tokens]
    if any(word in words.ATTRIBUTION or word in words.HYPOTHETICAL for word in said):
        return False
    return not any(
        word == "that" and (words.is_finite(before) or before in ("true", "clear", "certain"))
        for before, word in itertools.pairwise(said)
    )


def _starts_clause(tokens: Sequence[_Token]) -> bool:
    """Whether these tokens begin with a subject and, soon after, its verb."""
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


def _joined_clauses(clause: _Clause, place: int) -> list[_Clause] | None:
    """`X did this, and Y did that`; also with a semicolon, or `, while` and `, although`."""
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
    if not _asserted(left) or not _starts_clause(right):
        return None
    if word in _CONTRASTING and any(
        token.word == "," and _starts_clause(right[i + 1 :]) for i, token in enumerate(right)
    ):
        return None  # "..., although it rained, they played"
    return [replace(clause, tokens=_trimmed(left)), _Clause(right)]


def _joined_verbs(clause: _Clause, place: int) -> list[_Clause] | None:
    """`X did this and did that`: the second part gets the subject, and an auxiliary it shares."""
    tokens, verb = clause.tokens, clause.verb
    if tokens[place].word not in ("and", "but") or verb is None or verb >= place or place <= clause.carried:
        return None
    left, right = tokens[:place], tokens[place + 1 :]
    said = [token.word for token in left[verb:]]
    if any(word in words.NEGATIONS or word.endswith("n't") for word in said) or not _asserted(left):
        return None
    if words.is_finite(said[-1]) or words.is_participle(said[-1]) or not _is_verb_phrase(right):
        return None  # "owns and runs a shop"
    subject = _subject(tokens[:verb])
    if not subject or said[0] in words.MODALS | words.DO or tokens[0].word == "only":
        return None
    if _SUBORDINATING.intersection(said) or _RELATIVES.intersection(token.word for token in subject):
        return None  # "Bob bought it because it was new and ran well", "who broke it and left paid"
    if _shares_auxiliary(said, [token.word for token in right if not words.is_adverb(token.word)]):
        subject += (tokens[verb],)
    return [replace(clause, tokens=_trimmed(left)), _Clause(subject + right, carried=len(subject))]


def _is_verb_phrase(tokens: _Tokens) -> bool:
    """Whether these tokens begin with a verb; `reduced weight` does not count, `reduced the weight` does."""
    rest = [token for token in tokens if not words.is_adverb(token.word)]
    if not rest or not words.is_finite(rest[0].word):
        return False
    bare = len(rest) > 1 and rest[1].text.islower() and rest[1].word not in words.FUNCTION
    return not (bare and rest[0].word.endswith("ed"))


def _shares_auxiliary(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether `was developed by X` lends its `was` to `published by Y`, which has no object of its own."""
    main = next((word for word in left[1:] if not words.is_adverb(word)), "")
    if left[0] not in words.BE | words.HAVE or not words.is_participle(main) or main == "born":
        return False
    head, following = right[0], right[1] if len(right) > 1 else "."
    if head in words.AUXILIARIES | words.INTRANSITIVE or not words.is_participle(head):
        return False
    return following in words.PREPOSITIONS | words.CONJUNCTIONS or not following[:1].isalnum()


def _subject(tokens: _Tokens) -> _Tokens:
    """The subject among the tokens before the verb: no opening phrase, no insertion, no adverb."""
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


def _relative(clause: _Clause, place: int) -> list[_Clause] | None:
    """`X, who did this, did that`: the phrase before the comma becomes the subject of the inserted clause."""
    tokens = clause.tokens
    if tokens[place].word not in ("who", "which") or tokens[place - 1].word != "," or place <= clause.carried:
        return None
    if not any(words.is_finite(token.word) for token in tokens[place + 1 : place + 3]):
        return None
    noun = _phrase_before(tokens[: place - 1])
    if not noun or not _asserted(tokens[: place - 1]):
        return None
    end = _insertion_end(tokens, place)
    if clause.verb is None or (clause.verb > place and end == len(tokens)):
        return None
    inserted = _Clause(noun + tokens[place + 1 : end], carried=len(noun))
    return [replace(clause, tokens=_trimmed(tokens[: place - 1] + tokens[end + 1 :])), inserted]


def _apposition(clause: _Clause, place: int) -> list[_Clause] | None:
    """`X, a so-and-so, did this`, and `X, born in 1950, ...`: the insertion is said of the opening phrase."""
    tokens = clause.tokens
    if tokens[place].word != "," or clause.carried or any(words.is_finite(t.word) for t in tokens[:place]):
        return None
    first = tokens[place + 1].word
    named = tokens[0].text[0].isupper() and tokens[0].word not in words.PREPOSITIONS | words.ADVERBS
    described = first in ("a", "an", "the") or first in ("born", "founded", "located", "known", "based")
    end = _insertion_end(tokens, place)
    if not named or not described or end + 1 >= len(tokens) or tokens[0].word in words.SUBJECT_PRONOUNS:
        return None
    inserted = tokens[place + 1 : end]
    if any(token.word in words.CONJUNCTIONS or token.word == "," for token in inserted):
        return None
    verb = tokens[end + 1].word
    past = words.is_past(verb) or verb in ("was", "were", "had", "did") or first in ("born", "founded")
    copula = _Token("was" if past else "is", inserted[0].start, inserted[0].start, -1)
    subject = (*tokens[:place], copula)
    return [
        replace(clause, tokens=tokens[:place] + tokens[end + 1 :]),
        _Clause(subject + inserted, carried=len(subject)),
    ]


def _phrase_before(tokens: _Tokens) -> _Tokens:
    """The noun phrase that ends here: back to a preposition other than `of`, a verb or a comma."""
    start = len(tokens)
    while start and not (
        (tokens[start - 1].word in words.PREPOSITIONS and tokens[start - 1].word != "of")
        or words.is_finite(tokens[start - 1].word)
        or tokens[start - 1].word in (",", ";", ":")
        or tokens[start - 1].word in words.CONJUNCTIONS
    ):
        start -= 1
    phrase = tokens[start:]
    if not phrase or phrase[-1].word in words.PRONOUNS or (start and tokens[start - 1].word == ","):
        return ()
    return phrase if phrase[0].word in words.DETERMINERS or phrase[0].text[0].isupper() else ()


def _insertion_end(tokens: _Tokens, place: int) -> int:
    """Index of the comma that closes what was opened before `place`: a verb follows, or `and` and a verb."""
    for index in range(place + 2, len(tokens) - 1):
        ahead = [token.word for token in tokens[index + 1 : index + 3]]
        if tokens[index].word == "," and words.is_finite(ahead[ahead[0] in ("and", "but")]):
            return index
    return len(tokens)


def _trimmed(tokens: _Tokens) -> _Tokens:
    while tokens and tokens[-1].text in ",;:":
        tokens = tokens[:-1]
    return tokens


_RULES: tuple[Callable[[_Clause, int], list[_Clause] | None], ...] = (
    _apposition,
    _relative,
    _joined_clauses,
    _joined_verbs,
)


def _written(claim: str, clause: _Clause, stop: str) -> SubSentence:
    """The clause as a sentence, original spacing where its words stood together."""
    pieces: list[str] = []
    before: _Token | None = None
    for token in clause.tokens:
        if before is not None and before.index >= 0 and token.index == before.index + 1:
            pieces.append(claim[before.end : token.start])
        elif before is not None and (token.text not in ".,;:!)" or len(token.text) > 1):
            pieces.append(" ")
        pieces.append(token.text)
        before = token
    text = "".join(pieces)
    own = clause.tokens[clause.carried :]
    ended = text if text.endswith((".", "!", "?")) else text + stop
    return SubSentence(ended[:1].upper() + ended[1:], min(t.start for t in own), max(t.end for t in own))
