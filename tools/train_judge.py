"""Trains the built-in judge on written and real claims, beside public and made pairs.

    python tools/train_judge.py --base runs/start --written tools/written --pool DATA/train --out runs/judge --minutes 90

`--base` is a folder with a three-class sequence classifier: what `train_builtin.py` wrote, or what `start_judge.py`
makes of the shipped judge. `--written` holds JSON-lines files of texts with claims (`windows.py` says how they become
pairs); the folder is read again before every pass, so that files may be added meanwhile. What is saved is the running
mean of the weights, with `--keep` also as it was now and then, in folders beside `--out`, for `mean_weights.py`.
"""

import argparse
import json
import random
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from windows import Pair, Text, Windows, load_texts

NUMBER = {"entailment": 0, "neutral": 1, "contradiction": 2, "not_entailment": 3}
FIRST = 2
"""MPNet counts positions from its padding index plus one."""


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy, (n,); label 3 means "not entailment": the two other classes share its mass."""
    log_p = F.log_softmax(logits.float(), dim=-1)
    three_way = -log_p.gather(1, labels.clamp(max=2)[:, None])[:, 0]
    return torch.where(labels == 3, -torch.logsumexp(log_p[:, 1:], dim=-1), three_way)


def logits_of(model: Any, tokenizer: Any, pairs: Sequence[Pair]) -> torch.Tensor:
    """Logits, (pairs, 3). Nothing but attention sees padding."""
    start, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    rows = [torch.tensor([start, *pair.premise, end, end, *pair.claim, end]) for pair in pairs]
    lengths = torch.tensor([len(row) for row in rows])
    longest = int(lengths.max())
    real = torch.arange(longest) < lengths[:, None]
    mpnet = model.mpnet
    embeddings, encoder = mpnet.embeddings, mpnet.encoder
    positions = torch.cat([torch.arange(len(row)) for row in rows]) + FIRST
    x = embeddings.LayerNorm(embeddings.word_embeddings(torch.cat(rows)) + embeddings.position_embeddings(positions))
    places = torch.arange(longest)
    buckets = encoder.relative_position_bucket(
        places[None] - places[:, None], num_buckets=encoder.relative_attention_bias.num_embeddings
    )
    bias = encoder.relative_attention_bias(buckets).permute(2, 0, 1).detach()
    mask = bias[None] + torch.where(real, 0.0, -1e4)[:, None, None]
    mask = mask.to(torch.bfloat16 if torch.is_autocast_enabled("cpu") else x.dtype)

    def heads(flat: torch.Tensor, attention: Any) -> torch.Tensor:
        padded = flat.new_zeros(len(rows), longest, flat.shape[-1])
        padded[real] = flat
        return padded.view(len(rows), longest, attention.num_attention_heads, -1).transpose(1, 2)

    for layer in encoder.layer:
        attention = layer.attention.attn
        query, key, value = (heads(each(x), attention) for each in (attention.q, attention.k, attention.v))
        weight = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5 + mask, dim=-1)
        mixed = weight.to(value.dtype) @ value
        mixed = mixed.transpose(1, 2).flatten(2)[real]
        x = layer.attention.LayerNorm(attention.o(mixed) + x)
        x = layer.output(layer.intermediate(x), x)
    firsts = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)[:-1]])
    return model.classifier(x[firsts][:, None])  # type: ignore[no-any-return]


def scores_of(model: Any, tokenizer: Any, pairs: Sequence[Pair]) -> torch.Tensor:
    """Probabilities, (pairs, 3)."""
    order = sorted(range(len(pairs)), key=lambda n: len(pairs[n]))
    found = torch.zeros(len(pairs), 3)
    with torch.inference_mode(), _precision():
        for part in parts(order, [len(pair) for pair in pairs], 4000):
            found[part] = torch.softmax(logits_of(model, tokenizer, [pairs[n] for n in part]).float(), -1)
    return found


def development(model: Any, tokenizer: Any, texts: list[Text], room: int) -> dict[str, float]:
    """ROC-AUC x 100 of P(entailment), of P(contradiction) among what is not entailed: nearest sentences in order."""
    from sklearn.metrics import roc_auc_score

    pairs = []
    for text in texts:
        for claim in text.claims:
            chosen: list[int] = []
            for place in claim.nearest:
                if sum(len(text.sentences[n]) for n in (*chosen, place)) <= room or not chosen:
                    chosen.append(place)
            premise = [token for n in sorted(chosen) for token in text.sentences[n]][:440]
            pairs.append(Pair(premise, claim.ids, claim.label, claim.kind))
    found = scores_of(model.eval(), tokenizer, pairs)
    model.train()
    entailed = [pair.label == "entailment" for pair in pairs]
    rest = [n for n, pair in enumerate(pairs) if pair.label != "entailment"]
    return {
        "n": len(pairs),
        "auc": round(100 * roc_auc_score(entailed, found[:, 0]), 1),
        "conflict": round(100 * roc_auc_score([pairs[n].label == "contradiction" for n in rest], found[rest, 2]), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--written", type=Path, required=True)
    parser.add_argument("--pool", type=Path, help="folder with nli_pool.jsonl.gz; a dose of it goes into every pass")
    parser.add_argument("--pool-share", type=float, default=0.12, help="share of a step's tokens, about")
    parser.add_argument(
        "--dev", type=Path, nargs="*", default=[], help="files in the same format, measured now and then"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True, help="the learning rate reaches its floor by then")
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument(
        "--lr-floor", type=float, default=0.0, help="share of the learning rate that is left at the end"
    )
    parser.add_argument("--keep", type=float, help="minutes between copies of the running mean, OUT-10, OUT-20, ...")
    parser.add_argument("--tokens", type=int, default=2600, help="of a step")
    parser.add_argument("--every", type=float, default=15, help="minutes between measurements")
    parser.add_argument("--reload", type=float, default=10, help="minutes between looks into the folder")
    parser.add_argument("--frozen", type=int, default=0, help="lowest layers left as they are, beside the embeddings")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    tokenizer = AutoTokenizer.from_pretrained(args.base)
    model: Any = AutoModelForSequenceClassification.from_pretrained(args.base, dtype=torch.float32).train()
    model.mpnet.embeddings.requires_grad_(False)
    model.mpnet.encoder.relative_attention_bias.requires_grad_(False)
    for layer in model.mpnet.encoder.layer[: args.frozen]:
        layer.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    trained = [p for p in model.parameters() if p.requires_grad]
    mean = [p.detach().clone() for p in trained]
    optimizer = torch.optim.AdamW(trained, lr=args.lr, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    dev = {path.stem: load_texts(path, tokenizer) for path in args.dev}
    pool = _pool(args.pool, tokenizer, args.seed) if args.pool else iter(())
    args.out.mkdir(parents=True, exist_ok=True)
    log = (args.out / "log.jsonl").open("a", encoding="utf-8")
    started, step, tokens, progress = time.monotonic(), 0, 0, 0.0
    saved = kept = 0.0
    losses: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=600))

    def report(**fields: Any) -> None:
        line = json.dumps({"minutes": round((time.monotonic() - started) / 60, 1), **fields})
        print(line, flush=True)
        print(line, file=log, flush=True)

    def read_all() -> list[Text]:
        texts = [text for path in sorted(args.written.glob("*.jsonl")) for text in load_texts(path, tokenizer)]
        report(texts=len(texts), claims=sum(len(text.claims) for text in texts))
        return texts

    def save(folder: Path) -> None:
        with _Swapped(trained, mean):
            model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

    def measured() -> None:
        with _Swapped(trained, mean):
            scores = {
                f"{name}-{room}": development(model, tokenizer, texts, room)
                for name, texts in dev.items()
                for room in (150,)
            }
        save(args.out)
        recent = {kind: round(sum(v) / len(v), 3) for kind, v in sorted(losses.items()) if len(v) > 20}
        report(step=step, tokens=tokens, dev=scores, loss=recent)

    due = args.reload
    windows = Windows(rng, tokenizer)
    windows.load(read_all())
    for batch in _steps(windows.pairs(), pool, args.tokens, args.pool_share):
        minutes = (time.monotonic() - started) / 60
        progress = minutes / args.minutes
        if progress >= 1:
            break
        if minutes >= due:
            due = minutes + args.reload
            windows.load(read_all())
        for group in optimizer.param_groups:
            group["lr"] = args.lr * min(1.0, (step + 1) / 20) * max(1 - progress, args.lr_floor)
        batch.sort(key=len)
        for part in parts(range(len(batch)), [len(pair) for pair in batch], 2000):
            chosen = [batch[n] for n in part]
            labels = torch.tensor([NUMBER[pair.label] for pair in chosen])
            with _precision():
                logits = logits_of(model, tokenizer, chosen)
            each = loss_of(logits, labels)
            (each.sum() / len(batch)).backward()  # type: ignore[no-untyped-call]
            for pair, value in zip(chosen, each.tolist(), strict=True):
                losses[pair.kind].append(value)
                losses["all"].append(value)
            tokens += sum(map(len, chosen))
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        torch._foreach_lerp_(mean, [p.detach() for p in trained], max(0.01, 1 / step))
        if step % 20 == 0:
            print(step, round(minutes, 1), tokens, round(sum(losses["all"]) / len(losses["all"]), 3), flush=True)
        if args.keep and minutes >= kept + args.keep:
            kept += args.keep
            save(args.out.with_name(f"{args.out.name}-{kept:g}"))
        if minutes - saved >= args.every:
            saved = minutes
            measured()
    measured()


def _precision() -> torch.autocast:
    """bfloat16 products where the processor has them: elsewhere they are many times slower than float32's."""
    return torch.autocast("cpu", torch.bfloat16, enabled=bool(torch.cpu.get_capabilities().get("avx512_bf16")))


def parts(numbers: Sequence[int], lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Runs of numbers whose pairs, padded to the longest, have at most `most` tokens."""
    run: list[int] = []
    for n in numbers:
        if run and (len(run) + 1) * max(lengths[n], max(lengths[i] for i in run)) > most:
            yield run
            run = []
        run.append(n)
    if run:
        yield run


def _steps(written: Iterator[Pair], pool: Iterator[Pair], tokens: int, share: float) -> Iterator[list[Pair]]:
    """Written pairs in batches, with a share of the pool's."""
    batch: list[Pair] = []
    size, debt = 0, 0.0
    for pair in written:
        batch.append(pair)
        size += len(pair)
        debt += len(pair) * share / (1 - share)
        while debt > 0 and (taken := next(pool, None)) is not None:
            batch.append(taken)
            size += len(taken)
            debt -= len(taken)
        if size >= tokens:
            yield batch
            batch, size = [], 0


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


def _pool(folder: Path, tokenizer: Any, seed: int) -> Iterator[Pair]:
    """The public pairs in doses and the made ones, in random order."""
    import pairs

    chosen = [pair for pair in pairs.training_pairs(folder, 12000, seed) if len(pair.premise.split()) <= 200]
    for pair in chosen:
        premise, claim = tokenizer([pair.premise, pair.claim], add_special_tokens=False, verbose=False)["input_ids"]
        if premise and len(claim) < 80:
            yield Pair(premise[:400], tuple(claim), pair.label, "pool")


if __name__ == "__main__":
    main()
