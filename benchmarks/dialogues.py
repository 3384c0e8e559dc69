"""Q²'s tables 2 and 4 on its own dialogues: scores, coverage and silence by file, correlation over simulated systems.

    python benchmarks/dialogues.py DATA/q2_wow --nli NLI_ID \\
        --questions mrm8488/t5-base-finetuned-question-generation-ap --answerer ktrapeznikov/albert-xlarge-v2-squad-v2

Without models it measures the baseline: template questions, answers by word overlap, the built-in judge.
"""

import argparse
from pathlib import Path

from groundrail.evaluation.loaders import load
from groundrail.evaluation.sampling import sample
from groundrail.evaluation.systems import simulated_correlation
from groundrail.papers.overlap import OverlapScorer
from groundrail.papers.q2.exchanges import Exchange, response_score, tally
from groundrail.papers.q2.q2 import Q2Scorer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the authors' annotated responses")
    parser.add_argument("--nli", help="model of three classes, by id or folder; the built-in judge")
    parser.add_argument("--questions", help="question generator, by id or folder; templates")
    parser.add_argument("--answerer", help="extractive model, by id or folder; word overlap")
    parser.add_argument("--variant", choices=("base", "filter", "top-k"), default="base", help="the row of table 7")
    parser.add_argument("--limit", type=int, help="responses of each file at most, drawn by a fixed seed")
    args = parser.parse_args()
    scorer = Q2Scorer(args.nli, questions=args.questions, answerer=args.answerer, variant=args.variant)

    print("| responses | coverage, % | questions | Q² | Q² + NLI | Q²* + NLI | no answer, % |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for path in sorted(args.folder.glob("*consistent.csv")):
        examples = sample(load(path), args.limit, seed=0)
        found = tally([scorer.explain(example.claim, example.source) for example in examples])
        cells = (
            f"{100 * found.coverage:.1f}",
            found.questions,
            *(f"{x:.3f}" for x in (found.f1, found.nli, found.star)),
        )
        print(f"| {path.stem} | {' | '.join(map(str, cells))} | {100 * found.silence:.1f} |", flush=True)

    both = sample(load(args.folder / "cross_annotation.csv"), args.limit and 4 * args.limit, seed=0)
    asked = [scorer.explain(example.claim, example.source) for example in both]
    contexts = {example.group for example in both} - {e.group for e, x in zip(both, asked, strict=True) if not x}
    kept = [(e, x) for e, x in zip(both, asked, strict=True) if e.group in contexts]
    labels, groups = [e.label or 0.0 for e, _ in kept], [e.group for e, _ in kept]
    f1 = OverlapScorer("f1")
    overlaps = [f1.score([example.claim], example.source)[0].value for example, _ in kept]

    def scores(nli: bool, of: list[list[Exchange]]) -> list[float]:
        return [response_score(exchanges, nli) for exchanges in of]

    print("\n| score | correlation over simulated systems | low | high |")
    print("| --- | --- | --- | --- |")
    of = [exchanges for _, exchanges in kept]
    for name, values in (("Q²", scores(False, of)), ("Q² + NLI", scores(True, of)), ("token overlap, F1", overlaps)):
        row = simulated_correlation(labels, values, groups)
        print(f"| {name} | {row.value:.4f} | {row.low:.2f} | {row.high:.2f} |", flush=True)


if __name__ == "__main__":
    main()
