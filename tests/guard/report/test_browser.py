"""The report as people use it, in headless Chromium: nothing in it runs or loads, everything leads somewhere."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from tests.guard.report.conftest import Told

from groundrail import Document, Guard, GuardResult, Policy
from groundrail.report.html import Answered, page, short
from groundrail.testing import ScriptedGenerator

LEASE = Document(
    id="lease.txt",
    text="\n".join(
        [*(f"0.{n} Nothing is agreed in this place." for n in range(80)), "The rent is 950 euros.", "Pets are forbidden."]
    ),
)
LETTER = Document(id="letter.txt", text="The keys are with Anna.\n" + "A line of no interest.\n" * 40)
SOURCE = [LEASE, LETTER]
SCORER = Told(
    {
        "950": (0.9, "The rent is 950 euros.", ""),
        "800": (0.1, "The rent is 950 euros.", ""),
        "Pets": (0.05, "The rent is 950 euros.", "Pets are forbidden."),
        "Anna": (0.8, "The keys are with Anna.", ""),
    }
)
SCRIPT = [["The rent is 800 euros. ", "The rent is 950 euros. "], "Pets are welcome. ", "Anna has the keys. ", "Hello!"]

EVIL = "document.title = 'owned'; window.owned = true"
ATTACKS = [
    f"<script>{EVIL}</script>",
    f'<img src="x" onerror="{EVIL}">',
    f"<svg onload={EVIL!r}>",
    f"</style></script></title></textarea><script>{EVIL}</script>",
    f'"\' onmouseover={EVIL!r} onfocus={EVIL!r} autofocus x="',
    f"javascript:{EVIL}",
    f"--> ]]> <![CDATA[<script>{EVIL}</script>",
    "{{ ''.__class__ }} {% for x in y %}",
    '<meta http-equiv="refresh" content="0;url=http://evil.example/"><base href="http://evil.example/">',
    '<link rel="stylesheet" href="http://evil.example/x.css"><iframe src="http://evil.example/"></iframe>',
]


class Page:
    """The page, as a reader uses it and sees it."""

    def __init__(self, browser: webdriver.Chrome, folder: Path) -> None:
        self.browser, self.folder = browser, folder

    def open(self, text: str) -> "Page":
        (self.folder / "page.html").write_text(text, encoding="utf-8")
        self.browser.get("about:blank")
        self.browser.get_log("performance")
        self.browser.get((self.folder / "page.html").as_uri())
        return self

    def screen(self, width: int, height: int, *, dark: bool = False, media: str = "") -> "Page":
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme, still]})
        return self

    def find(self, selector: str) -> Any:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, condition: Any) -> Any:
        return WebDriverWait(self.browser, 30, poll_frequency=0.05).until(lambda _: condition())

    def run(self, script: str) -> Any:
        return self.browser.execute_script(script)

    def lit(self) -> str:
        """The text of what is highlighted in the source, if all of it can be seen."""
        return self.run(
            """const marks = [...document.querySelectorAll("mark.lit")];
            const view = marks[0]?.closest("[role=tabpanel]").getBoundingClientRect();
            const seen = marks.every((m) => { const b = m.getBoundingClientRect();
              return b.height && b.top >= Math.max(0, view.top) && b.bottom <= Math.min(innerHeight, view.bottom) });
            return seen ? marks.map((m) => m.textContent).join("") : "";"""
        )

    def cards(self) -> list[str]:
        return [card.text for card in self.all(".card") if card.is_displayed()]

    def press(self, *keys: str) -> None:
        ActionChains(self.browser).send_keys(*keys).perform()


@pytest.fixture
def looked_at(browser: webdriver.Chrome, tmp_path: Path) -> Iterator[Page]:
    browser.get_log("browser")
    yield Page(browser, tmp_path).screen(1280, 820)
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


@pytest.fixture(scope="module")
def report() -> str:
    return written().to_html(SOURCE, question="What does the lease say?")


def written() -> GuardResult:
    return Guard(ScriptedGenerator(SCRIPT), scorer=SCORER).generate("?", SOURCE)


def test_nothing_that_was_written_runs_or_loads_anything(looked_at: Page) -> None:
    source = [Document(text="\n".join(ATTACKS), id=ATTACKS[0]), Document(text=ATTACKS[1], id=ATTACKS[4])]
    scorer = Told({attack: (0.9, attack, "") for attack in ATTACKS[::2]} | {a: (0.1, "", a) for a in ATTACKS[1::2]})
    answer = " ".join(f"The lease says {attack} somewhere." for attack in ATTACKS)
    for policy in (Policy(fallback="flag"), Policy(fallback=lambda sentence: f"{ATTACKS[0]}{ATTACKS[4]}"), Policy()):
        checked = Guard(scorer=scorer, policy=policy).check(answer, source)
        for text in (checked.to_html(source, question=ATTACKS[3]), checked.to_html(), short(checked)):
            looked_at.open(text)
            looked_at.run(
                """for (const element of document.querySelectorAll("body *"))
                for (const name of ["mouseenter", "mouseover", "focus", "click", "load", "error"])
                  element.dispatchEvent(new Event(name, { bubbles: true, cancelable: true }));"""
            )
            assert looked_at.run("return window.owned") is None
            assert looked_at.browser.title != "owned"
            assert looked_at.all("img, iframe, base, link, svg[onload], [onerror], [onmouseover]") == []
            for attack in ATTACKS:
                assert attack in looked_at.run("return document.body.textContent")
            assert requested(looked_at) == {(looked_at.folder / "page.html").as_uri()}


def requested(looked_at: Page) -> set[str]:
    events = [json.loads(entry["message"])["message"] for entry in looked_at.browser.get_log("performance")]
    return {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}


def test_a_click_leads_to_the_place_of_a_sentence_and_back(looked_at: Page, report: str) -> None:
    looked_at.open(report)
    assert looked_at.lit() == ""
    looked_at.find("#s1").click()
    looked_at.wait(lambda: looked_at.lit() == "The rent is 950 euros.")
    looked_at.find("#s2").click()
    looked_at.wait(lambda: looked_at.lit() == "Pets are forbidden.")
    assert looked_at.all("mark.lit-against")
    looked_at.run("""document.querySelector("mark.for").scrollIntoView()""")

    def leads_back() -> bool:
        looked_at.find("mark.for").click()  # which misses a page that still scrolls
        return "now" in looked_at.find("#s1").get_attribute("class")

    looked_at.wait(leads_back)


def test_another_source_is_another_tab(looked_at: Page, report: str) -> None:
    looked_at.open(report)
    assert [tab.text.split()[0] for tab in looked_at.all("[role=tab]")] == ["lease.txt", "letter.txt"]
    assert not looked_at.find("#doc2").is_displayed()
    looked_at.find("#s3").click()
    looked_at.wait(lambda: looked_at.lit() == "The keys are with Anna.")
    assert not looked_at.find("#doc1").is_displayed()
    looked_at.find("#tab2").send_keys(Keys.ARROW_RIGHT)
    assert looked_at.find("#doc1").is_displayed()


def test_hover_and_focus_tell_score_reason_and_attempts(looked_at: Page, report: str) -> None:
    looked_at.open(report)
    assert looked_at.cards() == []
    ActionChains(looked_at.browser).move_to_element(looked_at.find("#s2")).perform()
    (card,) = looked_at.wait(looked_at.cards)
    assert all(told in card for told in ("Not supported", "0.05", "The source says otherwise", "Pets are forbidden."))
    ActionChains(looked_at.browser).move_to_element(looked_at.find("h1")).perform()
    looked_at.wait(lambda: not looked_at.cards())
    for _ in range(20):
        looked_at.press(Keys.TAB)
        if looked_at.run("return document.activeElement.id") == "s1":
            break
    (card,) = looked_at.wait(looked_at.cards)
    assert "0.90" in card
    assert "The rent is 800 euros." in card


def test_the_keyboard_goes_from_sentence_to_sentence(looked_at: Page, report: str) -> None:
    looked_at.open(report).press("j")
    looked_at.wait(lambda: looked_at.lit() == "The rent is 950 euros.")
    looked_at.press("n")
    looked_at.wait(lambda: looked_at.lit() == "Pets are forbidden.")
    looked_at.press(Keys.ARROW_DOWN)
    looked_at.wait(lambda: looked_at.lit() == "The keys are with Anna.")
    looked_at.press("k", Keys.ESCAPE)
    looked_at.wait(lambda: not looked_at.cards())


def test_what_was_refused_is_struck_through_in_place_and_folds(looked_at: Page, report: str) -> None:
    looked_at.open(report)
    (attempt,) = looked_at.all(".try")
    assert attempt.text == "The rent is 800 euros."
    assert "line-through" in attempt.value_of_css_property("text-decoration")
    assert "line-through" in looked_at.find("#s2 del").value_of_css_property("text-decoration")
    assert not looked_at.all("#s1 del")
    looked_at.find(".fold").click()
    assert not attempt.is_displayed()
    looked_at.find(".fold").click()
    looked_at.find("#held").click()
    assert not attempt.is_displayed()
    assert not looked_at.find("#s2").is_displayed()
    assert looked_at.find(".prose").text == written().text.strip()


def test_bars_reach_the_line_exactly_where_a_sentence_is_supported(looked_at: Page, report: str) -> None:
    looked_at.open(report)
    line = looked_at.find(".threshold").rect["y"]
    tops = {kind: [bar.rect["y"] for bar in looked_at.all(f".chart .bar.{kind}")] for kind in ("supported", "unsupported")}
    assert len(tops["supported"]) == 2
    assert max(tops["supported"]) < line < min(tops["unsupported"])
    looked_at.find('.chart a[data-sentence="2"]').click()
    looked_at.wait(lambda: looked_at.lit() == "Pets are forbidden.")


def brightness(looked_at: Page, selector: str, of: str) -> float:
    looked_at.run("const c = document.createElement('canvas').getContext('2d'); window.paint = c;")
    red, green, blue = looked_at.run(
        f"""paint.fillStyle = getComputedStyle(document.querySelector({selector!r}))[{of!r}];
        paint.fillRect(0, 0, 1, 1); return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3)"""
    )
    return (red + green + blue) / 765


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_by_day_and_by_night(looked_at: Page, report: str, dark: bool) -> None:
    looked_at.screen(1280, 820, dark=dark).open(report)
    ground = brightness(looked_at, ".pane", "background-color")
    assert (ground < 0.3) == dark
    for selector in ("#s1", "#s2", ".try", ".hint", ".block"):
        assert abs(brightness(looked_at, selector, "color") - ground) > 0.35


def test_on_a_phone_the_page_is_one_column_and_shows_the_passage_itself(looked_at: Page, report: str) -> None:
    looked_at.screen(390, 844).open(report)
    assert looked_at.run("return document.documentElement.scrollWidth") <= 390
    looked_at.find("#s2").click()
    (card,) = looked_at.wait(looked_at.cards)
    assert "Pets are forbidden." in card
    looked_at.find("#c2 .passage.against .go").click()
    looked_at.wait(lambda: looked_at.lit() == "Pets are forbidden.")


def test_on_paper_every_sentence_has_its_card_and_the_source_stays_behind(looked_at: Page, report: str) -> None:
    looked_at.screen(1280, 820, media="print").open(report)
    assert len(looked_at.cards()) == 4
    assert not looked_at.find("#source").is_displayed()
    assert all(number.is_displayed() for number in looked_at.all(".n"))


def test_without_a_source_the_citations_stand_below_the_answer(looked_at: Page) -> None:
    looked_at.open(written().to_html())
    assert not looked_at.all("#source")
    assert "The rent is 950 euros." in looked_at.find("#c1 .passage.for").text
    looked_at.find("#s2").click()
    assert looked_at.run("return location.hash") == "#c2"


def test_several_answers_share_a_page(looked_at: Page) -> None:
    looked_at.open(page([Answered(written(), "First?"), Answered(written(), "Second?")], SOURCE))
    assert [heading.text for heading in looked_at.all(".question")] == ["First?", "Second?"]
    looked_at.find("#s7").click()
    looked_at.wait(lambda: looked_at.lit() == "The keys are with Anna.")


def test_two_hundred_sentences_and_a_megabyte_stay_quick(looked_at: Page) -> None:
    big = Document(text="".join(f"{n}. The {n} tenants of house {n} pay {n} euros.\n" for n in range(22_000)), id="big")
    assert len(big.text) > 1e6
    places = [line for number, line in enumerate(big.text.splitlines()) if number % 109 == 0][:200]
    sayings = {f"Sentence {number} says so.": (0.9, place, "") for number, place in enumerate(places)}
    result = Guard(scorer=Told(sayings)).check(" ".join(sayings), big)
    assert len(result.sentences) == 200
    looked_at.open(result.to_html(big))
    started = time.monotonic()
    for number in (200, 3, 120):
        looked_at.run(f"const s = document.getElementById('s{number}'); s.scrollIntoView(); s.click();")
        looked_at.wait(lambda number=number: looked_at.lit() == places[number - 1])
    assert time.monotonic() - started < 20
