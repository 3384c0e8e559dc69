"""Runs the commands of a plan one after the other within a time limit, and lists what came of them.

    python tools/run_plan.py plan.toml --out runs/plan --minutes 55

A plan has a command, and runs with the options that they add to it and the minutes that each may take:

    command = ["python", "tools/train_judge.py", "--base", "runs/start", "--written", "tools/written",
               "--device", "cuda", "--steps", "6000", "--resume"]
    [[runs]]
    name = "seed-1"
    minutes = 25
    options = ["--seed", "1", "--out", "runs/seed-1"]

A run starts only if its minutes fit into the time that is left. Shortly before they are over it is asked to end
(SIGTERM), and at their end it is ended. OUT holds each run's output and `results.json`. Called again with the same
plan and OUT, runs that are done stay done and the others start again; with `--resume` they go on where they stopped.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

NOTICE = 0.1
"""Share of a run's minutes, and at most a minute, between the request to end and the end."""


class PlanError(Exception):
    """A plan cannot be run; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A run: its name, the minutes that it may take and the whole command."""

    name: str
    minutes: float
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """`state` is done, failed, stopped (its minutes were over) or left out (they did not fit); `said` is its last line."""

    name: str
    state: str
    minutes: float
    said: str


def load_plan(file: Path) -> list[Planned]:
    """The runs of a TOML file.

    Raises: PlanError for a file that is no plan.
    """
    try:
        plan = tomllib.loads(file.read_text(encoding="utf-8"))
        runs = [
            Planned(str(run["name"]), float(run["minutes"]), (*plan.get("command", ()), *run.get("options", ())))
            for run in plan["runs"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PlanError(f"{file} is no plan: {error!r}; each of its runs needs a name and minutes") from error
    names = [run.name for run in runs]
    for run in runs:
        if names.count(run.name) > 1 or Path(run.name).name != run.name:
            raise PlanError(f"{file}: the name {run.name!r} must be a file name that no other run has")
        if run.minutes <= 0 or not run.command or not all(isinstance(word, str) for word in run.command):
            raise PlanError(f"{file}: the run {run.name!r} needs minutes above 0 and a command of strings")
    return runs


def run_plan(runs: Sequence[Planned], out: Path, minutes: float) -> list[Result]:
    """Run what is not done yet, in order; the results of all runs.

    Raises: PlanError where a run's minutes alone exceed the limit.
    """
    for run in runs:
        if run.minutes > minutes:
            raise PlanError(f"the run {run.name!r} may take {run.minutes:g} minutes, the plan {minutes:g}")
    out.mkdir(parents=True, exist_ok=True)
    file = out / "results.json"
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    results = {result["name"]: Result(**result) for result in before if result["state"] == "done"}
    end = time.monotonic() + 60 * minutes
    for run in runs:
        if run.name in results:
            continue
        left = (end - time.monotonic()) / 60
        if run.minutes > left:
            results[run.name] = Result(run.name, "left out", 0.0, f"{left:.1f} minutes were left, not {run.minutes:g}")
        else:
            results[run.name] = _run(run, out / f"{run.name}.log")
        file.write_text(json.dumps([asdict(result) for result in results.values()], indent=2) + "\n", encoding="utf-8")
    return [results[run.name] for run in runs]


def _run(run: Planned, log: Path) -> Result:
    """Run a command, its output appended to the log, for its minutes at most."""
    command = [sys.executable if word == "python" else word for word in run.command]
    started = time.monotonic()
    notice = min(60.0, NOTICE * 60 * run.minutes)
    stopped = False
    if shutil.which(command[0]) is None:
        return Result(run.name, "failed", 0.0, f"there is no program {command[0]}")
    with log.open("ab") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            process.wait(60 * run.minutes - notice)
        except subprocess.TimeoutExpired:
            stopped = True
            process.terminate()
            try:
                process.wait(notice)
            except subprocess.TimeoutExpired:
                process.kill()
        except BaseException:
            process.terminate()
            raise
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    said = next((line for line in reversed(lines) if line.strip()), "")
    state = "stopped" if stopped else "failed" if process.returncode else "done"
    return Result(run.name, state, round((time.monotonic() - started) / 60, 2), said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True, help="of all runs together, from now on")
    args = parser.parse_args()
    try:
        results = run_plan(load_plan(args.plan), args.out, args.minutes)
    except PlanError as error:
        parser.exit(2, f"{error}\n")
    for result in results:
        print(f"{result.name}: {result.state}, {result.minutes:g} minutes, {result.said}")
    sys.exit(any(result.state != "done" for result in results))


if __name__ == "__main__":
    main()
