"""Tunes SmolLM2 on questions about this folder's documents and leaves out the answers that are not from them.

    python examples/loss_truncation.py --steps 12
    python examples/loss_truncation.py --gguf SmolLM2-135M-Instruct.Q4_1.gguf

A quarter of the answers is swapped with those of other questions. `LossTruncationTrainer` ranks by the loss,
and by the grounding gain over a second, frozen copy of the model that never sees the source; the script
prints which answers were left out. A few steps show how it is used, they do not make a better model.
"""

import argparse
import json
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, TrainingArguments

from groundrail.papers.trainer import LossTruncationTrainer, PairedCollator

HERE = Path(__file__).parent


def load(model: str | None, gguf: Path | None) -> tuple[Any, Any]:
    """The model and its tokenizer: by id, from a GGUF file, or the SmolLM2 that groundrail tests with."""
    if gguf is not None:
        folder, name = str(gguf.parent), gguf.name
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
        return AutoModelForCausalLM.from_pretrained(folder, gguf_file=name), tokenizer
    if model is not None:
        return AutoModelForCausalLM.from_pretrained(model), AutoTokenizer.from_pretrained(model)
    from groundrail.generators.smollm2 import smollm2

    loaded: tuple[Any, Any] = smollm2()
    return loaded


def plain_copy(model: Any) -> Any:
    """The same weights in a new model: one read from GGUF is marked as quantized, and no Trainer takes it."""
    copy = type(model)(model.config)
    copy.load_state_dict(model.state_dict())
    return copy


def questions(seed: int) -> list[dict[str, Any]]:
    """The questions with their evidence as the source; every fourth has the answer of another."""
    rows: list[dict[str, Any]] = json.loads((HERE / "questions.json").read_text(encoding="utf-8"))
    random.Random(seed).shuffle(rows)
    swapped = rows[::4]
    answers = [row["answer"] for row in swapped]
    for row, answer in zip(swapped, answers[1:] + answers[:1], strict=True):
        row.update(answer=answer, swapped=True)
    return rows


def encode(tokenizer: Any, prompt: str, answer: str) -> dict[str, list[int]]:
    """Prompt and answer as one example; only the answer is a target."""
    before = tokenizer(prompt)["input_ids"]
    target = [*tokenizer(f" {answer}", add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    return {
        "input_ids": before + target,
        "attention_mask": [1] * (len(before) + len(target)),
        "labels": [-100] * len(before) + target,
    }


def example(tokenizer: Any, row: dict[str, Any]) -> dict[str, list[int]]:
    """The question with its source, and its twin without."""
    ask = f"Question: {row['question']}\nAnswer:"
    grounded = encode(tokenizer, f"Source: {row['evidence']}\n{ask}", row["answer"])
    ungrounded = encode(tokenizer, ask, row["answer"])
    return {**grounded, **{f"ungrounded_{name}": value for name, value in ungrounded.items()}}


class Told(LossTruncationTrainer):
    """Remembers what was left out, by target, to print it."""

    def kept(self, inputs: Any, losses: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """As the trainer decides."""
        keep = super().kept(inputs, losses, targets)
        for labels in inputs["labels"][~keep]:
            self.left_out[tuple(labels[labels != -100].tolist())] += 1
        return keep

    left_out: Counter[tuple[int, ...]]


def main() -> None:
    """Tune, then print what was left out and how often."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a causal language model's id or folder")
    parser.add_argument("--gguf", type=Path, help="a GGUF file of one")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--out", help="folder to save the tuned model in")
    args = parser.parse_args()

    second, tokenizer = load(args.model, args.gguf)
    model = plain_copy(second)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    rows = questions(seed=0)
    with tempfile.TemporaryDirectory() as scratch:
        trainer = Told(
            model,
            TrainingArguments(
                output_dir=args.out or scratch,
                max_steps=args.steps,
                per_device_train_batch_size=args.batch,
                learning_rate=2e-5,
                logging_steps=4,
                save_strategy="no",
                report_to=[],
                remove_unused_columns=False,
                dataloader_pin_memory=torch.cuda.is_available(),
            ),
            train_dataset=[example(tokenizer, row) for row in rows],
            data_collator=PairedCollator(DataCollatorForSeq2Seq(tokenizer)),
            c=0.8,
            c_gnd=0.8,
            ungrounded_model=second,
            hot_start=2 * args.batch,
        )
        trainer.left_out = Counter()
        trainer.train()
        if args.out:
            trainer.save_model(args.out)
    swapped = {
        tuple(tokenizer(f" {row['answer']}", add_special_tokens=False)["input_ids"]) for row in rows if row.get("swapped")
    }
    print(f"{len(rows)} examples, {len(swapped)} with an answer to another question; left out:")
    for target, times in trainer.left_out.most_common():
        mark = "swapped" if target[:-1] in swapped else "right"
        print(f"  {times} x  {mark:8}{tokenizer.decode(target[:-1])}")


if __name__ == "__main__":
    main()
