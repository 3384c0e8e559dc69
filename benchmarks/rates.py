"""Which thresholds a scorer gets: the share of wrong claims caught and of true claims passed, on four groups of claims.

    python benchmarks/rates.py DATA/people_dev.jsonl --scorer scale --limit 60 --results runs/rates

The groups are `real_dev` (sentences of a small model), the sets of claims by models that people judged (each set with the
same weight; tables and records are left out), `written_dev`, and the sentences of whole answers
(`benchmarks/answers`, those about `--sources` sources, spread evenly, each with its wrong twins). Rates are the mean over the four groups.
*balanced* is the threshold with the best mean of caught and passed, *strict* the lowest at which nine in ten wrong claims are
caught, *lenient* the highest at which nine in ten true claims pass. Claims are judged whole. `--results` is a folder that
keeps the scores, so that the program can be run again.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from groundrail import Guard, Policy
from groundrail.evaluation.answer_summary import JudgedSentence, judge_answers, parts_read
from groundrail.evaluation.answers import load_answers
from groundrail.evaluation.examples import Example, parse_label
from groundrail.evaluation.loaders import load
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.sampling import sample
from groundrail.scoring.base import Scorer
from groundrail.scoring.registry import load_scorer
from groundrail.types import Document, Verdict

CLAIMS = Path(__file__).parent / "claims"
ANSWERS = Path(__file__).parent / "answers" / "answers.jsonl"
TABLES = {"infotabs", "tabfact_pairs", "semtabfacts", "scitab", "rotowire_accuracy", "citod", "e2e_noise", "findver"}
NINE_IN_TEN = 0.9
Scored = tuple[NDArray[np.bool_], NDArray[np.float64]]


def people(file: Path, tables: bool = False) -> dict[str, list[Example]]:
    """The claims of `people_dev.jsonl` by set, those on tables and records or all others."""
    found: dict[str, list[Example]] = defaultdict(list)
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        if (row["set"] in TABLES) == tables:
            source = (Document(text=row["premise"], id=row["source_id"]),)
            label = parse_label(row["label"])
            claim = Example(str(number), row["set"], source, row["hypothesis"], label, question=row["prompt"] or "")
            found[row["set"]].append(claim)
    return found


def sentences(scorer: Scorer, limit: int | None, results: Path | None) -> tuple[Scored, NDArray[np.float64]]:
    """Whether each sentence of the answers is right, and its score: 1 if it claims nothing, 0 if it cannot be checked.

    And the lowest score of each right answer.
    """
    answers = load_answers(ANSWERS)
    texts = ["\n".join(document.text for document in answer.source) for answer in answers]
    sources = list(dict.fromkeys(texts))
    chosen = set(sources[:: max(1, len(sources) // (limit or len(sources)))])
    answers = [answer for answer, text in zip(answers, texts, strict=True) if text in chosen]
    judged = judge_answers(Guard(scorer=scorer, policy=Policy(fallback="flag")), answers, results=results)
    true, values, wholes = [], [], []
    for answer, found in zip(answers, judged, strict=True):
        for _, read in parts_read(answer, found):
            true.append(not answer.marked)
            values.append(_lowest(read))
        if not answer.marked:
            wholes.append(_lowest(found.sentences))
    return (np.array(true), np.array(values)), np.array(wholes)


def _lowest(read: Iterable[JudgedSentence]) -> float:
    return min((1.0 if s.verdict is Verdict.NO_CLAIM else s.score or 0.0 for s in read), default=1.0)


def rates(groups: dict[str, list[Scored]], threshold: float) -> dict[str, tuple[float, float]]:
    """Shares caught and passed by group, each the mean over the group's sets."""
    return {
        name: (
            float(np.mean([np.mean(scores[~true] < threshold) for true, scores in sets])),
            float(np.mean([np.mean(scores[true] >= threshold) for true, scores in sets])),
        )
        for name, sets in groups.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("people", type=Path)
    parser.add_argument("--scorer", default="scale")
    parser.add_argument("--limit", type=int, help="claims of each set of people's at most")
    parser.add_argument("--sources", type=int, help="sources whose answers are read at most")
    parser.add_argument("--results", type=Path, help="folder that keeps the scores")
    options = parser.parse_args()
    kept = options.results
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    scorer = load_scorer(options.scorer)
    groups = {
        "real_dev": {"real_dev": load(CLAIMS / "real_dev.jsonl")},
        "people": {name: sample(found, options.limit, 0) for name, found in people(options.people).items()},
        "written_dev": {"written_dev": load(CLAIMS / "written_dev.jsonl")},
    }
    scored: dict[str, list[Scored]] = {}
    for group, sets in groups.items():
        scored[group] = []
        for examples in sets.values():
            results = evaluate(scorer, examples, units="whole", results=kept and kept / "claims.jsonl")
            values = np.array([1.0 if result.value is None else result.value for result in results])
            scored[group].append((np.array([example.label == 1 for example in examples]), values))
    answers, wholes = sentences(scorer, options.sources, kept and kept / "answers.jsonl")
    scored["answers"] = [answers]
    means = {}
    print(f"| threshold | {' | '.join(f'caught, passed, {name}' for name in scored)} | mean of both |")
    print("| --- " * (len(scored) + 2) + "|")
    for threshold in np.arange(0.02, 0.99, 0.02):
        each = rates(scored, threshold)
        means[threshold] = np.mean(list(each.values()), axis=0)
        cells = " | ".join(f"{caught:.0%}, {passed:.0%}" for caught, passed in each.values())
        print(f"| {threshold:.2f} | {cells} | {np.mean(means[threshold]):.1%} |")
    strict = min((t for t, (caught, _) in means.items() if caught >= NINE_IN_TEN), default=0.98)
    lenient = max((t for t, (_, passed) in means.items() if passed >= NINE_IN_TEN), default=0.02)
    balanced = max(means, key=lambda t: float(np.mean(means[t])))
    print(f"\nstrict {strict:.2f}, balanced {balanced:.2f}, lenient {lenient:.2f}")
    out = ", ".join(str(np.sum(wholes >= threshold)) for threshold in (strict, balanced, lenient))
    print(f"right answers out whole: {out} of {len(wholes)}")


if __name__ == "__main__":
    main()
