"""How long checks take alone and beside a busy process, as ratios to another way of running them.

    python benchmarks/busy.py
    python benchmarks/busy.py --against /path/to/another/version/.venv/bin/python

Two processes take turns: groundrail as it is, and `--against`, an interpreter with another version of it. By default that is
this version with torch imported first, whose threads then wait awake. Both run alone, then beside a process that
multiplies matrices on one core. Medians of the turns during which other programs took the least of the cores, at best
under a tenth; it says how much they took. It ends within five minutes, on a machine that is never quiet, too. Linux only.
It fails over the bars: alone 1.1, and beside 2 times the other's time alone.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shared import DOCUMENTS

BARS = {"alone": 1.1, "beside": 2.0}
TURN = 3
"""Checks in one turn."""

FOREIGN = 0.1
"""Share of the cores that other programs may take during a turn, where there are enough turns like that."""

MOST = 4
"""Turns that are tried for each that counts."""

LONGEST = 100.0
"""Seconds after which no more turns are tried alone, and beside the busy process."""

TORCH_FIRST = "import torch\n"
READY = "ready"
MULTIPLY = "import numpy as np\nx = np.ones((1000, 1000), np.float32)\nwhile True:\n    x @ x"


def work() -> None:
    """In a process of its own: for each line a turn of that kind, and its seconds on a line."""
    from groundrail import Guard

    guard = Guard()
    lease = (DOCUMENTS / "lease.txt").read_text(encoding="utf-8")
    cases = {
        "three sentences over two": (
            "The rent is 1,450 euros a month. The lease ends on 28 February 2026. Pets are allowed in the flat.",
            "The lease ends on 28 February 2026. The monthly rent is 1,450 euros.",
        ),
        "one sentence over 1,470 words": (
            "The tenant pays a late fee of 40 euros after ten days.",
            " ".join(lease.split()[:1470]),
        ),
    }
    for answer, source in cases.values():
        guard.check(answer, source)
    print(READY, *cases, sep="|", flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        for _ in range(TURN):
            guard.check(*cases[line.strip()])
        print(time.perf_counter() - started, flush=True)


def answered(worker: Any, line: str | None = None) -> str:
    """The next line of a worker, after a line to it."""
    if line is not None:
        print(line, file=worker.stdin, flush=True)
    return str(worker.stdout.readline()).strip()


@contextmanager
def process(python: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A process in which the user has set nothing about threads, ended with the block."""
    unset = ("OMP_", "GOMP_", "KMP_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    if arguments == ("-c", MULTIPLY):
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([python, *arguments], env=environment, **pipes) as started:  # type: ignore[call-overload]
        try:
            yield started
        finally:
            started.kill()


def cores_taken(own: "list[subprocess.Popen[str]]") -> float:
    """Seconds of processor time that programs other than `own` have taken since the machine started."""
    tick = os.sysconf("SC_CLK_TCK")
    user, nice, system, _, _, irq, soft, *_ = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    ours = [Path(f"/proc/{each.pid}/stat").read_text().rpartition(")")[2].split()[11:13] for each in own]
    return (user + nice + system + irq + soft - sum(int(ticks) for pair in ours for ticks in pair)) / tick


def turn(worker: "subprocess.Popen[str]", case: str, own: "list[subprocess.Popen[str]]") -> tuple[float, float]:
    """Seconds of a check, and the share of all cores that other programs took."""
    before, started = cores_taken(own), time.perf_counter()
    seconds = float(answered(worker, case))
    lasted = time.perf_counter() - started
    return seconds / TURN, (cores_taken(own) - before) / lasted / (os.cpu_count() or 1)


def medians(
    workers: "dict[str, subprocess.Popen[str]]", cases: list[str], turns: int, own: "list[subprocess.Popen[str]]"
) -> dict[tuple[str, str], float]:
    """Median seconds of a check by worker and case, of the quietest turns; prints how quiet they were."""
    ends = time.perf_counter() + LONGEST
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {(name, case): [] for name in workers for case in cases}
    for _ in range(MOST * turns):
        for (name, case), found in taken.items():
            if found and time.perf_counter() > ends:
                break
            lasted, foreign = turn(workers[name], case, own)
            found.append((foreign, lasted))
        if all(sum(foreign < FOREIGN for foreign, _ in found) >= turns for found in taken.values()):
            break
    quietest = {which: sorted(found)[:turns] for which, found in taken.items()}
    most = max(foreign for found in quietest.values() for foreign, _ in found)
    count = min(map(len, quietest.values()))
    print(f"other programs took up to {max(most, 0):.0%} of the cores in the {count} turns that count", flush=True)
    return {which: statistics.median(lasted for _, lasted in found) for which, found in quietest.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default=sys.executable, help="interpreter with another version")
    parser.add_argument("--turns", type=int, default=15, help="turns that count")
    options = parser.parse_args()
    code = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom busy import work\nwork()"
    first = TORCH_FIRST if options.against == sys.executable else ""
    with process(sys.executable, "-c", code) as now, process(options.against, "-c", first + code) as other:
        workers = {"now": now, "other": other}
        for worker in workers.values():
            cases = answered(worker).split("|")[1:]
        alone = medians(workers, cases, options.turns, [now, other])
        with process(sys.executable, "-c", MULTIPLY) as busy:
            time.sleep(1)
            beside = medians(workers, cases, options.turns, [now, other, busy])
    over = False
    for case in cases:
        print(f"{case}: {alone['other', case]:.3f} s alone in the other process")
        for where, found in (("alone", alone), ("beside", beside)):
            ratio, others = (found[name, case] / alone["other", case] for name in workers)
            over |= ratio > BARS[where]
            print(f"  {where:<6}  {ratio:.2f} (bar {BARS[where]}), the other {others:.2f}")
    sys.exit(over)


if __name__ == "__main__":
    main()
