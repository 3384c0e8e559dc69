"""Every table's command on the bundled rows, and the measures that the papers' own programs take."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from groundrail.cli.main import main
from groundrail.entailment import load as load_entailment
from groundrail.errors import InputError
from groundrail.papers.q2.asking import PAPER_GENERATOR
from groundrail.papers.q2.extractive import PAPER_ANSWERER
from groundrail.papers.reproduce import scale
from groundrail.papers.reproduce.table import SMOKE, Job
from groundrail.papers.reproduce.tables import TABLES


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_worked_out_on_the_bundled_rows(name, tmp_path, capsys):
    assert main(["reproduce", name, "--smoke", "--json", "--out", str(tmp_path)]) == 0
    report = json.loads(capsys.readouterr().out)
    table = TABLES[name]
    assert report["smoke"]
    assert report["settings"]["model"] in ("built-in", None)
    assert report["here"]
    for row, measures in report["here"].items():
        assert measures, row
        assert all(isinstance(value, float | int) for value in measures.values()), (row, measures)
    paper = next(iter(table.figures.values()), {})
    for row in paper.keys() & report["here"].keys():
        assert paper[row].keys() & report["here"][row].keys() == paper[row].keys(), row
    assert report["calls"] > 0 or name.startswith(("q2", "west"))
    assert report["pairs"] <= 400
    assert report["calls"] <= 150
    if paper and not name.startswith(("q2", "west")):  # no row is written that the paper's figures would not stand beside
        assert report["here"].keys() <= report["paper"].keys()


def test_the_table_is_printed_with_the_papers_figures(capsys):
    assert main(["reproduce", "scale-table5", "--smoke"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "0.391" in printed
    assert "say nothing about quality" in printed
    assert re.search(r"reads \d+ tokens at once, the protocol 1000", printed)
    assert re.search(r"\d+ model calls", printed)


def test_without_a_name_the_tables_are_listed_and_an_unknown_one_is_an_error(capsys):
    assert main(["reproduce"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in TABLES)
    assert max(map(len, listed.splitlines())) <= 80
    assert main(["reproduce", "scale-table9", "--smoke"]) == 2
    message = capsys.readouterr().err
    assert "no table is called 'scale-table9'; there are scale-table3" in message


def test_data_and_smoke_are_one_or_the_other(capsys, tmp_path):
    for arguments in ([], ["--smoke", "--data", str(tmp_path)]):
        assert main(["reproduce", "scale-table5", *arguments]) == 2
        message = "reads screen_eval.json and asks google/flan-t5-large; name the folder with --data, or pass --smoke"
        assert message in capsys.readouterr().err


def test_a_folder_without_the_files_says_what_was_looked_for_and_found(tmp_path):
    with pytest.raises(InputError, match=r"there is no such folder; --data names the one with screen_eval\.json"):
        Job(TABLES["scale-table5"], tmp_path / "none")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InputError, match=r"looks for screen_eval\.json in .*, and found notes\.txt"):
        Job(TABLES["scale-table5"], tmp_path)


def test_a_file_in_another_format_says_which_fields_were_looked_for(tmp_path):
    (tmp_path / "screen_eval.json").write_text('{"premise": "P", "hypothesis": "H"}')
    with pytest.raises(InputError, match="'agg_label': missing; format 'screeneval' has agg_label, convo"):
        Job(TABLES["scale-table5"], tmp_path, settings={"model": "built-in"}).examples(format="screeneval")


def test_a_model_that_is_too_short_is_refused_with_the_numbers(tiny_nli_folder):
    for model, limit in (("built-in", r"\d+"), (str(tiny_nli_folder), "128")):
        job = Job(TABLES["scale-table5"], SMOKE, settings={"model": model})
        with pytest.raises(InputError, match=rf"reads 1000 tokens at once and .* at most {limit}: name a model"):
            TABLES["scale-table5"].run(job)


def test_a_setting_that_a_table_does_not_have_is_an_error():
    with pytest.raises(InputError, match="scale-table5 has no setting 'beams'; it has model, template, chunk_tokens"):
        Job(TABLES["scale-table5"], settings={"beams": 3})


def test_the_papers_models_and_figures_are_those_of_the_model_that_is_used():
    settings = TABLES["q2-table2"].settings
    assert (settings["questions"], settings["answerer"]) == (PAPER_GENERATOR, PAPER_ANSWERER)
    table = TABLES["scale-table5"]
    theirs = Job(table, settings={"model": "google/flan-t5-base"}).theirs()
    assert theirs["ScreenEval"]["ROC-AUC x 100"] == 69.5
    assert Job(table).theirs()["ScreenEval"]["ROC-AUC x 100"] == 76.1


@pytest.mark.slow
def test_retrieval_is_the_authors_tree_over_utterances():
    """By hand: halves of the list of utterances, the best of them, until one is left; the first with its words counts."""
    job = Job(TABLES["scale-table7"])
    found = TABLES["scale-table7"].run(job)
    judge = load_entailment()
    columns = json.loads((SMOKE / "screen_eval.json").read_text())
    hits = []
    for place, label in columns["agg_label"].items():
        if not label:
            continue
        claim, utterances = columns["inferred_summary"][place], columns["original_convo"][place].split("\n")
        left = utterances
        while len(left) > 1:
            half = max(1, len(left) // 2)
            runs = [left[start : start + half] for start in range(0, len(left), half)]
            left = runs[int(np.argmax(judge.entailment([("\n".join(run), claim) for run in runs])))]
        hits.append(utterances.index(left[0]) in columns["rel_utt"][place])
    assert found["ScreenEval"]["recall"] == pytest.approx(np.mean(hits))
    assert sum(hits) > 0
    assert "6 supported claims of 10." in job.notes


def test_macro_f1_is_the_best_of_a_hundred_thresholds():
    labels, scores = [1, 0, 1, 1, 0, 0, 1, 0], [0.2, 0.1, 0.9, 0.25, 0.3, 0.05, 0.8, 0.6]
    stretched = [(score - min(scores)) / (max(scores) - min(scores)) for score in scores]

    def macro(threshold):
        parts = []
        for positive in (True, False):
            right = sum((s > threshold) == (y == 1) == positive for y, s in zip(labels, stretched, strict=True))
            wrong = sum((s > threshold) != (y == 1) for y, s in zip(labels, stretched, strict=True))
            parts.append(2 * right / (2 * right + wrong) if right else 0.0)
        return sum(parts) / 2

    assert scale.best_of_hundredths(labels, scores) == pytest.approx(max(macro(n / 100) for n in range(100)))


def test_a_second_run_continues_the_first(tmp_path):
    table = TABLES["scale-table5"]
    first = Job(table, out=tmp_path)
    figures = table.run(first)
    second = Job(table, out=tmp_path)
    assert table.run(second) == figures
    assert second.pairs < first.pairs
    assert len((tmp_path / "scale-table5-scores-1000.jsonl").read_text().splitlines()) == 10


def test_the_bundled_rows_are_small():
    files = list(Path(SMOKE).iterdir())
    assert sum(file.stat().st_size for file in files) < 40_000
