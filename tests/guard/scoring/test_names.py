"""A scorer is a scorer and a judge is a model, wherever both are named."""

from typing import Any

import pytest
from tests.guard.parts import install_wheels

from groundrail import Guard, InputError
from groundrail.cli.main import main
from groundrail.papers import OverlapScorer
from groundrail.scoring import NearestScorer, ScaleScorer
from groundrail.scoring.batched import batched
from groundrail.scoring.registry import as_scorer, scorers
from groundrail.testing import FakeEntailment

SOURCE = "The rent is due in March. Pets are not allowed."


@pytest.mark.parametrize(("scorer", "kind"), [(None, ScaleScorer), ("nearest", NearestScorer), ("scale", ScaleScorer)])
def test_a_guard_takes_a_scorer_by_name_and_a_judge(scorer: str | None, kind: type) -> None:
    judge = FakeEntailment()
    made = Guard(scorer=scorer, judge=judge).scorer
    assert isinstance(made, kind)
    assert made.metadata.judges == (judge.metadata,)
    assert Guard(scorer=scorer, judge=judge).check("The rent is due.", SOURCE).supported


def test_a_scorer_without_a_judge_is_named_alike() -> None:
    guard = Guard(scorer="overlap")
    assert isinstance(guard.scorer, OverlapScorer)
    assert not guard.scores_jointly
    assert isinstance(batched("overlap").scorer, OverlapScorer)


def test_a_model_in_the_place_of_a_scorer_is_refused() -> None:
    with pytest.raises(InputError, match="passed as the judge"):
        Guard(scorer=FakeEntailment())  # type: ignore[arg-type]


@pytest.mark.parametrize("take", [lambda name: Guard(scorer=name), batched, as_scorer])
def test_an_unknown_scorer_is_answered_with_the_names_there_are(take: Any) -> None:
    with pytest.raises(InputError, match=f"'sclae'.*{', '.join(scorers())}"):
        take("sclae")


def test_a_judge_that_nobody_asks_is_refused() -> None:
    with pytest.raises(InputError, match="has its judge already"):
        Guard(scorer=NearestScorer(FakeEntailment()), judge=FakeEntailment()).check("The rent is due.", SOURCE)
    with pytest.raises(InputError, match="'overlap' asks no judge"):
        Guard(scorer="overlap", judge=FakeEntailment()).check("The rent is due.", SOURCE)


def test_the_commands_take_the_same_names(tmp_path, tiny_nli_folder, capsys) -> None:
    answer, source = tmp_path / "answer.txt", tmp_path / "source.txt"
    answer.write_text("The rent is due in March.", encoding="utf-8")
    source.write_text(SOURCE, encoding="utf-8")
    check = ["check", str(answer), "--source", str(source)]
    assert main([*check, "--scorer", "overlap"]) == 0
    assert main([*check, "--scorer", "scale", "--judge", str(tiny_nli_folder), "--set", "chunk_tokens=9"]) in (0, 1)
    capsys.readouterr()
    assert main([*check, "--scorer", "sclae"]) == 2
    assert ", ".join(scorers()) in capsys.readouterr().err
    assert main([*check, "--scorer", "overlap", "--judge", str(tiny_nli_folder)]) == 2
    assert "asks no judge" in capsys.readouterr().err


def test_another_package_adds_a_scorer_and_a_broken_one_is_named(tmp_path, monkeypatch) -> None:
    install_wheels(
        monkeypatch,
        tmp_path,
        "[groundrail.scorers]\nround = groundrail.papers.overlap:OverlapScorer\nflat = wheels_gone:Scorer\n"
        "nearest = groundrail.papers.overlap:OverlapScorer\n",
    )
    assert isinstance(as_scorer("round"), OverlapScorer)
    assert isinstance(as_scorer("nearest", FakeEntailment()), NearestScorer)
    with pytest.raises(InputError, match=r"'flat'.* package wheels .*wheels_gone"):
        as_scorer("flat")
