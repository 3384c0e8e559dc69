"""A plan's runs take turns, end in time, and are done once."""

from pathlib import Path

import pytest
from run_plan import PlanError, Result, load_plan, run_plan

PLAN = """
command = ["python", "-c"]
[[runs]]
name = "quick"
minutes = 0.5
options = ["open('count', 'a').write('x'); print('first'); print('auc 90')"]
[[runs]]
name = "broken"
minutes = 0.5
options = ["raise SystemExit('no data')"]
"""


def written(tmp_path: Path, plan: str) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(plan, encoding="utf-8")
    return file


def states(results: list[Result]) -> list[tuple[str, str, str]]:
    return [(result.name, result.state, result.said) for result in results]


def test_results_say_what_came_of_each_run_and_done_runs_stay_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = load_plan(written(tmp_path, PLAN))
    for _ in range(2):
        found = run_plan(runs, tmp_path / "out", 5)
        assert states(found) == [("quick", "done", "auc 90"), ("broken", "failed", "no data")]
    assert (tmp_path / "count").read_text() == "x"
    assert (tmp_path / "out" / "quick.log").read_text() == "first\nauc 90\n"
    assert (tmp_path / "out" / "broken.log").read_text() == "no data\n" * 2


def test_a_run_is_asked_to_end_and_the_next_starts_only_if_it_fits(tmp_path: Path) -> None:
    """The first run takes all of its 0.1 minutes less the notice, so that another 0.1 of 0.15 do not fit."""
    polite = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('saved', flush=True), sys.exit(3)))\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)"
    )
    plan = 'command = ["python", "-c"]\n' + "".join(
        f"[[runs]]\nname = '{name}'\nminutes = 0.1\noptions = ['''{polite}''']\n" for name in ("first", "second")
    )
    found = run_plan(load_plan(written(tmp_path, plan)), tmp_path / "out", 0.15)
    assert states(found)[0] == ("first", "stopped", "saved")
    assert (found[1].name, found[1].state) == ("second", "left out")
    assert not (tmp_path / "out" / "second.log").exists()


def test_a_run_that_does_not_listen_is_ended(tmp_path: Path) -> None:
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    plan = f'[[runs]]\nname = "deaf"\nminutes = 0.05\noptions = ["python", "-c", "{deaf}"]\n'
    assert states(run_plan(load_plan(written(tmp_path, plan)), tmp_path / "out", 1)) == [("deaf", "stopped", "deaf")]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ("runs = 3", "is no plan"),
        ("[[runs]]\nname = 'a'\noptions = ['true']", "needs a name and minutes"),
        ("[[runs]]\nname = 'a'\nminutes = 1", "a command of strings"),
        ("[[runs]]\nname = 'a'\nminutes = 0\noptions = ['true']", "minutes above 0"),
        ("[[runs]]\nname = 'a/b'\nminutes = 1\noptions = ['true']", "must be a file name"),
        ("[[runs]]\nname = 'a'\nminutes = 1\noptions = ['true']\n" * 2, "that no other run has"),
    ],
)
def test_a_file_that_is_no_plan_is_refused(plan: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=reason):
        load_plan(written(tmp_path, plan))


def test_a_run_that_can_never_fit_is_refused_before_any_starts(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"'quick' may take 0.5 minutes, the plan 0.4"):
        run_plan(load_plan(written(tmp_path, PLAN)), tmp_path / "out", 0.4)
    assert not (tmp_path / "out").exists()


def test_a_missing_program_is_a_failure_of_its_run(tmp_path: Path) -> None:
    plan = "[[runs]]\nname = 'a'\nminutes = 0.1\noptions = ['no-such-program-here']\n"
    [result] = run_plan(load_plan(written(tmp_path, plan)), tmp_path / "out", 1)
    assert (result.state, result.said) == ("failed", "there is no program no-such-program-here")
