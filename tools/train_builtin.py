"""Fine-tunes the entailment model that groundrail ships. What it reads is in `pairs.py`.

    python tools/train_builtin.py --base DIR --data DIR --out runs/builtin --minutes 85

`--base` is MPNet (sentence-transformers' all-mpnet-base-v2, Apache-2.0); its lowest layers are kept. It may
also be the folder of an earlier run, to go on from.
Rows that know only two classes train P(entailment) alone. Export the result with `export_builtin.py`.
"""

import argparse
import ctypes
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from pairs import Pair, training_pairs
from torch.nn import functional as F
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

LABELS = ("entailment", "neutral", "contradiction")


def entailment_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy, (n,); label 3 means "not entailment": the two other classes share its mass."""
    log_p = F.log_softmax(logits.float(), dim=-1)
    three_way = -log_p.gather(1, labels.clamp(max=2)[:, None])[:, 0]
    not_entailed = -torch.logsumexp(log_p[:, 1:], dim=-1)
    return torch.where(labels == 3, not_entailed, three_way)


def batches(
    pairs: list[Pair], tokenizer: Any, tokens: int, rng: random.Random
) -> Iterator[tuple[list[Pair], dict[str, torch.Tensor]]]:
    """Batches of about `tokens` padded tokens; pairs of like length go together, batches come in random order."""
    for start in range(0, len(pairs), 4096):
        block = pairs[start : start + 4096]
        encoded = tokenizer(
            [p.premise for p in block], [p.claim for p in block], truncation="only_first", max_length=512
        )
        order = sorted(range(len(block)), key=lambda i: len(encoded["input_ids"][i]))
        groups: list[list[int]] = [[]]
        for i in order:
            if groups[-1] and (len(groups[-1]) + 1) * len(encoded["input_ids"][i]) > tokens:
                groups.append([])
            groups[-1].append(i)
        rng.shuffle(groups)
        for group in groups:
            yield (
                [block[i] for i in group],
                tokenizer.pad(
                    {k: [v[i] for i in group] for k, v in encoded.items()},
                    return_tensors="pt",
                    pad_to_multiple_of=16,
                ),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder of nli_pool.jsonl.gz and wiki_split_tune.tsv")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=9)
    parser.add_argument("--frozen", type=int, default=0, help="lowest layers left as they are, beside the embeddings")
    parser.add_argument("--made", type=int, default=60_000, help="pairs to make beside the pool")
    parser.add_argument("--minutes", type=float, default=1e9, help="the learning rate reaches zero by then")
    parser.add_argument("--lr", type=float, default=4e-5)
    parser.add_argument("--batch-tokens", type=int, default=3072)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(args.base)
    config = AutoConfig.from_pretrained(args.base)
    config.num_hidden_layers = args.layers
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    config.id2label = dict(enumerate(LABELS))
    config.label2id = {label: i for i, label in enumerate(LABELS)}
    model = AutoModelForSequenceClassification.from_pretrained(args.base, config=config).to(device).train()
    model.base_model.embeddings.requires_grad_(False)
    for layer in model.base_model.encoder.layer[: args.frozen]:
        layer.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=args.lr, betas=(0.9, 0.98), weight_decay=0.01, fused=True)

    pairs = training_pairs(args.data, args.made, args.seed)
    total = sum(len(p.premise.split()) + len(p.claim.split()) for p in pairs)
    print(f"{len(pairs)} pairs, {total / 1e6:.1f} M words", flush=True)
    number = {**config.label2id, "not_entailment": 3}
    started, saved, words, step = time.monotonic(), 0.0, 0, 0
    losses: dict[str, list[float]] = defaultdict(list)
    for group, encoded in batches(pairs, tokenizer, args.batch_tokens, rng):
        minutes = (time.monotonic() - started) / 60
        progress = max(words / total, minutes / args.minutes)
        if progress >= 1:
            break
        for param_group in optimizer.param_groups:
            param_group["lr"] = args.lr * min(1.0, (step + 1) / 150) * (1 - progress)
        labels = torch.tensor([number[p.label] for p in group], device=device)
        with torch.autocast(device, torch.bfloat16):
            logits = model(**{k: v.to(device) for k, v in encoded.items()}).logits
        each = entailment_loss(logits, labels)
        each.mean().backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        words += sum(len(p.premise.split()) + len(p.claim.split()) for p in group)
        for pair, value in zip(group, each.tolist(), strict=True):
            losses[pair.kind.split(":")[0]].append(value)
        if step % 20 == 0 and device == "cpu":
            ctypes.CDLL(None).malloc_trim(0)  # batches of many shapes leave glibc's heap full of holes
        if step % 50 == 0:
            recent = {
                kind: round(sum(v[-300:]) / len(v[-300:]), 3) for kind, v in sorted(losses.items()) if len(v) > 30
            }
            print(
                json.dumps(
                    {
                        "step": step,
                        "minutes": round(minutes, 1),
                        "progress": round(progress, 3),
                        "words": words,
                        "loss": recent,
                    }
                ),
                flush=True,
            )
        if minutes - saved >= 12:
            saved = minutes
            _save(model, tokenizer, args.out)
    _save(model, tokenizer, args.out)
    (args.out / "training.json").write_text(
        json.dumps(
            {
                "steps": step,
                "words": words,
                "minutes": round((time.monotonic() - started) / 60, 1),
                **{k: str(v) for k, v in vars(args).items() if k not in ("base", "data", "out")},
            },
            indent=1,
        )
    )


def _save(model: Any, tokenizer: Any, folder: Path) -> None:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main()
