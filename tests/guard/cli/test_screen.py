"""How far a command has come is said on standard error, also where that is no terminal."""

import pytest

from groundrail.cli import screen
from groundrail.runtime import progress


def test_without_a_terminal_a_line_now_and_then_says_how_far_it_is(monkeypatch, capsys) -> None:
    monkeypatch.setattr(screen, "_BETWEEN_LINES", 0.0)
    with screen.progress("scoring") as report:
        progress.begin("judging", 1200)
        report(3, 1500)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["judging: 0 of 1,200", "scoring: 3 of 1,500"]


@pytest.mark.parametrize("steps", [1, 50])
def test_without_a_terminal_short_work_says_nothing(steps, capsys) -> None:
    with screen.progress("scoring") as report:
        for step in range(steps):
            report(step, steps)
    assert capsys.readouterr().err == ""
