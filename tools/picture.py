"""Makes the pictures of the README in docs/images: report.png, and playground.png.

    pip install selenium; apt-get install chromium chromium-driver
    python tools/picture.py                # one of them: --only report

The report is what `groundrail check examples/answers/lease_short.txt --source examples/documents/lease.txt --html` writes;
the playground is `groundrail serve` with another answer about the same lease, and a wrong sentence of it is clicked.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from groundrail import Document, Guard

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-background-networking --disable-dev-shm-usage --hide-scrollbars"
WIDTH, HEIGHT = 1180, 720
ANSWER = (
    "The rent is 1,450 euros per month. The lease begins on 1 March 2025 and ends on 31 March 2026. The tenants pay a "
    "deposit of 2,900 euros before they get the keys. Cash is not accepted."
)
WRONG_DATE = "31 March 2026"


def report(browser: webdriver.Chrome) -> None:
    """The page of the example answer beside the example lease."""
    lease = ROOT / "examples" / "documents" / "lease.txt"
    source = Document(text=lease.read_text(encoding="utf-8"), id=lease.name)
    answer = (ROOT / "examples" / "answers" / "lease_short.txt").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(Guard().check(answer, source).to_html(source), encoding="utf-8")
        browser.get(page.as_uri())
        browser.get_screenshot_as_file(str(IMAGES / "report.png"))


def playground(browser: webdriver.Chrome) -> None:
    """The playground's first example, with an answer whose date is wrong."""
    with served() as address:
        browser.get(address)
        waiting = WebDriverWait(browser, 300)

        def done(_: webdriver.Chrome) -> bool:
            return "seconds" in browser.find_element(By.ID, "status").text

        waiting.until(done)
        browser.find_element(By.ID, "edit-answer").click()
        written = browser.find_element(By.ID, "answer")
        written.clear()
        written.send_keys(ANSWER)
        browser.find_element(By.CSS_SELECTOR, "#check-form .go").click()
        waiting.until(lambda _: WRONG_DATE in browser.find_element(By.ID, "sentences").text and done(browser))
        browser.find_element(By.XPATH, f"//*[@id='sentences']//*[contains(., {WRONG_DATE!r})]").click()
        waiting.until(lambda _: browser.find_elements(By.CSS_SELECTOR, "#source-view mark.now, #source-view mark.against"))
        browser.get_screenshot_as_file(str(IMAGES / "playground.png"))


@contextmanager
def served() -> Iterator[str]:
    """The address of a server of its own."""
    command = [sys.executable, "-m", "groundrail.cli.main", "serve", "--port", "0", "--log-level", "error"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield next(found[1] for line in server.stderr or () if (found := re.search(r"serving on (\S+)/", line)))
    finally:
        server.terminate()
        server.wait()


PICTURES: dict[str, Callable[[webdriver.Chrome], None]] = {"report": report, "playground": playground}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=[*PICTURES])
    options = parser.parse_args()
    with opened() as browser:
        for name in [options.only] if options.only else PICTURES:
            PICTURES[name](browser)


@contextmanager
def opened() -> Iterator[webdriver.Chrome]:
    """A browser without a window, light, still, and as wide as the pictures."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise SystemExit("this needs a browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS.split():
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 2, "mobile": False}
        )
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        light = {"name": "prefers-color-scheme", "value": "light"}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [still, light]})
        yield browser
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
