"""A model whose probabilities are drawn from a hash of the pair, as scorers must be right for any weights; a browser."""

import hashlib
import re
import shutil
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from groundrail.entailment.base import BinaryEntailment, FloatArray, Pair

if TYPE_CHECKING:
    from selenium import webdriver

QUIET = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1280,820"
)


def drawn(*parts: object) -> float:
    """A number between 0 and 1, neither of them, that these parts have in every process."""
    return (1 + zlib.crc32(repr(parts).encode()) % 9971) / 9973


class HashedYesNo(BinaryEntailment):
    """Entailment only. Tokens are words; pairs that do not fit are refused, and every pair is remembered."""

    def __init__(self, seed: int, max_tokens: int = 10_000) -> None:
        self.seed = seed
        self.max_tokens = max_tokens
        self.asked: list[list[Pair]] = []

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        self.asked.append(list(pairs))
        return self._judged(pairs)[:, 0]

    def _judged(self, pairs: Sequence[Pair]) -> FloatArray:
        rows = np.empty((len(pairs), 3))
        for row, (premise, claim) in zip(rows, pairs, strict=True):
            tokens = len(self.offsets(premise)) + len(self.offsets(claim))
            if tokens > self.max_tokens:
                raise AssertionError(f"{tokens} tokens were asked of a model of {self.max_tokens}")
            digest = hashlib.sha256(f"{self.seed}\0{premise}\0{claim}".encode()).digest()
            row[:] = np.random.default_rng(list(digest)).dirichlet([1.0, 1.0, 1.0])
        return rows


class HashedNLI(HashedYesNo):
    """The same with three classes."""

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        self.asked.append(list(pairs))
        return self._judged(pairs)


@pytest.fixture
def hashed_yes_no() -> type[HashedYesNo]:
    return HashedYesNo


@pytest.fixture
def hashed_nli() -> type[HashedNLI]:
    return HashedNLI


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator["webdriver.Chrome"]:
    """Debian's packages chromium and chromium-driver, or their like; without them its tests fail and say so."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.fail("this test needs a browser: apt-get install chromium chromium-driver")
    options = Options()
    options.binary_location = chromium
    for argument in [*QUIET.split(), f"--user-data-dir={tmp_path_factory.mktemp('browser')}"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()
