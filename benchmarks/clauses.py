"""Whether the minimum over a claim and its clauses judges better than the claim alone, where a claim can be cut.

    python benchmarks/clauses.py benchmarks/claims/written_dev.jsonl benchmarks/claims/real_dev.jsonl

Only claims with more than one clause are asked, whole: by the default scorer, and by `WeakestPartScorer` around it.
"""

import argparse
from pathlib import Path

import numpy as np

from groundrail.entailment import load as load_entailment
from groundrail.evaluation.counting import CountingEntailment
from groundrail.evaluation.loaders import load
from groundrail.evaluation.metrics import roc_auc
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.units import SubSentenceUnits
from groundrail.papers.units.weakest import WeakestPartScorer
from groundrail.scoring.nearest import NearestScorer

DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    options = parser.parse_args()
    counter = CountingEntailment(load_entailment())
    whole = NearestScorer(counter)
    units = SubSentenceUnits()
    print("| set | claims that can be cut | judged by | ROC-AUC x 100 | wrong ones caught | true ones passed | pairs |")
    print("| --- " * 7 + "|")
    for path in options.data:
        labelled = [example for example in load(path, documents=DOCUMENTS) if example.label is not None]
        cut = [example for example in labelled if len(units.split(example.claim)) > 1]
        supported = np.array([bool(example.label) for example in cut])
        for name, scorer in (("the whole", whole), ("the weakest part", WeakestPartScorer(whole, units))):
            results = evaluate(scorer, cut, units="whole", counter=counter)
            values = np.array([result.value or 0.0 for result in results])
            released = values >= whole.facts.threshold
            print(
                f"| {path.stem} | {len(cut)} of {len(labelled)} | {name} | {100 * roc_auc(supported, values):.1f} "
                f"| {np.sum(~released & ~supported)} of {np.sum(~supported)} "
                f"| {np.sum(released & supported)} of {np.sum(supported)} "
                f"| {sum(result.pairs for result in results) / len(cut):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
