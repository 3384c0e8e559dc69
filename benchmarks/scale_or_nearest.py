"""Chunked SCALE, the default, beside the nearest sentences, around one judge.

    python benchmarks/scale_or_nearest.py --data DATA --limit 100
    python benchmarks/scale_or_nearest.py --data DATA --limit 100 --settings
    python benchmarks/scale_or_nearest.py --time

Prints for each scorer the ROC-AUC x 100 of each set and their mean, the share of marked claims whose first citation is right
(mean of the sets that have marks), and the pairs and tokens that the judge reads for a claim. The rule, fixed beforehand:
SCALE's mean ROC-AUC is at most 0.7 points below, its share of right first citations at most 2 points. DATA is a folder with
`people_dev.jsonl`, `wice/claim_dev.jsonl` and `long/evidence_inference_dev.jsonl`; without it only the sets of this repository
are read. The sets of people_dev are two groups, claims by models and claims on tables; a group counts once in the mean.
`--settings` prints rows for other settings of the two scorers as well. The judge answers each pair once.

`--time` prints the seconds of one decision by either scorer over 6,000 and 600 words instead, both in turn with a judge
that remembers nothing, for claims that the source supports and claims that it does not. The rule: SCALE takes at most
1.8 and 1.3 times as long.
"""

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from rates import people
from shared import DOCUMENTS, head, row

from groundrail.entailment import CrossEncoderEntailment
from groundrail.entailment import load as load_entailment
from groundrail.entailment.base import EntailmentModel, FloatArray, Pair, Wrapped
from groundrail.entailment.respelled import Respelled
from groundrail.evaluation.evidence import hit
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.metrics import roc_auc
from groundrail.evaluation.run import evaluate
from groundrail.evaluation.sampling import sample
from groundrail.scoring import scale, weighing
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
Make: TypeAlias = Callable[[EntailmentModel], Scorer]
SCORERS: dict[str, Make] = {"SCALE": ScaleScorer, "nearest": NearestScorer}
SETTINGS: dict[str, tuple[Make, int, float]] = {
    "SCALE, a chunk of 250 tokens": (lambda model: ScaleScorer(model, chunk_tokens=250), 4, 0.25),
    "SCALE, a tree over 8 sentences": (ScaleScorer, 8, 0.25),
    "SCALE, a tree over 16 sentences": (ScaleScorer, 16, 0.25),
    "SCALE, chunk and sentence weigh the same": (ScaleScorer, 4, 0.5),
    "nearest, window and sentence weigh the same": (NearestScorer, 4, 0.5),
}
"""By name: a scorer, the sentences that the tree searches, and the weight of the sentence."""
Measures = tuple[dict[str, float], float, float, float]


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


class Tokens(Wrapped):
    """Counts the pairs and the tokens that a model is asked about."""

    def __init__(self, model: Once) -> None:
        super().__init__(model)
        self.pairs = self.tokens = 0

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        self.pairs += len(pairs)
        self.tokens += sum(len(self.offsets(text)) for pair in pairs for text in pair)
        return self.model.classify(pairs)


def sets(data: Path | None, limit: int | None) -> Iterator[tuple[str, Sequence[Example], str]]:
    """Each set: the group that it counts in, its labelled claims, and the units into which a claim is cut."""
    for name, (path, units) in SETS.items():
        if data is not None or path.is_absolute():
            path = path if path.is_absolute() else (data or Path()) / path
            examples = [e for e in load(path, documents=DOCUMENTS) if e.label is not None and e.claim.strip()]
            yield name, sample(examples, limit, 0), units
    if data is not None:
        for tables in (False, True):
            for found in people(data / "people_dev.jsonl", tables).values():
                yield "people's, tables" if tables else "people's, models", sample(found, limit, 0), "whole"


def measured(make: Make, once: Once, data: Path | None, limit: int | None) -> Measures:
    """ROC-AUC x 100 of each group, first citations that are right (%), pairs and tokens for a claim."""
    counter, claims = Tokens(once), 0
    scorer = make(Respelled(counter))
    groups, right = defaultdict(list), []
    for group, examples, units in sets(data, limit):
        results = evaluate(scorer, examples, units=units)
        claims += len(examples)
        labels, values = [float(e.label or 0) for e in examples], [float(r.value or 0) for r in results]
        if len(set(labels)) == 2:
            groups[group].append(100 * roc_auc(labels, values))
        if marked := [hit(r.citations, e.evidence) for e, r in zip(examples, results, strict=True) if e.evidence]:
            right.append(100 * statistics.fmean(marked))
    means = {group: statistics.fmean(values) for group, values in groups.items()}
    return means, statistics.fmean(right), counter.pairs / claims, counter.tokens / claims


def compare(data: Path | None, folder: str | None, limit: int | None, settings: bool) -> None:
    """Print a row for each scorer."""
    once = judge(folder)
    rows = {name: (make, scale.LEAVES, weighing.ALONE) for name, make in SCORERS.items()}
    for name, (make, leaves, alone) in (rows | SETTINGS if settings else rows).items():
        scale.LEAVES, weighing.ALONE = leaves, alone
        means, *others = measured(make, once, data, limit)
        if name in rows and make is ScaleScorer:
            head("scorer", *means, "mean", "right first citations, %", "pairs a claim", "tokens a claim")
        row(name, *(f"{value:.1f}" for value in (*means.values(), statistics.fmean(means.values()), *others)))


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
    taken: dict[str, dict[bool, list[float]]] = {name: {True: [], False: []} for name in SCORERS}
    for repeat in range(repeats + 1):
        for claim, supported in claims.items():
            for name, make in SCORERS.items():
                scorer = make(model)
                reader, limit = scorer.read(" ".join(sentences)), scorer.metadata.threshold
                started = time.perf_counter()
                reader.score([claim], limit)
                if repeat:  # the first round warms up
                    taken[name][supported].append(time.perf_counter() - started)
    return {name: {each: statistics.median(values) for each, values in of.items()} for name, of in taken.items()}


def times(repeats: int) -> None:
    """Print the table of times."""
    model = load_entailment()
    head("words | claims | SCALE, s | nearest, s | ratio | at most")
    for words, longest in LONGEST.items():
        found = seconds(model, words, repeats)
        for supported, told in ((True, "supported"), (False, "not supported")):
            scale, nearest = (found[name][supported] for name in ("SCALE", "nearest"))
            row(words, told, f"{scale:.3f}", f"{nearest:.3f}", f"{scale / nearest:.2f}", longest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the sets that are not in this repository")
    parser.add_argument("--limit", type=int, help="claims of a set at most")
    parser.add_argument("--judge", metavar="FOLDER", help="a three-class model (the built-in judge)")
    parser.add_argument("--settings", action="store_true", help="other settings of the scorers, too")
    parser.add_argument("--time", action="store_true", help="seconds of a decision instead")
    parser.add_argument("--repeats", type=int, default=3, help="rounds over all claims for the time")
    options = parser.parse_args()
    if options.time:
        times(options.repeats)
    else:
        compare(options.data, options.judge, options.limit, options.settings)


if __name__ == "__main__":
    main()
