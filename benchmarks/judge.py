"""The built-in judge on the development sets: ROC-AUC beside token overlap, the challenge set, speed.

    python benchmarks/judge.py --data ../shared/data/eval

SCALE around the judge, claims split into sentences, mean over them. `--entailment` takes another model.
"""

import argparse
import statistics
import time
from pathlib import Path

from groundrail.entailment import load as load_entailment
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.metrics import roc_auc
from groundrail.evaluation.run import evaluate
from groundrail.papers.overlap import OverlapScorer
from groundrail.scoring.base import Scorer
from groundrail.scoring.scale import ScaleScorer

CHALLENGE = Path(__file__).parent / "challenge" / "challenge.jsonl"
DOCUMENTS = Path(__file__).parent.parent / "examples" / "documents"


def values(scorer: Scorer, examples: list[Example]) -> list[float]:
    results = evaluate(scorer, examples)
    failed = [result.error for result in results if result.value is None]
    if failed:
        raise SystemExit(f"{len(failed)} claims could not be scored, the first because: {failed[0]}")
    return [float(result.value) for result in results if result.value is not None]


def true_sets(scorer: Scorer, folder: Path, rows: int | None) -> None:
    baselines: dict[str, Scorer] = {
        "overlap (precision)": OverlapScorer(),
        "overlap (token F1)": OverlapScorer("f1"),
    }
    print("\n| ROC-AUC x 100 | rows | judge | " + " | ".join(baselines) + " |")
    print("| --- | --- | --- | " + " | ".join("---" for _ in baselines) + " |")
    columns: list[list[float]] = []
    for path in sorted(folder.glob("*.csv")):
        examples = load(path)[:rows]
        labels = [float(example.label or 0) for example in examples]
        aucs = [100 * roc_auc(labels, values(each, examples)) for each in (scorer, *baselines.values())]
        columns.append(aucs)
        print(f"| {path.stem} | {len(examples)} | " + " | ".join(f"{auc:.1f}" for auc in aucs) + " |", flush=True)
    means = [statistics.mean(column) for column in zip(*columns, strict=True)]
    print("| mean | | " + " | ".join(f"{mean:.1f}" for mean in means) + " |")


def challenge(scorer: Scorer, split: str | None) -> None:
    examples = [e for e in load(CHALLENGE, documents=DOCUMENTS) if split is None or e.dataset.endswith(split)]
    scores = values(scorer, examples)
    threshold = scorer.metadata.threshold
    wrong = [score for example, score in zip(examples, scores, strict=True) if not example.label]
    right = [score for example, score in zip(examples, scores, strict=True) if example.label]
    caught = sum(score < threshold for score in wrong)
    passed = sum(score >= threshold for score in right)
    auc = roc_auc([float(e.label or 0) for e in examples], scores)
    print(f"\nChallenge set ({split or 'all'}), threshold {threshold:.3f}: ROC-AUC {100 * auc:.1f}")
    print(f"wrong claims caught: {caught} of {len(wrong)} ({100 * caught / len(wrong):.1f} %)")
    print(f"true claims passed: {passed} of {len(right)} ({100 * passed / len(right):.1f} %)")


def speed(scorer: ScaleScorer, repeats: int) -> None:
    text = (DOCUMENTS / "meeting.txt").read_text(encoding="utf-8")
    spans = scorer.entailment.offsets(text)
    claim = "The library reopens on the first of November."
    room = scorer.entailment.max_tokens - len(scorer.entailment.offsets(claim))
    premise = text[: spans[room - 1][1]]
    scorer.entailment.entailment([(premise, claim)])
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        scorer.entailment.entailment([(premise, claim)])
        seconds.append(time.perf_counter() - started)
    print(f"\nOne pair that fills the judge ({room} premise tokens): median {statistics.median(seconds):.3f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder that holds true/*.csv; without it only the challenge set")
    parser.add_argument("--entailment", help="model id or folder; the built-in judge")
    parser.add_argument("--chunk-tokens", type=int)
    parser.add_argument("--rows", type=int, help="rows of each set at most")
    parser.add_argument("--split", choices=("dev", "test"), help="half of the challenge set")
    args = parser.parse_args()
    options = {} if args.chunk_tokens is None else {"chunk_tokens": args.chunk_tokens}
    scorer = ScaleScorer(load_entailment(args.entailment), **options)
    challenge(scorer, args.split)
    speed(scorer, 9)
    if args.data is not None:
        true_sets(scorer, args.data / "true", args.rows)


if __name__ == "__main__":
    main()
