"""Web pages beside what headless Chromium shows of them: a text that a browser hides supports nothing."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundrail import Document, InputError

if TYPE_CHECKING:
    from selenium import webdriver

HIDDEN = [
    "<!-- secret -->",
    "<p hidden>secret</p>",
    "<p hidden=until-found>secret</p>",
    "<div popover>secret</div>",
    "<noframes>secret</noframes>",
    "<ruby>kan<rp>secret</rp><rt>x</rt></ruby>",
    "<progress>secret</progress>",
    "<meter>secret</meter>",
    "<dialog>secret</dialog>",
    "<noscript>secret</noscript>",
    "<template>secret</template>",
    "<iframe>secret</iframe>",
    "<video>secret</video>",
    "<audio>secret</audio>",
    "<canvas>secret</canvas>",
    "<datalist><option>secret</datalist>",
    "<noembed>secret</noembed>",
    "<script>secret</script>",
    "<style>secret</style>",
    "<title>secret</title>",
    "<svg><desc>secret</desc></svg>",
    "<textarea>secret</textarea>",
    r'<p style="d\69splay:none">secret</p>',
    r'<p style="display:n\6f ne">secret</p>',
    '<p style="display:/**/none">secret</p>',
    '<p style="DISPLAY:NONE!important">secret</p>',
    '<style>:root{--x:none}</style><p style="display:var(--x)">secret</p>',
    '<p style="display:var(--y, none)">secret</p>',
    '<style>:root{--a:var(--b);--b:none}</style><p style="display:var(--a)">secret</p>',
    '<p style="visibility:hidden">secret</p>',
    '<p style="visibility:collapse">secret</p>',
    '<p style="content-visibility:hidden">secret</p>',
    r"<style>.\78 y{display:none}</style><p class=xy>secret</p>",
    r"<style>#\31 23{display:none}</style><p id=123>secret</p>",
    "<style>@media screen{.x{display:none}}</style><p class=x>secret</p>",
    "<style>@media all and (min-width:1px){.x{display:none}}</style><p class=x>secret</p>",
    "<style>@supports (display:block){.x{display:none}}</style><p class=x>secret</p>",
    "<style>@layer a{.x{display:none}}</style><p class=x>secret</p>",
    "<style>.a{ .x{display:none} }</style><div class=a><p class=x>secret</p></div>",
    '<style>.a{ &.x{display:none} }</style><p class="a x">secret</p>',
    '<style>.a{ @media screen{ display:none } }</style><p class="a x">secret</p>',
    "<style>p:not(.ok):has(b){display:none}</style><p><b>secret</b></p>",
    '<style>[data-x^="a" i]{display:none}</style><p data-x=Abc>secret</p>',
    "<style>.x{display:none}</style><style>.x{color:red}</style><p class=x>secret</p>",
    "<style>p.x{display:none}.x{display:block}</style><p class=x>secret</p>",
    '<style>.x{display:none!important}</style><p class=x style="display:block">secret</p>',
    "<style><!-- .x{display:none} --></style><p class=x>secret</p>",
    "<style>/* .x{} */ @import url(a.css); .x{display:none}</style><p class=x>secret</p>",
    "<style>.x, .y { display : none }</style><p class=y>secret</p>",
    '<style>.x{display:none}</style><div class=x><p style="display:block">secret</p></div>',
    "<style>.x{visibility:hidden}</style><div class=x><p>secret</p></div>",
    '<table><tr style="visibility:collapse"><td>secret</table>',
    "<p><div hidden></p>secret</div>",
    "<![CDATA[secret]]>",
    "<?xml secret?>",
    "<math><annotation>secret</annotation></math>",
    "<div inert hidden>secret</div>",
    "<style media=screen>.x{display:none}</style><p class=x>secret</p>",
    "<input value=secret>",
    "<img alt=secret>",
    "<style>.x{all:unset;display:none}</style><p class=x>secret</p>",
    "<style>@scope(.a){.x{display:none}}</style><div class=a><p class=x>secret</p></div>",
    "<style>:where(.x){display:none}</style><p class=x>secret</p>",
    "<style>.x{--d:none}.x b{display:var(--d)}</style><p class=x><b>secret</b></p>",
    "<style>.x{display:if(else: none)}</style><p class=x>secret</p>",
    '<p style="display:block;display:none">secret</p>',
    '<p style="display:none;display:bogus">secret</p>',
]
"""Chromium's `innerText` does not have the word."""

UNREADABLE = [
    '<p style="opacity:0">secret</p>',
    '<p style="opacity:.02">secret</p>',
    '<p style="opacity:1%">secret</p>',
    '<p style="font-size:0">secret</p>',
    '<p style="font-size:1px">secret</p>',
    '<p style="font:0/0 a">secret</p>',
    '<p style="font-size:.05em">secret</p>',
    '<p style="color:transparent">secret</p>',
    '<p style="color:rgb(0 0 0 / 0)">secret</p>',
    '<p style="color:#0000">secret</p>',
    '<p style="text-indent:-9999px">secret</p>',
    '<p style="position:absolute;left:-9999px">secret</p>',
    '<p style="transform:scale(0)">secret</p>',
    '<p style="transform:translateX(-200vw)">secret</p>',
    '<p style="clip-path:inset(50%)">secret</p>',
    '<p style="clip:rect(0,0,0,0);position:absolute">secret</p>',
    '<p style="width:1px;height:1px;overflow:hidden">secret</p>',
    '<p style="max-height:0;overflow:hidden">secret</p>',
    '<p style="filter:opacity(0)">secret</p>',
    '<p style="filter:blur(2em)">secret</p>',
    '<p style="height:0;overflow-y:hidden">secret</p>',
    '<p style="max-height:0;overflow:auto">secret</p>',
    '<p style="block-size:0;overflow:hidden">secret</p>',
    '<p style="transform:rotateX(90deg)">secret</p>',
    '<p style="transform:matrix(0,0,0,0,0,0)">secret</p>',
    '<p style="zoom:.01">secret</p>',
    '<p style="text-indent:-50em">secret</p>',
    '<p style="margin-inline-start:-9999px">secret</p>',
    '<p style="position:absolute;inset-inline-start:-9999px">secret</p>',
    '<p style="clip-path:polygon(50% 50%,50% 50%,50% 50%)">secret</p>',
    '<p style="clip-path:circle(0 at 50% 50%)">secret</p>',
    '<p style="opacity:calc(1 - 1)">secret</p>',
    '<p style="opacity:0;opacity:bogus">secret</p>',
    '<p style="color:white;background:#fff">secret</p>',
    "<style>.x{background-color:hsl(0 0% 100%)}.x p{color:#fefefe}</style><div class=x><i><p>secret</p></i></div>",
    '<div style="background:white"><b style="background:none;-webkit-text-fill-color:#fff">secret</b></div>',
    '<p style="mask:linear-gradient(transparent,#0000)">secret</p>',
    '<p style="-webkit-mask-image:radial-gradient(rgb(0 0 0/0),transparent)">secret</p>',
    '<p style="clip-path:polygon(0 0,100% 100%,50% 50%)">secret</p>',
    '<p style="mask:url(#none)">secret</p>',
    '<p style="clip-path:xywh(0 0 0 100%)">secret</p>',
    '<p style="clip-path:inset(0 calc(50% + 50%) 0 0)">secret</p>',
    '<p style="text-indent:calc(-1 * 999px)">secret</p>',
    '<p style="position:absolute;left:calc((1px - 100px) * 100)">secret</p>',
    '<p style="font-size:calc(1em / 10)">secret</p>',
    '<p style="max-height:calc(2em - 32px);overflow:hidden">secret</p>',
    '<p style="font-size:0;font-size:bogus">secret</p>',
    '<p style="color:transparent;color:bogus">secret</p>',
    "<s>secret</s>",
    "<del>secret</del>",
    "<strike>secret</strike>",
    '<p style="text-decoration:line-through">secret</p>',
    '<p style="text-decoration-line:underline line-through">secret</p>',
    "<style>.x{text-decoration:red line-through}</style><p class=x>a<b>secret</b></p>",
    '<style>:root{--o:0}</style><p style="opacity:var(--o)">secret</p>',
    "<style>@media (max-width:10px){.x{display:none}}</style><p class=x>secret</p>",
    '<p style="opacity:0.5"><b style="opacity:.01">secret</b></p>',
    '<p style="scale:0">secret</p>',
    '<p style="-webkit-text-fill-color:transparent">secret</p>',
    "<object data=x.png>secret</object>",
    "<select><option>secret</select>",
    "<frameset>secret</frameset>",
    "<svg><text>secret</text></svg>",
    "<math><mtext>secret</mtext></math>",
    "<button>secret</button>",
    "<style>@container (min-width:0){.x{display:none}}</style><p class=x>secret</p>",
    '<p style="display:var(--q);display:none;display:var(--undefined)">secret</p>',
]
"""`innerText` has the word, and a reader cannot read it as text, or not on every screen."""

SHOWN = [
    "<p>secret</p>",
    '<p style="opacity:.5">secret</p>',
    '<p style="color:red">secret</p>',
    '<p style="color:white;background:#333">secret</p>',
    '<div style="background:#fff"><div style="background:navy"><p style="color:white">secret</p></div></div>',
    '<p style="color:white;background:white url(dark.png)">secret</p>',
    '<p style="mask:linear-gradient(black,transparent)">secret</p>',
    '<p style="clip-path:polygon(0 0,100% 0,50% 100%)">secret</p>',
    '<p style="width:calc(100% - 20px);overflow:hidden;opacity:calc(1 - .5)">secret</p>',
    '<p style="font-size:calc(12px + .2vw);margin:calc(-1 * .5em) calc(100% / 3)">secret</p>',
    '<p style="color:transparent;color:red">secret</p>',
    '<p style="width:100%;max-width:100%;overflow:hidden">secret</p>',
    '<p style="height:2em;overflow:hidden">secret</p>',
    '<p style="clip-path:circle(50%)">secret</p>',
    '<p style="clip-path:inset(2px round 60px)">secret</p>',
    '<p style="clip-path:polygon(0 0,100% 0,100% 100%,0 100%)">secret</p>',
    "<style>a::before{display:none}</style><a href=#>secret</a>",
    '<style>.x{display:none}.x.on{display:block}</style><p class="x on">secret</p>',
    '<div style="font-size:0"><p style="font-size:16px">secret</p></div>',
    '<div style="visibility:hidden"><p style="visibility:visible">secret</p></div>',
    "<style>@media print{.x{display:none}}</style><p class=x>secret</p>",
    "<style>@keyframes k{from{display:none;opacity:0}}p{color:red}</style><p>secret</p>",
    '<p style="height:0">secret</p>',
    '<p style="left:-9px;margin-left:-3px">secret</p>',
    "<dialog open>secret</dialog>",
    "<details open>secret</details>",
    "<style>.x{display:var(--none,block)}</style><p class=x>secret</p>",
    '<style>:root{--c:red}</style><p style="color:var(--c);width:var(--w)">secret</p>',
    '<p style="display:none;display:block">secret</p>',
    "<style>p{display:none}p{display:block}</style><p>secret</p>",
    "<p title=hidden>secret</p>",
    "<style>p:hover{display:none}</style><p>secret</p>",
    "<style>.js .x{display:none}</style><p class=x>secret</p>",
    "<ruby>secret<rt>b</rt></ruby>",
    "<legend>secret</legend>",
    "<table><caption>secret</caption></table>",
    "<pre>secret</pre>",
    "<label>secret</label>",
    "<center>secret</center>",
    "<font color=red>secret</font>",
    "<x-y>secret</x-y>",
    '<p style="width:0">secret</p>',
    "<style>li:last-child{display:none}</style><ul><li>secret<li>b</ul>",
    '<p style="display: contents">secret</p>',
    '<p hidden style="display:block">secret</p>',
    '<p style="margin:-10px 0">secret</p>',
    "<style>.x{opacity:0}.x{opacity:1}</style><p class=x>secret</p>",
    "<style media=print>.x{display:none}</style><p class=x>secret</p>",
    "<template></template><p>secret",
    "<p hidden>a<div>secret</div>",
    "<b><p>a</b>secret",
    '<span style="background:url(x);color:rgba(0,0,0,.87)">secret</span>',
    "<style>.x{left:-100px;position:static}</style><p class=x>secret</p>",
    '<p style="right:-200px;">secret</p>',
    "<marquee>secret</marquee>",
]

LEFT = [
    "<details><summary>More</summary>secret</details>",
    '<style>@property --p{syntax:"*";inherits:true;initial-value:none}.x{display:var(--p)}</style><p class=x>secret</p>',
    '<link rel=stylesheet href="data:text/css,.x{display:none}"><p class=x>secret</p>',
    '<style>@import url("data:text/css,.x{display:none}");</style><p class=x>secret</p>',
]
"""Chromium hides the word, and groundrail reads it: what a click opens, sheets in other files, initial values."""


def page_of(body: str) -> str:
    return f"<!doctype html><html><head></head><body><p>Seen.</p>{body}</body></html>"


def read(body: str) -> bool:
    return "secret" in Document.from_html(page_of(body)).text


@pytest.mark.parametrize("body", [*HIDDEN, *UNREADABLE])
def test_what_a_page_hides_is_no_source(body: str) -> None:
    assert not read(body)


@pytest.mark.parametrize("body", SHOWN)
def test_what_a_page_shows_is_a_source(body: str) -> None:
    assert read(body)


@pytest.mark.parametrize("body", LEFT)
def test_what_is_left(body: str) -> None:
    assert read(body)


def test_the_tables_say_what_a_browser_shows(browser: "webdriver.Chrome", tmp_path: Path) -> None:
    page = tmp_path / "page.html"

    def shown(body: str) -> bool:
        page.write_text(page_of(body), encoding="utf-8")
        browser.get(page.as_uri())
        return "secret" in str(browser.execute_script("return document.body.innerText"))

    assert [body for body in [*HIDDEN, *LEFT] if shown(body)] == []
    assert [body for body in [*UNREADABLE, *SHOWN] if not shown(body)] == []


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
