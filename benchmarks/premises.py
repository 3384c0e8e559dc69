"""Compare the premises and the rules of the nearest sentences: ROC-AUC x 100 by set.

    python benchmarks/premises.py benchmarks/claims/*_dev.jsonl --units whole
    python benchmarks/premises.py DATA/true/*.csv --limit 80

A premise is judged once and remembered, so that every row of the table costs only what it reads more than those before.
`--limit` draws the same claims every time. With `--judge FOLDER` another three-class model is asked.
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from groundrail.entailment import CrossEncoderEntailment
from groundrail.entailment import load as load_entailment
from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped
from groundrail.entailment.respelled import Respelled
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.metrics import roc_auc
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.sampling import sample
from groundrail.scoring.nearest import NearestScorer

DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"
READ = {
    "three nearest sentences": (3, 0),
    "the nearest one, and a window of 150 tokens": (1, 150),
    "three, and a window of 150": (3, 150),
    "five, and a window of 150": (5, 150),
    "three, and a window of 250": (3, 250),
    "five, and a window of 250 (the default)": (5, 250),
}
"""By name: how many sentences alone, and tokens of the window."""
RULES = {
    "none": (False, 0.0),
    "other spellings are read alike": (True, 0.0),
    "and rivals weigh 0.5": (True, 0.5),
    "and rivals weigh 1 (the default)": (True, 1.0),
    "and rivals weigh 2": (True, 2.0),
}
"""By name: whether a claim is read in the premise's spelling, and what its rivals weigh."""


class Once(Wrapped):
    """Asks another model about every pair once."""

    def __init__(self, model: EntailmentModel) -> None:
        super().__init__(model)
        self._known: dict[Pair, FloatArray] = {}

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            self._known |= zip(new, self.model.classify(new), strict=True)
        return np.array([self._known[pair] for pair in pairs]).reshape(-1, 3)


def judge(folder: str | None) -> Once:
    """The model inside the built-in judge, or another, without what `Respelled` adds."""
    if folder is not None:
        return Once(CrossEncoderEntailment.from_pretrained(folder))
    builtin = load_entailment(None)
    if not isinstance(builtin, Respelled):
        raise SystemExit("the built-in judge does not read claims in the premise's spelling")
    return Once(builtin.model)


def auc(scorer: NearestScorer, examples: Sequence[Example], units: str) -> float:
    """ROC-AUC x 100 of the claims that are labelled."""
    values = [result.value for result in evaluate(scorer, examples, units=units)]
    return 100 * roc_auc([float(example.label or 0) for example in examples], [float(value or 0) for value in values])


def alone(model: Once, examples: Sequence[Example]) -> float:
    """The same where the claim stands beside no text: above 50 is what the wording gives away."""
    values = model.entailment([("", example.claim) for example in examples])
    return 100 * roc_auc([float(example.label or 0) for example in examples], values.tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--units", default="sentences", help="what a claim is cut into: whole, sentences")
    parser.add_argument("--limit", type=int, help="claims of a set at most")
    parser.add_argument("--judge", metavar="FOLDER")
    options = parser.parse_args()
    model = judge(options.judge)
    sets = {path.stem: sample(load(path, documents=DOCUMENTS), options.limit, 0) for path in options.data}
    sets = {name: [e for e in examples if e.label is not None and e.claim.strip()] for name, examples in sets.items()}
    counts = [f"{name} ({len(examples)})" for name, examples in sets.items()]
    print(f"| read | rules | {' | '.join(counts)} | mean |\n{'| --- ' * (len(sets) + 3)}|")
    *_, default_read = READ
    default_rule = "and rivals weigh 1 (the default)"
    for name, rule in [(default_read, rule) for rule in RULES] + [(name, default_rule) for name in READ]:
        (k, window), (spelled, weight) = READ[name], RULES[rule]
        scorer = NearestScorer(Respelled(model) if spelled else model, k=k, window=window, rivals=weight)
        found = [auc(scorer, examples, options.units) for examples in sets.values()]
        cells = " | ".join(f"{value:.1f}" for value in (*found, statistics.mean(found)))
        print(f"| {name} | {rule} | {cells} |", flush=True)
    found = [alone(model, examples) for examples in sets.values()]
    print(
        f"| nothing: the claim alone |  | {' | '.join(f'{value:.1f}' for value in (*found, statistics.mean(found)))} |"
    )


if __name__ == "__main__":
    main()
