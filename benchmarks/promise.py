"""Whether `groundrail calibrate --confidence` keeps its promise, over many draws of the calibration labels.

    python benchmarks/promise.py benchmarks/claims/written_dev.jsonl benchmarks/claims/real_dev.jsonl \\
        benchmarks/challenge/challenge.jsonl DATA/true/q2.csv DATA/real/attributionbench_dev.jsonl

The default scorer scores up to `--limit` claims of each file, whole and once. Then each file's scores are taken in two ways:

- The file is the world. Calibration labels are drawn from it with replacement, so that the true rate of false releases
  at the threshold is known exactly: it is the rate over the file. This is the count that can be held against the promise.
- The file is cut into halves at random. One half calibrates, the other measures. The rate there is itself an estimate from few
  claims, and the wrong claims with high scores that one half lacks are in the other, so that a threshold that keeps the promise
  can still look as if it did not.

A threshold keeps its word where its rate of false releases is at most what was asked for. Where the labels are too few, or no
threshold does, nothing is released: these draws count as kept and are shown as refused. The last row is a control
without files: wrong claims have scores of a Beta(2, 5) distribution, true ones of Beta(5, 2), and the true rate is a formula.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from groundrail.errors import InputError
from groundrail.evaluation.loaders import load
from groundrail.evaluation.metrics import Bools, Floats
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.sampling import sample
from groundrail.evaluation.thresholds import choose_threshold
from groundrail.scoring.scale import ScaleScorer

DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"

Labelled = tuple[Bools, Floats]
"""Which claims are supported, and their scores."""

Draw = tuple[Labelled, Callable[[float], float], Callable[[float], float]]
"""Calibration labels; the rates of false releases and of released true claims at a threshold, where they are measured."""

Draws = Callable[[], Iterator[Draw]]


def rates(measured: Labelled) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """The rates of false releases and of released true claims among these claims, as functions of the threshold."""
    supported, scores = measured
    return (
        lambda threshold: float(np.mean(scores[~supported] >= threshold)),
        lambda threshold: float(np.mean(scores[supported] >= threshold)),
    )


def from_world(world: Labelled, count: int, seed: int) -> Iterator[Draw]:
    """Calibration labels drawn from the file with replacement, as many as it has, measured on the whole file."""
    random, (supported, scores) = np.random.default_rng(seed), world
    for _ in range(count):
        drawn = random.integers(supported.size, size=supported.size)
        yield (supported[drawn], scores[drawn]), *rates(world)


def from_halves(world: Labelled, count: int, seed: int) -> Iterator[Draw]:
    """One half of the file calibrates, the other measures."""
    random, (supported, scores) = np.random.default_rng(seed), world
    for _ in range(count):
        first, second = np.array_split(random.permutation(supported.size), 2)
        yield (supported[first], scores[first]), *rates((supported[second], scores[second]))


def from_formula(size: int, count: int, seed: int) -> Iterator[Draw]:
    """Calibration labels of a known distribution, half of them supported on average."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        supported: NDArray[np.bool_] = random.random(size) < 0.5
        scores = np.where(supported, random.beta(5, 2, size), random.beta(2, 5, size))
        yield (supported, scores), lambda t: float(beta.sf(t, 2, 5)), lambda t: float(beta.sf(t, 5, 2))


def outcome(draws: Iterator[Draw], target: float, guarantee: float | None) -> tuple[float, int, float, float]:
    """The share of draws that keep the target, the number refused, and over the rest the mean of both rates."""
    kept, false_releases, releases = [], [], []
    for (supported, scores), false_release, release in draws:
        try:
            threshold = choose_threshold(supported, scores, false_release=target, guarantee=guarantee).value
        except InputError:
            kept.append(True)
            continue
        kept.append(false_release(threshold) <= target + 1e-9)
        false_releases.append(false_release(threshold))
        releases.append(release(threshold))
    let_out, passed = (float(np.mean(rates)) if rates else float("nan") for rates in (false_releases, releases))
    return float(np.mean(kept)), len(kept) - len(releases), let_out, passed


def scored(path: Path, limit: int, seed: int) -> Labelled:
    """Labels and scores of a file's claims by the default scorer."""
    labelled = [example for example in load(path, documents=DOCUMENTS) if example.label is not None]
    chosen = sample(labelled, limit, seed)
    examples = [example for example in chosen if example.claim.strip()]
    results = evaluate(ScaleScorer(), examples, units="whole")
    pairs = [(e.label == 1, r.value) for e, r in zip(examples, results, strict=True) if r.value is not None]
    return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs], dtype=np.float64)


def table(title: str, rows: dict[str, Draws], targets: list[float], guarantee: float) -> None:
    """Print for each row and target how often the plain threshold and the promised one keep their word."""
    print(f"\n{title}\n")
    print("| set | false releases asked | plain: kept | let out, passed | promised: kept | let out, passed | refused |")
    print("| --- " * 7 + "|")
    for name, draws in rows.items():
        for target in targets:
            cells = []
            for asked in (None, guarantee):
                kept, refused, let_out, passed = outcome(draws(), target, asked)
                cells += [f"{kept:.1%}", "–" if np.isnan(let_out) else f"{let_out:.1%}, {passed:.1%}"]
            print(f"| {name} | {target:.0%} | {' | '.join(cells)} | {refused} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="*")
    parser.add_argument("--limit", type=int, default=250, help="claims scored of each file")
    parser.add_argument("--false-release", type=float, nargs="+", default=[0.05, 0.1])
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    worlds: dict[str, Labelled] = {}
    for path in options.data:
        world = scored(path, options.limit, options.seed)
        worlds[f"{path.stem} ({world[0].size}, {(~world[0]).sum()} wrong)"] = world
    of_file = (options.resamples, options.seed)
    known: dict[str, Draws] = {name: partial(from_world, world, *of_file) for name, world in worlds.items()}
    known["control (250)"] = partial(from_formula, 250, *of_file)
    table("True rate known:", known, options.false_release, options.confidence)
    halves: dict[str, Draws] = {name: partial(from_halves, world, *of_file) for name, world in worlds.items()}
    table("Halves:", halves, options.false_release, options.confidence)


if __name__ == "__main__":
    main()
