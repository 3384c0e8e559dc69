"""Documents from files: the text that a reader sees, where it stands, and a clear error for everything else."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from pypdf import PdfWriter
from rich.console import Console

from groundrail import Document, Guard, GuardResult, InputError
from groundrail.papers.overlap import OverlapScorer
from groundrail.report.terminal import print_result
from groundrail.types import Source

PAGES = ["The rent is 1,450 euros per month.", "", "Pets are not allowed. The lease ends in", "May of next year."]


def pdf(path: Path, pages: list[str]) -> Path:
    """A PDF file written by hand: a line of text a page, in a font that every reader has."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        drawn = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {len(objects)} 0 R >>"
        )
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    written, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(written))
        written += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    written += (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
        f"startxref\n{len(written)}\n%%EOF\n"
    ).encode()
    path.write_bytes(written)
    return path


@pytest.fixture
def lease(tmp_path: Path) -> Document:
    return Document.from_pdf(
        pdf(tmp_path / "lease.pdf", PAGES), url="https://example.org/a (1)/lease.pdf#top", title="The <lease>"
    )


def checked(answer: str, source: Source) -> GuardResult:
    return Guard(scorer=OverlapScorer()).check(answer, source)


def test_a_pdf_keeps_its_pages(lease: Document) -> None:
    starts = lease.metadata["page_starts"]
    ends = [*starts[1:], len(lease.text)]
    assert [lease.text[start:end].strip() for start, end in zip(starts, ends, strict=True)] == PAGES
    assert lease.metadata["pages_without_text"] == [2]
    assert lease.id == "lease.pdf"
    for number, text in enumerate(PAGES, start=1):
        if text:
            start = lease.text.index(text)
            for place in (start, start + len(text) - 1):
                assert lease.cite(place, place + 1, 1.0).page == number


def test_a_citation_of_a_pdf_opens_its_page_in_every_view(lease: Document) -> None:
    result = checked("Pets are not allowed.", lease)
    (citation,) = result.citations
    link = "https://example.org/a%20%281%29/lease.pdf#page=3"
    assert (citation.page, citation.title, citation.link) == (3, "The <lease>", link)
    assert json.loads(result.model_dump_json())["sentences"][0]["citations"][0]["link"] == link
    assert GuardResult.model_validate_json(result.model_dump_json()) == result
    page = result.to_html(lease)
    assert f'href="{link}" target="_blank" rel="noopener noreferrer">The &lt;lease&gt;, page 3</a>' in page
    assert f"([The \\<lease\\>, page 3](<{link}>))" in result.to_markdown()
    console = Console(width=200, file=StringIO())
    print_result(result, console)
    told = console.file.getvalue()  # type: ignore[attr-defined]
    assert "“Pets are not allowed.” (The <lease>, page 3)" in told
    assert link in told


def test_the_server_and_langchain_tell_the_place() -> None:
    from groundrail.integrations.langchain.retrieved import SourceDocuments
    from groundrail.serve.details import of_sentence

    facts = {"url": "https://example.org/lease.pdf", "title": "Lease", "page": 4}
    (sentence,) = checked("Pets are not allowed.", Document(text="Pets are not allowed.", metadata=facts)).sentences
    (cited,) = of_sentence(sentence, "on")["citations"]
    assert (cited["page"], cited["title"], cited["link"]) == (4, "Lease", "https://example.org/lease.pdf#page=4")

    from langchain_core.documents import Document as LangChainDocument

    loaded = LangChainDocument("Pets are not allowed.", metadata={"source": "a.pdf", "page": 3, "total_pages": 9})
    sources = SourceDocuments([loaded])
    (sentence,) = checked("Pets are not allowed.", sources.documents).sentences
    (told,) = sources.event(sentence)["citations"]
    assert (told["page"], told["metadata"]) == (4, loaded.metadata)


@pytest.mark.parametrize(
    ("url", "text", "link"),
    [
        ("https://a.org/x", "Pets, dogs & co-tenants", "https://a.org/x#:~:text=Pets%2C%20dogs%20%26%20co%2Dtenants"),
        ("https://a.org/x#pets", "No pets", "https://a.org/x#pets:~:text=No%20pets"),
        ("https://a.org/x#:~:text=old", "Ünïcode", "https://a.org/x#:~:text=%C3%9Cn%C3%AFcode"),
        ("https://a.org/x", "one two three four five\nsix seven eight nine ten, eleven",
         "https://a.org/x#:~:text=one%20two%20three%20four%20five,seven%20eight%20nine%20ten%2C%20eleven"),
        ('https://a.org/">)<b>\\', "x", "https://a.org/%22%3E%29%3Cb%3E%5C#:~:text=x"),
        ("https://a.org/x.PDF", "x", "https://a.org/x.PDF"),
        ("javascript:alert(1)", "x", None),
        ("java\nscript:alert(1)", "x", None),
        ("JavaScript://a.org/%0aalert(1)", "x", None),
        ("data:text/html,x", "x", None),
        ("file:///etc/passwd", "x", None),
        ("//a.org/x", "x", None),
        ("https://[a", "x", None),
        (7, "x", None),
        (None, "x", None),
    ],
)  # fmt: skip
def test_links_go_to_the_text_and_only_to_the_web(url: Any, text: str, link: str | None) -> None:
    assert Document(text=text, metadata={"url": url}).cite(0, len(text), 1.0).link == link


@pytest.mark.parametrize(
    ("metadata", "page"),
    [({"page": 4}, 4), ({"page": 3, "total_pages": 9}, 4), ({"page": "iv"}, None), ({"page": True}, None), ({}, None)],
)
def test_a_page_is_told_only_where_it_is_known(metadata: dict[str, Any], page: int | None) -> None:
    assert Document(text="x", metadata=metadata).cite(0, 1, 1.0).page == page


def encrypted(path: Path) -> Path:
    writer = PdfWriter(clone_from=str(pdf(path, PAGES)))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(str(path))
    return path


BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "scanned": (lambda path: pdf(path, ["", " "]), "no text.*OCR"),
    "encrypted": (encrypted, "is encrypted"),
    "cut off": (lambda path: path.write_bytes(pdf(path, PAGES).read_bytes()[:200]), "cannot be read as a PDF|no text"),
    "empty": (lambda path: path.write_bytes(b""), "cannot be read as a PDF"),
    "other": (lambda path: path.write_text("hello"), "cannot be read as a PDF"),
    "missing": (lambda path: None, "no such file"),
}


@pytest.mark.parametrize("kind", list(BROKEN))
def test_a_pdf_that_cannot_be_read_is_an_error(tmp_path: Path, kind: str) -> None:
    make, message = BROKEN[kind]
    make(tmp_path / "a.pdf")
    with pytest.raises(InputError, match=message):
        Document.from_pdf(tmp_path / "a.pdf")


def test_html_is_laid_out_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "terms.html"
    path.write_text(
        "<title> Terms  of use </title><h1>Terms</h1><p>Pets are <b>not</b>\n allowed.<br>Fish are.</p>"
        "<ul><li>one</li><li>two &amp; three</li></ul>"
        "<table><tr><th>Deposit<td>2,900 euros</tr><tr><th>Rent<td>1,450 euros</table>"
        '<p style="opacity:0.5">pale</p><style>a::before{display:none}</style><a href="#">link</a>',
        encoding="utf-8",
    )
    document = Document.from_html(path, url="https://example.org/terms")
    assert [line for line in document.text.splitlines() if line] == [
        "Terms", "Pets are not allowed.", "Fish are.", "one", "two & three", "Deposit | 2,900 euros",
        "Rent | 1,450 euros", "pale", "link",
    ]  # fmt: skip
    assert (document.id, document.metadata) == (
        "terms.html", {"title": "Terms of use", "url": "https://example.org/terms"},
    )  # fmt: skip
    (citation,) = checked("Pets are not allowed.", document).citations
    assert citation.link == "https://example.org/terms#:~:text=Pets%20are%20not%20allowed."


def test_a_table_with_named_columns_becomes_one_of_markdown() -> None:
    def table_of(markup: str) -> str:
        return Document.from_html(markup).text

    head = "<tr><th>Branch<th>Staff</tr>"
    assert table_of(f"<table>{head}<tr><td>Gdansk | <b>n</b>orth<td>481<tr hidden><td>x<td>1</table>") == (
        "| Branch | Staff |\n| --- | --- |\n| Gdansk \\| north | 481 |"
    )
    assert table_of(f"<table>{head}<tr><td colspan=2>none</table>").split("\n\n") == ["Branch | Staff", "none"]
    assert table_of(f"<table>{head}<tr><td><p>Gdansk</p><td>481</table>").startswith("Branch | Staff\n")


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<p hidden>x</p>", "no text that a reader sees"),
        ("missing.html", "no such file"),
        ("<style>p:foo(x){display:none}</style><p>x</p>", "p:foo"),
    ],
)
def test_html_that_cannot_be_read_is_an_error(page: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Document.from_html(page)


def word(path: Path, change: Callable[[Any], None] = lambda opened: None) -> Path:
    opened = docx.Document()
    opened.core_properties.title = "Lease"
    opened.add_paragraph("Pets are not allowed.")
    change(opened)
    opened.save(str(path))
    return path


def test_a_word_file_is_read_in_order_without_hidden_words(tmp_path: Path) -> None:
    def fill(opened: Any) -> None:
        table = opened.add_table(2, 2)
        table.cell(0, 0).text, table.cell(0, 1).text = "Deposit", "2,900 euros"
        table.cell(1, 0).merge(table.cell(1, 1)).text = "paid at once"
        line = opened.add_paragraph("The end")
        line.add_run(" is secret").font.hidden = True
        line.add_run(" is struck").font.strike = True
        line.add_run(".")
        style = opened.styles.add_style("Quiet", 1)
        style.font.hidden = True
        opened.add_paragraph("all secret", style="Quiet")
        control, content = OxmlElement("w:sdt"), OxmlElement("w:sdtContent")
        last = opened.add_paragraph("Held in a control.")._p
        last.getparent().replace(last, control)
        control.append(content)
        content.append(last)

    document = Document.from_docx(word(tmp_path / "lease.docx", fill), url="https://example.org/lease")
    assert document.text.split("\n\n") == [
        "Pets are not allowed.", "Deposit | 2,900 euros\npaid at once", "The end.", "Held in a control.",
    ]  # fmt: skip
    assert (document.id, document.metadata) == ("lease.docx", {"title": "Lease", "url": "https://example.org/lease"})
    assert checked("Pets are not allowed.", document).citations[0].where == "Lease, characters 0-23"


def test_a_hidden_row_and_a_style_of_a_table_hide_words_in_word(tmp_path: Path) -> None:
    def fill(opened: Any) -> None:
        table = opened.add_table(3, 1)
        for row, text in zip(table.rows, ["Rent", "secret", "Deposit"], strict=True):
            row.cells[0].text = text
        table.rows[1]._tr.get_or_add_trPr().append(OxmlElement("w:hidden"))
        opened.styles.add_style("Quiet", 3).font.hidden = True
        quiet = opened.add_table(1, 1, style="Quiet")
        quiet.cell(0, 0).text = "secret"
        quiet.cell(0, 0).add_paragraph().add_run("seen").font.hidden = False

    text = Document.from_docx(word(tmp_path / "lease.docx", fill)).text
    assert text.split("\n\n") == ["Pets are not allowed.", "Rent\nDeposit", "seen"]


def test_tables_in_tables_without_end_are_an_error_in_word(tmp_path: Path) -> None:
    def fill(opened: Any) -> None:
        cell = opened.add_table(1, 1).cell(0, 0)
        for _ in range(400):
            cell = cell.add_table(1, 1).cell(0, 0)

    with pytest.raises(InputError, match="Excessive depth"):
        Document.from_docx(word(tmp_path / "lease.docx", fill))


def tracked(opened: Any) -> None:
    inserted = OxmlElement("w:ins")
    inserted.set(qn("w:id"), "1")
    opened.paragraphs[0]._p.append(inserted)


def test_a_word_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    with pytest.raises(InputError, match="no such file"):
        Document.from_docx(path)
    path.write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(InputError, match="cannot be read as a Word file"):
        Document.from_docx(path)
    word(path)
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(InputError, match="cannot be read as a Word file"):
        Document.from_docx(path)
    with pytest.raises(InputError, match="tracked changes"):
        Document.from_docx(word(path, tracked))
    docx.Document().save(str(path))
    with pytest.raises(InputError, match="no text"):
        Document.from_docx(path)


def test_a_file_is_read_by_the_end_of_its_name(tmp_path: Path, lease: Document) -> None:
    (tmp_path / "terms.html").write_text("<p>Pets are allowed.<p hidden>Not.", encoding="utf-8")
    (tmp_path / "notes.TXT").write_text("\ufeffThe rent is due.", encoding="utf-8")
    assert Document.from_file(tmp_path / "terms.html").text.strip() == "Pets are allowed."
    notes = Document.from_file(tmp_path / "notes.TXT", title="Notes")
    assert (notes.text, notes.id, notes.metadata) == ("The rent is due.", "notes.TXT", {"title": "Notes"})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plan.xlsx", "is not UTF-8 text .* Other files that can be read end in .pdf"),
        ("gone", "no such file"),
        ("", "is a folder"),
    ],
)
def test_a_file_that_no_reader_knows_is_an_error(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "plan.xlsx").write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(InputError, match=message):
        Document.from_file(tmp_path / name)
