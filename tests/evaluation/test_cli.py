import copy
import json
import random
import subprocess
import sys

import pytest

from groundrail.calibration import Calibration
from groundrail.cli.main import app
from groundrail.errors import InputError, MissingExtraError, ModelError
from groundrail.papers.units.named import load_units
from groundrail.scoring.registry import load_scorer, scorers


@pytest.fixture
def groundrail():
    def run(*arguments):
        given = [str(argument) for argument in arguments]
        return app(given)(given, exit_on_error=False, print_error=False)

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
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


RARE = [pytest.param(name, marks=pytest.mark.slow) for name in ("pairs", "topk", "full", "sentli", "infuse", "overlap")]


@pytest.mark.parametrize("scorer", ["scale", "nearest", "q2", *RARE])
def test_every_scorer_runs_on_a_slice_of_a_true_file(groundrail, tmp_path, tiny_nli_folder, scorer, capsys):
    path = tmp_path / "q2.csv"
    sentences = ["The rent is 500.", "Cats are not allowed.", "The deposit was lost."]
    rows = [f'"{sentences[n % 3]} {sentences[1]}","{sentences[n % 2]}",{n % 2}\n' for n in range(6)]
    path.write_text("grounding,generated_text,label\n" + "".join(rows))
    judge = () if scorer == "overlap" else ("--judge", tiny_nli_folder)
    arguments = ("eval", "--scorer", scorer, *judge, "--data", path, "--json")
    assert groundrail(*arguments, "--limit", 5) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["measured"] == 5
    assert report["pairs"] > 0 or scorer in ("overlap", "q2")  # Q2 asks a model only where answers differ
    assert 0 <= report["auc"]["low"] <= report["auc"]["value"] <= report["auc"]["high"] <= 1


def test_eval_prints_a_table_with_what_was_left_out(groundrail, data, capsys):
    assert groundrail("eval", "--scorer", "overlap", "--data", data) == 0
    printed = capsys.readouterr().out
    assert "60 of 61" in printed
    assert "1 / 0 / 0" in printed
    assert "ROC-AUC" in printed


def test_eval_repeats_itself_to_the_digit_and_continues(groundrail, data, tmp_path, capsys):
    arguments = ("eval", "--scorer", "overlap", "--data", data, "--limit", 40, "--seed", 3, "--json")
    groundrail(*arguments)
    first = json.loads(capsys.readouterr().out)
    groundrail(*arguments, "--out", tmp_path / "out")
    second = json.loads(capsys.readouterr().out)
    results = tmp_path / "out" / "results.jsonl"
    written = results.read_text()
    groundrail(*arguments, "--out", tmp_path / "out")
    third = json.loads(capsys.readouterr().out)
    for report in (first, second, third):
        report[0].pop("seconds")
    assert first == second == third
    assert first[0]["claims"] == 40
    assert results.read_text() == written
    assert json.loads((tmp_path / "out" / "summary.json").read_text())[0]["auc"] == first[0]["auc"]


def test_eval_draws_three_pictures_and_leaves_matplotlib_as_it_was(groundrail, data, tmp_path):
    import matplotlib

    before = matplotlib.rcParams["backend"]
    groundrail("eval", "--scorer", "overlap", "--data", data, "--plots", tmp_path / "plots")
    assert matplotlib.rcParams["backend"] == before
    pictures = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert pictures == [f"overlap-pairs-{name}.png" for name in ("precision-recall", "reliability", "roc")]
    for name in pictures:
        assert (tmp_path / "plots" / name).read_bytes().startswith(b"\x89PNG")


def test_eval_of_one_class_says_why_there_is_no_auc(groundrail, tmp_path, capsys):
    path = tmp_path / "one.jsonl"
    path.write_text('{"premise": "a b", "hypothesis": "a", "label": 1}\n' * 3)
    assert groundrail("eval", "--scorer", "overlap", "--data", path, "--plots", tmp_path) == 0
    assert "ROC-AUC needs both classes, but all 3 labels are supported" in capsys.readouterr().out
    assert not list(tmp_path.glob("*-roc.png"))


def test_settings_reach_the_scorer_and_unknown_ones_are_refused(groundrail, data, capsys):
    arguments = ("eval", "--scorer", "overlap", "--data", data, "--json", "--set")
    groundrail(*arguments, "measure=precision")
    precision = json.loads(capsys.readouterr().out)
    groundrail(*arguments, "measure=f1")
    assert json.loads(capsys.readouterr().out)[0]["auc"] != precision[0]["auc"]
    with pytest.raises(InputError, match="no setting 'k'; it has measure"):
        groundrail(*arguments, "k=3")
    with pytest.raises(InputError, match="NAME=VALUE"):
        groundrail(*arguments, "k")


def test_the_threshold_of_validation_claims_and_another_scorers_results(groundrail, data, tmp_path, capsys):
    other = data.with_name("others.jsonl")
    other.write_text(data.read_text())
    groundrail("eval", "--scorer", "overlap", "--set", "measure=f1", "--data", data, "--out", tmp_path / "f1")
    capsys.readouterr()
    arguments = ("eval", "--scorer", "overlap", "--data", data, "--validation", other)
    groundrail(*arguments, "--against", tmp_path / "f1" / "results.jsonl", "--json")
    (report,) = json.loads(capsys.readouterr().out)
    tuned = report["tuned_balanced_accuracy"]["value"]
    assert tuned >= report["balanced_accuracy"]
    assert report["auc_difference"]["low"] <= report["auc_difference"]["value"] <= report["auc_difference"]["high"]
    groundrail(*arguments)
    assert "threshold of the validation claims" in capsys.readouterr().out
    groundrail("eval", "--scorer", "overlap", "--data", data, "--threshold", report["tuned_threshold"], "--json")
    assert json.loads(capsys.readouterr().out)[0]["balanced_accuracy"] == tuned
    with pytest.raises(InputError, match="one file, or 1"):
        groundrail(*arguments, other)
    with pytest.raises(InputError, match="no such file"):
        groundrail(*arguments, "--against", tmp_path / "nothing.jsonl")


def test_a_validation_set_of_the_same_name_is_no_part_of_the_results(groundrail, data, tmp_path, capsys):
    (tmp_path / "validation").mkdir()
    other = tmp_path / "validation" / data.name
    other.write_text(data.read_text().replace("rent", "hire"))
    arguments = ("eval", "--scorer", "overlap", "--data", data)
    groundrail(*arguments, "--validation", other, "--out", tmp_path / "out")
    capsys.readouterr()
    groundrail(*arguments, "--against", tmp_path / "out" / "results.jsonl", "--json")
    (report,) = json.loads(capsys.readouterr().out)
    assert report["auc_difference"]["value"] == 0


def test_settings_reach_the_model(groundrail, tmp_path, tiny_t5_folder, capsys):
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"premise": "rent is due. " * 300, "hypothesis": "Rent is due.", "label": 1}) + "\n")
    arguments = ("eval", "--scorer", "full", "--judge", tiny_t5_folder, "--data", path, "--json")
    pairs = []
    for limit in (300, 3000):
        groundrail(*arguments, "--set", f"max_length={limit}")
        pairs.append(json.loads(capsys.readouterr().out)[0]["pairs"])
    assert pairs[0] > pairs[1] == 1
    with pytest.raises(InputError, match="name a model with --judge"):
        groundrail("eval", "--scorer", "full", "--data", path, "--set", "max_length=300")
    with pytest.raises(InputError, match="no setting 'max_length'"):
        groundrail("eval", "--scorer", "overlap", "--data", path, "--set", "max_length=300")


def test_the_context_of_ablation_rows_is_read_when_asked(groundrail, tmp_path, capsys):
    record = {"context": "In May", "target": "In May it rose.", "new_target": "It fell.", "source": "It rose.",
              "new_source": "It fell."}  # fmt: skip
    path = tmp_path / "ablation.jsonl"
    path.write_text(json.dumps(record))
    means = []
    for flags in ((), ("--context",)):
        groundrail("eval", "--scorer", "overlap", "--data", path, "--json", *flags)
        means.append(json.loads(capsys.readouterr().out)[0]["mean_score"])
    assert means[0] < means[1]


def test_two_files_of_one_name_are_refused(groundrail, data):
    with pytest.raises(InputError, match="a data set named 'pairs'"):
        groundrail("eval", "--scorer", "overlap", "--data", data, data)


def test_calibrate_prints_both_errors_and_writes_a_map(groundrail, data, tmp_path, capsys):
    path = tmp_path / "map.json"
    arguments = ("calibrate", data, "--scorer", "overlap", "--false-release", 0.2)
    assert groundrail(*arguments, "--map", "platt", "--save-map", path, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["false_release"]["value"] <= 0.2
    assert report["left_out"] == 1
    assert Calibration.load(path).method == report["map"]["method"] == "platt"
    assert groundrail(*arguments) == 0
    printed = capsys.readouterr().out
    assert "unsupported sentences let out" in printed
    assert "supported sentences held back" in printed
    assert groundrail(*arguments, "--save-map", path) == 0
    kept = Calibration.load(path)
    assert (kept.method, kept.scorer) == ("none", "OverlapScorer")
    assert f"threshold: {kept.threshold:.6g}" in capsys.readouterr().out


def test_calibrate_promises_a_rate_or_says_how_many_labels_that_takes(groundrail, data, capsys):
    arguments = ("calibrate", data, "--scorer", "overlap", "--confidence")
    assert groundrail(*arguments, 0.8, "--false-release", 0.4) == 0
    assert "for new sentences at 0.8 confidence" in capsys.readouterr().out
    assert groundrail(*arguments, 0.8, "--false-release", 0.4, "--json") == 0
    assert json.loads(capsys.readouterr().out)["guarantee"] == 0.8
    with pytest.raises(InputError, match="at least 299 are needed"):
        groundrail(*arguments, 0.95, "--false-release", 0.01)


def test_calibrate_wants_one_target(groundrail, data):
    for targets in ((), ("--false-release", 0.1, "--false-block", 0.1)):
        with pytest.raises(InputError, match="one of --false-release and --false-block"):
            groundrail("calibrate", data, "--scorer", "overlap", *targets)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(InputError, match="'magic'; there are scale, nearest, full"):
        load_scorer("magic")
    with pytest.raises(InputError, match="sentences"):
        load_units("magic")
    with pytest.raises(InputError, match="name one with --splitter"):
        load_units("seq2seq")
    with pytest.raises(InputError, match="'whole' take no splitter"):
        load_units("whole", "t5-base")
    with pytest.raises(ModelError, match="python -m spacy download en_core_web_none"):
        load_units("parsed", "en_core_web_none")
    assert {"scale", "nearest", "pairs", "topk", "full", "sentli", "infuse", "q2", "overlap"} <= set(scorers())


@pytest.mark.parametrize("name", ["pairs", "topk", "full", "sentli", "infuse"])
def test_scorers_are_built_by_name(hashed_nli, name):
    model = hashed_nli(1)
    assert load_scorer(name, model).score(["The rent is due."], "The rent is due. Pay it.")[0].citations


@pytest.mark.parametrize(
    ("library", "extra"), [("sklearn.metrics", "eval"), ("scipy.stats", "eval"), ("rich.console", "cli")]
)
def test_what_is_not_installed_is_named_with_its_extra(groundrail, data, monkeypatch, library, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"groundrail\[{extra}\]"):
        groundrail("eval", "--scorer", "overlap", "--data", data)


def test_pictures_need_matplotlib_and_say_so(groundrail, data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"groundrail\[eval\]"):
        groundrail("eval", "--scorer", "overlap", "--data", data, "--plots", tmp_path)


@pytest.mark.slow
def test_importing_the_evaluation_loads_no_optional_library():
    code = (
        "import sys, groundrail.evaluation; "
        "print([name for name in ('sklearn', 'scipy', 'matplotlib', 'rich', 'torch') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_scorer_that_needs_a_model_says_so(groundrail, data):
    with pytest.raises(InputError, match="--set model="):
        groundrail("eval", "--scorer", "gain", "--data", data)


def test_eval_measures_the_calibration_error_of_stretched_scores(groundrail, tmp_path, capsys):
    claims = ["rent door", "rent keys door", "rent keys deposit door"]  # a half, two thirds and three quarters shared
    rows = [{"premise": "rent keys deposit", "hypothesis": claims[n % 3], "label": n % 2} for n in range(12)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ("eval", "--scorer", "overlap", "--data", path, "--bins", 15, "--json")
    groundrail(*arguments)
    (plain,) = json.loads(capsys.readouterr().out)
    groundrail(*arguments, "--stretch")
    (stretched,) = json.loads(capsys.readouterr().out)
    assert plain["auc"] == stretched["auc"]
    assert plain["ece"]["value"] == pytest.approx((0 + 1 / 6 + 1 / 4) / 3)
    counts = [found["count"] for found in stretched["bins"]]
    assert (counts[0], counts[-1], sum(counts[1:-1])) == (4, 4, 4)
    assert stretched["ece"]["value"] == pytest.approx((1 / 2 + 1 / 6 + 1 / 2) / 3)


def test_files_of_one_class_each_are_pooled_into_a_curve(groundrail, tmp_path, capsys):
    """Q²'s figure 3: consistent and inconsistent responses come in files of their own."""
    files = []
    for name in ("consistent", "inconsistent"):
        path = tmp_path / f"dodeca_{name}.csv"
        rows = [f"{n},ada pays {n} euros,{'ada pays' if name == 'consistent' else 'bob'} {n},gold\n" for n in range(5)]
        path.write_text(",knowledge,response,gold\n" + "".join(rows))
        files.append(path)
    arguments = ("eval", "--scorer", "overlap", "--data", *files, "--json")
    assert groundrail(*arguments) == 0
    assert [report["auc"] for report in json.loads(capsys.readouterr().out)] == [None, None]
    assert groundrail(*arguments, "--pool", "both", "--plots", tmp_path / "plots") == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["dataset"], report["measured"], report["auc"]["value"]) == ("both", 10, 1.0)
    assert (tmp_path / "plots" / "overlap-both-precision-recall.png").stat().st_size > 1000


def test_eval_names_a_splitter_that_is_a_model(groundrail, data, tmp_path, tiny_t5, tiny_tokenizer, capsys):
    """A random encoder-decoder ends none of its texts, so every claim stays whole and scores as whole sentences do."""
    tokenizer = copy.deepcopy(tiny_tokenizer)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    for part in (tiny_t5, tokenizer):
        part.save_pretrained(tmp_path / "splitter")
    arguments = ("eval", "--scorer", "overlap", "--data", data, "--limit", 10, "--json")
    groundrail(*arguments, "--units", "seq2seq", "--splitter", tmp_path / "splitter")
    (written,) = json.loads(capsys.readouterr().out)
    assert written["measured"] == 10
    with pytest.raises(InputError, match="--splitter"):
        groundrail(*arguments, "--units", "seq2seq")


def test_eval_tests_a_difference_in_both_ways(groundrail, data, tmp_path, capsys):
    groundrail("eval", "--scorer", "overlap", "--set", "measure=f1", "--data", data, "--out", tmp_path, "--json")
    capsys.readouterr()
    against = ("--against", tmp_path / "results.jsonl")
    assert groundrail("eval", "--scorer", "overlap", "--data", data, *against) == 0
    printed = capsys.readouterr().out
    assert "less the other's" in printed
    assert "the same by InFusE's t-test" in printed
