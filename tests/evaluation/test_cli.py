import copy
import json
import random
import sys
from functools import partial

import pytest
from tests.tables import json_lines

from groundrail.calibration import Calibration
from groundrail.cli.main import app
from groundrail.errors import InputError, MissingExtraError
from groundrail.evaluation.summary import summarise
from groundrail.evaluation.units import load_units
from groundrail.scoring.registry import load_scorer, scorers


@pytest.fixture
def groundrail(monkeypatch):
    """The command line, with intervals of few resamples."""
    monkeypatch.setattr("groundrail.evaluation.cli.summarise", partial(summarise, resamples=20))

    def run(*arguments):
        given = [str(argument) for argument in arguments]
        return app(given)(given, exit_on_error=False, print_error=False)

    return run


@pytest.fixture
def overlap(groundrail, capsys):
    """`groundrail eval --scorer overlap --data ...`: its reports."""

    def run(*arguments, scorer="overlap"):
        capsys.readouterr()
        assert groundrail("eval", "--scorer", scorer, "--data", *arguments, "--json") == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def data(tmp_path):
    draw = random.Random(0)
    words = ("rent", "deposit", "tenant", "landlord", "keys", "garden", "heating", "winter", "window", "door")
    rows = []
    for number in range(60):
        premise = draw.sample(words, 6)
        shared = draw.randint(0, 5)
        claim = premise[:shared] + draw.sample(words, 2)
        label = int(shared + draw.random() * 3 > 4)
        rows.append({"premise": " ".join(premise), "hypothesis": " ".join(claim), "label": label, "id": number})
    rows.append({"premise": "rent", "hypothesis": " ", "label": 1, "id": 99})
    return json_lines(tmp_path / "pairs.jsonl", rows)


RARE = [pytest.param(name, marks=pytest.mark.slow) for name in ("pairs", "topk", "full", "sentli", "infuse", "overlap")]


@pytest.mark.parametrize("scorer", ["scale", "nearest", "q2", *RARE])
def test_every_scorer_runs_on_a_slice_of_a_true_file(overlap, tmp_path, tiny_nli_folder, scorer):
    path = tmp_path / "q2.csv"
    sentences = ["The rent is 500.", "Cats are not allowed.", "The deposit was lost."]
    rows = [f'"{sentences[n % 3]} {sentences[1]}","{sentences[n % 2]}",{n % 2}\n' for n in range(6)]
    path.write_text("grounding,generated_text,label\n" + "".join(rows))
    judge = () if scorer == "overlap" else ("--judge", tiny_nli_folder)
    (report,) = overlap(path, *judge, "--limit", 5, scorer=scorer)
    assert report["measured"] == 5
    assert report["pairs"] > 0 or scorer in ("overlap", "q2")  # Q2 asks a model only where answers differ
    assert 0 <= report["auc"]["low"] <= report["auc"]["value"] <= report["auc"]["high"] <= 1


def test_eval_prints_a_table_with_what_was_left_out(groundrail, data, capsys):
    assert groundrail("eval", "--scorer", "overlap", "--data", data) == 0
    printed = capsys.readouterr().out
    assert "60 of 61" in printed
    assert "1 / 0 / 0" in printed
    assert "ROC-AUC" in printed


@pytest.mark.slow
def test_eval_repeats_itself_to_the_digit_and_continues(overlap, data, tmp_path):
    drawn, results = (data, "--limit", 40, "--seed", 3), tmp_path / "out" / "results.jsonl"
    reports = [overlap(*drawn), overlap(*drawn, "--out", tmp_path / "out")]
    before = results.read_text()
    reports.append(overlap(*drawn, "--out", tmp_path / "out"))
    for (report,) in reports:
        report.pop("seconds")
    assert reports[0] == reports[1] == reports[2]
    assert reports[0][0]["claims"] == 40
    assert results.read_text() == before
    assert json.loads((tmp_path / "out" / "summary.json").read_text())[0]["auc"] == reports[0][0]["auc"]


@pytest.mark.slow
def test_eval_draws_three_pictures_and_leaves_matplotlib_as_it_was(overlap, data, tmp_path):
    import matplotlib

    before = matplotlib.rcParams["backend"]
    overlap(data, "--plots", tmp_path / "plots")
    assert matplotlib.rcParams["backend"] == before
    pictures = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert pictures == [f"overlap-pairs-{name}.png" for name in ("precision-recall", "reliability", "roc")]
    for name in pictures:
        assert (tmp_path / "plots" / name).read_bytes().startswith(b"\x89PNG")


def test_eval_of_one_class_says_why_there_is_no_auc(groundrail, tmp_path, capsys):
    path = json_lines(tmp_path / "one.jsonl", [{"premise": "a b", "hypothesis": "a", "label": 1}] * 3)
    assert groundrail("eval", "--scorer", "overlap", "--data", path, "--plots", tmp_path) == 0
    assert "ROC-AUC needs both classes, but all 3 labels are supported" in capsys.readouterr().out
    assert not list(tmp_path.glob("*-roc.png"))


@pytest.mark.slow
def test_settings_reach_the_scorer_and_unknown_ones_are_refused(overlap, data):
    precision, f1 = (overlap(data, "--set", f"measure={name}")[0]["auc"] for name in ("precision", "f1"))
    assert precision != f1
    for setting, message in (("k=3", "no setting 'k'; it has measure"), ("k", "NAME=VALUE")):
        with pytest.raises(InputError, match=message):
            overlap(data, "--set", setting)


@pytest.mark.slow
def test_the_threshold_of_validation_claims_and_another_scorers_results(overlap, groundrail, data, tmp_path, capsys):
    other = data.with_name("others.jsonl")
    other.write_text(data.read_text())
    overlap(data, "--set", "measure=f1", "--out", tmp_path / "f1")
    against = ("--against", tmp_path / "f1" / "results.jsonl")
    (report,) = overlap(data, "--validation", other, *against)
    tuned = report["tuned_balanced_accuracy"]["value"]
    assert tuned >= report["balanced_accuracy"]
    assert report["auc_difference"]["low"] <= report["auc_difference"]["value"] <= report["auc_difference"]["high"]
    groundrail("eval", "--scorer", "overlap", "--data", data, "--validation", other, *against)
    printed = capsys.readouterr().out
    for row in ("threshold of the validation claims", "less the other's", "the same by InFusE's t-test"):
        assert row in printed
    assert overlap(data, "--threshold", report["tuned_threshold"])[0]["balanced_accuracy"] == tuned
    with pytest.raises(InputError, match="one file, or 1"):
        overlap(data, "--validation", other, other)
    with pytest.raises(InputError, match="no such file"):
        overlap(data, "--against", tmp_path / "nothing.jsonl")


@pytest.mark.slow
def test_a_validation_set_of_the_same_name_is_no_part_of_the_results(overlap, data, tmp_path):
    (tmp_path / "validation").mkdir()
    other = tmp_path / "validation" / data.name
    other.write_text(data.read_text().replace("rent", "hire"))
    overlap(data, "--validation", other, "--out", tmp_path / "out")
    (report,) = overlap(data, "--against", tmp_path / "out" / "results.jsonl")
    assert report["auc_difference"]["value"] == 0


def test_settings_reach_the_model(overlap, tmp_path, tiny_t5_folder):
    row = {"premise": "rent is due. " * 300, "hypothesis": "Rent is due.", "label": 1}
    path, judge = json_lines(tmp_path / "long.jsonl", [row]), ("--judge", tiny_t5_folder)
    few, many = (overlap(path, *judge, "--set", f"max_length={limit}", scorer="full")[0]["pairs"] for limit in (3000, 300))
    assert many > few == 1
    with pytest.raises(InputError, match="name a model with --judge"):
        overlap(path, "--set", "max_length=300", scorer="full")
    with pytest.raises(InputError, match="no setting 'max_length'"):
        overlap(path, "--set", "max_length=300")


@pytest.mark.slow
def test_the_context_of_ablation_rows_is_read_when_asked(overlap, tmp_path):
    sources = {"source": "It rose.", "new_source": "It fell."}
    record = {"context": "In May", "target": "In May it rose.", "new_target": "It fell.", **sources}
    path = json_lines(tmp_path / "ablation.jsonl", [record])
    assert overlap(path)[0]["mean_score"] < overlap(path, "--context")[0]["mean_score"]


def test_two_files_of_one_name_are_refused(overlap, data):
    with pytest.raises(InputError, match="a data set named 'pairs'"):
        overlap(data, data)


def test_calibrate_prints_both_errors_and_writes_a_map(groundrail, data, tmp_path, capsys):
    path = tmp_path / "map.json"
    arguments = ("calibrate", data, "--scorer", "overlap", "--false-release", 0.2)
    assert groundrail(*arguments, "--map", "platt", "--save-map", path, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["false_release"]["value"] <= 0.2
    assert report["left_out"] == 1
    assert Calibration.load(path).method == report["map"]["method"] == "platt"
    assert groundrail(*arguments, "--save-map", path) == 0
    printed, kept = capsys.readouterr().out, Calibration.load(path)
    assert (kept.method, kept.scorer) == ("none", "OverlapScorer")
    for row in ("unsupported sentences let out", "supported sentences held back", f"threshold: {kept.threshold:.6g}"):
        assert row in printed


def test_calibrate_promises_a_rate_or_says_how_many_labels_that_takes(groundrail, data, capsys):
    arguments = ("calibrate", data, "--scorer", "overlap", "--confidence")
    assert groundrail(*arguments, 0.8, "--false-release", 0.4) == 0
    assert "for new sentences at 0.8 confidence" in capsys.readouterr().out
    assert groundrail(*arguments, 0.8, "--false-release", 0.4, "--json") == 0
    assert json.loads(capsys.readouterr().out)["guarantee"] == 0.8
    with pytest.raises(InputError, match="at least 299 are needed"):
        groundrail(*arguments, 0.95, "--false-release", 0.01)


def test_calibrate_says_that_labels_are_too_few_before_it_loads_a_judge(groundrail, data):
    with pytest.raises(InputError, match="at least 299 are needed"):
        groundrail("calibrate", data, "--judge", "./nothing", "--confidence", 0.95, "--false-release", 0.01)


def test_calibrate_wants_one_target(groundrail, data):
    for targets in ((), ("--false-release", 0.1, "--false-block", 0.1)):
        with pytest.raises(InputError, match="one of --false-release and --false-block"):
            groundrail("calibrate", data, "--scorer", "overlap", *targets)


@pytest.mark.parametrize(
    ("build", "names", "message"),
    [
        (load_scorer, ["magic"], "'magic'; there are scale, nearest, full"),
        (load_units, ["magic"], "sentences"),
        (load_units, ["seq2seq"], "name one with --splitter"),
        (load_units, ["whole", "t5-base"], "'whole' take no splitter"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(build, names, message):
    with pytest.raises(InputError, match=message):
        build(*names)


@pytest.mark.parametrize("name", ["pairs", "topk", "full", "sentli", "infuse"])
def test_scorers_are_built_by_name(hashed_nli, name):
    model = hashed_nli(1)
    assert load_scorer(name, model).score(["The rent is due."], "The rent is due. Pay it.")[0].citations
    assert {"scale", "nearest", "q2", "overlap"} <= set(scorers())


@pytest.mark.parametrize(
    ("library", "extra", "flags"),
    [
        ("sklearn.metrics", "eval", ()),
        ("scipy.stats", "eval", ()),
        ("matplotlib.figure", "eval", ("--plots", "plots")),
        ("rich.console", "cli", ()),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(groundrail, data, tmp_path, monkeypatch, library, extra, flags):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingExtraError, match=rf"groundrail\[{extra}\]"):
        groundrail("eval", "--scorer", "overlap", "--data", data, *flags)


def test_a_scorer_that_needs_a_model_says_so(overlap, data):
    with pytest.raises(InputError, match="--set model="):
        overlap(data, scorer="gain")


@pytest.mark.slow
def test_eval_measures_the_calibration_error_of_stretched_scores(overlap, tmp_path):
    claims = ["rent door", "rent keys door", "rent keys deposit door"]  # a half, two thirds and three quarters shared
    rows = [{"premise": "rent keys deposit", "hypothesis": claims[n % 3], "label": n % 2} for n in range(12)]
    path = json_lines(tmp_path / "pairs.jsonl", rows)
    (plain,), (stretched,) = overlap(path, "--bins", 15), overlap(path, "--bins", 15, "--stretch")
    assert plain["auc"] == stretched["auc"]
    assert plain["ece"]["value"] == pytest.approx((0 + 1 / 6 + 1 / 4) / 3)
    counts = [found["count"] for found in stretched["bins"]]
    assert (counts[0], counts[-1], sum(counts[1:-1])) == (4, 4, 4)
    assert stretched["ece"]["value"] == pytest.approx((1 / 2 + 1 / 6 + 1 / 2) / 3)


@pytest.mark.slow
def test_files_of_one_class_each_are_pooled_into_a_curve(overlap, tmp_path):
    """Q²'s figure 3: consistent and inconsistent responses come in files of their own."""
    files = [tmp_path / f"dodeca_{name}.csv" for name in ("consistent", "inconsistent")]
    for path, subject in zip(files, ("ada pays", "bob"), strict=True):
        rows = [f"{n},ada pays {n} euros,{subject} {n},gold\n" for n in range(5)]
        path.write_text(",knowledge,response,gold\n" + "".join(rows))
    assert [report["auc"] for report in overlap(*files)] == [None, None]
    (report,) = overlap(*files, "--pool", "both", "--plots", tmp_path / "plots")
    assert (report["dataset"], report["measured"], report["auc"]["value"]) == ("both", 10, 1.0)
    assert (tmp_path / "plots" / "overlap-both-precision-recall.png").stat().st_size > 1000


@pytest.mark.slow
def test_eval_names_a_splitter_that_is_a_model(overlap, data, tmp_path, tiny_t5, tiny_tokenizer):
    """A random encoder-decoder ends none of its texts, so every claim stays whole and scores as whole sentences do."""
    tokenizer = copy.deepcopy(tiny_tokenizer)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    for part in (tiny_t5, tokenizer):
        part.save_pretrained(tmp_path / "splitter")
    (found,) = overlap(data, "--limit", 10, "--units", "seq2seq", "--splitter", tmp_path / "splitter")
    assert found["measured"] == 10
    with pytest.raises(InputError, match="--splitter"):
        overlap(data, "--limit", 10, "--units", "seq2seq")
