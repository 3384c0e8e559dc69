"""Whether `groundrail calibrate --confidence` keeps its promise, over many draws of the calibration labels.

    python benchmarks/promise.py benchmarks/claims/written_dev.jsonl benchmarks/claims/real_dev.jsonl \\
        benchmarks/challenge/challenge.jsonl DATA/true/q2.csv DATA/real/attributionbench_dev.jsonl

The default scorer scores up to `--limit` claims of each file, whole and once. The file is the world: calibration labels are
drawn from it with replacement, so that the true rate of false releases at the threshold is known exactly. A threshold keeps
its word where this rate is at most what was asked for. Where the labels are too few, or no threshold does, nothing is
released: these draws count as kept and are shown as refused.
"""

import argparse
from pathlib import Path

import numpy as np
from shared import DOCUMENTS, head, row

from groundrail.errors import InputError
from groundrail.evaluation.loaders import load
from groundrail.evaluation.metrics import Bools, Floats
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.sampling import sample
from groundrail.evaluation.thresholds import choose_threshold
from groundrail.scoring.scale import ScaleScorer

Labelled = tuple[Bools, Floats]
"""Which claims are supported, and their scores."""


def outcome(world: Labelled, draws: int, target: float, guarantee: float | None) -> tuple[float, int, float, float]:
    """The share of draws that keep the target, the number refused, and over the rest the mean of both rates."""
    random, (supported, scores) = np.random.default_rng(0), world
    kept, false_releases, releases = [], [], []
    for _ in range(draws):
        drawn = random.integers(supported.size, size=supported.size)
        try:
            found = choose_threshold(supported[drawn], scores[drawn], false_release=target, guarantee=guarantee)
        except InputError:
            kept.append(True)
            continue
        false_releases.append(float(np.mean(scores[~supported] >= found.value)))
        releases.append(float(np.mean(scores[supported] >= found.value)))
        kept.append(false_releases[-1] <= target + 1e-9)
    let_out, passed = (float(np.mean(rates)) if rates else float("nan") for rates in (false_releases, releases))
    return float(np.mean(kept)), len(kept) - len(releases), let_out, passed


def scored(path: Path, limit: int) -> Labelled:
    """Labels and scores of a file's claims by the default scorer."""
    labelled = [example for example in load(path, documents=DOCUMENTS) if example.label is not None]
    chosen = sample(labelled, limit, 0)
    examples = [example for example in chosen if example.claim.strip()]
    results = evaluate(ScaleScorer(), examples, units="whole")
    pairs = [(e.label == 1, r.value) for e, r in zip(examples, results, strict=True) if r.value is not None]
    return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs], dtype=np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="*")
    parser.add_argument("--limit", type=int, default=250, help="claims scored of each file")
    parser.add_argument("--false-release", type=float, nargs="+", default=[0.05, 0.1])
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--resamples", type=int, default=200)
    options = parser.parse_args()
    head("set | false releases asked | plain: kept | let out, passed | promised: kept | let out, passed | refused")
    for path in options.data:
        world = scored(path, options.limit)
        name = f"{path.stem} ({world[0].size}, {(~world[0]).sum()} wrong)"
        for target in options.false_release:
            cells = []
            for asked in (None, options.confidence):
                kept, refused, let_out, passed = outcome(world, options.resamples, target, asked)
                cells += [f"{kept:.1%}", "–" if np.isnan(let_out) else f"{let_out:.1%}, {passed:.1%}"]
            row(name, f"{target:.0%}", *cells, refused)


if __name__ == "__main__":
    main()
