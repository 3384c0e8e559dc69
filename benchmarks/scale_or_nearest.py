"""Chunked SCALE, the default, beside the nearest sentences, around one judge.

    python benchmarks/scale_or_nearest.py --data DATA
    python benchmarks/scale_or_nearest.py --data DATA --limit 80
    python benchmarks/scale_or_nearest.py --time

Prints for each set ROC-AUC x 100, the share of marked claims whose first citation is right, and the pairs and tokens
that the judge reads for a claim, and the means over the sets. The rule, fixed beforehand: SCALE's mean ROC-AUC is at most
0.7 points below, its share of right first citations at most 2 points. DATA is a folder with `wice/claim_dev.jsonl` and
`long/evidence_inference_dev.jsonl`; without it only the sets of this repository are read. The judge answers each pair once.

`--time` prints the seconds of one decision by either scorer over 6,000 and 600 words instead, both in turn with a judge
that remembers nothing, for claims that the source supports and claims that it does not. The rule: SCALE takes at most
1.8 and 1.3 times as long.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from premises import DOCUMENTS, Once, judge

from groundrail.entailment import load as load_entailment
from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped
from groundrail.entailment.respelled import Respelled
from groundrail.evaluation.evidence import hit
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.metrics import roc_auc
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.sampling import sample
from groundrail.scoring.base import Scorer
from groundrail.scoring.nearest import NearestScorer
from groundrail.scoring.scale import ScaleScorer

HERE = Path(__file__).parent
SETS = {
    "written_dev": (HERE / "claims" / "written_dev.jsonl", "whole"),
    "real_dev": (HERE / "claims" / "real_dev.jsonl", "whole"),
    "challenge": (HERE / "challenge" / "challenge.jsonl", "whole"),
    "frames_dev": (HERE / "claims" / "frames_dev.jsonl", "whole"),
    "tables": (HERE / "tables" / "tables.jsonl", "whole"),
    "WiCE": (Path("wice") / "claim_dev.jsonl", "sentences"),
    "Evidence Inference": (Path("long") / "evidence_inference_dev.jsonl", "whole"),
}
"""File of each set, in DATA unless it is in this repository, and the units into which a claim is cut."""
LONGEST = {6000: 1.8, 600: 1.3}
"""By words of the source: how many times as long SCALE may take."""


class Tokens(Wrapped):
    """Counts the pairs and the tokens that a model is asked about."""

    def __init__(self, model: Once) -> None:
        super().__init__(model)
        self.pairs = self.tokens = 0

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        self.pairs += len(pairs)
        self.tokens += sum(len(self.offsets(text)) for pair in pairs for text in pair)
        return self.model.classify(pairs)


def scorers(model: EntailmentModel) -> dict[str, Scorer]:
    """The default first."""
    return {"SCALE": ScaleScorer(model), "nearest": NearestScorer(model)}


def measured(
    once: Once, name: str, examples: Sequence[Example], units: str
) -> tuple[float, float | None, float, float]:
    """ROC-AUC x 100, first citations that are right (%), pairs and tokens for a claim."""
    counter = Tokens(once)
    results = evaluate(scorers(Respelled(counter))[name], examples, units=units)
    auc = 100 * roc_auc([float(e.label or 0) for e in examples], [float(r.value or 0) for r in results])
    marked = [hit(r.citations, e.evidence) for e, r in zip(examples, results, strict=True) if e.evidence]
    right = 100 * statistics.fmean(marked) if marked else None
    return auc, right, counter.pairs / len(examples), counter.tokens / len(examples)


def compare(data: Path | None, folder: str | None, limit: int | None) -> None:
    """Print the table of all sets."""
    once = judge(folder)
    print("| set | claims | ROC-AUC | | right first citations, % | | pairs a claim | | tokens a claim | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    print(f"| | | {' | '.join(['SCALE', 'nearest'] * 4)} |")
    found = []
    for name, (path, units) in SETS.items():
        if not path.is_absolute():
            if data is None:
                continue
            path = data / path
        examples = sample(load(path, documents=DOCUMENTS), limit, 0)
        examples = [example for example in examples if example.label is not None and example.claim.strip()]
        both = [measured(once, scorer, examples, units) for scorer in ("SCALE", "nearest")]
        found.append(both)
        print(f"| {name} | {len(examples)} | {_cells(both)} |", flush=True)
    means = [[_mean([both[n][column] for both in found]) for column in range(4)] for n in range(2)]
    print(f"| mean | | {_cells(means)} |")


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _cells(both: Sequence[Sequence[float | None]]) -> str:
    columns = [[row[column] for row in both] for column in range(4)]
    return " | ".join("-" if value is None else f"{value:.1f}" for column in columns for value in column)


def source_of(words: int) -> list[str]:
    """Sentences of 17 words that differ in their figures."""
    return [
        f"House {number} has {number % 9 + 2} rooms, {number % 5 + 1} of them to the street, and a rent of "
        f"{700 + 7 * number} euros."
        for number in range(words // 17)
    ]


def seconds(model: EntailmentModel, words: int, repeats: int) -> dict[str, dict[bool, float]]:
    """Median seconds of a decision by scorer and by whether the source supports the claim; it is read beforehand."""
    sentences = source_of(words)
    claims = {sentence.replace(" rooms", " fine rooms"): True for sentence in sentences[:: max(1, len(sentences) // 5)]}
    claims |= {
        "Dogs are not allowed in any house.": False,
        "House 7 has 40 rooms and a garden.": False,
        "All the houses were sold in May.": False,
    }
    taken: dict[str, dict[bool, list[float]]] = {name: {True: [], False: []} for name in scorers(model)}
    for repeat in range(repeats + 1):
        for claim, supported in claims.items():
            for name, scorer in scorers(model).items():
                reader, limit = scorer.read(" ".join(sentences)), scorer.facts.threshold
                started = time.perf_counter()
                reader.score([claim], limit)
                if repeat:  # the first round warms up
                    taken[name][supported].append(time.perf_counter() - started)
    return {name: {each: statistics.median(values) for each, values in of.items()} for name, of in taken.items()}


def times(repeats: int) -> None:
    """Print the table of times."""
    model = load_entailment()
    print("| words | claims | SCALE, s | nearest, s | ratio | at most |\n| --- | --- | --- | --- | --- | --- |")
    for words, longest in LONGEST.items():
        found = seconds(model, words, repeats)
        for supported, told in ((True, "supported"), (False, "not supported")):
            scale, nearest = (found[name][supported] for name in ("SCALE", "nearest"))
            print(f"| {words} | {told} | {scale:.3f} | {nearest:.3f} | {scale / nearest:.2f} | {longest} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the sets that are not in this repository")
    parser.add_argument("--limit", type=int, help="claims of a set at most")
    parser.add_argument("--judge", metavar="FOLDER", help="a three-class model (the built-in judge)")
    parser.add_argument("--time", action="store_true", help="seconds of a decision instead")
    parser.add_argument("--repeats", type=int, default=3, help="rounds over all claims for the time")
    options = parser.parse_args()
    if options.time:
        times(options.repeats)
    else:
        compare(options.data, options.judge, options.limit)


if __name__ == "__main__":
    main()
