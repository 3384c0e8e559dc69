"""Trains the built-in judge on written and real claims, from an earlier judge or a fresh encoder.

    python tools/train_judge.py --base runs/start --written tools/written/train --pool DATA/train --out runs/judge --minutes 90

`--base` is a folder with a three-class sequence classifier: what `train_builtin.py` wrote, or the shipped judge
(`export_builtin.py --unpack`). `--written` holds JSON-lines files of texts with claims (`written.py` says how
they are read); the folder is read again before every pass, so that files may be added meanwhile. What is saved
is the running mean of the weights.
"""

import argparse
import json
import random
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from written import Forms, Pair, load_texts

from groundrail.entailment import CrossEncoderEntailment
from groundrail.evaluation.metrics import roc_auc

NUMBER = {"entailment": 0, "neutral": 1, "contradiction": 2, "not_entailment": 3}


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy, (n,); label 3 means "not entailment": the two other classes share its mass."""
    log_p = F.log_softmax(logits.float(), dim=-1)
    three_way = -log_p.gather(1, labels.clamp(max=2)[:, None])[:, 0]
    return torch.where(labels == 3, -torch.logsumexp(log_p[:, 1:], dim=-1), three_way)


def batches(pairs: list[Pair], tokenizer: Any, tokens: int, rng: random.Random) -> Iterator[tuple[list[Pair], Any]]:
    """Batches of about `tokens` padded tokens, pairs of like length together, in random order."""
    encoded = tokenizer([p.premise for p in pairs], [p.claim for p in pairs], truncation="only_first", max_length=512)
    lengths = [len(ids) for ids in encoded["input_ids"]]
    groups: list[list[int]] = [[]]
    for i in sorted(range(len(pairs)), key=lambda i: (lengths[i] // 16, rng.random())):
        if groups[-1] and (len(groups[-1]) + 1) * lengths[i] > tokens:
            groups.append([])
        groups[-1].append(i)
    rng.shuffle(groups)
    for group in groups:
        rows = {name: [values[i] for i in group] for name, values in encoded.items()}
        yield [pairs[i] for i in group], tokenizer.pad(rows, return_tensors="pt", pad_to_multiple_of=8)


def development(model: Any, tokenizer: Any, texts: list[Any], rng: random.Random, most: int) -> dict[str, float]:
    """ROC-AUC x 100 on claims beside their window of 320 tokens, and beside their deciding sentences."""
    claims = [(text, claim) for text in texts for claim in text.claims]
    claims = rng.sample(claims, min(most, len(claims)))
    judge = CrossEncoderEntailment(model, tokenizer, batch_tokens=4096)
    pairs = [(text.index.window(text.index.ranked(claim.text), 320).text, claim.text) for text, claim in claims]
    with torch.autocast("cpu", torch.bfloat16):
        scores = judge.entailment(pairs)
    labels = [float(claim.label == "entailment") for _, claim in claims]
    return {"auc": round(100 * roc_auc(labels, scores.tolist()), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--written", type=Path, required=True)
    parser.add_argument("--pool", type=Path, help="folder with nli_pool.jsonl.gz; a dose of it goes into every pass")
    parser.add_argument("--pool-share", type=float, default=0.2, help="pool pairs for each written one")
    parser.add_argument(
        "--dev", type=Path, nargs="*", default=[], help="files in the same format, measured while training"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True, help="the learning rate reaches zero by then")
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--batch-tokens", type=int, default=3072)
    parser.add_argument("--shortest", type=float, default=0.35, help="length of premises in the beginning, of LONGEST")
    parser.add_argument("--every", type=float, default=12, help="minutes between measurements")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(args.base)
    model: Any = AutoModelForSequenceClassification.from_pretrained(args.base, dtype=torch.float32).to(device).train()
    model.base_model.embeddings.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    mean = [p.detach().clone() for p in trained]
    optimizer = torch.optim.AdamW(trained, lr=args.lr, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    counter = CrossEncoderEntailment(model, tokenizer)
    dev = {path.stem: load_texts(path, counter) for path in args.dev}
    model.train()
    pool = _pool(args.pool) if args.pool else []
    rng.shuffle(pool)
    args.out.mkdir(parents=True, exist_ok=True)
    log = (args.out / "log.jsonl").open("a", encoding="utf-8")

    def report(**fields: Any) -> None:
        line = json.dumps({"minutes": round((time.monotonic() - started) / 60, 1), **fields})
        print(line, flush=True)
        print(line, file=log, flush=True)

    def measured(step: int, tokens: int) -> None:
        with _Swapped(trained, mean):
            model.eval()
            scores = {name: development(model, tokenizer, texts, random.Random(1), 300) for name, texts in dev.items()}
            model.save_pretrained(args.out)
            tokenizer.save_pretrained(args.out)
            model.train()
        recent = {kind: round(sum(v) / len(v), 3) for kind, v in sorted(losses.items()) if len(v) > 20}
        report(step=step, tokens=tokens, dev=scores, loss=recent)

    started, saved, step, tokens, progress = time.monotonic(), 0.0, 0, 0, 0.0
    losses: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=300))
    while progress < 1:
        texts = [text for path in sorted(args.written.glob("*.jsonl")) for text in load_texts(path, counter)]
        forms = Forms(texts, rng)
        pairs = list(forms.one_pass(args.shortest + (1 - args.shortest) * progress))
        dose = int(len(pairs) * args.pool_share)
        pairs += pool[:dose]
        pool = pool[dose:] + pool[:dose]
        rng.shuffle(pairs)
        report(texts=len(texts), pairs=len(pairs))
        for block in range(0, len(pairs), 4096):
            for group, encoded in batches(pairs[block : block + 4096], tokenizer, args.batch_tokens, rng):
                minutes = (time.monotonic() - started) / 60
                progress = minutes / args.minutes
                if progress >= 1:
                    break
                for param_group in optimizer.param_groups:
                    param_group["lr"] = args.lr * min(1.0, (step + 1) / 60) * (1 - progress)
                labels = torch.tensor([NUMBER[p.label] for p in group], device=device)
                with torch.autocast(device, torch.bfloat16):
                    logits = model(**{k: v.to(device) for k, v in encoded.items()}).logits
                each = loss_of(logits, labels)
                each.mean().backward()
                torch.nn.utils.clip_grad_norm_(trained, 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                step += 1
                tokens += encoded["input_ids"].numel()
                torch._foreach_lerp_(mean, [p.detach() for p in trained], max(0.01, 1 / step))
                for pair, value in zip(group, each.tolist(), strict=True):
                    losses[pair.kind].append(value)
                    losses["all"].append(value)
                if minutes - saved >= args.every:
                    saved = minutes
                    measured(step, tokens)
            if progress >= 1:
                break
    measured(step, tokens)


class _Swapped:
    """Within it, the parameters hold the running mean."""

    def __init__(self, parameters: list[torch.nn.Parameter], mean: list[torch.Tensor]) -> None:
        self._both = list(zip(parameters, mean, strict=True))

    def _swap(self) -> None:
        with torch.no_grad():
            for parameter, mean in self._both:
                parameter.data, mean.data = mean.data, parameter.data

    def __enter__(self) -> None:
        self._swap()

    def __exit__(self, *error: object) -> None:
        self._swap()


def _pool(folder: Path) -> list[Pair]:
    import pairs

    chosen, taken = [], defaultdict(int)
    for pair in pairs.load_pool(folder / "nli_pool.jsonl.gz"):
        if taken[pair.kind] < pairs.DOSES[pair.kind] and len(pair.premise.split()) <= 250:
            taken[pair.kind] += 1
            chosen.append(Pair(pair.premise, pair.claim, pair.label, "pool"))
    return chosen


if __name__ == "__main__":
    main()
