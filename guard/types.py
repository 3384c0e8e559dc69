"""The values that groundrail takes and returns, all frozen pydantic models.

`groundrail.text.sentences` cuts text into sentences. `groundrail.policy` says what happens after a verdict.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import chain, count
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from groundrail.errors import InputError

_IN_URL = ":/?#[]@!$&'*+,;=%~"
"""Characters that stay as they are in a URL; parentheses, quotes and backslashes would end a link of Markdown."""
_LONGEST_FRAGMENT = 120
"""Characters of a text up to which a link names it in full, and not by its first and last words."""
_WORDS = 5


class Frozen(BaseModel):
    """A model whose fields never change, and that takes no others."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Document(Frozen):
    """One source text with its metadata, which groundrail never changes.

    Citations show `title`, `url` (or `source` if it is a web address, with http or https) and the page, which comes from
    `page_starts` in the metadata (the character at which each page begins) or `page` (the page that the document is).

        Document(text="The rent is 1,450 euros.", id="lease.txt", metadata={"title": "The lease"})
    """

    text: str
    id: str = "source"
    metadata: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def from_file(
        cls, path: str | Path, *, id: str | None = None, url: str | None = None, title: str | None = None
    ) -> "Document":
        """Read a file by its name: `.pdf`, `.html`, `.htm` and `.docx` by their form, any other as text in UTF-8.

            lease = Document.from_file("lease.pdf")

        Raises: InputError for a file that is not there or cannot be read; as `from_pdf`, `from_html`, `from_docx`.
        """
        from groundrail.sources.files import read_text

        readers = {".pdf": cls.from_pdf, ".html": cls.from_html, ".htm": cls.from_html, ".docx": cls.from_docx}
        if reader := readers.get(Path(path).suffix.lower()):
            return reader(Path(path), id=id, url=url, title=title)
        return cls(**read_text(path, id, url, title))

    @classmethod
    def from_pdf(
        cls, path: str | Path, *, id: str | None = None, url: str | None = None, title: str | None = None
    ) -> "Document":
        """Read a PDF file with its page numbers. Needs the extra `pdf`.

            lease = Document.from_pdf("lease.pdf", url="https://example.org/lease.pdf")

        `url` is the address at which readers can open the file. `metadata["pages_without_text"]` lists the pages that
        have no text because they are blank or hold only pictures.

        Raises: InputError for a file that is broken, encrypted or without any text (a scan, for example).
        """
        from groundrail.sources.files import read_pdf

        return cls(**read_pdf(path, id, url, title))

    @classmethod
    def from_html(
        cls, page: str | Path, *, id: str | None = None, url: str | None = None, title: str | None = None
    ) -> "Document":
        """Read the visible text of a web page; `page` is markup or the path of a file. Needs the extra `html`.

            terms = Document.from_html("<h1>Terms</h1><p>Pets are allowed.", url="https://example.org/terms")

        Comments, scripts and struck words are left out, and so is everything that the page's markup or the style
        sheets inside the page hide. Style sheets in other files are not read.

        Raises: InputError for a page without visible text, for one that is nested deeper than 256 elements or whose
            style sheets take too long to apply, and for a style rule that hides elements by a selector that cannot be
            read.
        """
        from groundrail.sources.html import read_html

        return cls(**read_html(page, id, url, title))

    @classmethod
    def from_docx(
        cls, path: str | Path, *, id: str | None = None, url: str | None = None, title: str | None = None
    ) -> "Document":
        """Read the paragraphs and tables of a Word file, without hidden rows and words, or struck ones (extra `docx`).

            lease = Document.from_docx("lease.docx", title="The lease")

        Headers, footers, notes, comments and text boxes are not read.

        Raises: InputError for a file that is broken or without text, or that has tracked changes.
        """
        from groundrail.sources.word import read_docx

        return cls(**read_docx(path, id, url, title))

    def cite(self, start: int, end: int, score: float) -> "Citation":
        """Make a citation of `text[start:end]`, with the page, title and link at which a reader finds it."""
        text, page, title = self.text[start:end], _page_at(self.metadata, start), self.metadata.get("title")
        link, title = _link_to(self.metadata, text, page), str(title) if title else None
        return Citation(document_id=self.id, start=start, end=end, text=text, score=score, page=page, title=title, link=link)


@runtime_checkable
class PageContent(Protocol):
    """A document of LangChain, which is taken wherever a `Document` is."""

    id: str | None
    page_content: str
    metadata: dict[str, Any]


Text: TypeAlias = str | Document | PageContent
Source: TypeAlias = Text | Sequence[Text]


class Span(Frozen):
    """A slice of a document in characters: `document.text[start:end]`."""

    document_id: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.end < self.start:
            raise ValueError(f"a span ends before it starts: start={self.start}, end={self.end}")
        return self

    @property
    def place(self) -> tuple[str, int, int]:
        """The document and the offsets, to compare places by."""
        return self.document_id, self.start, self.end

    @staticmethod
    def trimmed(text: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
        """Start and end of `text[start:end]` without white space at both ends, in characters of `text`."""
        part = text[start:end]
        start += len(part) - len(part.lstrip())
        return start, start + len(part.strip())


class TreeStep(Span):
    """A piece of a source on the way from a chunk to the sentence that is cited, such as "chunk 3 of 9".

    score: P(entailment) of the claim from this piece. `start` and `end` are the ends of its first and last sentence.
    """

    name: str
    score: float


class Citation(Span):
    """A piece of a source that supports a claim; `score` is P(entailment) of the claim from this piece alone.

    `path` is the way on which a search tree found it, the chunk first; empty if there was no tree.

    `page`, counted from 1, is the page on which the piece begins; `title` is the document's title; `link` opens the
    document at this place. `Document.cite` fills in all three if the document's metadata has them.
    """

    text: str
    score: float
    page: int | None = None
    title: str | None = None
    link: str | None = None
    path: tuple[TreeStep, ...] = ()

    @property
    def where(self) -> str:
        """Document and place in words: "lease.txt, characters 10-20", or "The lease, page 4"."""
        place = f"characters {self.start}-{self.end}" if self.page is None else f"page {self.page}"
        return f"{self.title or self.document_id}, {place}"


class Verdict(StrEnum):
    """The outcome of the check of a sentence.

    KNOWN is the verdict on a sentence that the app itself vouches for (`Policy.known`).
    """

    SUPPORTED = "supported"
    KNOWN = "known"
    UNSUPPORTED = "unsupported"
    NO_CLAIM = "no_claim"
    NO_SOURCE = "no_source"
    ERROR = "error"
    TIMEOUT = "timeout"

    @property
    def is_good(self) -> bool:
        """Whether nothing speaks against a sentence: the source or the app supports it, or it claims nothing."""
        return self in (Verdict.SUPPORTED, Verdict.KNOWN, Verdict.NO_CLAIM)


class Attempt(Frozen):
    """One version of a sentence that the generator wrote; kept whether the guard released it or not."""

    text: str
    verdict: Verdict
    score: float | None = None
    reason: str | None = None
    seconds: float = 0.0


class Detail(Span):
    """A piece of a source."""

    text: str


class Derived(Frozen):
    """The computation that gives a figure which the source does not state, in the source's spelling.

    operands: the figures that are computed with, in the order in which `computation` names each first.

        Derived(computation="3 months x 1,450 euros", operands=(months, rent))
    """

    computation: str
    operands: tuple[Detail, ...]


class Finding(Frozen):
    """A detail of a sentence, `text[start:end]`, that the nearest source sentence does not state.

    kind: date, time, quantity, number, ordinal, name, or "literal" for a detail that can be read in two ways; "quotation"
        for words that no document has, "speaker" for a person or an office that the source does not have say this.
    given: the detail of the same kind that the source sentence states instead, if there is exactly one; the wording that
        a quotation meant.
    derived: how the detail, a figure, follows exactly from figures of the source. It then has no `given`.

    A finding explains a verdict and never decides it.
    """

    kind: str
    start: int
    end: int
    given: Detail | None = None
    derived: Derived | None = None


class Correction(Frozen):
    """One detail of a sentence, `text[start:start + len(was)]`, exchanged for the source's: `now`.

    was: empty if the policy keeps no refused text.
    score, citations: of the corrected sentence, which was judged like any other.
    """

    start: int = Field(ge=0)
    was: str
    now: str
    score: float
    citations: tuple[Citation, ...] = ()


class CheckedMark(Frozen):
    """A mark of the answer's own that names documents, such as "[2]": `text[start:end]` of its sentence.

    documents: the ids of the documents that it names.
    verdict: of these documents alone on the words before the mark.
    elsewhere: the place in another document that supports these words, if the named documents do not.
    now: the mark that names that document instead; empty if there is none, or if it cannot be written.
    corrected: whether the mark was exchanged for one of that document.
    """

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    documents: tuple[str, ...]
    verdict: Verdict
    elsewhere: Citation | None = None
    now: str = ""
    corrected: bool = False


class CheckedSentence(Frozen):
    """A sentence with its verdict.

    text: the generator's words unchanged, trailing white space included.
    start, end: the place of the sentence in `GuardResult.answer`.
    attempts: every version of the sentence in order; the last one is this sentence.
    replacement: the text released in place of the sentence: the text of a callable fallback, the abstention, a
        quotation, the corrected sentence, the sentence without its marks, or a list item together with the first line
        of its list, if that line was refused with an earlier item.
    gap: the line breaks of refused sentences, which stand before the released text.
    quoted: whether the replacement quotes `conflict`.
    corrected: the detail or mark that was exchanged, if the replacement is the sentence with the source's detail.
    marks: the marks in the sentence that were checked (`Policy.marks`); none where there is one document.
    conflict: the piece of source that contradicts the sentence, with P(contradiction) as its score; None if the scorer
        cannot tell contradiction from silence.
    exact: False if `score` is a lower bound, because the scorer stopped reading once the verdict was certain.
    findings: details of an unsupported sentence that the nearest source sentence states differently or not at all, and
        figures of a supported or unsupported sentence that follow from figures of the source (`Finding.derived`).
    first_score, threshold: if a second scorer was asked, the score of the first scorer, and the threshold that `score`
        was compared with.
    note: a remark of the scorer on its score, for example that the judge reads English only.
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
    gap: str = ""
    quoted: bool = False
    corrected: Correction | None = None
    marks: tuple[CheckedMark, ...] = ()
    findings: tuple[Finding, ...] = ()
    threshold: float | None = None
    first_score: float | None = None
    note: str | None = None

    @property
    def supporting(self) -> tuple[Citation, ...]:
        """The citations that support the released text; empty if the citations are only the nearest places.

        For a quotation this is the quoted place.
        """
        if self.corrected is not None:
            return self.corrected.citations
        if self.quoted and self.conflict is not None:
            return (self.conflict,)
        return self.citations if self.released and self.verdict is Verdict.SUPPORTED else ()

    @property
    def is_not_stated(self) -> bool:
        """Whether a judge read the source and found that it neither supports nor contradicts the sentence, nor its marks."""
        is_silent = self.score is not None and self.conflict is None
        marks_hold = all(mark.verdict is Verdict.SUPPORTED for mark in self.marks)
        return self.verdict is Verdict.UNSUPPORTED and is_silent and marks_hold

    @property
    def flagged(self) -> bool:
        """Whether it is released although it is not supported, or was not checked."""
        return self.released and not self.verdict.is_good

    @property
    def released_text(self) -> str:
        """The text that a reader sees: the sentence or its replacement behind the gap, or nothing."""
        shown = self.replacement if self.replacement is not None else self.text if self.released else ""
        return self.gap + shown


def as_documents(source: Source) -> tuple[Document, ...]:
    """Turn a source (text, a document, or a sequence of both) into documents with distinct ids.

    A single text gets the id `source`; texts in a longer sequence are called `source-1`, `source-2`, ... by position.
    LangChain's documents, whose chunks often share one source, are named by their id, or else by the `id` or `source` of
    their metadata; a name that is taken gets a number.

    Raises: InputError for anything that is not text or a document, and for two documents with one id.
    """
    if isinstance(source, str | Document | PageContent):
        source = [source]
    if not isinstance(source, Sequence) or isinstance(source, bytes | bytearray):
        hint = "; pass its text: path.read_text()" if isinstance(source, Path) else ""
        raise InputError(f"a source is text, a Document or a list of them, not {type(source).__name__}{hint}")
    documents: list[Document] = []
    for number, item in enumerate(source, start=1):
        if isinstance(item, str):
            documents.append(Document(text=item, id="source" if len(source) == 1 else f"source-{number}"))
        elif isinstance(item, Document):
            documents.append(item)
        elif isinstance(item, PageContent):
            documents.append(_from_langchain(item, {document.id for document in documents}))
        else:
            raise InputError(f"source {number} is {type(item).__name__}; pass text or a groundrail.Document")
    for name, uses in Counter(document.id for document in documents).items():
        if uses > 1:
            raise InputError(f"{uses} documents share the id {name!r}; give each Document its own id")
    return tuple(documents)


def _from_langchain(document: PageContent, taken: Container[str]) -> Document:
    named = document.id or document.metadata.get("id") or document.metadata.get("source") or "source"
    names = chain([str(named)], (f"{named}-{number}" for number in count(2)))
    free = next(name for name in names if name not in taken)
    return Document(text=document.page_content, id=free, metadata=dict(document.metadata))


def lowest_score(sentences: Iterable[CheckedSentence]) -> float | None:
    """The score of the least supported sentence; None where none was scored."""
    return min((sentence.score for sentence in sentences if sentence.score is not None), default=None)


class GuardResult(Frozen):
    """A checked answer.

    text: the released text, exactly the `released_text` of all sentences joined.
    answer: all checked text, released or not.
    threshold: the score from which a claim counted as supported.
    generation: the counts that the generator keeps, if any.

        result = Guard().check("The rent is 1,650 euros.", "The rent is 1,450 euros.")
        result.supported  # False
    """

    text: str
    answer: str
    sentences: tuple[CheckedSentence, ...] = ()
    threshold: float
    seconds: float = 0.0
    generation: dict[str, float] = Field(default_factory=dict)

    @property
    def supported(self) -> bool:
        """Whether every sentence is supported, known or claims nothing."""
        return all(sentence.verdict.is_good for sentence in self.sentences)

    @property
    def score(self) -> float | None:
        """The score of the least supported sentence; None where none was scored. A sentence that claims nothing, or was
        not checked, has no score: `supported` knows of both.
        """
        return lowest_score(self.sentences)

    @property
    def refused(self) -> tuple[CheckedSentence, ...]:
        """The sentences that are not released as they were written."""
        return tuple(sentence for sentence in self.sentences if not sentence.released)

    @property
    def flagged(self) -> tuple[CheckedSentence, ...]:
        """The sentences that are released although they are not supported, or were not checked."""
        return tuple(sentence for sentence in self.sentences if sentence.flagged)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations that support the released sentences, in order, each place once."""
        places: dict[tuple[str, int, int], Citation] = {}
        for sentence in self.sentences:
            for citation in sentence.supporting:
                places.setdefault(citation.place, citation)
        return tuple(places.values())

    def to_html(self, source: Source | None = None, *, question: str = "") -> str:
        """Render one self-contained page: the answer beside its source, or with its citations if no source is given.

        All text in the page is escaped, and the page loads nothing.

        Raises: InputError if a citation is not in `source`: pass the source that was checked.
        """
        from groundrail.report.html import Answered, page

        return page([Answered(self, question)], source)

    def to_markdown(self, *, held_back: bool = False, marks: bool = False) -> str:
        """Render the released text with its citations as footnotes, or as numbered marks with a list of references.

            result.to_markdown(marks=True)  # "The rent is 1,450 euros. [1]", then the references

        Args:
            held_back: Also list the sentences that were not released, with the reasons.
            marks: Write "[1]" behind each supported sentence, and the places below the text. The answer's own marks
                stay, and the numbers continue after theirs; `Policy(marks="strip")` takes the answer's marks out.
        """
        from groundrail.report.markdown import render

        return render(self, held_back=held_back, marks=marks)

    def _repr_html_(self) -> str:
        """Render a short form for notebooks."""
        from groundrail.report.html import short

        return short(self)


def _page_at(metadata: Mapping[str, Any], start: int) -> int | None:
    """The page, counted from 1, on which the character `start` stands, None where that is not known.

    `page` counts from 1, but for LangChain's loaders of PDF files, which count from 0 and add `total_pages`.
    """
    starts, page = metadata.get("page_starts"), metadata.get("page")
    if isinstance(starts, list | tuple) and starts:
        return bisect_right(starts, start)
    if not isinstance(page, int) or isinstance(page, bool):
        return None
    return page + 1 if "total_pages" in metadata else page


def _link_to(metadata: Mapping[str, Any], text: str, page: int | None) -> str | None:
    """A link that opens the document at the page, else at the text, by a text fragment; None without a web address."""
    url = next((url for key in ("url", "source") if (url := _web_address(metadata.get(key)))), None)
    if url is None:
        return None
    base, _, anchor = url.partition("#")
    if page is not None:
        return f"{base}#page={page}"
    if urlsplit(url).path.lower().endswith(".pdf"):
        return url
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
