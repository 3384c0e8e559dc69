"""Factual ablation of a model, plain and steered, as a Markdown table.

python benchmarks/ablation.py synthetic.jsonl --model HuggingFaceTB/SmolLM2-135M-Instruct
"""

import argparse
import sys
import time
from pathlib import Path
from typing import get_args

import torch
from shared import head, language_model, row

from groundrail.decoding import PMI, AdaCAD, Steering
from groundrail.papers.ablation import MARGINS, TooLong, ablation_table, load_examples

WARM_UP = 0.3
"""The least alpha of AdaCAD for long answers, as in its paper."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("examples", type=Path, help="the authors' JSONL")
    parser.add_argument("--model", help="model id or folder; SmolLM2-135M-Instruct, as pip fetches it")
    parser.add_argument("--ungrounded-model", help="id or folder of a model for P(t | c), as in section 4.1")
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.1, 0.3, 0.5, 1.0])
    parser.add_argument("--too-long", choices=get_args(TooLong), default="error", help="what is done with long examples")
    parser.add_argument("--limit", type=int, help="only this many examples")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()

    model, tokenizer = language_model(arguments.model)
    model, without = model.to(arguments.device, torch.float32).eval(), None
    if arguments.ungrounded_model:
        without = language_model(arguments.ungrounded_model)[0].to(arguments.device, torch.float32).eval()
    examples = load_examples(arguments.examples)[: arguments.limit]
    steerings: dict[tuple[str, str], Steering | None] = {("none", ""): None}
    steerings |= {("addition = CAD", str(alpha)): PMI(alpha) for alpha in arguments.alphas}
    steerings |= {("interpolation", str(alpha)): PMI(alpha, "interpolation") for alpha in arguments.alphas if alpha <= 1}
    steerings |= {("AdaCAD", "JSD"): AdaCAD(), ("AdaCAD", f"JSD, at least {WARM_UP}"): AdaCAD(least=WARM_UP)}
    started = time.perf_counter()
    results = ablation_table(model, tokenizer, examples, MARGINS, list(steerings.values()), without, arguments.too_long)
    seconds = time.perf_counter() - started
    head("steering | alpha | acc | margin-acc, log 100 | margin-acc, log 1000")
    for names, result in zip(steerings, results, strict=True):
        row(*names, *(f"{100 * share:.1f}" for share in result.accuracies))
    counted = f"{len(examples)} examples, {results[0].cut} cut, {results[0].left_out} left out"
    print(f"{counted}, {seconds:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
