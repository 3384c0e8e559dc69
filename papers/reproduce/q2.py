"""Q²'s tables 2, 4 and 7 and figures 3 to 5 (Honovich et al., EMNLP 2021) on its annotated dialogues.

Whole responses are scored, and a response without a valid question is left out. The authors' main setting is greedy
questions without a filter. "Q²" is token F1 alone (section 6.1); for "Q² + NLI" a judge compares differing answers.
"""

import csv
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from typing import Any

from groundrail.errors import InputError
from groundrail.evaluation import metrics
from groundrail.evaluation.examples import Example
from groundrail.evaluation.places import read_text
from groundrail.papers.overlap import OverlapScorer
from groundrail.papers.q2.exchanges import Exchange, response_score, tally
from groundrail.papers.q2.q2 import Q2Scorer, Variant
from groundrail.papers.reproduce.simulated import robustness, simulated_correlation
from groundrail.papers.reproduce.table import Figures, Job

TENTHS = tuple(tenth / 10 for tenth in range(11))
REAL_SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 1.0)
"""Shares of inconsistent responses in figure 4, and in figure 5 as in real systems (section 6.1)."""


def _scorer(job: Job, variant: Variant = "base") -> Q2Scorer:
    settings = job.settings
    models: dict[str, Any] = {name: settings[name] for name in ("questions", "answerer")}
    if settings["pipeline"] is None:
        return Q2Scorer(job.judge(), variant=variant, **models)
    from groundrail.papers.q2.parsed import ParsedText

    text = ParsedText(settings["pipeline"])
    return Q2Scorer(job.judge(), variant=variant, spans=text.spans, personal=text.is_personal, **models)


def _asked(job: Job, scorer: Q2Scorer, examples: Sequence[Example]) -> list[list[Exchange]]:
    found = []
    for done, example in enumerate(examples, start=1):
        found.append(scorer.explain(example.claim, example.source))
        if job.progress is not None:
            job.progress(done, len(examples))
    return found


def absolute(job: Job) -> Figures:
    """Table 2: questions, scores and silence of each file, and of the human responses in the same contexts."""
    scorer, rows = _scorer(job), {}
    for path in job.found:
        examples = job.examples(path.name, "q2")
        for name, of_row in ((path.stem, examples), (f"human, {path.stem}", _human(job, path.name, examples))):
            counts = tally(_asked(job, scorer, of_row))
            rows[name] = {
                "questions": counts.questions,
                "Q²": counts.f1,
                "Q² + NLI": counts.nli,
                "no answer, %": 100 * counts.silence,
            }
    job.notes.append("The random samples' responses are not published.")
    return rows


def _human(job: Job, name: str, examples: Sequence[Example]) -> list[Example]:
    """The same contexts with the response of a person, from the column `gold` of the file."""
    (path,) = (path for path in job.found if path.name == name)
    rows = csv.DictReader(StringIO(read_text(path), newline=""))
    gold = {row.get("") or str(rows.line_num): row["gold"] for row in rows}
    return [replace(example, claim=gold[example.id]) for example in examples if gold[example.id].strip()]


def variants(job: Job) -> Figures:
    """Table 7: coverage and Q² of each file, also with the personal filter and with five questions for each span."""
    rows = {}
    names: tuple[tuple[Variant, str], ...] = (("base", "base"), ("filter", "+ filter personal"), ("top-k", "+ top-k"))
    for variant, name in names:
        scorer = _scorer(job, variant)
        for path in job.found:
            counts = tally(_asked(job, scorer, job.examples(path.name, "q2")))
            rows[f"{path.stem}, {name}"] = {"coverage, %": 100 * counts.coverage, "Q²": counts.f1}
    job.notes.append("The rows with coreference need AllenNLP's resolver: groundrail.papers.q2.pronouns takes any.")
    return rows


def correlation(job: Job) -> Figures:
    """Table 4: correlation of simulated systems' scores with their shares of right responses.

    Contexts in which a response has no valid question are left out, as in section 6.1.
    """
    examples = job.examples(format="q2")
    asked = _asked(job, _scorer(job), examples)
    silent = {example.group for example, exchanges in zip(examples, asked, strict=True) if not exchanges}
    kept = [(e, x) for e, x in zip(examples, asked, strict=True) if e.group not in silent and e.label is not None]
    groups = [example.group for example, _ in kept]
    job.notes.append(f"{len(set(groups))} contexts have a valid question for both systems.")
    labels, scores = _scored(kept)
    found = {name: simulated_correlation(labels, values, groups) for name, values in scores.items()}
    return {name: {"correlation": at.value, "low": at.low, "high": at.high} for name, at in found.items()}


def _scored(asked: Sequence[tuple[Example, list[Exchange]]]) -> tuple[list[float], dict[str, list[float]]]:
    """The labels of the responses, and their scores by measure.

    The overlap is the token F1 of response and knowledge; the authors' program leaves out the stop words of spaCy's list.
    """
    overlap = OverlapScorer("f1")
    return [example.label or 0.0 for example, _ in asked], {
        "Q²": [response_score(exchanges, nli=False) for _, exchanges in asked],
        "Q² + NLI": [response_score(exchanges, nli=True) for _, exchanges in asked],
        "Overlap(r, k)": [overlap.score([example.claim], example.source)[0].value for example, _ in asked],
    }


def _pooled(job: Job) -> tuple[list[float], dict[str, list[float]]]:
    """Labels and scores of the responses in the four files that have a valid question."""
    examples = job.examples(format="q2")
    asked = _asked(job, _scorer(job), examples)
    kept = [(e, x) for e, x in zip(examples, asked, strict=True) if x and e.label is not None]
    if not kept:
        raise InputError(f"no valid question could be asked about any of {len(examples)} responses")
    return _scored(kept)


def curves(job: Job) -> Figures:
    """Figure 3: precision and recall over all four files, drawn if there is a folder for pictures."""
    labels, found = _pooled(job)
    if job.out is not None:
        from groundrail.evaluation.plots import precision_recall_curve

        for name, scores in found.items():
            plain = "".join(letter if letter.isalnum() else "-" for letter in name.replace("²", "2"))
            precision_recall_curve(labels, scores, job.out / f"{job.table.name}-{plain}.png", name)
    return {name: {"average precision": metrics.average_precision(labels, scores)} for name, scores in found.items()}


def robust(job: Job, shares: Sequence[float]) -> Figures:
    """Figures 4 and 5: mean scores of systems with these shares of inconsistent responses."""
    labels, found = _pooled(job)
    return {
        f"{name}, {share:.0%} inconsistent": {"mean": at.value, "low": at.low, "high": at.high}
        for name, scores in found.items()
        for share, at in zip(shares, robustness(labels, scores, shares), strict=True)
    }
