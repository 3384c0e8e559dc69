"""West et al.'s table 2 (ACL 2022): factual ablation of a language model with and without steering."""

import math
from typing import Any

from groundrail.decoding.steering import PMI
from groundrail.papers.ablation import AblationExample, ablation_table, load_examples
from groundrail.papers.pretrained import load_model
from groundrail.papers.reproduce.table import Figures, Job

MARGINS = {"synthetic": 100, "natural": 1000}
"""Likelihood ratio of the margin-accuracy on each set."""

STEERINGS: tuple[PMI | None, ...] = (
    None,
    *(PMI(alpha, method) for method in ("interpolation", "addition") for alpha in (0.1, 0.3, 0.5)),
)


CONTEXT = 256
"""Maximum number of tokens that the random model reads; some bundled rows are longer, so that cutting runs too."""


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
    return _random_model() if name is None else load_model("AutoModelForCausalLM", name)


def _random_model() -> tuple[Any, Any]:
    """Make a GPT-2 of one layer that reads letters, with its tokenizer, equal at every call."""
    import torch
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    letters = ["<s>", "<unk>", "\n", *map(chr, range(32, 127))]
    inner = Tokenizer(WordLevel({letter: place for place, letter in enumerate(letters)}, unk_token="<unk>"))
    inner.pre_tokenizer = Split(Regex(r"[\s\S]"), "isolated")
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=inner, bos_token="<s>", eos_token="<s>", unk_token="<unk>"
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = GPT2Config(vocab_size=len(letters), n_positions=CONTEXT, n_embd=32, n_layer=1, n_head=2)
        model = GPT2LMHeadModel(config)
    model.eval()  # type: ignore[no-untyped-call]
    return model, tokenizer
