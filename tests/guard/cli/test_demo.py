"""The demo: a recorded answer is judged first, then a model writes, and Ctrl-C ends it with the report kept."""

from collections.abc import Iterator

import pytest

from groundrail.cli import demo
from groundrail.cli.main import main
from groundrail.errors import MissingExtraError

WRONG = ("The rent is 1,650 euros a month.", "A spare key is kept by the caretaker, Anton Birke.")


def scripted(prompt: str) -> Iterator[str]:
    """Write one answer; the user presses Ctrl-C while the second is written."""
    if prompt != "When does the lease end?":
        raise KeyboardInterrupt
    yield "The lease ends on 28 February 2026. The lease ends on 28 March 2027."


@pytest.mark.slow
def test_the_recorded_answer_comes_first_and_ctrl_c_keeps_the_report(tmp_path, monkeypatch, capsys) -> None:
    reports: list[str] = []

    def small_model(progress: object) -> object:
        reports.append(demo.PAGE.read_text(encoding="utf-8"))  # it is there before the model is loaded
        return scripted

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(demo, "_small_model", small_model)
    assert main(["demo"]) == 0
    recorded, _, written = capsys.readouterr().out.partition("2. A small model writes")
    held = [line for line in recorded.splitlines() if line.startswith("✗ unsupported")]
    assert [line.partition("│ ")[2] for line in held] == list(WRONG)
    assert "“3.1 The rent is 1,450 euros per month.”" in recorded
    assert "7 sentences written, 5 released." in recorded
    assert recorded.index(WRONG[0]) < recorded.index(str(tmp_path / demo.PAGE))
    assert "✓ supported" in written
    assert "The lease ends on 28 February 2026." in written
    assert "Stopped." in written
    assert str(tmp_path / demo.PAGE) in written
    kept = demo.PAGE.read_text(encoding="utf-8")
    assert "When does the lease end?" not in reports[0]
    assert "When does the lease end?" in kept
    assert "How large is the deposit?" not in kept
    assert all(wrong in page for wrong in WRONG for page in [*reports, kept])


@pytest.mark.slow
def test_without_the_small_model_the_second_part_is_left_out(tmp_path, monkeypatch, capsys) -> None:
    def missing(progress: object) -> object:
        raise MissingExtraError("Loading SmolLM2 from its GGUF file", "gguf")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(demo, "_small_model", missing)
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1].startswith("2. Left out: ")
    assert "pip install 'groundrail[gguf]'" in shown
    assert "2. A small model writes" not in shown


def test_ctrl_c_before_anything_is_judged_is_an_interruption(tmp_path, monkeypatch, capsys) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "_Demo", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "groundrail: interrupted\n"
    assert not demo.PAGE.exists()
