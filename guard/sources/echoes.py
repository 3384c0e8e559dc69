"""A model's words in tool calls are no evidence: they are taken out of the results of tools.

The value does not show whether a tool found it or only keeps it. So a result is judged by what it says beside the
calls: if that is nothing, it is no source. If it says more, what it repeats of four words and more, from wherever in an
argument, is taken out where it stands for itself, as a note does; what is shorter, or part of a longer sentence, stays,
as the "Paris" of a weather report and the words of a search do. Figures are taken out wherever they stand if the model
wrote them in a statement or in code, since a translator or a database gives them back in other words. Finding calls and
results belongs to the server and the integrations.
"""

import json
import re
import threading
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from groundrail.text.english.quantities import UNITS
from groundrail.text.sentences import split

_NOTE = 4
"""Words from which a repeated value is taken out of a result that says more: names and keys of lookups are shorter."""

_RUN = 3
"""Words that stand together within a value, from which a result repeats a part of it. `Echoes._next` knows such threes."""

_SAYING_NOTHING = frozenset(
    "ok okay true done success successful successfully status message saved stored noted kept recorded added created "
    "updated changed set written logged remembered stdout output printed result "
    "a an the and as at by for in of on s that this to under with i it my our we you your "
    "am are be been had has have is now was were".split()
) | {word for unit in UNITS for word in (unit, f"{unit}s")}
"""Words that a tool puts around what it keeps: that it was kept, and units, which say nothing without a figure."""

_STATES = re.compile(r"[.!;…\"'”’]\s*\Z|[=(){}\[\]]")
"""The end of a statement, or a sign of code; a search has neither."""

_ESCAPE = re.compile(r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|[bfnrt])")
_PADDING = "\0"
_MARKS = rf"[{_PADDING}\u0300-\u036f]"
_WORD = re.compile(rf"[^\W_](?:{_MARKS}*[^\W_]|(?<=\d),(?=\d\d\d))*{_MARKS}*")
_CUT = re.compile(rf"\s*+(?:…|\.\.\.|[\"'”’»)\]}}]|{_PADDING}|[.!?]?\s*+\Z)")
"""Marks after a text that was cut short: an ellipsis, or the end of the field."""
_IN_A_SENTENCE = f" -'’/*_{_PADDING}"
"""Punctuation between words of one sentence; other punctuation begins or ends a separate text."""


MOST_READ = 1_000_000_000
"""Characters of earlier results that are searched for sentences: a sentence that comes after counts as the model's."""
_BRANCHES = 200
"""Continuations among which a cut word is looked for: where there are more, every cut word counts as one of them."""


class _Word(NamedTuple):
    text: str
    start: int
    end: int


class Echoes:
    """The values that a model has written into the tool calls of a conversation so far, in order.

    A value that a tool had said before the model wrote it stays evidence. May be shared by threads.
    """

    def __init__(self) -> None:
        self._next: dict[tuple[str, str], set[str]] = {}  # after two words of a value; "" stands around each value
        self._calls: list[set[str]] = []  # the words of each call
        self._figures: set[str] = set()  # of statements and of code
        self._labels = set(_SAYING_NOTHING)
        self._results: dict[str, None] = {}  # evidence that is not in `_said` yet, each once
        self._said = ""  # the words of evidence
        self._left = MOST_READ
        self._lock = threading.Lock()

    def call(self, arguments: Any) -> None:
        """A tool is called: `arguments` are text, which may be JSON, or what JSON holds."""
        with self._lock:
            self._calls.append(set())
            for text, is_label in _texts(arguments):
                if is_label:
                    self._labels.update(word.text for word in _words(_unescaped(text)))
                else:
                    for sentence in split(text):
                        self._write(sentence.text)

    def evidence(self, result: str) -> str:
        """A tool's result without the values of earlier calls; empty if nothing is left."""
        with self._lock:
            evidence = self._rest(result) if self._next else result
            self._results[evidence] = None
            return evidence

    def _write(self, sentence: str) -> None:
        words = [word.text for word in _words(_unescaped(sentence))]
        if not words or (len(words) >= _NOTE and self._was_said(words)):
            return
        self._calls[-1].update(words)
        if len(words) >= _NOTE and _STATES.search(sentence):
            self._figures |= {word for word in words if _is_figure(word) and not self._was_said([word])}
        padded = ["", "", *words, ""]
        for before, last, word in zip(padded, padded[1:], padded[2:], strict=False):
            self._next.setdefault((before, last), set()).add(word)

    def _was_said(self, words: Sequence[str]) -> bool:
        """Whether the words stand together in an earlier result."""
        for result in self._results:  # no sentence goes on from one to the next
            self._said += f" {' '.join(word.text for word in _words(_unescaped(result)))} \n"
        self._results.clear()
        self._left -= len(self._said)
        return self._left > 0 and f" {' '.join(words)} " in self._said

    def _rest(self, result: str) -> str:
        plain = _unescaped(result)
        words = list(_words(plain))
        echoes = list(self._repeated(plain, words))
        repeated = {place for echo in echoes for place in echo}
        if repeated and all(place in repeated or word.text in self._labels for place, word in enumerate(words)):
            return ""
        said = {word.text for word in words} - _SAYING_NOTHING
        if any(map(_is_figure, said)) and any(said <= call for call in self._calls):
            return ""
        notes = _joined([echo for echo in echoes if len(echo) >= _NOTE])
        taken = {place for echo in notes if _stands_for_itself(plain, words, echo) for place in echo}
        taken |= {place for place, word in enumerate(words) if word.text in self._figures}
        pieces, end = [], 0
        for echo in _joined([range(place, place + 1) for place in sorted(taken)]):
            pieces.append(result[end : words[echo.start].start])
            end = words[echo.stop - 1].end
        return " … ".join([*pieces, result[end:]])

    def _repeated(self, plain: str, words: Sequence[_Word]) -> Iterator[range]:
        """The words that repeat a value, whole, cut short or three words of it and more, by their places."""
        first = 0
        while first < len(words):
            inside = words[first].text, words[min(first + 1, len(words) - 1)].text
            whole = self._end_of_echo(plain, words, first, first, ("", ""))
            end = max(whole, self._end_of_echo(plain, words, first, first + 2, inside))
            if end > first:
                yield range(first, end)
            first = max(end, first + 1)

    def _end_of_echo(self, plain: str, words: Sequence[_Word], first: int, start: int, state: tuple[str, str]) -> int:
        """The end of the words from `first` on that repeat a value, where those before `start` are its `state`."""
        place, end = start, first
        following: Collection[str] = self._next.get(state, ())
        while place < len(words) and words[place].text in following:
            state = state[1], words[place].text
            place, following = place + 1, self._next[state]
            end = place if "" in following or place - first >= _RUN else end
        if place == start:
            return end
        if _CUT.match(plain, words[place - 1].end):
            return place
        if place < len(words) and _CUT.match(plain, words[place].end):  # within a word
            cut = len(following) > _BRANCHES or any(word.startswith(words[place].text) for word in following)
            return place + 1 if cut else end
        return end


def _texts(arguments: Any) -> Iterator[tuple[str, bool]]:
    """The texts in arguments, and whether each is a label."""
    left = [arguments]
    while left:
        match left.pop():
            case str() as text:
                held = _held(text)
                if held is None:
                    yield text, False
                else:
                    left.append(held)
            case Mapping() as fields:
                yield from ((str(label), True) for label in fields)
                left.extend(fields.values())
            case list() | tuple() as items:
                left.extend(items)
            case bool():
                pass
            case int() | float() as number:
                yield str(number).removesuffix(".0"), False


def _held(text: str) -> Any:
    """The value of a JSON object or list; None for other text."""
    try:
        return json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def _unescaped(text: str) -> str:
    """The text with the escapes of JSON read, in as many characters."""
    return _ESCAPE.sub(lambda found: (chr(int(found[1], 16)) if found[1] else "\n").ljust(len(found[0]), _PADDING), text)


def _words(text: str) -> Iterator[_Word]:
    """Words in one spelling: `1,450` is 1450, letters are lower."""
    for found in _WORD.finditer(text):
        word = found[0].replace(_PADDING, "").replace(",", "")
        yield _Word(unicodedata.normalize("NFKC", word).casefold(), *found.span())


def _is_figure(word: str) -> bool:
    return any(map(str.isdigit, word))


def _joined(echoes: Sequence[range]) -> Sequence[range]:
    """Echoes that follow each other as one."""
    joined: list[range] = []
    for echo in echoes:
        if joined and joined[-1].stop == echo.start:
            joined[-1] = range(joined[-1].start, echo.stop)
        else:
            joined.append(echo)
    return joined


def _stands_for_itself(plain: str, words: Sequence[_Word], echo: range) -> bool:
    """Whether it is no part of a longer sentence, nor the label of what follows."""
    if echo.start:
        word = words[echo.start - 1]
        gap = plain[word.end : words[echo.start].start]
        if not (gap.strip(_IN_A_SENTENCE) or word.text.isdigit() or word.text == "that"):
            return False
    if echo.stop == len(words):
        return True
    gap = plain[words[echo.stop - 1].end : words[echo.stop].start].lstrip(_IN_A_SENTENCE)
    return gap != "" and not gap.lstrip('"').startswith(":")
