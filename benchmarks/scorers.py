"""Every scorer around one judge on every data set: ROC-AUC, calibration error, cost.

    python benchmarks/scorers.py --data ../shared/data/eval/true/*.csv --out runs/scorers

Claims are split into sentences, their scores averaged; `--units whole` scores a text as one claim, as SCALE's table 3
does, and `--bins 15 --stretch` takes the calibration error of its table 4. With `--out` a second run continues the first.
`gain` reads with SmolLM2 and not with the judge; its numbers are no probabilities, so it has no ECE. `q2-span-head` is
Q² whose answers are found by the head on the judge's encoder, in place of word overlap.
"""

import argparse
import statistics
from pathlib import Path

from groundrail.entailment import load as load_entailment
from groundrail.evaluation.counting import CountingEntailment
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.sampling import sample
from groundrail.evaluation.summary import Summary, summarise
from groundrail.evaluation.units import unit_names
from groundrail.papers.q2.q2 import Q2Scorer
from groundrail.papers.q2.span_head import SpanHeadAnswerer
from groundrail.scoring.base import Scorer
from groundrail.scoring.registry import load_scorer, needs_entailment, scorers

SPAN_HEAD = "q2-span-head"


def measured(name: str, examples: list[Example], args: argparse.Namespace) -> list[Summary]:
    needed = name == SPAN_HEAD or needs_entailment(name)
    counter = CountingEntailment(load_entailment(args.entailment)) if needed else None
    scorer: Scorer
    if name == "gain":
        from groundrail.generators.smollm2 import smollm2

        model, tokenizer = smollm2()
        scorer = load_scorer(name, model=model, tokenizer=tokenizer)
    elif name == SPAN_HEAD:
        scorer = Q2Scorer(counter, answerer=SpanHeadAnswerer.builtin())
    else:
        scorer = load_scorer(name, counter)
    results = evaluate(
        scorer,
        examples,
        results=None if args.out is None else args.out / f"{name}.jsonl",
        settings={"scorer": name, "entailment": args.entailment},
        units=args.units,
        counter=counter,
    )
    return summarise(examples, results, threshold=scorer.facts.threshold, bins=args.bins, stretch=args.stretch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--scorers", nargs="+", choices=(*scorers(), SPAN_HEAD), default=(*scorers(), SPAN_HEAD))
    parser.add_argument("--entailment", help="model id or folder; the built-in judge")
    parser.add_argument("--units", choices=unit_names(), default="sentences", help="what a claim is cut into")
    parser.add_argument("--bins", type=int, default=10, help="bins of the calibration error")
    parser.add_argument("--stretch", action="store_true", help="stretch scores to go from 0 to 1 before that")
    parser.add_argument("--documents", type=Path, help="folder of a challenge file's documents")
    parser.add_argument("--limit", type=int, help="claims of each set at most, drawn by a fixed seed")
    parser.add_argument("--out", type=Path, help="folder to keep results in")
    args = parser.parse_args()
    examples: list[Example] = []
    for path in args.data:
        loaded = load(path, documents=args.documents)
        for name in dict.fromkeys(example.dataset for example in loaded):
            examples += sample([e for e in loaded if e.dataset == name], args.limit, seed=0)
    sets = list(dict.fromkeys(example.dataset for example in examples))
    print(", ".join(f"{name}: {sum(e.dataset == name for e in examples)} claims" for name in sets) + "\n")
    print(f"| scorer | {' | '.join(sets)} | mean AUC | ECE | calls | pairs | seconds |")
    print("| --- |" + " --- |" * (len(sets) + 5))
    for name in args.scorers:
        rows = measured(name, examples, args)
        aucs = [100 * row.auc.value if row.auc else float("nan") for row in rows]
        eces = [row.ece.value for row in rows if row.ece and name != "gain"]
        cells = [
            *(f"{auc:.1f}" for auc in aucs),
            f"{statistics.mean(aucs):.1f}",
            f"{statistics.mean(eces):.3f}" if eces else "",
            f"{statistics.mean(row.calls or 0.0 for row in rows):.2f}",
            f"{statistics.mean(row.pairs or 0.0 for row in rows):.1f}",
            f"{statistics.mean(row.seconds or 0.0 for row in rows):.3f}",
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
