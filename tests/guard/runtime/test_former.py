"""Whoever uses a former name is told the new one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import groundrail
import groundrail.scoring
from groundrail import Guard
from groundrail.calibration import Calibration
from groundrail.generators import Session
from groundrail.runtime.former import FORMER
from groundrail.scoring import Scorer
from groundrail.testing import FakeEntailment

PROMPT: dict[str, Any] = {"prompt": "b"}
GUARD = Guard(judge=FakeEntailment())


@pytest.mark.parametrize(
    ("use", "former", "error"),
    [
        (lambda: groundrail.tune, "tune", AttributeError),
        (lambda: groundrail.scoring.ScorerFacts, "ScorerFacts", AttributeError),
        (lambda: GUARD.pushed("a"), "pushed", AttributeError),
        (lambda: GUARD.check("a", "a", **PROMPT), "prompt", TypeError),
        (lambda: GUARD.acheck("a", "a", **PROMPT), "prompt", TypeError),
        (lambda: type("Old", (Scorer,), {"facts": None}), "facts", TypeError),
        (lambda: type("Old", (FakeEntailment,), {"facts": None}), "facts", TypeError),
        (lambda: type("Old", (Session,), {"told": None}), "told", TypeError),
    ],
)
def test_a_former_name_is_an_error_that_has_the_new_one(
    use: Callable[[], object], former: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"'{former}'.* called '{FORMER[former]}' now"):
        use()


def test_another_wrong_name_is_a_plain_error() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'chek'$"):
        GUARD.chek  # noqa: B018
    with pytest.raises(TypeError, match="unexpected keyword argument 'answr'"):
        GUARD.check("a", "a", answr="b")  # type: ignore[call-arg]


def test_a_calibration_that_was_saved_with_former_words_is_read(tmp_path: Path) -> None:
    fitted = Calibration("none", (), (), 0.5, GUARD.scorer.metadata.identity)
    fitted.save(tmp_path / "map.json")
    saved = (tmp_path / "map.json").read_text("utf-8")
    assert "most similar chunk" in saved
    (tmp_path / "map.json").write_text(saved.replace("most similar", "likest"), "utf-8")
    assert Calibration.load(tmp_path / "map.json") == fitted
