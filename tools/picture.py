"""Makes docs/images/report.png, the picture of a report in the README.

    pip install selenium; apt-get install chromium chromium-driver
    python tools/picture.py

The page is what `groundrail check examples/answers/lease_short.txt --source examples/documents/lease.txt --html` writes,
with a sentence clicked that has a wrong detail.
"""

import shutil
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from groundrail import Document, Guard

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "report.png"
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-background-networking --hide-scrollbars"
CLICKED = "a late fee of 75 euros"
WIDTH, HEIGHT = 1180, 720


def report() -> str:
    """The page of the example answer beside the example lease."""
    lease = ROOT / "examples" / "documents" / "lease.txt"
    source = Document(text=lease.read_text(encoding="utf-8"), id=lease.name)
    answer = (ROOT / "examples" / "answers" / "lease_short.txt").read_text(encoding="utf-8")
    return Guard().check(answer, source).to_html(source)


def main() -> None:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise SystemExit("this needs a browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS.split():
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            page.write_text(report(), encoding="utf-8")
            browser.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 2, "mobile": False},
            )
            still = {"name": "prefers-reduced-motion", "value": "reduce"}
            light = {"name": "prefers-color-scheme", "value": "light"}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [still, light]})
            browser.get(page.as_uri())
            browser.find_element(By.XPATH, f"//a[contains(., {CLICKED!r})]").click()
            browser.get_screenshot_as_file(str(PICTURE))
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
