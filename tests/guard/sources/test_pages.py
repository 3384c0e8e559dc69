"""Web pages beside what headless Chromium shows of them: a text that a browser hides supports nothing."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundrail import Document, InputError

if TYPE_CHECKING:
    from selenium import webdriver

BODIES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def page_of(body: str) -> str:
    return f"<!doctype html><html><head></head><body><p>Seen.</p>{body}</body></html>"


def read(body: str) -> bool:
    return "secret" in Document.from_html(page_of(body)).text


@pytest.mark.parametrize(("kind", "body"), [(kind, body) for kind, bodies in BODIES.items() for body in bodies])
def test_what_a_page_shows_is_a_source_and_what_it_hides_is_none(kind: str, body: str) -> None:
    assert read(body) == (kind in ("shown", "left"))


def test_the_tables_say_what_a_browser_shows(browser: "webdriver.Chrome", tmp_path: Path) -> None:
    page = tmp_path / "page.html"

    def shown(body: str) -> bool:
        page.write_text(page_of(body), encoding="utf-8")
        browser.get(page.as_uri())
        return "secret" in str(browser.execute_script("return document.body.innerText"))

    for kind, bodies in BODIES.items():
        assert [body for body in bodies if shown(body) != (kind in ("unreadable", "shown"))] == []


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<div>" * 20_000 + "x", "nested too deep"),
        ("<b>" * 300 + "x", "nested too deep"),
        ("<p>x<style>" + "&&{" * 5_000 + "display:none", "too long"),
        ("<p>x<style>p" + ":not(" * 500 + "b" + ")" * 500 + "{display:none}</style>", "nested too deep"),
        ("<style>i " + "div " * 8 + "b{display:none}</style>" + "<div>" * 200 + "<b>x", "too long to apply"),
        ("<style>i" + "~p" * 4 + "{display:none}</style>" + "<p>x" * 20_000, "too long to apply"),
        ("<style>p:nth-of-type(3n+1){display:none}</style>" + "<p>x" * 20_000, "too long to apply"),
        ("<style>a{}}.x{display:none}</style><p>x", "cannot be read"),
        ("<p>\ud800", "surrogate"),
    ],
)
def test_a_page_that_takes_too_much_work_is_an_error(page: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Document.from_html(page)


def test_a_large_page_is_read() -> None:
    variables = ";".join(f"--v{n}:var(--v{n + 1}) var(--v{n + 1})" for n in range(60))
    sheet = f"<style>:root{{{variables}}}p{{display:var(--v0)}}{'a' * 40_000}"
    assert Document.from_html(f"<p>seen</p>{sheet}").text == "seen"
    rules = "".join(f".a{n}{{display:none}}" for n in range(2_000))
    assert Document.from_html(f"<style>{rules}</style>" + "<p class=a>x</p>" * 5_000).text.count("x") == 5_000


def test_a_page_in_another_encoding_is_read(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    for encoding in ("utf-8", "utf-16", "windows-1252"):
        path.write_bytes(f'<meta charset="{encoding}"><p>Müller zahlt 5 €'.encode(encoding))
        assert Document.from_html(path).text == "Müller zahlt 5 €"


@pytest.mark.parametrize("rule", [":has(b.c i){color:red}", ":has(+ b.c){color:red}", ":not(.b){color:red}", "p{color:red}"])
def test_a_page_with_too_many_rules_for_its_elements_is_refused(rule) -> None:
    page = f"<style>{rule * 4000}</style><body>{'<p>The rent is <b>due</b></p>' * 700}"
    with pytest.raises(InputError, match="style sheets take too long to apply"):
        Document.from_html(page)


@pytest.mark.parametrize("attribute", ["a{}=1 ", "a{}/", "a{}='>' ", "a{}\n"])
def test_an_element_with_too_many_attributes_is_refused(attribute, tmp_path) -> None:
    def page(number: int) -> str:
        return "<p>The rent</p><p " + "".join(map(attribute.format, range(number))) + ">is due</p>"

    assert Document.from_html(page(900)).text == "The rent\n\nis due"
    for encoding in ("utf-8", "utf-16-le", "latin-1"):
        (tmp_path / "page.html").write_bytes((page(1100) + "\u00e9").encode(encoding))
        with pytest.raises(InputError, match="over 1000 attributes: remove them"):
            Document.from_html(tmp_path / "page.html")
