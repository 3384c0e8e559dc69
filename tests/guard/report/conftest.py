"""A scorer that says what it is told, and a headless browser to look at pages with.

The browser is Debian's packages chromium and chromium-driver, or their like; without them its tests fail and say so.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.types import Citation, Document, Source, as_documents

QUIET = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1280,820"
)


class Told(Scorer):
    """Scores a claim by the first of its keys that the claim holds: (value, what supports it, what contradicts it).

    A piece of source is cited where the documents have it; what has no key scores 0.
    """

    def __init__(self, verdicts: Mapping[str, tuple[float, str, str]]) -> None:
        self.verdicts = verdicts

    def read(self, source: Source) -> Reader:
        return Prepared(self._score, as_documents(source))

    def _score(self, claims: Sequence[str], documents: Sequence[Document]) -> list[Score]:
        scores = []
        for claim in claims:
            value, near, conflict = next((v for key, v in self.verdicts.items() if key in claim), (0.0, "", ""))
            scores.append(
                Score(value, tuple(cited(near, value, documents)), next(cited(conflict, 0.9, documents), None))
            )
        return scores


def cited(text: str, score: float, documents: Sequence[Document]) -> Iterator[Citation]:
    for document in documents if text else ():
        if (start := document.text.find(text)) >= 0:
            yield Citation(document_id=document.id, start=start, end=start + len(text), text=text, score=score)


@pytest.fixture
def told() -> type[Told]:
    return Told


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.fail("the report's tests need a browser: apt-get install chromium chromium-driver")
    options = Options()
    options.binary_location = chromium
    for argument in [*QUIET.split(), f"--user-data-dir={tmp_path_factory.mktemp('browser')}"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()
