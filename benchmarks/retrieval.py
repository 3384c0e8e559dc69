"""SCALE's table 7: how often the sentence found is a marked one, and the seconds it takes apart from scoring.

    python benchmarks/retrieval.py DATA/wice/claim_dev.jsonl --limit 30
    python benchmarks/retrieval.py screen_eval.json --format screeneval-utterances --leaves lines \\
        --entailment google/flan-t5-large

Unsupported claims are left out, as by the authors; a supported one without a marked sentence is a miss. One sentence is
cited, from both starts of the search. Seconds are a claim; retrieval is the time with the search
less the time without.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groundrail.entailment import load as load_entailment
from groundrail.evaluation import evidence
from groundrail.evaluation.counting import CountingEntailment
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import FORMATS, load
from groundrail.evaluation.sampling import sample
from groundrail.papers.scale.scorer import PaperScaleScorer

ROWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("no search", {"search": None}),
    ("whole document", {"search": "document"}),
    ("best chunk", {"search": "chunk"}),
)


def measured(scorer: PaperScaleScorer, examples: Sequence[Example]) -> tuple[float, float]:
    """Share of claims whose first citation touches the evidence, and seconds a claim."""
    started, hits = time.perf_counter(), 0
    for example in examples:
        (score,) = scorer.score([example.claim], example.source)
        hits += evidence.hit(score.citations, example.evidence or ())
    return hits / len(examples), (time.perf_counter() - started) / len(examples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--entailment", help="model id or folder; the built-in judge")
    parser.add_argument("--format", choices=tuple(FORMATS), help="file format (guessed from the content)")
    parser.add_argument("--leaves", choices=("sentences", "lines"), default="sentences", help="where the tree ends")
    parser.add_argument("--limit", type=int, help="claims at most, drawn by a fixed seed")
    args = parser.parse_args()
    model = CountingEntailment(load_entailment(args.entailment))
    drawn = sample(load(args.data, args.format), args.limit, seed=0)
    examples = [example for example in drawn if example.label]
    if not any(example.evidence for example in examples):
        raise SystemExit(f"{args.data} marks no evidence of a supported claim; --format names how it is read")
    marked = sum(example.evidence is not None for example in examples)
    print(f"{len(examples)} supported claims of {len(drawn)}, {marked} with marked evidence\n")
    print("| search | recall | pairs | seconds | of these, retrieval |")
    print("| --- | --- | --- | --- | --- |")
    alone = 0.0
    for name, settings in ROWS:
        before = model.pairs
        recall, seconds = measured(PaperScaleScorer(model, leaves=args.leaves, **settings), examples)
        alone = seconds if settings["search"] is None else alone
        pairs = (model.pairs - before) / len(examples)
        cells = ("", f"{pairs:.1f}", f"{seconds:.2f}", "") if settings["search"] is None else (
            f"{recall:.3f}", f"{pairs:.1f}", f"{seconds:.2f}", f"{seconds - alone:.2f}")  # fmt: skip
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
