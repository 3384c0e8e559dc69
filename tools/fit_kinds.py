"""Fits the head for kinds anew on the final states of a trained judge, which a run beside the other tasks leaves behind.

    python tools/fit_kinds.py runs/judge/judge.safetensors --weights guard/entailment/builtin/model.safetensors \\
        --packed runs/packed --out runs/final.safetensors

The encoder stays; its states for all sentences with a kind are read once (ten minutes on two cores), then the head takes a
minute. Claims weigh twice, since a claim that is taken for talk goes out unchecked.
"""

import argparse
import random
from pathlib import Path

import numpy as np
import torch
from mpnet import Judge, Kinds, judge_of, weights_of
from packed import KIND, Packed
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional as F
from train_judge import cut, padded

TOKENS, BATCH, EPOCHS, RATE, DROPOUT = 8000, 256, 40, 5e-4, 0.5
WEIGHTS = (2.0, 1.0, 1.0)
"""Weights of claim, talk, silence in the loss."""


def states(judge: Judge, claims: Packed) -> tuple[Tensor, Tensor]:
    """What the head reads of each sentence of the set `kinds`, (n, 3 * size), and the kinds, (n,)."""
    rng = random.Random(0)
    pairs = [pair for claim in claims.claims_of("kinds").tolist() for pair in claims.draw(claim, rng, 0.0, 0.0)]
    pairs.sort(key=lambda pair: len(pair.ids))
    read: list[Tensor] = []
    hook = judge.kinds.dense.register_forward_pre_hook(lambda module, inputs: read.append(inputs[0].float()))
    judge.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for run in cut(pairs, TOKENS):
            judge(padded(run))
    hook.remove()
    return torch.cat(read), torch.tensor([pair.label - KIND for pair in pairs])


def fit(head: Kinds, read: Tensor, kinds: Tensor) -> None:
    """Train the head; the learning rate falls to 0."""
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=0.1)
    steps = EPOCHS * -(-len(read) // BATCH)
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for _ in range(EPOCHS):
        for chosen in torch.split(torch.randperm(len(read)), BATCH):
            hidden = F.gelu(head.dense(F.dropout(read[chosen], 0.1)))
            logits = head.out(F.dropout(hidden, DROPOUT))
            loss = F.cross_entropy(logits, kinds[chosen], weight=torch.tensor(WEIGHTS), label_smoothing=0.02)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            falling.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path, help="a file that train_judge.py wrote")
    parser.add_argument("--weights", type=Path, required=True, help="the weights from which the run started")
    parser.add_argument("--packed", type=Path, required=True, help="folder with claims.npz")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    torch.manual_seed(0)
    judge = judge_of(weights_of([args.weights, args.trained]))
    read, kinds = states(judge, Packed(np.load(args.packed / "claims.npz")))
    head = Kinds(read.shape[1] // 3, DROPOUT)
    fit(head, read, kinds)
    stored = load_file(args.trained)
    stored |= {f"classifier.kinds.{name}": weight.detach().half() for name, weight in head.named_parameters()}
    save_file(stored, args.out)
    print(f"{len(read)} sentences, {args.out}")


if __name__ == "__main__":
    main()
