"""West et al.'s table 2 (ACL 2022): factual ablation of a language model with and without steering."""

import math
from typing import Any

from groundrail.decoding.steering import PMI
from groundrail.evaluation.ablation import AblationExample, ablation_table, load_examples
from groundrail.papers.pretrained import load_model
from groundrail.papers.reproduce.table import Figures, Job

MARGINS = {"synthetic": 100, "natural": 1000}
"""Likelihood ratio of the margin-accuracy on each set."""

STEERINGS: tuple[PMI | None, ...] = (
    None,
    *(PMI(alpha, method) for method in ("interpolation", "addition") for alpha in (0.1, 0.3, 0.5)),
)


def factual_ablation(job: Job) -> Figures:
    """Table 2: accuracy and margin-accuracy in per cent on each set, zero-shot and with PMI steering.

    The paper steers a model that was tuned with the sources; a model tuned without the sources gives P(y | c).
    """
    model, tokenizer = _loaded(job.settings["model"])
    without = job.settings["ungrounded_model"]
    ungrounded = None if without is None else _loaded(without)[0]
    rows: dict[str, dict[str, float]] = {}
    for path in job.found:
        examples: list[AblationExample] = load_examples(path)[: job.limit]
        ratio = next((ratio for name, ratio in MARGINS.items() if name in path.stem), 100)
        results = ablation_table(
            model, tokenizer, examples, (0.0, math.log(ratio)), STEERINGS, ungrounded, job.settings["too_long"]
        )
        for steering, found in zip(STEERINGS, results, strict=True):
            name = "no steering" if steering is None else f"PMI {steering.method}, alpha {steering.alpha}"
            accuracy, margin = (100 * share for share in found.accuracies)
            rows[f"{path.stem}, {name}"] = {"acc": accuracy, f"acc at log {ratio}": margin}
        job.notes.append(
            f"{path.name}: {len(examples)} examples, {results[0].cut} of them with a cut source, {results[0].left_out} left out."
        )
    return rows


def _loaded(name: str | None) -> tuple[Any, Any]:
    """Load a decoder-only model with its tokenizer; None gives a tiny model of random weights for the bundled rows."""
    if name is None:
        from groundrail.papers.reproduce.random_model import random_model

        return random_model()
    return load_model("AutoModelForCausalLM", name)
