"""SCALE's tables 3 to 7 and figures 4 and 5 (Lattimer et al., EMNLP 2023), by the protocol of the authors' programs.

The authors' chunk includes question and claim, so that a judge is loaded with the length of the chunk and the source
fills the remaining room. Their measurements used the wording "Yes or no?", as in the paper; their later package has
"Yes or No?".
"""

import time
from collections.abc import Sequence

import numpy as np

from groundrail.errors import InputError, ScoringError
from groundrail.evaluation import metrics
from groundrail.evaluation.examples import Example
from groundrail.evaluation.summary import scored_sets
from groundrail.papers.reproduce.table import Figures, Job
from groundrail.papers.scale.scorer import PaperScaleScorer, lines
from groundrail.papers.scale.tree import Search, descend
from groundrail.scoring.index import Passage

TRUE_SETS = ("frank", "summeval", "mnbm", "qags_cnndm", "qags_xsum", "begin", "q2", "dialfact", "paws", "fever", "vitc")
"""Names of TRUE's sets in the order of tables 3 and 4, as in the authors' file names."""

BINS = 15
"""Number of bins of the calibration error, from the authors' notebook; the paper does not give it."""

AUC, ECE = "ROC-AUC x 100", "ECE"


def _measured(measure: str, labels: Sequence[float], scores: Sequence[float]) -> float:
    """ROC-AUC x 100, or the calibration error of table 4: scores mapped to the range 0 to 1, in 15 bins.

    The authors' program drops the claim with the score 1 from the last bin; here it counts.
    """
    return 100 * metrics.roc_auc(labels, scores) if measure == AUC else metrics.ece(labels, metrics.min_max(scores), BINS)


def on_true(job: Job, measure: str) -> Figures:
    """Tables 3 and 4: a measure of the scores on TRUE, each text scored as one claim."""
    scores = _scores(job, job.examples(format="true"), job.settings["chunk_tokens"])
    found = {name: {measure: _measured(measure, *of_set)} for name, of_set in scores.items()}
    averaged = [name for name in TRUE_SETS if measure == ECE or name not in ("fever", "vitc")]
    if set(averaged) <= found.keys():
        found["average"] = {measure: float(np.mean([found[name][measure] for name in averaged]))}
    else:
        job.notes.append(f"No average: of TRUE's sets only {', '.join(found)} were there.")
    return found


def _scores(job: Job, examples: Sequence[Example], chunk_tokens: int) -> dict[str, tuple[list[float], list[float]]]:
    """Labels and scores by data set; the score of a whole text is the probability from its best chunk."""
    judge = job.judge(chunk_tokens)
    scorer = PaperScaleScorer(judge, chunk_tokens=min(chunk_tokens, judge.max_tokens), search=None)
    return scored_sets(examples, job.evaluate(scorer, examples, f"scores-{chunk_tokens}", units="whole"))


def _screen_eval(job: Job, chunk_tokens: int) -> tuple[list[float], list[float]]:
    return next(iter(_scores(job, job.examples(format="screeneval"), chunk_tokens).values()))


def screen_correlations(job: Job) -> Figures:
    """Table 5: correlations and ROC-AUC on ScreenEval."""
    labels, scores = _screen_eval(job, job.settings["chunk_tokens"])
    return {
        "ScreenEval": {
            "Pearson": metrics.pearson(labels, scores),
            "Kendall tau": metrics.kendall(labels, scores),
            AUC: 100 * metrics.roc_auc(labels, scores),
        }
    }


def screen_f1(job: Job) -> Figures:
    """Table 6: best macro F1 over thresholds in hundredths of the mapped scores, as the authors choose them."""
    best = best_of_hundredths(*_screen_eval(job, job.settings["chunk_tokens"]))
    return {"ScreenEval": {"macro F1 x 100": 100 * best}}


def best_of_hundredths(labels: Sequence[float], scores: Sequence[float]) -> float:
    """The best macro F1 where a score has to be above 0.00, 0.01, ... or 0.99, after it was mapped to the range 0 to 1."""
    stretched = metrics.min_max(scores)
    above = [float(np.nextafter(hundredth / 100, 2)) for hundredth in range(100)]
    return max(metrics.macro_f1(labels, stretched, threshold) for threshold in above)


def by_chunk_size(job: Job, measure: str) -> Figures:
    """Figures 4 and 5: a measure on ScreenEval by chunk size."""
    sizes = job.settings["chunk_tokens"]
    return {f"{size} tokens": {measure: _measured(measure, *_screen_eval(job, size))} for size in sizes}


def retrieval(job: Job) -> Figures:
    """Table 7: share of supported claims whose tree ends in a marked utterance, and seconds for each search.

    As in the authors' program, unsupported claims are left out, a supported claim without a marked utterance is a miss,
    halves are read whole, and the first of several utterances with the same words counts.
    """
    drawn = job.examples(format="screeneval-utterances")
    examples = [example for example in drawn if example.label]
    if not examples:
        raise InputError(f"none of the {len(drawn)} claims is labelled as supported, so there is nothing to retrieve")
    judge = job.judge(job.settings["tokens"])
    hits, started = 0, time.perf_counter()
    for example in examples:
        (document,) = example.source
        size = judge.max_tokens - len(judge.offsets(example.claim))
        leaves = [Passage.trimmed(document, start, end, judge) for start, end in lines(document.text)]
        leaves = [leaf for leaf in leaves if leaf.start < leaf.end]
        (path,) = descend(judge, [Search(example.claim, tuple(leaves), size)], branches=2)
        if not path:
            raise ScoringError(f"the model gives no number for any utterance beside {example.claim[:80]!r}")
        found = next(leaf for leaf in leaves if leaf.text == path[-1].passage.text)
        hits += any(span.start == found.start for (span,) in example.evidence or ())
    seconds = (time.perf_counter() - started) / len(examples)
    job.notes.append(f"{len(examples)} supported claims of {len(drawn)}.")
    return {"ScreenEval": {"recall": hits / len(examples), "seconds": seconds}}
