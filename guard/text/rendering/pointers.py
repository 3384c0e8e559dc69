"""Parts of a text that point elsewhere: links, e-mail addresses, footnote marks. A reader follows them, so they are facts.

`groundrail.text.form` compares them with the source.
"""

import re

_ENDINGS = (
    "com org net info biz gov edu mil int app dev xyz online site shop store web cloud tech live link click page top "
    "pro club zip mov icu vip fun news blog wiki bank pay money example test invalid onion"
)
"""Endings of host names that are told by themselves. Behind two letters and a dot any word of small letters is one, or
of capitals, as in a file's name; "paid.The" lacks a space.
"""

_LINK = re.compile(
    r"<(?P<target>[^<>\s]{1,500})>"
    r"|(?P<plain>\b(?:[a-z][a-z0-9+.-]{1,20}://|www\.|(?:mailto|tel|sms|data|javascript|vbscript|bitcoin):)[^\s<>\"'“”]{1,500}"
    r"|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"
    r"|(?<![\w.@])@[\w.]{2,64}|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:[:/][^\s<>\"'“”]{1,500}|(?![\w.]\w))"
    r"|(?<![\w.@-])(?:[\w-]{2,63}\.){1,5}(?-i:[a-z]{2,24}|[A-Z]{2,24})\b(?:/[^\s<>\"'“”]{0,500})?(?!\.\w)"
    rf"|(?<![\w.@-])(?:[\w-]{{1,63}}\.){{1,5}}(?:(?:{'|'.join(_ENDINGS.split())})\b(?:/[^\s<>\"'“”]{{0,500}})?|[a-z]{{2,10}}/[^\s<>\"'“”]{{1,500}}))",
    re.IGNORECASE,
)
_UNWRITTEN = re.compile(r"^(?:https?://|mailto:|tel:)?(?:www\.)?", re.IGNORECASE)
_FOOTNOTES = re.compile(r"(?:\s?(?:\[\^?\d{1,3}\]|【[^【】]{1,40}】))++(?=\s*+(?:[.,;:!?]|$|(?:and|but|or|while)\b))")
_NUMBER = re.compile(r"\d{1,3}")
_USUAL = 9
"""Documents of an answer where their number is not known."""

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


def without_footnotes(text: str, documents: int = _USUAL) -> str:
    """The text without footnote marks that point to one of so many documents, `[1]` the first.

    What stands in brackets where a value is due stays: "the rent is [900].".
    """

    def marks(match: re.Match[str]) -> str:
        added = all(1 <= int(number) <= documents for number in _NUMBER.findall(match[0])) and "【" not in match[0]
        return "" if added and not _stands_for_a_value(match) else match[0]

    return _FOOTNOTES.sub(marks, text)


def footnotes(text: str) -> list[str]:
    """The footnote marks in a text, one by one."""
    found = [match[0] for match in _FOOTNOTES.finditer(text) if not _stands_for_a_value(match)]
    return [mark for marks in found for mark in re.findall(r"\[\^?\d{1,3}\]|【[^【】]*】", marks)]


def _stands_for_a_value(match: re.Match[str]) -> bool:
    words = match.string[max(0, match.start() - 20) : match.start()].lower().split()
    return not words or words[-1] in _BEFORE_A_VALUE or (words[-1][-1] in ":=" and words[-1] not in _CITING)
