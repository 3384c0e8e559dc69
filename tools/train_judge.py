"""Trains the built-in judge on written and real claims, with the prefix mask of `groundrail.entailment.prefix`.

    python tools/train_judge.py --base runs/start --written tools/written/train --pool DATA/train --out runs/judge --minutes 90

`--base` is a folder with a three-class sequence classifier: what `train_builtin.py` wrote, or the shipped judge
unpacked. `--written` holds JSON-lines files of texts with claims (`packs.py` says how they are read); the folder
is read again before every pass, so that files may be added meanwhile. What is saved is the running mean of the
weights.
"""

import argparse
import json
import random
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from packs import LONGEST, Asked, Pack, Packs, Text, load_texts
from torch.nn import functional as F
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from groundrail.entailment.prefix import Block, claim_blocks, classified, premise_block, read

NUMBER = {"entailment": 0, "neutral": 1, "contradiction": 2, "not_entailment": 3}


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy, (n,); label 3 means "not entailment": the two other classes share its mass."""
    log_p = F.log_softmax(logits.float(), dim=-1)
    three_way = -log_p.gather(1, labels.clamp(max=2)[:, None])[:, 0]
    return torch.where(labels == 3, -torch.logsumexp(log_p[:, 1:], dim=-1), three_way)


def logits_of(model: Any, tokenizer: Any, packs: list[Pack]) -> torch.Tensor:
    """Logits of everything that is asked in the packs, (claims, 3), all read in one pass."""
    start, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    ids: list[int] = []
    positions: list[int] = []
    firsts: list[int] = []
    blocks: list[Block] = []
    for pack in packs:
        premise = [(start, -1), *((t, n) for n, s in enumerate(pack.sentences) for t in s), (end, -1)]
        at, length = len(ids), len(premise)
        block = premise_block(length)
        blocks.append(replace(block, start=at, end=at + length, keys=block.keys + at))
        ids += [token for token, _ in premise]
        positions += range(length)
        claims = [[start, *asked.ids, end] for asked in pack.asked]
        sentence_of = torch.tensor([place for _, place in premise])
        hidden: list[torch.Tensor] = []
        for asked, claim in zip(pack.asked, claims, strict=True):
            firsts.append(len(ids))
            ids += claim
            positions += range(length, length + len(claim))
            unseen = torch.zeros(length, dtype=torch.bool)
            if asked.sees is not None:
                unseen = (sentence_of >= 0) & ~torch.isin(sentence_of, torch.tensor(sorted(asked.sees)))
            hidden += [unseen] * len(claim)
        first = at + length
        for group in claim_blocks(block.keys + at, first, [len(claim) for claim in claims]):
            group.visible[:, :length] &= ~torch.stack(hidden[group.start - first : group.end - first])
            blocks.append(group)
    x, _ = read(model, torch.tensor(ids), torch.tensor(positions), blocks)
    return classified(model, x[torch.tensor(firsts)])


def development(model: Any, tokenizer: Any, texts: list[Text]) -> dict[str, float]:
    """ROC-AUC x 100 of P(entailment), and of P(contradiction) among what is not entailed; whole texts that fit."""
    from sklearn.metrics import roc_auc_score

    scores, labels = [], []
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for text in texts:
            if sum(map(len, text.sentences)) <= 460 and text.claims:
                asked = [Asked(claim.ids, claim.label, claim.kind) for claim in text.claims]
                scores.append(torch.softmax(logits_of(model, tokenizer, [Pack(text.sentences, asked)]).float(), -1))
                labels += [claim.label for claim in text.claims]
    found = torch.cat(scores)
    entailed = [label == "entailment" for label in labels]
    rest = [n for n, label in enumerate(labels) if label != "entailment"]
    return {
        "n": len(labels),
        "auc": round(100 * roc_auc_score(entailed, found[:, 0]), 1),
        "conflict": round(100 * roc_auc_score([labels[n] == "contradiction" for n in rest], found[rest, 2]), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--written", type=Path, required=True)
    parser.add_argument("--pool", type=Path, help="folder with nli_pool.jsonl.gz; a dose of it goes into every pass")
    parser.add_argument("--pool-share", type=float, default=0.1, help="pool tokens for each written one, about")
    parser.add_argument(
        "--dev", type=Path, nargs="*", default=[], help="files in the same format, measured now and then"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True, help="the learning rate reaches zero by then")
    parser.add_argument("--lr", type=float, default=6e-5)
    parser.add_argument("--packs", type=int, default=3, help="packs a step")
    parser.add_argument("--every", type=float, default=8, help="minutes between measurements")
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
    trained = [p for p in model.parameters() if p.requires_grad]
    mean = [p.detach().clone() for p in trained]
    optimizer = torch.optim.AdamW(trained, lr=args.lr, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    dev = {path.stem: load_texts(path, tokenizer) for path in args.dev}
    pool = _pool(args.pool, tokenizer) if args.pool else []
    rng.shuffle(pool)
    args.out.mkdir(parents=True, exist_ok=True)
    log = (args.out / "log.jsonl").open("a", encoding="utf-8")
    started, saved, step, tokens, progress = time.monotonic(), 0.0, 0, 0, 0.0
    losses: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=400))

    def report(**fields: Any) -> None:
        line = json.dumps({"minutes": round((time.monotonic() - started) / 60, 1), **fields})
        print(line, flush=True)
        print(line, file=log, flush=True)

    def measured() -> None:
        with _Swapped(trained, mean):
            scores = {name: development(model, tokenizer, texts) for name, texts in dev.items()}
            model.save_pretrained(args.out)
            tokenizer.save_pretrained(args.out)
        recent = {kind: round(sum(v) / len(v), 3) for kind, v in sorted(losses.items()) if len(v) > 20}
        report(step=step, tokens=tokens, dev=scores, loss=recent)

    while progress < 1:
        texts = [text for path in sorted(args.written.glob("*.jsonl")) for text in load_texts(path, tokenizer)]
        report(texts=len(texts), claims=sum(len(text.claims) for text in texts))
        for packs in _steps(Packs(texts, rng).one_pass(), pool, args.packs, args.pool_share, rng):
            minutes = (time.monotonic() - started) / 60
            progress = minutes / args.minutes
            if progress >= 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = args.lr * min(1.0, (step + 1) / 40) * (1 - progress)
            asked = [claim for pack in packs for claim in pack.asked]
            for part in _parts(packs):
                labels = torch.tensor([NUMBER[claim.label] for pack in part for claim in pack.asked])
                with torch.autocast("cpu", torch.bfloat16):
                    logits = logits_of(model, tokenizer, part)
                each = loss_of(logits, labels)
                (each.sum() / len(asked)).backward()
                for claim, value in zip((c for pack in part for c in pack.asked), each.tolist(), strict=True):
                    losses[claim.kind].append(value)
                    losses["all"].append(value)
                tokens += sum(map(_size, part))
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
            torch._foreach_lerp_(mean, [p.detach() for p in trained], max(0.02, 1 / step))
            if step % 25 == 0:
                print(step, round(minutes, 1), tokens, round(sum(losses["all"]) / len(losses["all"]), 3), flush=True)
            if minutes - saved >= args.every:
                saved = minutes
                measured()
    measured()


def _size(pack: Pack) -> int:
    return sum(map(len, pack.sentences)) + sum(len(claim.ids) + 2 for claim in pack.asked) + 2


def _parts(packs: list[Pack]) -> Iterator[list[Pack]]:
    """Long packs alone, short ones together: what is read in one pass."""
    small: list[Pack] = []
    for pack in packs:
        if _size(pack) > 250:
            yield [pack]
        else:
            small.append(pack)
    while small:
        part: list[Pack] = []
        size = 0
        while small and (not part or size + _size(small[-1]) <= 800):
            size += _size(small[-1])
            part.append(small.pop())
        yield part


def _steps(
    written: Iterator[Pack], pool: list[Pack], packs: int, share: float, rng: random.Random
) -> Iterator[list[Pack]]:
    """Some packs of written claims a step, with a dose of the pool."""
    step: list[Pack] = []
    for pack in written:
        step.append(pack)
        if len(step) == packs:
            owed = share * sum(map(_size, step))
            while pool and owed > 0:
                taken = pool.pop()
                pool.insert(rng.randrange(max(1, len(pool) // 2)), taken)
                step.append(taken)
                owed -= _size(taken)
            yield step
            step = []


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


def _pool(folder: Path, tokenizer: Any) -> list[Pack]:
    """The public pairs in doses, each a pack of its own."""
    import pairs

    taken: dict[str, int] = defaultdict(int)
    chosen = []
    for pair in pairs.load_pool(folder / "nli_pool.jsonl.gz"):
        if taken[pair.kind] < pairs.DOSES[pair.kind] // 3 and len(pair.premise.split()) <= 250:
            taken[pair.kind] += 1
            chosen.append(pair)
    premises = tokenizer([p.premise for p in chosen], add_special_tokens=False)["input_ids"]
    claims = tokenizer([p.claim for p in chosen], add_special_tokens=False)["input_ids"]
    return [
        Pack([premise], [Asked(tuple(claim), pair.label, "pool")])
        for pair, premise, claim in zip(chosen, premises, claims, strict=True)
        if len(premise) <= LONGEST and len(claim) < 80
    ]


if __name__ == "__main__":
    main()
