"""The playground in headless Chromium, on the real server with the built-in judge and the demo's documents."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from tests.guard.serve.conftest import Upstream, running, writing

from groundrail import Guard, Policy
from groundrail.entailment import load
from groundrail.entailment.shared import shared
from groundrail.papers import OverlapScorer
from groundrail.scoring import NearestScorer
from groundrail.scoring.batched import BatchedScorer
from groundrail.serve import Settings, create_app

FALSE = "The rent is 1,650 euros a month."


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    scorer = BatchedScorer(NearestScorer(shared(load())))
    yield Guard(scorer=scorer)
    scorer.close()


@pytest.fixture
def page(browser: webdriver.Chrome, guard: Guard, upstream: Upstream) -> Iterator["Page"]:
    with running(create_app(guard, Settings(upstream=upstream.url))) as address:
        browser.get_log("browser")
        browser.get_log("performance")
        yield Page(browser, address)
        browser.execute_script("localStorage.clear()")
        errors = [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        assert errors == []


class Page:
    """The page, as a visitor uses it and sees it."""

    def __init__(self, browser: webdriver.Chrome, address: str) -> None:
        self.browser, self.address = browser, address

    def open(self, path: str = "/") -> "Page":
        self.browser.get("about:blank")
        self.browser.get(self.address + path)
        return self

    def find(self, selector: str) -> Any:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return [element.text for element in self.browser.find_elements(By.CSS_SELECTOR, selector)]

    def wait(self, condition: Callable[[], Any]) -> Any:
        return WebDriverWait(self.browser, 240, poll_frequency=0.05).until(lambda _: condition())

    def wait_until_done(self) -> "Page":
        self.wait(lambda: "seconds" in self.find("#status").text)
        return self

    def verdicts(self) -> list[str]:
        script = "return [...document.querySelectorAll('#sentences .s')].map(e => e.classList[1])"
        found: list[str] = self.browser.execute_script(script)
        return found

    def sentence(self, text: str) -> Any:
        found = self.browser.find_elements(By.CSS_SELECTOR, "#sentences .s")
        return next(element for element in found if text in element.text)

    def requested(self) -> list[str]:
        """Addresses that were asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


EXAMPLE = ["no_claim", "supported", "unsupported", "supported", "supported", "unsupported", "supported"]


def test_a_visitor_sees_the_first_example_judged_without_a_word(page) -> None:
    page.open().wait_until_done()
    assert page.verdicts() == EXAMPLE
    assert page.find("#tally").text == "5 of 7 released"
    assert page.find("#card").text.startswith("Refused")
    requested = page.requested()
    assert requested
    assert [url for url in requested if url.startswith("http") and not url.startswith(page.address)] == []


def test_a_click_shows_the_cited_place_in_the_source(page) -> None:
    page.open().wait_until_done()
    page.sentence("deposit of 2,900 euros").click()
    mark = page.wait(lambda: page.find("#source-view mark.now"))
    assert mark.text == "4.1 The Tenants pay a deposit of 2,900 euros before the keys are handed over."

    def is_in_view() -> bool:
        return bool(
            page.browser.execute_script(
                "const m = arguments[0].getBoundingClientRect(), v = document.getElementById('source-view')"
                ".getBoundingClientRect(); return m.top >= v.top && m.bottom <= v.bottom",
                page.find("#source-view mark.now"),
            )
        )

    page.wait(is_in_view)
    assert "The source says" in page.find("#card").text
    page.sentence(FALSE).click()
    assert page.find("#source-view mark.against").text == "3.1 The rent is 1,450 euros per month."
    assert "scores 0.0" in page.find("#sentences").text
    assert "line-through" in page.sentence(FALSE).value_of_css_property("text-decoration-line")


def test_a_misquotation_is_struck_out_with_the_wording_behind_it(page) -> None:
    page.open().wait_until_done()
    page.find("#edit-answer").click()
    page.find("#answer").clear()
    page.find("#answer").send_keys('The lease says "The rent is 1,650 euros per month." The caretaker says the rent is low.')
    page.find("#check-form .go").click()
    page.wait_until_done()
    assert page.texts("#sentences del.slip") == ["The rent is 1,650 euros per month"]
    assert page.texts("#sentences ins.swap") == ["The rent is 1,450 euros per month"]
    page.find("#sentences del.slip").click()
    assert page.find("#card").text.startswith("Refused")


def test_the_threshold_colours_anew_without_a_request(page) -> None:
    page.open().wait_until_done()
    page.requested()
    slide = "const t = document.getElementById('threshold'); t.value = arguments[0]; t.dispatchEvent(new Event('input'))"
    page.browser.execute_script(slide, "0")
    assert page.verdicts() == ["no_claim"] + ["supported"] * 6
    page.browser.execute_script(slide, "1")
    assert set(page.verdicts()) <= {"no_claim", "unsupported", "supported"}
    assert page.verdicts().count("unsupported") >= 5
    assert page.requested() == []


def test_what_a_second_scorer_judged_keeps_its_own_threshold(browser, upstream) -> None:
    scorer, second = BatchedScorer(NearestScorer(shared(load()))), BatchedScorer(OverlapScorer())
    guard = Guard(scorer=scorer, second=second, policy=Policy(doubt=(0.0, 1.0)))
    with running(create_app(guard, Settings(upstream=upstream.url))) as address:
        page = Page(browser, address).open().wait_until_done()
        found = page.verdicts()
        assert "supported" in found
        slide = "const t = document.getElementById('threshold'); t.value = 1; t.dispatchEvent(new Event('input'))"
        page.browser.execute_script(slide)
        assert page.verdicts() == found
        page.sentence("deposit of 2,900 euros").click()
        assert f"threshold {second.metadata.threshold:.2f}" in page.find("#card").text
    scorer.close()
    second.close()


def test_the_reader_sees_only_what_is_released(page) -> None:
    page.open().wait_until_done()
    page.find("#reader").click()
    shown = " ".join(page.find("#sentences").text.split())
    assert "1,650" not in shown
    assert "Dogs" not in shown
    assert "scores" not in shown
    assert shown.startswith("Here is a short summary.")
    assert "the tenants pay a deposit of 2,900 euros." in shown


def test_keys_walk_through_the_sentences_and_check(page) -> None:
    page.open("/#empty")
    page.wait(lambda: page.find("#source").get_attribute("value"))
    answer = page.find("#answer")
    answer.clear()
    answer.send_keys("Cash is not accepted. The flat has five bedrooms.")
    answer.send_keys(Keys.CONTROL, Keys.ENTER)
    page.wait_until_done()
    assert page.verdicts() == ["supported", "unsupported"]
    body = page.find("body")
    body.send_keys(Keys.ARROW_LEFT)
    pressed = page.find("#sentences .s[aria-pressed=true]")
    assert pressed.text == "Cash is not accepted."
    assert page.browser.switch_to.active_element.text == "Cash is not accepted."
    pressed.send_keys(Keys.ARROW_RIGHT)
    assert page.find("#sentences .s[aria-pressed=true]").text == "The flat has five bedrooms."
    body.send_keys(Keys.ESCAPE)
    assert not page.find("#card").is_displayed()


def test_a_model_is_asked_through_the_guard(page, upstream) -> None:
    upstream.replies = [writing("Cash is not accepted. ", FALSE), writing("The rent is 1,450 euros a month.")]
    page.open("/#ask")
    page.wait(lambda: page.find("#model").text == "scripted")
    page.find("#question").send_keys("How much is the rent?", Keys.ENTER)
    page.wait_until_done()
    assert page.texts("#sentences .s") == ["Cash is not accepted.", "The rent is 1,450 euros a month."]
    assert page.verdicts() == ["supported", "supported"]
    page.sentence("1,450").click()
    assert page.texts("#card del") == [FALSE]
    assert "3.1 The rent is 1,450" in upstream.bodies[0]["messages"][0]["content"]


def test_stop_hangs_up(page, upstream) -> None:
    def endless(handler: Any, body: dict[str, Any]) -> None:
        handler.begin()
        while True:
            handler.chunk({"content": "Cash is not accepted. "})
            time.sleep(0.05)

    upstream.usual = endless
    page.open("/#ask")
    page.wait(lambda: page.find("#model").text == "scripted")
    page.find("#question").send_keys("?", Keys.ENTER)
    page.wait(lambda: page.verdicts())
    page.find("#stop").send_keys(Keys.ENTER)  # the text that comes in moves it under a mouse
    page.wait(lambda: page.find("#status").text == "Stopped")
    assert upstream.left.wait(240)


def test_text_of_any_kind_is_shown_as_text(page) -> None:
    page.open("/#empty")
    page.wait(lambda: page.find("#source").get_attribute("value"))
    hostile = "<img src=x onerror=\"document.title='owned'\"> The rent is 950 euros."
    for name, text in (("source", f"\U0001f600\U0001f600 First. {hostile} Last."), ("answer", hostile)):
        page.browser.execute_script(f"document.getElementById('{name}').value = arguments[0]", text)
    page.find("#check-form .go").click()
    page.wait_until_done()
    assert page.find("#sentences .s").text == hostile
    assert page.browser.title == "groundrail"
    page.find("#sentences .s").click()
    assert hostile in page.find("#source-view").text


def test_an_error_is_told(page, upstream) -> None:
    upstream.usual = lambda handler, body: handler.send(404, '{"error": {"message": "no such model"}}')
    page.open("/#ask")
    page.wait(lambda: page.find("#model").text == "scripted")
    page.find("#question").send_keys("?", Keys.ENTER)
    page.wait(lambda: "no such model" in page.find("#status").text)
    page.browser.get_log("browser")  # the browser's own note of the 404


def test_dark_and_light(page) -> None:
    def brightness() -> float:
        colour = page.find("body").value_of_css_property("background-color")
        return sum(float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]) / 3

    media = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    page.open().wait_until_done()
    assert brightness() < 60
    page.find("#theme").click()
    assert brightness() > 200
    page.open().wait_until_done()
    assert brightness() > 200
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_phone_has_room_for_it(page, tmp_path) -> None:
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page.open().wait_until_done()
        assert page.browser.execute_script("return document.documentElement.scrollWidth") <= 390
        page.sentence("three people").click()
        time.sleep(1)
        where = "const r = arguments[0].getBoundingClientRect(); return [r.top, r.bottom]"
        top, bottom = page.browser.execute_script(where, page.find("#source-view mark.now"))
        assert 0 <= top < bottom <= 844 * 0.45
        _, under = page.browser.execute_script(where, page.find("#source-pane"))
        top, bottom = page.browser.execute_script(where, page.sentence("three people"))
        assert under <= top < bottom <= 844
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
