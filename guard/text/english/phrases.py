"""English phrases that say nothing alone: they claim nothing, or need the question or the sentence before them.

Greetings, refusals to answer, lead-ins and questions back to the reader claim nothing. A text counts as claimless only if
it is made of such phrases from end to end: a phrase with room for a fact in it is a claim. A lead-in announces a text
("Based on the given passages, here is a brief overview of Hotel Larkspur:") and says nothing about the world, unless its
topic does. A short answer needs its question, a pronoun the sentence before. The phrases are data, in `phrases.toml`;
`groundrail.text.claims` decides how such a sentence is judged.
"""

import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files

from groundrail.text.english import words
from groundrail.text.english.quantities import CARDINALS, DAYS, MONTHS, ORDINALS, UNITS
from groundrail.text.sentences import split

_DATA = tomllib.loads(files(__package__).joinpath("phrases.toml").read_text(encoding="utf-8"))
_WORDS = {name: frozenset(listed.split()) for name, listed in _DATA["words"].items()}
_PARTS = _DATA["parts"] | {kind: "|".join(phrases) for kind, phrases in _DATA["phrases"].items()}


def _pattern(phrase: str) -> re.Pattern[str]:
    """A phrase with the named parts put in their places."""
    while (filled := re.sub(r"%(\w+)%", lambda part: _PARTS[part[1]], phrase)) != phrase:
        phrase = filled
    return re.compile(phrase, re.IGNORECASE)


_MATCHED = {name: _pattern(phrase) for name, phrase in _DATA["matched"].items()}

GLAD = f"[{_DATA['pictures']['glad']}]"
PICTURE = rf"(?:{GLAD}|(?![{_DATA['pictures']['signs']}])[{_DATA['pictures']['things']}])[\ufe0f\u200d]*"
"""A picture that says nothing beside a sentence, as a regular expression; a glad one also where no stop is before it."""

_TICK = re.compile(rf"[{_DATA['pictures']['yes']}]\ufe0f?\s+(?=[^\W\d_])")

_SAID_TWICE = re.compile(
    rf"{_TICK.pattern}(?=(?:yes|right|correct|true)\b|[^:.!?]{{1,60}}:\s)"
    rf"|[{_DATA['pictures']['no']}]\ufe0f?\s+(?=(?:[^:.!?]{{1,60}}:\s+)?(?:no|not|never|false|wrong|incorrect)\b)",
    re.IGNORECASE,
)


def _match(name: str, text: str) -> re.Match[str] | None:
    """Match a whole text, without marks and blanks around it, with the pattern of this name."""
    return _MATCHED[name].fullmatch(" ".join(text.replace("’", "'").split()).strip("\"'“”‘’()*_ "))


def is_claimless(text: str) -> bool:
    """Whether a text consists of known phrases that claim nothing."""
    return _match("claimless", text) is not None


def is_refusal(text: str) -> bool:
    """Whether a text says that it does not know the answer, and nothing else."""
    return _match("refusal", text) is not None


def refuses_what_follows(text: str) -> bool:
    """Whether a refusal goes on behind a colon: "I cannot find this in the source:" tells of what follows it."""
    return _match("refusal_ahead", text) is not None


def only_agrees(text: str, question: str) -> bool:
    """Whether a text only agrees to answer: "Sure!" to "Summarize the lease." or to "When does the lease end?"

    >>> only_agrees("Sure!", "Write whether dogs are allowed."), only_agrees("Sure!", "What about dogs?")
    (False, False)
    """
    to_write = _match("to_write", question) and not _match("asking", question)
    return _match("agreed", text) is not None and bool(to_write or _match("wh_question", question))


def may_answer(phrase: str, *, alone: bool) -> bool:
    """Whether a claimless phrase can answer the question before it. `alone`: it fills a line, as a heading does."""
    is_heading = alone and phrase[-1].isalnum() and _match("heading", phrase)
    return _match("may_answer", phrase) is not None and not is_heading


def takes_footnotes(phrase: str) -> bool:
    """Whether a claimless phrase can carry footnote marks, as "Sources: [1]" and "I don't know [1]." do."""
    return _match("sources", phrase) is not None or is_refusal(phrase)


_NAME = re.compile(r"(?=.*[a-z])[A-Z][\w'&.-]*(?: (?:[A-Z][\w'&.-]*|of|and|the|&)){0,5}")
_PLAIN = re.compile(r"[a-z]{3,}\b|(?:a|i|it|in|on|no|an|at|by|he|we|if|to|as)\b", re.ASCII)


def announced_topic(sentence: str) -> str:
    """The topic of a lead-in that ends with a colon; empty for every other sentence.

    >>> announced_topic("Here is a list of people who died:")
    'people who died'
    """
    found = _match("on_topic", sentence)
    return found["topic"] if found else ""


def announced_name(sentence: str) -> str:
    """The name that a lead-in announces a text about; empty for every other sentence.

    >>> announced_name("Here's an objective overview of Hotel Larkspur based on the provided structured data:")
    'Hotel Larkspur'
    >>> announced_name("Here is a list of Approved Suppliers:")
    ''
    """
    found = _match("on_topic", sentence)
    tells = found and found["noun"].lower() in _WORDS["telling"] and _NAME.fullmatch(found["topic"])
    return found["topic"] if found and tells else ""


def without_pointer(sentence: str) -> str:
    """The sentence without the words at its beginning that only point to the source, or to what follows them.

    >>> without_pointer("Based on the given passages, the rent is 900 euros.")
    'The rent is 900 euros.'
    >>> without_pointer("Based on the reviews, the rent is high.")
    'Based on the reviews, the rent is high.'
    >>> without_pointer("I can confirm that the rent is high.")
    'The rent is high.'
    """
    found = _MATCHED["pointer"].match(sentence)
    if found is None:
        return sentence
    rest = sentence[found.end() :]
    return rest[0].upper() + rest[1:] if _PLAIN.match(rest) else rest


_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]{{1,4}}|[^\W_{_CJK}]+(?:['’][^\W_{_CJK}]+)*")
"""A word. Where Chinese and Japanese put no spaces between words, four letters count as one: a yes or a no is no longer."""
_ANSWER_WORDS = words.FUNCTION | words.NEGATIONS | words.ADVERBS | _WORDS["polar"] | _WORDS["in_answers"]
_MEASURES = frozenset((*CARDINALS, *ORDINALS, *MONTHS, *DAYS, *UNITS))
_OPENING = words.CONJUNCTIONS | words.ADVERBS | _WORDS["polar"]
_NAMED_LATER = re.compile(rf",\s+(?:{'|'.join(sorted(words.DETERMINERS))})\b", re.IGNORECASE)
"""A main clause that names its subject: "Before they get the keys, the tenants pay"."""
_READ = 4000
"""Characters at a prompt's end in which its question is looked for."""


def _words(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def _has_verb(found: Sequence[str]) -> bool:
    return any(words.is_finite(word) or word in words.PRESENT_PLURAL for word in found)


def without_tick(text: str) -> str:
    """The text without a tick before a statement or a label, or a tick or cross before the word that says the same.

    >>> without_tick("✅ Dogs may enter."), without_tick("✅ Dogs"), without_tick("❌ False: dogs may enter.")
    ('Dogs may enter.', '✅ Dogs', 'False: dogs may enter.')
    """
    mark = _SAID_TWICE.match(text) or (_TICK.match(text) if _has_verb(_words(text)) else None)
    return text[mark.end() :] if mark else text


def opens_with_answer(claim: str) -> bool:
    """Whether a claim begins by answering yes or no."""
    return not _WORDS["polar"].isdisjoint(_words(claim)[:1])


def depends_on_question(claim: str) -> bool:
    """Whether a claim says something only as an answer: "No, never.", "Both.", "Until Friday.", "Two years."

    True for signs alone, for a single word, for words that answer, point or count and nothing else, for those and one
    word more, or up to four words, that hang on a preposition, and for two on an article. A longer one, a label with
    its value, a question is none.
    """
    if claim.rstrip().endswith("?"):
        return False
    found = _words(claim)
    others = [word for word in found if word not in _ANSWER_WORDS and not _measures(word)]
    if len(found) <= 1 or not others:
        return True
    hangs = found[0] in words.PREPOSITIONS
    if hangs and len(found) <= 3 and others == found[1:2]:  # "As agreed.", where "agreed" is no verb with tense
        return True
    if ":" in claim or _has_verb(found):
        return False
    if found[0] in _WORDS["polar"]:
        return len(found) <= 6
    if hangs or found[0] in words.NEGATIONS or _measures(found[0]):
        return len(found) <= 4 or (hangs and len(others) <= 1)
    return found[0] in words.DETERMINERS and len(found) == 2


def depends_on_sentence(claim: str, *, nouns: bool = False) -> bool:
    """Whether a sentence opens with a pronoun, whose noun stands in the sentence before: "But they may be taken."

    "It" counts wherever it opens a sentence, "this" and "those" only before a verb: "This is free.", not "This flat is".

    Args:
        nouns: also where it opens with "this flat". "The fee" does not count: a judge that reads an unrelated sentence
            before a claim believes the claim too easily.
    """
    found = [word.partition("'")[0] for word in _words(claim)]
    before = _OPENING | words.PREPOSITIONS
    first = next((place for place, word in enumerate(found) if word not in before), len(found))
    match found[first : first + 2]:
        case [word, *_] if word in _WORDS["pointing"]:
            return _OPENING.issuperset(found[:first]) or _NAMED_LATER.search(claim) is None
        case [word, *rest] if word in _WORDS["demonstrative"]:
            return nouns or not rest or words.is_finite(rest[0])
        case _:
            return False


def is_fragment(claim: str) -> bool:
    """Whether a claim is a few words without a verb, as a name is: clearer after its question, where there is one."""
    found = _words(claim)
    return 0 < len(found) <= 4 and ":" not in claim and not claim.rstrip().endswith("?") and not _has_verb(found)


def question_of(question: str) -> str:
    """The questions that a question ends with, as one text; empty where it ends with none.

    Behind them may stand how to answer, "Answer in one word.", and the mark of whoever answers. Where someone begins
    to speak, what stands before is not read.
    """
    asked: list[str] = []
    for sentence in reversed(split(question[-_READ:])):
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
    return bool(_match("turn", text)) or _WORDS["on_form"].issuperset(_words(text))


def _measures(word: str) -> bool:
    return word[0].isdigit() or word in _MEASURES or word.removesuffix("s") in _MEASURES
