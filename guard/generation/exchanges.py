"""The exchanges that a source offers for one sentence: each value comes from a statement about the same subject.

`groundrail.facts.corrections` says which values a statement has, `groundrail.facts.subjects` what a sentence is
about. A judge decides between the exchanges (`groundrail.generation.correcting`).
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from groundrail.facts.corrections import Exchange, corrections
from groundrail.facts.subjects import clauses, drops_condition, is_turned, subject
from groundrail.sources.statements import Statement, statements
from groundrail.text.english.words import stems
from groundrail.types import Citation, Document

BESIDE = 8
"""Maximum number of statements beside the cited ones that may offer a rival."""


class _Offer(NamedTuple):
    """An exchange by a statement, and the stems of the clause that offers it."""

    exchange: Exchange
    by: Statement
    clause: frozenset[str]

    def is_outdone(self, other: "_Offer", words: frozenset[str]) -> bool:
        """Whether the other has another value for the same place and all these words, which this one lacks in part."""
        if self.exchange[:2] != other.exchange[:2] or self.exchange.now == other.exchange.now:
            return False
        closer = self.by == other.by and not words <= self.clause and words <= other.clause
        return closer or (not words <= self.by.stems and words <= other.by.stems)


def exchanges(
    sentence: str, context: str, places: Sequence[Citation], documents: Sequence[Document]
) -> dict[Exchange, bool]:
    """The exchanges of the cited places, True, then those for the same words by other statements about the subject, False.

    The others are rivals among which a judge decides, and correct nothing.

    Args:
        context: the words that say what the sentence is about where it does not say that itself.
        places: the cited places.

    >>> lido = Document(text="The sauna at the Otter Pool costs 6 pounds. The sauna at the Heron Pool costs 4 pounds.")
    >>> cited = [lido.cite(44, 87, 0.5), lido.cite(0, 43, 0.4)]
    >>> exchanges("The Otter Pool's sauna costs 5 pounds.", "", cited, [lido])
    {Exchange(start=29, end=37, now='6 pounds'): True}
    """
    stated = [(document.id, each) for document in documents for each in _stated(document)]
    cited = [each for place in places for name, each in stated if name == place.document_id and each.overlaps(place)]
    content = subject(f"{context} {sentence}").content
    others = [each for _, each in stated if each not in cited and each.stems & content]
    others.sort(key=lambda each: len(each.stems & content), reverse=True)
    offers = list(chain.from_iterable(_offers(sentence, each) for each in dict.fromkeys(cited)))
    wrong = {offer.exchange[:2] for offer in offers}
    beside = chain.from_iterable(_offers(sentence, each) for each in others[:BESIDE])
    offers += [offer for offer in beside if offer.exchange[:2] in wrong]
    found: dict[Exchange, bool] = {}
    for offer in offers:
        names, words = _about(sentence, context, offer.exchange)
        lacking = names - offer.by.stems
        is_about = not any(lacking & each.stems for _, each in stated)
        if is_about and not any(offer.is_outdone(other, words) for other in offers):
            found[offer.exchange] = found.get(offer.exchange, False) or offer.by in cited
    return found


def _stated(document: Document) -> Iterator[Statement]:
    """The statements of a document, with its title above each."""
    title = frozenset(stems(str(document.metadata.get("title") or "")))
    return (each._replace(stems=each.stems | title) for each in statements(document.text))


def _about(sentence: str, context: str, exchange: Exchange) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a sentence is about, and the words by which statements about it are compared.

    The names outside the exchange and the words of the first phrase count; where there are none, the context counts.
    """
    own = subject(sentence)
    names = own.names.difference(stems(sentence[exchange.start : exchange.end]))
    if names or own.phrase:
        return names, names | own.phrase
    asked = subject(context)
    return asked.names, own.content | asked.content


def _offers(sentence: str, by: Statement) -> Iterator[_Offer]:
    """The exchanges by one statement, each by the clauses that have the value, or by the whole where none has it alone."""
    found = [] if drops_condition(sentence, by.text) else corrections(sentence, by.text)
    parts = clauses(by.text) if found else {}
    offered = {clause: corrections(sentence, clause) for clause in parts}
    for each in found:
        for clause in [clause for clause, some in offered.items() if each in some] or [by.text]:
            if not is_turned(sentence, clause):
                yield _Offer(each, by, parts.get(clause, by.stems))
