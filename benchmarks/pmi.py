"""The cost of steering: plain greedy search, guidance_scale, the PMI processor, one joint pass.

Ways are run in turn, `--repeats` times, and the medians compared, so that a machine that slows down slows
all. Every way generates the same number of tokens from the same prompt.

    python benchmarks/pmi.py --model HuggingFaceTB/SmolLM2-135M-Instruct --tokens 128 --repeats 5
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from shared import head, language_model, row
from transformers import PreTrainedModel

from groundrail.decoding import PMI, PMIAdditionLogitsProcessor, PMIDecoding

FACT = "The tenant pays rent of 900 pounds on the third of each month and may keep one cat. "
QUESTION = "\n\nQuestion: When is the rent due, and how much is it?\nAnswer:"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="model id or folder; SmolLM2-135M-Instruct, as pip fetches it")
    parser.add_argument("--source-tokens", type=int, default=512, help="tokens of source in the grounded prompt")
    parser.add_argument("--tokens", type=int, default=128, help="tokens to generate")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--alpha", type=float, default=0.5)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, help="CPU threads; torch's own choice by default")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)

    model, tokenizer = language_model(arguments.model)
    model = model.to(arguments.device, getattr(torch, arguments.dtype)).eval()
    source = tokenizer(FACT * (arguments.source_tokens // 8), add_special_tokens=False)["input_ids"]
    question = tokenizer(QUESTION, return_tensors="pt", add_special_tokens=False)["input_ids"]
    ungrounded = question.to(model.device)
    grounded = torch.cat([torch.tensor([source[: arguments.source_tokens]]), question], dim=1).to(model.device)
    ways = _ways(ungrounded, model, arguments.alpha)

    def run(options: Callable[[], dict[str, object]], tokens: int) -> tuple[float, list[int]]:
        made = options()
        _wait(model.device)
        started = time.perf_counter()
        sequences = model.generate(
            grounded,
            attention_mask=torch.ones_like(grounded),
            max_new_tokens=tokens,
            min_new_tokens=tokens,
            do_sample=False,
            pad_token_id=0,
            **made,
        )
        _wait(model.device)
        return time.perf_counter() - started, sequences[0, grounded.shape[1] :].tolist()

    seconds: dict[str, list[float]] = {name: [] for name in ways}
    answers: dict[str, list[int]] = {}
    for name, options in ways.items():
        _, answers[name] = run(options, arguments.tokens)
    for _ in range(arguments.repeats):
        for name, options in ways.items():
            seconds[name].append(run(options, arguments.tokens)[0])

    plain = statistics.median(seconds["plain greedy"])
    guidance = statistics.median(seconds["guidance_scale"])
    same = answers["two passes (processor)"]
    print(
        f"{model.device.type}, {arguments.dtype}, {torch.get_num_threads()} threads, prompts of {grounded.shape[1]} "
        f"and {ungrounded.shape[1]} tokens, {arguments.tokens} generated, median of {arguments.repeats}\n"
    )
    head("way | seconds | against plain | against guidance_scale | same tokens as the processor")
    for name, taken in seconds.items():
        median = statistics.median(taken)
        equal = "" if name == "plain greedy" else "yes" if answers[name] == same else "no"
        row(name, *(f"{number:.2f}" for number in (median, median / plain, median / guidance)), equal)


def _ways(ungrounded: torch.Tensor, model: PreTrainedModel, alpha: float) -> dict[str, Callable[[], dict[str, object]]]:
    """Arguments for `generate`, made anew for every run."""
    return {
        "plain greedy": dict,
        "guidance_scale": lambda: {"guidance_scale": 1 + alpha, "negative_prompt_ids": ungrounded},
        "two passes (processor)": lambda: {"logits_processor": [PMIAdditionLogitsProcessor(model, ungrounded, alpha)]},
        "one pass (PMIDecoding)": lambda: {"custom_generate": PMIDecoding(ungrounded, PMI(alpha))},
    }


def _wait(device: torch.device) -> None:
    """Wait for what was queued on an accelerator."""
    if device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
