"""Where a reader finds a piece of a document: on which page, and under which link.

Read from a document's metadata: `url`, and `page_starts` (the character at which each page begins) or `page` (the
page that the whole document is). Only links with http or https are made.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

_IN_URL = ":/?#[]@!$&'*+,;=%~"
"""Characters that stay as they are in a URL; parentheses, quotes and backslashes would end a link of Markdown."""
_LONGEST_FRAGMENT = 120
"""Characters of a text up to which a link names it in full, and not by its first and last words."""
_WORDS = 5


def page_at(metadata: Mapping[str, Any], start: int) -> int | None:
    """The page, counted from 1, on which the character `start` stands, None where that is not known.

    `page` counts from 1, but for LangChain's loaders of PDF files, which count from 0 and add `total_pages`.

        page_at({"page_starts": [0, 900, 1800]}, 950)  # 2
    """
    starts, page = metadata.get("page_starts"), metadata.get("page")
    if isinstance(starts, list | tuple) and starts:
        return bisect_right(starts, start)
    if not isinstance(page, int) or isinstance(page, bool):
        return None
    return page + 1 if "total_pages" in metadata else page


def link_to(metadata: Mapping[str, Any], text: str, page: int | None) -> str | None:
    """A link that opens the document at the page, else at the text, by a text fragment; None without a web address.

    link_to({"url": "https://example.org/lease"}, "Pets, too", None)  # "https://example.org/lease#:~:text=Pets%2C%20too"
    """
    url = next((url for key in ("url", "source") if (url := _web_address(metadata.get(key)))), None)
    if url is None:
        return None
    if page is not None or urlsplit(url).path.lower().endswith(".pdf"):
        return f"{url.partition('#')[0]}#page={page}" if page is not None else url
    base, _, anchor = url.partition("#")
    return f"{base}#{anchor.partition(':~:')[0]}:~:text={_fragment(text)}"


def _web_address(value: object) -> str | None:
    """The value as a URL that is safe in HTML and Markdown, if it is one of the web."""
    if not isinstance(value, str) or not value.isprintable():
        return None
    try:
        parts = urlsplit(value.strip())
    except ValueError:  # brackets that hold no address
        return None
    return quote(value.strip(), safe=_IN_URL) if parts.scheme in ("http", "https") and parts.netloc else None


def _fragment(text: str) -> str:
    """The text directive's value: the text, or where it is long or goes over several lines, its first and last words."""
    words = text.split()
    if len(words) > 2 * _WORDS and ("\n" in text.strip() or len(text) > _LONGEST_FRAGMENT):
        return f"{_encoded(words[:_WORDS])},{_encoded(words[-_WORDS:])}"
    return _encoded(words)


def _encoded(words: list[str]) -> str:
    """Percent-encoded; a dash, a comma and an ampersand mean something in a text directive, so they are, too."""
    return quote(" ".join(words), safe="", errors="replace").replace("-", "%2D")
