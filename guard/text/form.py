"""Whether a claim can be read at all, and whether the source holds what it points to: links, addresses, footnotes.

No model judges this: a claim that fails here is not supported, whatever a scorer would make of it. What a claim
is of its sentence belongs to `groundrail.text.claims`.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property

from groundrail.scoring.base import Score, Scorer
from groundrail.text.rendering.disguises import disguises
from groundrail.text.rendering.pointers import footnotes, links, without_footnotes
from groundrail.types import Document

_WORD = re.compile(r"[^\W\d_]+")
_LATIN_WORD = re.compile("[A-Za-z\u00aa-\u024f\u1e00-\u1eff]+")
_BOX = re.compile(r"^\s*(?:\[[ xX-]?\]|\( ?\))(?=\s)")
_HARMLESS = frozenset("°©®™℃℉№|~+<=>±×÷−≈≤≥→←↔⁄∞√⁺⁻")
_SIGNS = re.compile(
    r"!=|<>|=/=|(?<![\w!])!(?=[A-Za-z])|×(?!\s?[\w(])|√(?![\d(]|\w\b)|(?<![\w)\]])(?<![\w)\]]\s)×(?!\d)"
)
"""Signs for "not" that are made of plain characters, and those of reckoning in the place of a cross or a check mark."""
_LOOKALIKE = frozenset("LATIN CYRILLIC GREEK ARMENIAN CHEROKEE COPTIC LISU DESERET GEORGIAN".split())
_MEASURES = frozenset("µμΩªº")
_PHONETIC = re.compile("[\u01c0-\u01c3\u0250-\u02af\u1d00-\u1dbf\ua720-\ua7ff]")
_QUOTED = 3
"""Words from which a claim that the source holds letter by letter is a quotation."""


class FormCheck:
    """Checks claims against the documents of one answer before they are scored."""

    def __init__(self, scorer: Scorer, documents: Sequence[Document]) -> None:
        self._scorer, self._documents = scorer, documents

    def sorted(self, claims: Sequence[str]) -> tuple[list[str], Callable[[Sequence[Score]], list[Score]]]:
        """The claims that can be scored, and how their scores become those of all claims."""
        plain = [without_footnotes(claim, len(self._documents)) for claim in claims]
        refusals = [self.refusal(claim) for claim in plain]
        scored = [claim for claim, refusal in zip(plain, refusals, strict=True) if refusal is None]

        def all_of(scores: Sequence[Score]) -> list[Score]:
            if len(scores) != len(scored):
                return list(scores)  # for the loop to refuse
            rest = iter(scores)
            return [next(rest) if refusal is None else Score(0.0, refusal=refusal) for refusal in refusals]

        return scored, all_of

    def refusal(self, claim: str) -> str | None:
        """Why a claim is not supported whatever it means; None where it can be judged."""
        for link in links(claim):
            if link not in self._links:
                return f"the source does not hold the link “{link:.80}”"
        for mark in footnotes(claim):
            if not any(mark in document.text for document in self._documents):
                return f"the source does not hold the footnote mark {mark}"
        if self._is_quotation(claim):
            return None
        symbols = [c for c in claim if _is_symbol(c)] + _BOX.findall(claim) + _SIGNS.findall(claim)
        if symbols:
            return f"the symbol {symbols[0]} cannot be read as words"
        for part in disguises(claim):
            if part.lower() not in self._text:
                return f"“{part:.40}” can be read in two ways, and is not in the source"
        for word in self._foreign(claim):
            if word.lower() not in self._text:
                return f"“{word}” mixes or imitates letters, and is not in the source"
        for word in self._scorer.facts.unread(claim):
            if word.lower() not in self._text:
                return f"“{word:.40}” cannot be read by the judge"
        return None

    @cached_property
    def _text(self) -> str:
        return "\n".join(document.text for document in self._documents).lower()

    @cached_property
    def _links(self) -> frozenset[str]:
        return frozenset(link for document in self._documents for link in links(document.text))

    def _is_quotation(self, claim: str) -> bool:
        return len(_WORD.findall(claim)) >= _QUOTED and claim.strip().lower() in self._text

    def _foreign(self, claim: str) -> list[str]:
        """Words in two alphabets or in letters that look like others', and in a Latin text words of other scripts."""
        latin = sum(map(len, _LATIN_WORD.findall(claim)))
        mostly_latin = 2 * latin > sum(map(len, _WORD.findall(claim)))
        words = (
            "".join(letter for letter in word if not unicodedata.digit(letter, None)) for word in _WORD.findall(claim)
        )
        found = [word for word in words if not word.isascii()]
        foreign = [word for word in found if len(_alphabets(word)) > 1 or _PHONETIC.search(word)]
        if mostly_latin:
            foreign += [word for word in found if not _MEASURES.issuperset(_LATIN_WORD.sub("", word))]
            foreign += [letter for letter in claim if letter.isdecimal() and not letter.isascii()]
        return foreign


def _alphabets(word: str) -> frozenset[str]:
    names = (unicodedata.name(letter, "").partition(" ")[0] for letter in word if letter not in _MEASURES)
    return _LOOKALIKE.intersection(names)


def _is_symbol(letter: str) -> bool:
    """Pictures and signs that can stand for words, strange numerals, private characters, those that no standard names."""
    kind = unicodedata.category(letter)
    if kind == "No":
        return not unicodedata.decomposition(letter)
    return kind in ("So", "Sm", "Co", "Cn") and letter not in _HARMLESS
