"""Policies in TOML: every key, and errors that name what is wrong."""

from pathlib import Path

import pytest

from groundrail import InputError, Policy
from groundrail.cli.main import main
from groundrail.policy import Attempts
from groundrail.serve.policy_file import read_policy


def written(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_reaches_the_policy(tmp_path) -> None:
    (tmp_path / "map.json").write_text(
        '{"method": "isotonic", "x": [0.0, 1.0], "y": [0.0, 0.5], "scorer": "any"}', encoding="utf-8"
    )
    policy = read_policy(
        written(
            tmp_path,
            """
            threshold = 0.7
            attempts = 2
            retry_seconds = 20
            fallback = "abstain"
            on_error = "open"
            on_no_source = "open"
            deadline = 5
            answer_deadline = 60.5
            abstention = "Nothing in the source says so."
            calibration = "map.json"
            keep_refused = false
            longest_sentence = 500
            doubt = [0.3, 0.8]
            fields = ["!position", "/deposit"]
            marks = "strip"
            known = ["Click the button below."]
            refuse = "contradicted"
            """,
        )
    )
    facts = policy.model_dump(exclude={"stop", "calibration"})
    assert facts == {
        "threshold": 0.7,
        "attempts": 2,
        "doubt": (0.3, 0.8),
        "fields": ("!position", "/deposit"),
        "marks": "strip",
        "known": ("Click the button below.",),
        "refuse": "contradicted",
        "fallback": "abstain",
        "on_error": "open",
        "on_no_source": "open",
        "deadline": 5.0,
        "answer_deadline": 60.5,
        "abstention": "Nothing in the source says so.",
        "keep_refused": False,
        "longest_sentence": 500,
    }
    assert policy.calibration is not None
    assert policy.calibration(0.5) == pytest.approx(0.25)
    tries = Attempts(policy)
    assert [tries.another(), tries.another()] == [True, False]


def test_an_empty_file_is_the_default(tmp_path) -> None:
    read = read_policy(written(tmp_path, ""))
    assert read.model_dump(exclude={"stop"}) == Policy().model_dump(exclude={"stop"})
    tries = Attempts(read)
    assert [tries.another() for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("treshold = 1", "there is no key 'treshold'; there are retry_seconds, threshold, attempts"),
        ('threshold = "high"', "threshold"),
        ("threshold = nan", "threshold"),
        ("attempts = 0", "attempts: Input should be greater"),
        ("attempts = true", "attempts: Input should be a valid integer"),
        ("retry_seconds = -1", "retry_seconds"),
        ('fallback = "shout"', "drop, flag, quote, correct, abstain, raise"),
        ('on_error = "ajar"', "on_error"),
        ("deadline = 0", "deadline"),
        ("threshold = ", "is not TOML"),
        ('calibration = "missing.json"', "missing.json"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(tmp_path, capsys, text, said) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=said):
        read_policy(path)
    assert main(["serve", "--policy", str(path)]) == 2
    printed = capsys.readouterr().err
    assert said.split(";")[0] in printed
    assert len(printed.splitlines()) == 1


def test_a_file_that_is_not_there(tmp_path, capsys) -> None:
    assert main(["serve", "--policy", str(tmp_path / "none.toml")]) == 2
    assert "none.toml" in capsys.readouterr().err
