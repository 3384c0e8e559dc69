"""What other thresholds would do, and bands of doubt: both error rates of the default scorer, the share of claims in a band.

    python benchmarks/rates.py benchmarks/claims/written_dev.jsonl benchmarks/claims/real_dev.jsonl

Thresholds are chosen on the first file, the lowest that lets out no more wrong claims than the row says; the others are
judged by them. Claims are judged whole, each once. A band reaches from one rate's threshold to another's; what is in it
goes to a second scorer (`Policy(doubt=...)`).
"""

import argparse
from pathlib import Path

import numpy as np

from groundrail.evaluation.loaders import load
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.thresholds import choose_threshold
from groundrail.scoring.nearest import NearestScorer

DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"
RATES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
BANDS = ((0.2, 0.1), (0.25, 0.1), (0.3, 0.05))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    options = parser.parse_args()
    scorer = NearestScorer()
    sets = {}
    for path in options.data:
        examples = [example for example in load(path, documents=DOCUMENTS) if example.label is not None]
        values = [result.value for result in evaluate(scorer, examples, units="whole")]
        sets[path.stem] = np.array([bool(e.label) for e in examples]), np.array([value or 0.0 for value in values])
    chosen_on = next(iter(sets))
    print(f"| let out at most, {chosen_on} | threshold | {' | '.join(f'caught, passed, {name}' for name in sets)} |")
    print("| --- " * (len(sets) + 2) + "|")
    thresholds = {rate: choose_threshold(*sets[chosen_on], false_release=rate).value for rate in RATES}
    for rate, threshold in thresholds.items():
        cells = [
            f"{np.mean(values[~supported] < threshold):.0%}, {np.mean(values[supported] >= threshold):.0%}"
            for supported, values in sets.values()
        ]
        print(f"| {rate:.0%} | {threshold:.3f} | {' | '.join(cells)} |")
    print(f"\n| doubt | {' | '.join(f'claims, errors in it, {name}' for name in sets)} |")
    print("| --- " * (len(sets) + 1) + "|")
    for low, high in ((thresholds[lower], thresholds[upper]) for lower, upper in BANDS):
        cells = []
        for supported, scores in sets.values():
            doubted = (scores >= low) & (scores <= high)
            wrong = supported != (scores >= scorer.facts.threshold)
            cells.append(f"{np.mean(doubted):.0%}, {np.mean(doubted[wrong]):.0%}")
        print(f"| {low:.3f} to {high:.3f} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
