"""The statement that a question and a bare answer make, where the grammar of the question is plain.

`groundrail.text.english.phrases` says which answers are bare.
"""

import re

from groundrail.text.english import words

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_YES_OR_NO = re.compile(r"\W*(?P<word>yes|no)\W*", re.IGNORECASE)
_WHO = re.compile(r"(?:who|what)\s+(?P<verb>\w+)\s+(?P<rest>[^?]+)\?", re.IGNORECASE)
_AUXILIARY = re.compile(r"(?P<verb>\w+)\s+(?P<rest>[^?,;:]+)\?", re.IGNORECASE)
_OTHER_ANSWERS = {"yes", "no", "today", "yesterday", "tomorrow"}
_NO_SUBJECT = words.AUXILIARIES | words.NEGATIONS | words.ADVERBS | words.CONJUNCTIONS | words.PRONOUNS | _OTHER_ANSWERS
_ADJECTIVE = re.compile(r"\w{3,}(?:able|ible|ful|ous|less)")


def statement(question: str, answer: str) -> str:
    """The statement that question and answer make, or the two behind each other where the grammar is not plain.

    statement("Who repaired the roof?", "Arlo & Sons.")     # "Arlo & Sons repaired the roof."
    statement("Is the deposit refundable?", "No.")          # "The deposit is not refundable."
    statement("Who is the landlord?", "Anna.")              # "Who is the landlord? Anna."
    """
    polar = _YES_OR_NO.fullmatch(answer)
    said = _polar(question, polar["word"].lower() == "yes") if polar else _named(question, answer)
    return said or f"{question} {answer}"


def is_yes_or_no(answer: str) -> bool:
    """Whether an answer is a bare yes or no."""
    return _YES_OR_NO.fullmatch(answer) is not None


def _named(question: str, answer: str) -> str | None:
    """The subject that "who" or "what" asks for, in its place before a verb of the question."""
    asked = _WHO.fullmatch(question.strip())
    found = [word.lower() for word in _WORD.findall(answer)]
    if asked is None or not found or found[0] in words.PREPOSITIONS or any(map(words.is_finite, found)):
        return None
    verb = asked["verb"].lower()
    if verb in words.AUXILIARIES or not words.is_finite(verb):
        return None
    if found[0] in _NO_SUBJECT or found[0][0].isdigit() or words.is_adverb(found[0]) or len(found) > 6:
        return None
    return f"{answer.rstrip(' .!')} {verb} {asked['rest'].strip()}."


def _polar(question: str, agrees: bool) -> str | None:
    """The question as a statement, with "not" for a no: subject, auxiliary, and the predicate from its first word on."""
    asked = _AUXILIARY.fullmatch(question.strip())
    if asked is None or (verb := asked["verb"].lower()) not in words.AUXILIARIES:
        return None
    rest = asked["rest"].split()
    if any(word.lower() in words.NEGATIONS | {"or"} for word in rest):
        return None
    begin = next((place for place, word in enumerate(rest) if place and _opens_predicate(verb, word.lower())), None)
    if begin is None:
        return None
    subject = rest[:begin]
    lower = [word.lower() for word in subject]
    if lower[0] in words.PRONOUNS - words.DETERMINERS or (len(subject) == 1 and lower[0] in words.DETERMINERS):
        return None
    if any(word in words.FUNCTION for word in lower[1:]):
        return None
    no = "" if agrees else " not"
    made = " ".join([*subject, f"{verb}{no}", *rest[begin:]])
    return made[0].upper() + made[1:] + "."


def _opens_predicate(verb: str, word: str) -> bool:
    """Whether a word can only begin the predicate behind this auxiliary."""
    if verb in words.BE:
        return words.is_participle(word) or bool(_ADJECTIVE.fullmatch(word))
    if verb in words.HAVE:
        return words.is_participle(word) or word == "been"
    return word == "be" or word in words.PRESENT_PLURAL
