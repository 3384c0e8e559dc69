"""InFusE's table 2 (Zhang et al., EACL 2024), and the experiments of Glover et al. (GEM 2022) on SummaC and FRANK."""

from collections.abc import Callable, Sequence

import numpy as np

from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.evaluation import metrics
from groundrail.evaluation.run import Result
from groundrail.evaluation.summary import scored, scored_sets
from groundrail.papers.decomposed import FullDocumentScorer, SentencePairScorer, SentliScorer, TopKScorer
from groundrail.papers.infuse import InfuseScorer
from groundrail.papers.reproduce.table import Figures, Job
from groundrail.scoring.base import Scorer

INFUSE_COLUMNS = {
    "XSM": ("xsum",),
    "CND": ("cnndm",),
    "CSM": ("chemsum", "chemsumm"),
    "QMS": ("qmsum",),
    "AXV": ("arxiv",),
    "GOV": ("govreport",),
    "MNW": ("multinews",),
}
"""Origin of the rows in each column of table 2; XSM and CND are means over AggreFact's sets."""

_Factory = Callable[[EntailmentModel], Scorer]
_INFUSE_ROWS: dict[str, _Factory] = {
    "FullDoc": FullDocumentScorer,
    "SummaC-ZS": SentencePairScorer,
    "SeNtLI": SentliScorer,
    "InFusE": InfuseScorer,
    "InFusE, sub-sentences": InfuseScorer,
}
_GLOVER_ROWS: dict[str, _Factory] = {
    "sentence": SentencePairScorer,
    "top-k": TopKScorer,
    "document": FullDocumentScorer,
}


def infuse(job: Job) -> Figures:
    """Table 2: ROC-AUC x 100 on AggreFact's test parts and DiverSumm; scores are means over a summary's sentences."""
    examples = [e for e in job.examples(format="aggrefact") if not e.dataset.endswith("-val")]
    if not examples:
        raise InputError("there are no test rows: AggreFact's have 'test' in the column cut")
    judge, rows = job.judge(), {}
    for name, factory in _INFUSE_ROWS.items():
        cut = name == "InFusE, sub-sentences"
        units = job.settings["units"] if cut else "sentences"
        results = job.evaluate(factory(judge), examples, name, units, job.settings["splitter"] if cut else None)
        of_sets = {each: 100 * metrics.roc_auc(*of_set) for each, of_set in scored_sets(examples, results).items()}
        columns = {
            column: float(np.mean([auc for each, auc in of_sets.items() if each.split("-")[0].lower() in origins]))
            for column, origins in INFUSE_COLUMNS.items()
            if any(each.split("-")[0].lower() in origins for each in of_sets)
        }
        if len(columns) == len(INFUSE_COLUMNS):
            columns["AVG"] = float(np.mean(list(columns.values())))
        rows[name] = columns
    missing = [column for column in INFUSE_COLUMNS if column not in columns]
    if missing:
        job.notes.append(f"No data for {', '.join(missing)}, so no average.")
    job.notes.append("SummaC-Conv is left out: its layer is trained on FactCC.")
    return rows


def glover_summac(job: Job) -> Figures:
    """SummaC: balanced accuracy on each test part, at the best threshold of the validation part."""
    examples = job.examples(format="summac")
    parts = sorted({example.dataset for example in examples})
    sets = [part.removesuffix("-test") for part in parts if part.endswith("-test")]
    lacking = [name for name in sets if f"{name}-val" not in parts]
    if lacking or not sets:
        raise InputError(f"each set needs rows with the cut 'val' and rows with 'test'; found {', '.join(parts)}")

    def row(results: Sequence[Result]) -> dict[str, float]:
        of = scored_sets(examples, results)
        thresholds = {name: metrics.best_balanced_accuracy(*of[f"{name}-val"])[1] for name in sets}
        return {name: 100 * metrics.balanced_accuracy(*of[f"{name}-test"], threshold=thresholds[name]) for name in sets}

    judge = job.judge()
    return {name: row(job.evaluate(factory(judge), examples, name)) for name, factory in _GLOVER_ROWS.items()}


def glover_frank(job: Job) -> Figures:
    """FRANK, test split: Pearson's and Spearman's partial correlations with `Factuality`, the system held fixed."""
    examples = [example for example in job.examples(format="frank") if example.dataset != "frank-valid"]
    judge, rows = job.judge(), {}
    for name, factory in _GLOVER_ROWS.items():
        results = job.evaluate(factory(judge), examples, name)
        labels, scores = scored(examples, results)
        systems = [e.system for e, r in zip(examples, results, strict=True) if r.value is not None]
        y, s = (metrics.without_group_means(values, systems) for values in (labels, scores))
        rows[name] = {"Pearson": metrics.pearson(y, s), "Spearman": metrics.spearman(y, s)}
    return rows
