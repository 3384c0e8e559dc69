"""Cut relative clauses and appositions out of a sentence as separate statements.

An insertion is cut out only if its noun is certain; `groundrail.papers.units.clauses` says why.
"""

import itertools
from dataclasses import replace

from groundrail.papers.units.tokens import Clause, Token, Tokens, asserted, trimmed
from groundrail.text.english import words

_EVENTS = frozenset(
    "lead leads led mean means meant cause causes caused make makes made allow allows allowed result results resulted help "
    "helps helped force forces forced prompt prompts prompted enable enables enabled prevent prevents prevented surprise "
    "surprises surprised bring brings brought leave leaves left give gives gave happen happens happened trigger triggers "
    "triggered spark sparks sparked".split()
)
"""Verbs after `which` with which the clause often refers to the whole sentence, not to the last noun."""

_NONE = words.NEGATIONS | {"few", "fewer"}
"""Words at the start of a phrase that means nobody or almost nobody."""


def relative(clause: Clause, place: int) -> list[Clause] | None:
    """Cut `X, who did this, did that`: the phrase before the comma becomes the subject of the inserted clause."""
    tokens = clause.tokens
    if tokens[place].word not in ("who", "which") or tokens[place - 1].word != "," or place <= clause.carried:
        return None
    ahead = [token.word for token in tokens[place + 1 : place + 4]]
    if not any(map(words.is_finite, ahead[:2])):
        return None
    if (
        tokens[place].word == "which"
        and clause.verb is not None
        and clause.verb < place
        and _EVENTS.intersection(ahead)
    ):
        return None  # "She won the race, which surprised everyone"
    noun = _phrase_before(tokens[: place - 1])
    if not noun or noun[0].word in _NONE or not asserted(tokens[: place - 1]):
        return None  # "No player, who was injured, was paid"
    end = _insertion_end(tokens, place)
    if end == len(tokens) and _goes_on(tokens[place:]):
        return None  # "Anna met Tom, who is a doctor, and Carla"
    if clause.verb is None or (clause.verb > place and end == len(tokens)):
        return None
    inserted = Clause(noun + tokens[place + 1 : end], carried=len(noun))
    return [replace(clause, tokens=trimmed(tokens[: place - 1] + tokens[end + 1 :])), inserted]


def apposition(clause: Clause, place: int) -> list[Clause] | None:
    """Cut `X, a so-and-so, did this` and `X, born in 1950, ...`: the opening phrase is the subject of the insertion."""
    tokens = clause.tokens
    if tokens[place].word != "," or clause.carried or any(words.is_finite(t.word) for t in tokens[:place]):
        return None
    first = tokens[place + 1].word
    named = tokens[0].text[0].isupper() and tokens[0].word not in words.PREPOSITIONS | words.ADVERBS
    if any(token.word in words.PREPOSITIONS | words.CONJUNCTIONS for token in tokens[:place]):
        return None  # "The Mayor of Paris, a city on the Seine, ...", "Anna and Ben, a doctor, ..."
    described = first in ("a", "an", "the") or first in ("born", "founded", "located", "known", "based")
    end = _insertion_end(tokens, place)
    if not named or not described or end + 1 >= len(tokens) or tokens[0].word in words.SUBJECT_PRONOUNS:
        return None
    inserted = tokens[place + 1 : end]
    if any(token.word in words.CONJUNCTIONS or token.word == "," for token in inserted) or not asserted(inserted):
        return None  # "The tenant, the landlord says, ..."
    verb = tokens[end + 1].word
    past = words.is_past(verb) or verb in ("was", "were", "had", "did") or first in ("born", "founded")
    copula = Token("was" if past else "is", inserted[0].start, inserted[0].start, -1)
    subject = (*tokens[:place], copula)
    return [
        replace(clause, tokens=tokens[:place] + tokens[end + 1 :]),
        Clause(subject + inserted, carried=len(subject)),
    ]


def _goes_on(tokens: Tokens) -> bool:
    """Whether these tokens have a comma and a conjunction, so that later words may belong to words before them."""
    return any(a.word == "," and b.word in words.CONJUNCTIONS for a, b in itertools.pairwise(tokens))


def _phrase_before(tokens: Tokens) -> Tokens:
    """The noun phrase that ends here, if a relative clause can belong to no other phrase.

    The phrase begins the sentence, or follows a verb or the verb's preposition. In `a strike by its pilots` the clause
    could belong to either noun, in `Tom and Ben` to one name or both. A determiner inside the phrase belongs to a
    second noun: `lent Tom his car`.
    """
    start = len(tokens)
    while start and not (
        tokens[start - 1].word in words.PREPOSITIONS | words.CONJUNCTIONS
        or words.is_finite(tokens[start - 1].word)
        or tokens[start - 1].word in (",", ";", ":")
    ):
        start -= 1
    phrase, before = tokens[start:], [token.word for token in tokens[max(0, start - 2) : start]]
    if not phrase or phrase[-1].word in words.PRONOUNS or (before and before[-1] in (",", ";", ":")):
        return ()
    if any(token.word in words.DETERMINERS for token in phrase[1:]):
        return ()
    if before and before[-1] in words.CONJUNCTIONS:
        return ()
    if len(before) == 2 and before[1] in words.PREPOSITIONS and not _is_verb(before[0]):
        return ()
    return phrase if phrase[0].word in words.DETERMINERS or phrase[0].text[0].isupper() else ()


def _is_verb(word: str) -> bool:
    return words.is_finite(word) or words.is_participle(word) or word in words.PRESENT_PLURAL


def _insertion_end(tokens: Tokens, place: int) -> int:
    """Index of the comma that ends the insertion that began before `place`: a verb follows, or `and` and a verb."""
    for index in range(place + 2, len(tokens) - 1):
        ahead = [token.word for token in tokens[index + 1 : index + 3]]
        verb = ahead[1:] if ahead[0] in ("and", "but") else ahead[:1]  # empty where the text ends with the conjunction
        if tokens[index].word == "," and any(map(words.is_finite, verb)):
            return index
    return len(tokens)
