"""SCALE with its last leaf beside the nearest sentences, around one judge: which of them should be the default.

    python benchmarks/scale_or_nearest.py benchmarks/claims/*_dev.jsonl --units whole
    python benchmarks/scale_or_nearest.py DATA/true/*.csv --limit 80
    python benchmarks/scale_or_nearest.py --time

A cell is ROC-AUC x 100, then the share of marked claims whose first citation is right, then the pairs that the judge
reads per claim. The judge answers each pair once and remembers it, so that a row costs only the pairs that no row before
it asked. `--time` measures one decision over a source of 6,000 words instead: every scorer in turn, with a judge that
remembers nothing, as a ratio of medians to the nearest sentences.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from premises import DOCUMENTS, judge

from groundrail.entailment import load as load_entailment
from groundrail.entailment.base import EntailmentModel
from groundrail.entailment.respelled import Respelled
from groundrail.evaluation.counting import CountingEntailment
from groundrail.evaluation.evidence import hit
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.metrics import roc_auc
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.sampling import sample
from groundrail.scoring.base import Scorer
from groundrail.scoring.nearest import NearestScorer
from groundrail.scoring.scale import ScaleScorer

WORDS = 6000


def scorers(model: EntailmentModel) -> dict[str, Scorer]:
    """The scorers to compare, by name; SCALE first, the paper's own last."""
    return {
        "SCALE and its last leaf, 2 chunks": ScaleScorer(model, chunk_tokens=160, leaf=True, max_chunks=2),
        "SCALE and its last leaf, 4 chunks": ScaleScorer(model, chunk_tokens=160, leaf=True, max_chunks=4),
        "SCALE and its last leaf, chunks of 400 tokens": ScaleScorer(model, chunk_tokens=400, leaf=True, max_chunks=2),
        "the nearest sentences": NearestScorer(model),
        "SCALE (the paper's maximum)": ScaleScorer(model, chunk_tokens=160),
    }


def cell(model: EntailmentModel, name: str, examples: Sequence[Example], units: str) -> str:
    """ROC-AUC x 100, first citation right, pairs a claim."""
    counter = CountingEntailment(model)
    results = evaluate(scorers(counter)[name], examples, units=units, counter=counter)
    auc = 100 * roc_auc([float(e.label or 0) for e in examples], [float(r.value or 0) for r in results])
    marked = [hit(r.citations, e.evidence) for e, r in zip(examples, results, strict=True) if e.evidence]
    right = f"{statistics.fmean(marked):.2f}" if marked else "-"
    return f"{auc:.1f}, {right}, {counter.pairs / len(examples):.1f}"


def seconds(model: EntailmentModel, repeats: int) -> dict[str, list[float]]:
    """Seconds of one decision by scorer, every scorer in turn; the source is read before the clock starts."""
    sentences = [
        f"House {number} has {number % 9 + 2} rooms, {number % 5 + 1} of them to the street, and a rent of "
        f"{700 + 7 * number} euros."
        for number in range(WORDS // 17)
    ]
    claims = [sentences[number].replace(" rooms", " fine rooms") for number in range(20, 300, 40)]
    claims += ["Dogs are not allowed in any house.", "House 77 has 40 rooms and a garden."]
    timed = dict(
        list(scorers(model).items())[:-1]
    )  # the paper's SCALE reads every chunk for a claim that nothing supports
    taken: dict[str, list[float]] = {name: [] for name in timed}
    for claim in claims[:1] + claims * repeats:
        for name, scorer in timed.items():
            reader = scorer.read(" ".join(sentences))
            reader.score(["Nothing is known."], scorer.facts.threshold)  # indexes are built once
            started = time.perf_counter()
            reader.score([claim], scorer.facts.threshold)
            taken[name].append(time.perf_counter() - started)
    return {name: values[1:] for name, values in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="*")
    parser.add_argument("--units", default="sentences", help="what a claim is cut into: whole, sentences")
    parser.add_argument("--limit", type=int, help="claims of a set at most")
    parser.add_argument("--judge", metavar="FOLDER", help="a three-class model (the built-in judge)")
    parser.add_argument("--time", action="store_true", help="seconds of a decision instead")
    parser.add_argument("--repeats", type=int, default=3, help="rounds over nine claims for the time")
    options = parser.parse_args()
    if options.time:
        taken = {
            name: statistics.median(values) for name, values in seconds(load_entailment(), options.repeats).items()
        }
        print("| scorer | a decision over 6,000 words, s | times the nearest sentences' |\n| --- | --- | --- |")
        for name, median in taken.items():
            print(f"| {name} | {median:.3f} | {median / taken['the nearest sentences']:.2f} |")
        return
    model = Respelled(judge(options.judge))
    sets = {path.stem: sample(load(path, documents=DOCUMENTS), options.limit, 0) for path in options.data}
    sets = {name: [e for e in examples if e.label is not None and e.claim.strip()] for name, examples in sets.items()}
    print(f"| scorer | {' | '.join(f'{name} ({len(examples)})' for name, examples in sets.items())} |")
    print("| --- " * (len(sets) + 1) + "|")
    for name in scorers(model):
        cells = [cell(model, name, examples, options.units) for examples in sets.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
