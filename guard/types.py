"""The values that travel through groundrail, all frozen pydantic models.

`groundrail.text.sentences` cuts sentences, `groundrail.policy` decides about verdicts.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from groundrail.errors import InputError
from groundrail.places import link_to, page_at
from groundrail.runtime.lazy import view


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Document(_Frozen):
    """One source text. `metadata` travels untouched to whoever renders a citation.

    Of the metadata, citations tell `title`, `url` (or `source`, where it is a web address) and the page, by
    `page_starts` or `page`; see `groundrail.places`.
    """

    text: str
    id: str = "source"
    metadata: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def from_pdf(
        cls, path: str | Path, *, id: str | None = None, url: str | None = None, title: str | None = None
    ) -> "Document":
        """A PDF file's text, with its pages; `url` is where readers can open it. Needs the extra `pdf`.

            lease = Document.from_pdf("lease.pdf", url="https://example.org/lease.pdf")

        `metadata["pages_without_text"]` lists pages on which there is none: they are blank, or pictures.

        Raises: InputError for a file that is broken, encrypted, or without any text, as a scanned one.
        """
        from groundrail.document_files import read_pdf

        return read_pdf(path, id=id, url=url, title=title)

    @classmethod
    def from_html(
        cls, page: str | Path, *, id: str | None = None, url: str | None = None, title: str | None = None
    ) -> "Document":
        """The text of a page that a reader sees; `page` is markup or the path of a file. Needs the extra `html`.

            terms = Document.from_html("<h1>Terms</h1><p>Pets are allowed.", url="https://example.org/terms")

        Comments, scripts and struck words are left out, and so is everything that the page's markup or its own style
        sheets hide. Style sheets in other files are not read.

        Raises: InputError for a page without visible text, or a style rule that hides cannot tell what.
        """
        from groundrail.document_files import read_html

        return read_html(page, id=id, url=url, title=title)

    @classmethod
    def from_docx(
        cls, path: str | Path, *, id: str | None = None, url: str | None = None, title: str | None = None
    ) -> "Document":
        """A Word file's paragraphs and tables, without hidden or struck words. Needs the extra `docx`.

            lease = Document.from_docx("lease.docx", title="The lease")

        Headers, footers, notes, comments and text boxes are not read.

        Raises: InputError for a file that is broken or without text, or that has tracked changes.
        """
        from groundrail.document_files import read_docx

        return read_docx(path, id=id, url=url, title=title)

    def cite(self, start: int, end: int, score: float) -> "Citation":
        """The piece `text[start:end]` as a citation that says where a reader finds it."""
        text, page, title = self.text[start:end], page_at(self.metadata, start), self.metadata.get("title")
        return Citation(
            document_id=self.id,
            start=start,
            end=end,
            text=text,
            score=score,
            page=page,
            title=str(title) if title else None,
            link=link_to(self.metadata, text, page),
        )


Source: TypeAlias = str | Document | Sequence[str | Document]


class Span(_Frozen):
    """A slice of a document in characters: `document.text[start:end]`."""

    document_id: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.end < self.start:
            raise ValueError(f"a span ends before it starts: start={self.start}, end={self.end}")
        return self

    @staticmethod
    def trimmed(text: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
        """Where `text[start:end]` begins and ends without the white space around it, in `text`."""
        part = text[start:end]
        start += len(part) - len(part.lstrip())
        return start, start + len(part.strip())


class Citation(Span):
    """The piece of source that speaks for a claim; `score` is P(entailment) of the claim from it alone.

    `page`, counted from 1, is where it begins; `title` is its document's; `link` opens the document there.
    `Document.cite` fills them in, where the document's metadata tells them.
    """

    text: str
    score: float
    page: int | None = None
    title: str | None = None
    link: str | None = None

    @property
    def where(self) -> str:
        """Its document and place in words: "lease.txt, characters 10-20", or "The lease, page 4"."""
        place = f"characters {self.start}-{self.end}" if self.page is None else f"page {self.page}"
        return f"{self.title or self.document_id}, {place}"


class Verdict(StrEnum):
    """The state of a sentence, never a number."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    NO_CLAIM = "no_claim"
    NO_SOURCE = "no_source"
    ERROR = "error"
    TIMEOUT = "timeout"


class Attempt(_Frozen):
    """One try at a sentence, kept whether it was released or not."""

    text: str
    verdict: Verdict
    score: float | None = None
    reason: str | None = None
    seconds: float = 0.0


class Finding(_Frozen):
    """A detail of a sentence, `text[start:end]`, that the nearest source sentence does not give.

    kind: date, time, quantity, number, ordinal, name, or literal for one that can be read in two ways. given: the
    detail of the same kind that stands there instead, where there is one. It explains a verdict and never makes one.
    """

    kind: str
    start: int
    end: int
    given: "Detail | None" = None


class Detail(Span):
    """A piece of a source."""

    text: str


class CheckedSentence(_Frozen):
    """A sentence with its verdict.

    `text` is verbatim what the generator wrote, trailing white space included, and `start`/`end` index
    `GuardResult.answer`. `attempts` lists every try in order, the last being this sentence.
    `replacement` is what was released instead: a callable fallback's text, the abstention, a quotation, or a list item
    behind its list's first line, where that line was refused with an earlier item.
    `conflict` is the piece of source that says otherwise, its score P(contradiction), where the scorer can tell that
    from silence. `exact` is False where
    `score` is a lower bound: the source was not read further once it was decided. `findings` are details of an
    unsupported sentence that the nearest source sentence gives otherwise or not at all. Where a second scorer
    was asked, `first_score` is the first's score and `threshold` what `score` was compared with. `quoted`: the
    replacement is the text of `conflict`. `note` is the scorer's remark on its score, as that it reads English only.
    """

    text: str
    start: int
    end: int
    verdict: Verdict
    score: float | None = None
    exact: bool = True
    citations: tuple[Citation, ...] = ()
    conflict: Citation | None = None
    attempts: tuple[Attempt, ...] = ()
    seconds: float = 0.0
    released: bool = False
    reason: str | None = None
    replacement: str | None = None
    quoted: bool = False
    findings: tuple[Finding, ...] = ()
    threshold: float | None = None
    first_score: float | None = None
    note: str | None = None

    @property
    def supporting(self) -> tuple[Citation, ...]:
        """The citations of a sentence that was released because they support it; others are only the nearest.

        Of a quotation in its place, where it stands.
        """
        if self.quoted and self.conflict is not None:
            return (self.conflict,)
        return self.citations if self.released and self.verdict is Verdict.SUPPORTED else ()

    @property
    def released_text(self) -> str:
        """The text that a reader sees of this sentence: its text, its replacement, or nothing."""
        if self.replacement is not None:
            return self.replacement
        return self.text if self.released else ""


def as_documents(source: Source) -> tuple[Document, ...]:
    """Normalise whatever a caller passes as a source into documents with distinct ids.

    Plain strings in a sequence are named `source-1`, `source-2`, ... by position.

    Raises: InputError for anything that is not text or a `Document`, and for two documents with one id.
    """
    if isinstance(source, str | Document):
        source = [source]
    if not isinstance(source, Sequence) or isinstance(source, bytes | bytearray):
        raise InputError(f"a source is text, a Document or a list of them, not {type(source).__name__}")
    documents: list[Document] = []
    for number, item in enumerate(source, start=1):
        if isinstance(item, str):
            documents.append(Document(text=item, id="source" if len(source) == 1 else f"source-{number}"))
        elif isinstance(item, Document):
            documents.append(item)
        else:
            raise InputError(f"source {number} is {type(item).__name__}; pass text or a groundrail.Document")
    for name, count in Counter(document.id for document in documents).items():
        if count > 1:
            raise InputError(f"{count} documents share the id {name!r}; give each Document its own id")
    return tuple(documents)


class GuardResult(_Frozen):
    """A checked answer.

    `text` is what was released, exactly the concatenation of the sentences' `released_text`; `answer` is
    everything that was checked, released or not. `generation` holds the generator's own counts, if it keeps any.
    """

    text: str
    answer: str
    sentences: tuple[CheckedSentence, ...] = ()
    threshold: float
    seconds: float = 0.0
    generation: dict[str, float] = Field(default_factory=dict)

    @property
    def supported(self) -> bool:
        """Whether every sentence is supported or claims nothing."""
        return all(s.verdict in (Verdict.SUPPORTED, Verdict.NO_CLAIM) for s in self.sentences)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """What supports the released sentences, in order, each place once."""
        places: dict[tuple[str, int, int], Citation] = {}
        for sentence in self.sentences:
            for citation in sentence.supporting:
                places.setdefault((citation.document_id, citation.start, citation.end), citation)
        return tuple(places.values())

    def to_html(self, source: Source | None = None, *, question: str = "") -> str:
        """One self-contained page: the answer beside the source it was checked against, or with its citations.

        Every text in it is escaped, and it loads nothing. Raises: InputError if `source` is not what was checked.
        """
        page: str = view("html")(self, source, question)
        return page

    def to_markdown(self, *, held_back: bool = False) -> str:
        """The released text with its citations as footnotes; on request, what was held back and why."""
        text: str = view("markdown")(self, held_back=held_back)
        return text

    def _repr_html_(self) -> str:
        """A short form for notebooks."""
        fragment: str = view("notebook")(self)
        return fragment
