"""Whoever listens is told how far long work has come, at any size, and the work is the same."""

from itertools import pairwise
from pathlib import Path

import pytest

from groundrail.cli.main import main
from groundrail.entailment import CrossEncoderEntailment
from groundrail.runtime.progress import begin, heard_by, step
from groundrail.scoring.base import Scorer
from groundrail.scoring.index import PART
from groundrail.scoring.nearest import NearestScorer
from groundrail.scoring.scale import ScaleScorer

LEASE = Path(__file__).parents[3] / "examples" / "documents" / "lease.txt"
SENTENCES = "The rent is due on first of every month. Anna signed it. Cats are not allowed. The keys were lost in March. "
CLAIMS = ["Bob signed it.", "The rent is due in June."]


class Heard(list[tuple[str, int, int]]):
    """All reports, in order."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.append((stage, done, total))

    def stages(self) -> list[tuple[str, list[int], int]]:
        """Each stage with what was done at its reports."""
        found: list[tuple[str, list[int], int]] = []
        for stage, done, total in self:
            if done == 0:
                found.append((stage, [], total))
            assert found[-1][0] == stage
            assert found[-1][2] == total
            found[-1][1].append(done)
        return found


@pytest.mark.parametrize("total", [1, 7, 999, 1000, 20_001, 300_000])
def test_a_stage_is_told_of_a_thousand_times_at_most_and_to_its_end(total) -> None:
    with heard_by(heard := Heard()):
        step(5)  # of no stage
        begin("counting", total)
        for _ in range(total):
            step()
        step(3)  # more than was said
    ((stage, done, said),) = heard.stages()
    assert (stage, said) == ("counting", total)
    assert done == sorted(set(done))
    assert (done[0], done[-1]) == (0, total)
    assert min(total, 500) < len(done) <= min(total, 1000) + 1


def test_only_the_nearest_listener_hears_and_only_while_it_listens() -> None:
    with heard_by(outer := Heard()):
        with heard_by(inner := Heard()):
            begin("within", 1)
        begin("around", 1)
    begin("after", 1)
    assert inner == [("within", 0, 1)]
    assert outer == [("around", 0, 1)]


@pytest.mark.parametrize("repeats", [1, 40, 2000], ids=["100", "4,000", "210,000"])
@pytest.mark.parametrize("kind", [NearestScorer, ScaleScorer])
def test_no_step_is_long_whatever_the_length_of_the_source(kind, repeats, tiny_nli, tiny_tokenizer) -> None:
    model = CrossEncoderEntailment(tiny_nli, tiny_tokenizer, batch_tokens=256)
    scorer: Scorer = kind(model)
    source = [SENTENCES * repeats, SENTENCES]
    with heard_by(heard := Heard()):
        found = scorer.read(source).score(CLAIMS, 2.0)
    assert found == scorer.read(source).score(CLAIMS, 2.0)
    stages = heard.stages()
    assert [stage for stage, _, _ in stages][:: len(stages) - 1] == ["reading the source", "judging"]
    assert sum(map(len, source)) <= stages[0][2]
    for stage, done, total in stages:
        assert done == sorted(set(done))
        assert len(done) <= 1001
        longest = PART if "read" in stage or "cut" in stage else 32
        jumps = [after - before for before, after in pairwise(done)]
        assert max(jumps, default=0) <= longest + total / 1000
        assert done[-1] >= 0.9 * total - longest
    assert stages[-1][1][-1] == stages[-1][2] > 0


def test_check_and_score_show_a_bar_on_a_terminal_and_none_elsewhere(tmp_path, monkeypatch, capsys) -> None:
    answer, corpus = tmp_path / "answer.txt", tmp_path / "corpus.jsonl"
    answer.write_text("The lease ends on 28 February 2026.")
    corpus.write_text('{"id": 1, "claim": "Anna has a cat.", "source": "Anna has a cat."}\n')
    check = ["check", str(answer), "--source", str(LEASE)]
    assert main(check) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(check) == 0
    assert "judging" in capsys.readouterr().err
    assert main(["score", str(corpus), "--out", str(tmp_path / "out")]) == 0
    assert "scoring" in (shown := capsys.readouterr().err)
    assert "judging" in shown
