"""The built-in judge in float32, in int8 and in bfloat16: ROC-AUC, how far scores move, the time of a decision.

    python benchmarks/int8.py --data benchmarks/claims/written_dev.jsonl --limit 200

A decision is `decide` of the guard's default scorer, for a sentence over the three documents of examples/documents (6,000
words) that are read already; the ways take turns, medians. bfloat16 is slow on processors that do not have it.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import torch

from groundrail.entailment import load as load_entailment
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.metrics import roc_auc
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.sampling import sample
from groundrail.scoring.nearest import NearestScorer

ROOT = Path(__file__).parents[1]
WAYS = ("float32", "int8", "bfloat16")
CLAIMS = (
    "The lease ends on 28 February 2026.",
    "The tenant may keep two large dogs in the flat.",
    "The machine must be descaled before it is used for the first time.",
    "The library reopens on the first of November.",
    "The council approved the budget without a vote against it.",
    "A late payment costs the tenant a fee.",
)


def scores(scorer: NearestScorer, examples: list[Example]) -> list[float]:
    results = evaluate(scorer, examples, units="whole")
    failed = [result.error for result in results if result.value is None]
    if failed:
        raise SystemExit(f"{len(failed)} claims could not be scored, the first because: {failed[0]}")
    return [float(result.value) for result in results if result.value is not None]


def decision_seconds(scorers: dict[str, NearestScorer], repeats: int) -> dict[str, float]:
    source = [(ROOT / "examples" / "documents" / f"{name}.txt").read_text() for name in ("lease", "manual", "meeting")]
    readers = {name: scorer.read(source) for name, scorer in scorers.items()}
    seconds: dict[str, list[float]] = {name: [] for name in scorers}
    for repeat in range(repeats + 1):
        for claim in CLAIMS:
            for name, reader in readers.items():
                started = time.perf_counter()
                reader.score([claim], scorers[name].metadata.threshold)
                if repeat:  # the first round warms up
                    seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "benchmarks" / "claims" / "written_dev.jsonl")
    parser.add_argument("--limit", type=int, help="claims, drawn at random")
    parser.add_argument("--repeats", type=int, default=7, help="rounds over six sentences for the time of a decision")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    scorers = {name: NearestScorer(load_entailment(None, device="cpu", dtype=name)) for name in WAYS}
    examples = sample(load(options.data), options.limit, 0)
    labels = [float(example.label or 0) for example in examples]
    found = {name: np.array(scores(scorer, examples)) for name, scorer in scorers.items()}
    seconds = decision_seconds(scorers, options.repeats)
    print(f"torch {torch.__version__}, {options.threads} thread(s), {len(examples)} claims\n")
    print(
        "| judge | ROC-AUC x 100 | largest change of a score | mean change | verdicts that change | a decision, s | "
        "times float32's speed |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    base, limit = found["float32"], scorers["float32"].metadata.threshold
    for name, values in found.items():
        apart = np.abs(values - base)
        changed = int(((values >= limit) != (base >= limit)).sum())
        speed = seconds["float32"] / seconds[name]
        print(
            f"| {name} | {100 * roc_auc(labels, list(values)):.1f} | {apart.max():.3f} | {apart.mean():.4f} | {changed} | "
            f"{seconds[name]:.3f} | {speed:.2f} |"
        )


if __name__ == "__main__":
    main()
