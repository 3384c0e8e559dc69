"""What in a text points elsewhere: links, e-mail addresses, footnote marks. A reader follows them, so they are facts.

Whether a source holds them is asked in `groundrail.scoring.form`.
"""

import re

_ENDINGS = (
    "com org net info biz gov edu mil int app dev xyz online site shop store web cloud tech live link click page top "
    "pro club zip mov icu vip fun news blog wiki bank pay money example test invalid onion"
)
"""Endings of host names, beside all of two letters."""

_LINK = re.compile(
    r"<(?P<target>[^<>\s]{1,500})>"
    r"|(?P<plain>\b(?:[a-z][a-z0-9+.-]{1,20}://|www\.|(?:mailto|tel|sms|data|javascript|bitcoin):)[^\s<>\"'“”]{1,500}"
    r"|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"
    r"|(?<![\w.@])@[\w.]{2,64}|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:[:/][^\s<>\"'“”]{1,500}|(?![\w.]\w))"
    rf"|(?<![\w.@-])(?:[\w-]{{2,63}}\.){{1,5}}(?-i:[a-z]{{2}})\b(?:/[^\s<>\"'“”]{{0,500}})?(?!\.\w)"
    rf"|(?<![\w.@-])(?:[\w-]{{1,63}}\.){{1,5}}(?:(?:{'|'.join(_ENDINGS.split())})\b(?:/[^\s<>\"'“”]{{0,500}})?|[a-z]{{2,10}}/[^\s<>\"'“”]{{1,500}}))",
    re.IGNORECASE,
)
_UNWRITTEN = re.compile(r"^(?:https?://|mailto:|tel:)?(?:www\.)?", re.IGNORECASE)
_FOOTNOTES = re.compile(r"(?:\s?(?:\[\^?\d{1,3}\]|【[^【】]{1,40}】))++(?=\s*+(?:[.,;:!?]|$|(?:and|but|or|while)\b))")
_NUMBER = re.compile(r"\d{1,3}")
_ADDED = 9
"""Chats number their footnotes from 1 by themselves: up to here they say nothing."""

_BEFORE_A_VALUE = frozenset(
    "a an the is are was were be of for to by at in on from about around only exactly than or and = :".split()
)
_CITING = frozenset("source: sources: reference: references: see:".split())


def links(text: str) -> list[str]:
    """Links and e-mail addresses, without what may be left unwritten: `http://`, `www.`, a last slash."""
    return [
        _UNWRITTEN.sub("", (match["target"] or match["plain"]).rstrip(".,;:!?)]}*_/")).lower()
        for match in _LINK.finditer(text)
    ]


def without_footnotes(text: str, documents: int = 0) -> str:
    """The text without footnote marks that a chat may have added: `[1]` to `[9]`, or up to the number of documents.

    What stands in brackets where a value is due stays: "the rent is [900].".
    """
    highest = max(_ADDED, documents)

    def marks(match: re.Match[str]) -> str:
        added = all(int(number) <= highest for number in _NUMBER.findall(match[0])) and "【" not in match[0]
        return "" if added and not _stands_for_a_value(match) else match[0]

    return _FOOTNOTES.sub(marks, text)


def footnotes(text: str) -> list[str]:
    """The footnote marks in a text, one by one."""
    found = [match[0] for match in _FOOTNOTES.finditer(text) if not _stands_for_a_value(match)]
    return [mark for marks in found for mark in re.findall(r"\[\^?\d{1,3}\]|【[^【】]*】", marks)]


def _stands_for_a_value(match: re.Match[str]) -> bool:
    words = match.string[max(0, match.start() - 20) : match.start()].lower().split()
    return not words or words[-1] in _BEFORE_A_VALUE or (words[-1][-1] in ":=" and words[-1] not in _CITING)
