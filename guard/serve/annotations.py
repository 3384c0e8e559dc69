"""The citations of released text as annotations of OpenAI's protocols: by the address of a document, else as a file.

Anthropic's citations belong to text blocks, which `groundrail.serve.messages_events` makes.
"""

from collections.abc import Iterable
from typing import Any

from groundrail.serve.details import Level
from groundrail.types import CheckedSentence, Citation, Document


class Annotations:
    """The text of one answer so far and its annotations, in the form of Responses; sentences are added in order."""

    def __init__(self, documents: Iterable[Document], level: Level) -> None:
        self._facts = {document.id: document.metadata for document in documents}
        self._level = level
        self.text = ""
        self.listed: list[dict[str, Any]] = []

    def add(self, sentence: CheckedSentence) -> list[dict[str, Any]]:
        """Add a sentence that has its verdict; return the annotations of its released text."""
        start, released = len(self.text) + len(sentence.gap), sentence.released_text
        self.text += released
        end = len(self.text) - len(released) + len(released.rstrip())
        added = [self._annotation(citation, start, end) for citation in sentence.supporting if released]
        self.listed += added
        return added

    def _annotation(self, citation: Citation, start: int, end: int) -> dict[str, Any]:
        facts = self._facts.get(citation.document_id, {})
        name = str(facts.get("title") or citation.document_id)
        cited = {} if self._level == "off" else {"groundrail": citation.model_dump(mode="json")}
        if facts.get("url"):
            place: dict[str, Any] = {"start_index": start, "end_index": end, "title": name, "url": str(facts["url"])}
            return {"type": "url_citation", **place, **cited}
        place = {"file_id": citation.document_id, "filename": name, "index": end}
        return {"type": "file_citation", **place, **cited}


def in_chat(annotations: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The field `annotations` of a message or delta of chat completions, which knows addresses alone; empty without any.

    >>> in_chat([{"type": "url_citation", "url": "https://a.example"}, {"type": "file_citation"}])
    {'annotations': [{'type': 'url_citation', 'url_citation': {'url': 'https://a.example'}}]}
    """
    of_urls = (each for each in annotations if each["type"] == "url_citation")
    written = [
        {"type": "url_citation", "url_citation": {name: value for name, value in each.items() if name != "type"}}
        for each in of_urls
    ]
    return {"annotations": written} if written else {}
