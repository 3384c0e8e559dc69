"""Words that a sentence puts into somebody's mouth, and whether a text has that speaker where it says them.

"According to the caretaker, the rent is low." has a speaker and a content. A judge says whether the content is supported.
A person or an office has to speak in the passage that supports it: by name, by role, as the "I" of its turn, or in the
lines before where the passage goes on with a pronoun or a report. "According to the document" needs nobody in it.
"""

import re
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from groundrail.text.english.words import ADVERBS, DETERMINERS, FUNCTION, PRONOUNS, is_adverb, is_finite, stem

_DATA = tomllib.loads(files(__package__).joinpath("attributions.toml").read_text(encoding="utf-8"))


def _words_of(name: str) -> list[str]:
    return [two or one for two, one in re.findall(r'"([^"]+)"|(\S+)', _DATA[name])]


def _any_of(name: str) -> str:
    return f"(?:{'|'.join(_words_of(name))})".replace(" ", r"\s+")


_SAYS, _THINKS, _PLAIN, _VIEW = map(_any_of, ("saying", "thinking", "plain", "view"))
_DOCUMENT, _TITLES = frozenset(_words_of("document")), frozenset(_words_of("titles"))
_WRITTEN = frozenset(_words_of("written"))
_NOBODY = PRONOUNS | frozenset(_words_of("nobody"))
_ADDRESSING = frozenset(_words_of("addressing"))
_UNNAMED = FUNCTION | frozenset(_words_of("unnamed"))
_BARE = frozenset(_words_of("bare"))
_SAYING = frozenset(_words_of("saying"))

_TOKEN = rf"(?:{_any_of('titles')}\.|[\w'’&-]*[^\W_](?:\.\w+)*)"
_DETERMINER = r"(?:the|an?|this|these|his|her|its|their|our|my|your)"
_WHO = rf"(?P<who>(?:{_DETERMINER}\s+)?(?!{_DETERMINER}\s)(?!\d){_TOKEN}(?:\s+{_TOKEN}){{0,7}}?)"
_BY_OTHERS = r"(?:,\s+(?:as\s+)?(?:quoted|cited|reported|told|related)\s+by\s[^,]{1,60})?"
_WHEN = rf"\A\W*(?:(?:in|on|at|by|since|after|during|later|today|yesterday)\b[^,]{{0,30}},\s+|(?:{'|'.join(ADVERBS)})\s+)?"
_CLAUSE = r"(?=[^.!?]{0,40}?\b(?:that|whether|if|how|why|who|when|where)\b|\s*[:“\"])"
_PATTERNS = [
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"\A\W*(?P<opens>according\s+to|as\s+per)\s+{_WHO}{_BY_OTHERS},\s+(?P<content>.+)",
        rf"\A\W*(?:in|by|to|from)\s+{_WHO}['’]s?\s+(?:own\s+)?{_VIEW}(?:\s+\w+){{0,3}},\s+(?P<content>.+)",
        rf"\A\W*(?:in|by|from)\s+the\s+{_VIEW}\s+of\s+{_WHO},\s+(?P<content>.+)",
        rf"\A\W*for\s+(?=(?:{_any_of('titles')}\.?)\s){_WHO},\s+(?P<content>.+)",
        rf"\A\W*as\s+{_WHO}\s+{_SAYS}(?:\s+it)?,\s+(?P<content>.+)",
        rf"\A\W*it\s+(?:is|was)\s+{_WHO}\s+who\s+{_SAYS}\b(?P<content>.*)",
        rf"{_WHEN}{_WHO}\s+(?P<opens>{_PLAIN}\s+that)\s+(?P<content>.+)",
        rf"{_WHEN}{_WHO}(?:,\s[^,]{{1,40}},)?\s+(?:(?:also|then|later|himself|herself|now|still)\s+)?"
        rf"(?:{_THINKS}\b|{_SAYS}\b{_CLAUSE})(?P<content>.*)",
        rf"\A(?P<content>.+?),?\s+(?P<closes>according\s+to)\s+{_WHO}\s*[.!]?\Z",
        rf"\A(?P<content>.+?),[\"”»]?\s+{_WHO}\s+{_SAYS}\s*[.!]?\Z",
        rf"\A(?P<content>.+?),[\"”»]?\s+{_SAYS}\s+{_WHO}\s*[.!]?\Z",
        rf"\A(?P<content>.+?),\s+(?P<closes>as)\s+{_WHO}\s+{_SAYS}(?:\s+it)?\s*[.!]?\Z",
        rf"\A(?P<content>.+?),?\s+in\s+{_WHO}['’]s?\s+{_VIEW}\s*[.!]?\Z",
    )
]
_ANNOUNCES = re.compile(rf"\W*(?:as\s+)?{_WHO}\s+{_SAYS}(?:\s+(?:it|this|the\s+following))?\s*:\W*", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:[-’'](?!s\b)[^\W\d_]+)*")
_CUT = re.compile(r"\s+(?:of|in|from|at|on|with|for|who|behind|near|and)\s+|,|\s+\(")
_POSSESSOR = re.compile(r".*['’]s?\s+", re.DOTALL)
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur|[Uu]s)\b")
_REPORT = re.compile(rf"\b(?:{_SAYS}|according\s+to|s?he|they|his|hers?|their|would)\b|[\"“”„«»]", re.IGNORECASE)
_NAME = r"(?P<name>(?:[A-ZÀ-Þ][\w'’-]*\.?\s+){0,3}[A-ZÀ-Þ][\w'’-]+)"
_APPOSITION = re.compile(
    rf"(?:\b(?P<before>[^\W\d_A-Z][\w-]*(?:\s+(?:of|at|for|in)\s+(?:the\s+)?[\w-]+(?:\s+[\w-]+)?)?),?\s+)?\b{_NAME}"
    r"(?:\s*\((?P<aside>[^()]{1,40})\)"
    r"|,\s+(?P<behind>(?:(?:the|an?|its|his|her|our|my|their)\s+)?[\w-]+(?:\s+[\w-]+){0,3})(?=[,.;)]))?"
)
_TURN = re.compile(
    r"^[ \t]*(?:\[[\d: ]+\][ \t]*)?(?:from:[ \t]*([^\n]{1,60})|([^\n:.!?]{1,60}):)", re.IGNORECASE | re.MULTILINE
)
_ARTICLES = frozenset("the a an".split())
_QUOTED = re.compile('["“”„«»]')
_OF_MANY = frozenset("we our us".split())
_ENDING = re.compile(r"\.\w{2,4}\Z")
_WITHIN = frozenset("of in at from on for with and the an a".split())
_TURNS, _BEFORE, _HEAD = 5000, 600, 160
"""Characters before a passage in which its speaker may stand, and at both ends of a text where its author may."""


class Attribution(NamedTuple):
    """Words of a sentence, `text[start:end]`, that name a speaker, and the content that the speaker is said to say.

    plain: whether the sentence says no more than that the speaker says it, so that the content alone can be judged.
    """

    start: int
    end: int
    speaker: str
    content: str
    plain: bool = False


def attribution(text: str) -> Attribution | None:
    """The speaker that a sentence names, None where it names nobody.

    >>> attribution("According to the caretaker, the rent is low.")
    Attribution(start=13, end=26, speaker='the caretaker', content='the rent is low.', plain=True)
    >>> attribution("She said that the rent is low.")
    """
    for pattern in _PATTERNS:
        found = pattern.match(text)
        if found and _is_somebody(found["who"]):
            plain = any(found.groupdict().get(name) for name in ("opens", "closes"))
            return Attribution(*found.span("who"), found["who"], found["content"].strip(), plain)
    return None


def announced(text: str) -> str:
    """The speaker whose words a text announces, and says no more; else an empty text.

    >>> announced("As the lease puts it:"), announced("The lease says that:")
    ('the lease', '')
    """
    found = _ANNOUNCES.fullmatch(text)
    return found["who"] if found and _is_somebody(found["who"]) else ""


def is_document(speaker: str, names: Iterable[str]) -> bool:
    """Whether a speaker is a document: "the source", or one of the names of the documents.

    >>> is_document("the report", []), is_document("the lease", ["Lease.txt"]), is_document("Mr Lease", [])
    (True, True, False)
    """
    said = [word.lower() for word in _WORD.findall(speaker)]
    bare = [word for word in said if word not in FUNCTION]
    of_kind = said[:1] and said[0] in DETERMINERS
    known = [{word.lower() for word in _WORD.findall(_ENDING.sub("", name))} for name in names]
    is_named = bool(bare) and any(set(bare) == words or (of_kind and set(bare) <= words) for words in known)
    return is_named or role(speaker) in _DOCUMENT


def is_written(speaker: str) -> bool:
    """Whether a speaker is a kind of text, as "the lease" is: a source of that kind need not have the word."""
    return role(speaker) in _WRITTEN


class Speaker:
    """A speaker by the words that a text may have for them: names and roles, and what the text calls them beside these.

    is_elsewhere: whether another text of the source has the word for the speaker, who is then nobody that this text has no
        word for.
    """

    def __init__(self, speaker: str, text: str, *, is_elsewhere: bool = False) -> None:
        self._text, self._is_elsewhere, core = text, is_elsewhere, _core(_uncapitalised(speaker))
        self._names = {word.casefold() for word in core if word[0].isupper()}
        self._is_named = bool(self._names)
        self._roles = {stem(word) for word in core[: -1 if self._is_named else None][-1:]}
        for roles, names in appositions(text):
            if self._names & names or (not self._is_named and self._roles & roles):
                self._names, self._roles = self._names | names, self._roles | roles

    def speaks(self, start: int, end: int, above: str = "") -> bool:
        """Whether the passage `text[start:end]` can be the speaker's words. above: the title and headings above it."""
        passage, before = self._text[start:end], self._text[:start]
        if self._is_in(passage):
            return not self._is_addressed(passage)
        turns = _TURN.findall(before[-_TURNS:])
        if self._is_in(above) or (turns and self._is_in(" ".join(turns[-1]))):
            return True
        is_known = self._is_in(self._text)
        if self._is_elsewhere and not is_known:
            return False
        if (own := _FIRST_PERSON.search(passage)) and not _QUOTED.search(passage):
            is_author = self._is_in(self._text[:_HEAD] + self._text[-_HEAD:])
            return is_author or not self._names or (is_known and own[0] != "I" and own[0].lower() in _OF_MANY)
        if not is_known:
            return not self._is_named and _REPORT.search(passage) is not None
        if other := attribution(passage):
            if self._is_another(other.speaker):
                return False
            if not self._is_named and self._has_no_role(other.speaker):
                return True  # it may be the speaker's name
        return _REPORT.search(passage) is not None and self._is_in(before[-_BEFORE:])

    def _is_in(self, text: str) -> bool:
        return any(map(self._is_word_for, _WORD.findall(text)))

    def _is_word_for(self, word: str) -> bool:
        return word.casefold() in self._names or stem(word) in self._roles

    def _is_another(self, speaker: str) -> bool:
        """Whether a speaker in the text is surely not this one, whom no word there names."""
        core = _core(speaker)
        has_role = {stem(word) for word in core}
        is_named = any(word[0].isupper() for word in core) or any(has_role & roles for roles, _ in appositions(self._text))
        return self._is_named and is_named

    def _has_no_role(self, speaker: str) -> bool:
        """Whether a speaker is a name for which the text has no role."""
        names = {word.casefold() for word in _core(speaker) if word[0].isupper()}
        return bool(names) and not any(names & known for _, known in appositions(self._text))

    def _is_addressed(self, passage: str) -> bool:
        """Whether somebody else speaks in the passage, of the speaker or to the speaker."""
        words = [word for word in _WORD.findall(passage) if word.lower() not in _TITLES | _ARTICLES]
        own = [place for place, word in enumerate(words) if self._is_word_for(word)]
        words = [word.lower() for word in words]
        saying = next((place for place, word in enumerate(words) if word in _SAYING), len(words))
        goes_on = {"he", "she", "they"} & set(words[own[0] :]) or any(
            _SAYING & set(words[place + 1 : place + 6]) for place in own
        )
        if saying > own[0] or goes_on:
            return False
        before = [words[max(0, place - 2) : place] for place in own]
        return all(_ADDRESSING & set(two) for two in before)


@lru_cache(maxsize=64)
def appositions(text: str) -> list[tuple[frozenset[str], frozenset[str]]]:
    """The roles, by their stems, and the names that a text has side by side.

    >>> found = appositions("The caretaker, Mr Ilić, and Ms Keller (flat 6) came.")
    >>> [(sorted(roles), sorted(names)) for roles, names in found]
    [(['caretak'], ['ilić']), (['flat'], ['keller'])]
    """
    found = []
    for match in _APPOSITION.finditer(text):
        *first, last = [word for word in _WORD.findall(match["name"]) if word.lower() not in _TITLES] or [""]
        names = frozenset({last.casefold()} - {""})
        said = " ".join(filter(None, (match["before"], *first, match["behind"], match["aside"])))
        words = [word.lower() for word in _WORD.findall(said)]
        roles = frozenset(stem(word) for word in words if not (word in FUNCTION | _SAYING or is_finite(word)))
        if names and roles:
            found.append((roles, names))
    return found


def _is_somebody(who: str) -> bool:
    """Whether words are a noun with what belongs to it, and not a pronoun or a part of a sentence."""
    words = _WORD.findall(who)
    if not words or words[-1].lower() in _UNNAMED or who.split()[-1].endswith((".", ",")):
        return False
    first, rest = words[0].lower().replace("’", "'"), words[1:]
    is_order = first.endswith("n't") or (is_adverb(first) and not rest)  # "Don't think that", "Also note that"
    first = first.partition("'")[0]  # "I'd say that"
    is_part = is_order or first.endswith("ing") or (first in FUNCTION | _NOBODY and not (rest and first in DETERMINERS))
    inner = [word for word in rest if word.islower()]
    return not is_part and not any(is_finite(word) or (word in FUNCTION and word not in _WITHIN) for word in inner)


def _core(speaker: str) -> list[str]:
    """The names, or else the noun, that a speaker is called by, without titles: "Mr Pastore of flat 2" is Pastore.

    >>> _core("retired teacher Odd Riise"), _core("Mr Pastore's brother"), _core("the owner of flat 2")
    (['teacher', 'Odd', 'Riise'], ['brother'], ['owner'])
    """
    core = _CUT.split(_POSSESSOR.sub("", speaker), maxsplit=1)[0]
    words = [word for word in _WORD.findall(core) if word.lower() not in _TITLES | FUNCTION]
    first = next((place for place, word in enumerate(words) if word[0].isupper()), len(words))
    return words[max(0, first - 1) :]


def _uncapitalised(speaker: str) -> str:
    """The speaker with a small letter if it is one noun that opens the sentence: "Officials", "Police"."""
    is_noun = re.fullmatch(r"[A-Z][a-z]+[^\Wsui_]s", speaker) is not None or speaker.lower() in _BARE
    return speaker.lower() if is_noun else speaker


def role(speaker: str) -> str:
    """The last word of what a speaker is called by, in small letters.

    >>> role("the owner of flat 2"), role("Mr Pastore")
    ('owner', 'pastore')
    """
    return (_core(speaker) or [""])[-1].lower()
