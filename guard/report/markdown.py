"""A result as Markdown: the released text with numbered footnotes to the source."""

import re

from groundrail.types import GuardResult

_MARK = re.compile(r"\[\^")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def render(result: GuardResult) -> str:
    """Released text, footnote marks before each sentence's trailing space, then the footnotes."""
    citations = list(result.citations)
    numbers = {(c.document_id, c.start, c.end): n for n, c in enumerate(citations, start=1)}
    body = []
    for sentence in result.sentences:
        text = _MARK.sub(r"\\[^", sentence.released_text)
        cited = sentence.citations if sentence.released else ()
        marks = "".join(f"[^{numbers[(c.document_id, c.start, c.end)]}]" for c in cited)
        bare = text.rstrip()
        apart = "\n\n" if marks and bare.endswith(("```", "~~~")) else ""  # a fence ends its line
        body.append(bare + apart + (marks if bare else "") + text[len(bare) :])
    notes = [
        f"[^{n}]: {_escaped(c.text)} ({_escaped(c.document_id)}, characters {c.start}-{c.end})"
        for n, c in enumerate(citations, start=1)
    ]
    return "".join(body).rstrip() + ("\n\n" + "\n".join(notes) if notes else "") + "\n"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
