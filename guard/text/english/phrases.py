"""English phrases that say nothing alone: they claim nothing, or need the question or the sentence before them.

Greetings, refusals to answer, lead-ins and questions back to the reader claim nothing. A text counts as claimless only if
it is made of such phrases from end to end: a phrase with room for a fact in it is a claim. A lead-in announces a text
("Based on the given passages, here is a brief overview of Hotel Larkspur:") and says nothing about the world, unless its
topic does. A short answer needs its question, a pronoun the sentence before. The phrases are data, in `phrases.toml`;
`groundrail.text.claims` decides how such a sentence is judged.
"""

import re
import tomllib
from importlib.resources import files

from groundrail.text.english import words
from groundrail.text.facts.quantities import CARDINALS, DAYS, MONTHS, ORDINALS, UNITS
from groundrail.text.sentences import split

_DATA = tomllib.loads(files(__package__).joinpath("phrases.toml").read_text(encoding="utf-8"))
_WORDS = {name: frozenset(listed.split()) for name, listed in _DATA["words"].items()}


def _pattern(*phrases: str) -> re.Pattern[str]:
    """Any of the phrases, the named parts put in their places."""
    whole = "|".join(phrases)
    while (filled := re.sub(r"%(\w+)%", lambda part: _DATA["parts"][part[1]], whole)) != whole:
        whole = filled
    return re.compile(whole, re.IGNORECASE)


def _repeated(*kinds: str) -> re.Pattern[str]:
    phrases = "|".join(phrase for kind in kinds for phrase in _DATA["phrases"][kind])
    return _pattern(rf"(?:(?:{phrases})%separated%)+")


_AROUND = "\"'“”‘’()*_ "
"""Marks and blanks that may stand around a phrase."""
_LONGEST = 200
"""Characters of a text that is compared with the phrases; a longer text counts as a claim."""
_LONGEST_LEAD_IN = 300

_CLAIMLESS = _repeated(*_DATA["phrases"])
_REFUSED = _repeated("refusal")
_REFUSED_AHEAD = _pattern(rf"(?:{'|'.join(_DATA['phrases']['refusal'])})[{_AROUND}]*:")
_MATCHED = {name: _pattern(phrase) for name, phrase in _DATA["matched"].items()}


def _matches(name: str, text: str) -> re.Match[str] | None:
    """Match a whole text with the pattern of this name."""
    return _MATCHED[name].fullmatch(text)


def is_claimless(text: str) -> bool:
    """Whether a text consists of known phrases that claim nothing."""
    return _consists_of(_CLAIMLESS, text)


def is_refusal(text: str) -> bool:
    """Whether a text says that it does not know the answer, and nothing else."""
    return _consists_of(_REFUSED, text)


def refuses_what_follows(text: str) -> bool:
    """Whether a refusal goes on behind a colon: "I cannot find this in the source:" tells of what follows it."""
    return _REFUSED_AHEAD.search(_plain(text)) is not None


def agrees_to_write(text: str, prompt: str) -> bool:
    """Whether a text only agrees to an order to write something: "Sure!" to "Summarize the lease."

    >>> agrees_to_write("Sure!", "Write whether dogs are allowed.")
    False
    """
    is_order = _matches("to_write", prompt.strip()) is not None and _MATCHED["asking"].search(prompt) is None
    return is_order and _matches("agreed", _plain(text)) is not None


def may_answer(phrase: str, *, alone: bool) -> bool:
    """Whether a claimless phrase can answer the question before it. `alone`: it fills a line, as a heading does."""
    if not _matches("may_answer", phrase.strip(_AROUND)):
        return False
    return not (alone and phrase[-1].isalnum() and _matches("heading", phrase))


def takes_footnotes(phrase: str) -> bool:
    """Whether a claimless phrase can carry footnote marks, as "Sources: [1]" and "I don't know [1]." do."""
    return _matches("sources", phrase) is not None or is_refusal(phrase)


def _consists_of(pattern: re.Pattern[str], text: str) -> bool:
    plain = _plain(text)
    return len(plain) <= _LONGEST and pattern.fullmatch(plain) is not None


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").split()).strip(_AROUND)


_NAME = re.compile(r"(?=.*[a-z])[A-Z][\w'&.-]*(?: (?:[A-Z][\w'&.-]*|of|and|the|&)){0,5}")
_PLAIN = re.compile(r"[a-z]{3,}\b|(?:a|i|it|in|on|no|an|at|by|he|we|if|to|as)\b", re.ASCII)


def _announced(sentence: str) -> re.Match[str] | None:
    plain = " ".join(sentence.replace("’", "'").split()).strip("*_# ")
    return _matches("on_topic", plain) if len(plain) <= _LONGEST_LEAD_IN else None


def announced_topic(sentence: str) -> str:
    """The topic of a lead-in that ends with a colon; empty for every other sentence.

    >>> announced_topic("Here is a list of people who died:")
    'people who died'
    """
    found = _announced(sentence)
    return found["topic"] if found else ""


def announced_name(sentence: str) -> str:
    """The name that a lead-in announces a text about; empty for every other sentence.

    >>> announced_name("Here's an objective overview of Hotel Larkspur based on the provided structured data:")
    'Hotel Larkspur'
    >>> announced_name("Here is a list of Approved Suppliers:")
    ''
    """
    found = _announced(sentence)
    return (
        found["topic"]
        if found and found["noun"].lower() in _WORDS["telling"] and _NAME.fullmatch(found["topic"])
        else ""
    )


def without_pointer(sentence: str) -> str:
    """The sentence without the words at its beginning that only point to the source.

    >>> without_pointer("Based on the given passages, the rent is 900 euros.")
    'The rent is 900 euros.'
    >>> without_pointer("Based on the reviews, the rent is high.")
    'Based on the reviews, the rent is high.'
    """
    found = _MATCHED["pointer"].match(sentence)
    if found is None:
        return sentence
    rest = sentence[found.end() :]
    return rest[0].upper() + rest[1:] if _PLAIN.match(rest) else rest


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POLAR = _WORDS["polar"]
_ANSWER_WORDS = words.FUNCTION | words.NEGATIONS | words.ADVERBS | _POLAR | _WORDS["in_answers"]
_MEASURES = frozenset((*CARDINALS, *ORDINALS, *MONTHS, *DAYS, *UNITS))
_OPENING = words.CONJUNCTIONS | words.ADVERBS | _POLAR
_BEFORE_SUBJECT = _OPENING | words.PREPOSITIONS
_NAMED_LATER = re.compile(rf",\s+(?:{'|'.join(sorted(words.DETERMINERS))})\b", re.IGNORECASE)
"""A main clause that names its subject: "Before they get the keys, the tenants pay"."""
_READ = 4000
"""Characters at a prompt's end in which its question is looked for."""


def opens_with_answer(claim: str) -> bool:
    """Whether a claim begins by answering yes or no."""
    first = _WORD.search(claim)
    return first is not None and first[0].lower() in _POLAR


def leans_on_question(claim: str) -> bool:
    """Whether a claim says something only as an answer: "No, never.", "Both.", "Until Friday.", "Two years."

    True for signs alone, for a single word, for words that answer, point or count and nothing else, for those and one
    word more, or up to four words, that hang on a preposition, and for two on an article. A longer one, a label with
    its value, a question is none.
    """
    found = [word.lower().replace("’", "'") for word in _WORD.findall(claim)]
    if claim.rstrip().endswith("?"):
        return False
    others = [word for word in found if word not in _ANSWER_WORDS and not _measures(word)]
    if len(found) <= 1 or not others:
        return True
    hangs = found[0] in words.PREPOSITIONS
    if hangs and len(found) <= 3 and others == found[1:2]:  # "As agreed.", where "agreed" is no verb with tense
        return True
    if ":" in claim or any(words.is_finite(word) or word in words.PRESENT_PLURAL for word in found):
        return False
    if found[0] in _POLAR:
        return len(found) <= 6
    if hangs and len(others) <= 1:
        return True
    if hangs or found[0] in words.NEGATIONS or _measures(found[0]):
        return len(found) <= 4
    return found[0] in words.DETERMINERS and len(found) == 2


def leans_on_sentence(claim: str, *, nouns: bool = False) -> bool:
    """Whether a sentence opens with a pronoun, whose noun stands in the sentence before: "But they may be taken."

    "It" counts wherever it opens a sentence, "this" and "those" only before a verb: "This is free.", not "This flat is".

    Args:
        nouns: also where it opens with a noun that may stand before: "This flat is free.", "The fee is 45 euros."
    """
    if nouns and _MATCHED["bare_noun"].match(claim):
        return True
    found = [word.lower().replace("’", "'").partition("'")[0] for word in _WORD.findall(claim)]
    first = next((place for place, word in enumerate(found) if word not in _BEFORE_SUBJECT), len(found))
    match found[first : first + 2]:
        case [word, *_] if word in _WORDS["pointing"]:
            return _OPENING.issuperset(found[:first]) or _NAMED_LATER.search(claim) is None
        case [word, *rest] if word in _WORDS["demonstrative"]:
            return not rest or words.is_finite(rest[0])
        case _:
            return False


def is_fragment(claim: str) -> bool:
    """Whether a claim is a few words without a verb, as a name is: clearer after its question, where there is one."""
    found = [word.lower() for word in _WORD.findall(claim)]
    return (
        0 < len(found) <= 4
        and ":" not in claim
        and not claim.rstrip().endswith("?")
        and not any(words.is_finite(word) or word in words.PRESENT_PLURAL for word in found)
    )


def question_of(prompt: str) -> str:
    """The questions that a prompt ends with, as one text; empty where it ends with none.

    Behind them may stand how to answer, "Answer in one word.", and the mark of whoever answers. Where someone begins
    to speak, what stands before is not read.
    """
    asked: list[str] = []
    for sentence in reversed(split(prompt[-_READ:])):
        said = sentence.text.strip()
        speaker = _MATCHED["speaker"].match(said)
        text = said[speaker.end() :] if speaker else said
        if text.rstrip("\"'”’)*_ ").endswith("?"):
            asked.append(text)
        elif asked or not _is_on_form(text):
            break
        if speaker:
            break
    return " ".join(reversed(asked))


def _is_on_form(text: str) -> bool:
    """Whether a sentence only says how to answer, or marks where the answer begins."""
    return bool(_matches("turn", text)) or all(word.lower() in _WORDS["on_form"] for word in _WORD.findall(text))


def _measures(word: str) -> bool:
    return word[0].isdigit() or word in _MEASURES or word.removesuffix("s") in _MEASURES
