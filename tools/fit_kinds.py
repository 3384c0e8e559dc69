"""Fits the head for the kinds of sentences on the states of the built-in judge's encoder, and writes it beside the weights.

    python tools/fit_kinds.py --packed runs/packed

The encoder stays; its states for `SENTENCES` sentences with a kind are read once (some minutes on two cores), then the head
takes a minute. Claims weigh twice, since a claim that is taken for talk goes out unchecked. It has to be fitted again
whenever the judge's weights change; `benchmarks/talk.py` measures it, and its thresholds are in
`groundrail.entailment.builtin.kinds`.
"""

import argparse
import random
from pathlib import Path

import numpy as np
import torch
from export_builtin import BUILTIN, write_digests
from mpnet import Judge, Kinds, judge_of, weights_of
from packed import KIND, Packed
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F
from train_judge import cut, padded

from groundrail.entailment.builtin import HEAD, WEIGHTS
from groundrail.entailment.builtin.mpnet import KINDS

SENTENCES, TOKENS, BATCH, EPOCHS, RATE, DROPOUT = 10_500, 8000, 256, 40, 5e-4, 0.5
COSTS = (2.0, 1.0, 1.0)
"""Weights of claim, talk, silence in the loss."""


def states(judge: Judge, claims: Packed) -> tuple[Tensor, Tensor]:
    """The head's input for each sentence of the set `kinds`, (n, 3 * size), and the kinds, (n,)."""
    rng = random.Random(0)
    chosen = claims.claims_of("kinds").tolist()
    rng.shuffle(chosen)
    pairs = [pair for claim in chosen[:SENTENCES] for pair in claims.draw(claim, rng, 0.0, 0.0)]
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
            loss = F.cross_entropy(logits, kinds[chosen], weight=torch.tensor(COSTS), label_smoothing=0.02)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            falling.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packed", type=Path, required=True, help="folder with claims.npz")
    parser.add_argument("--folder", type=Path, default=BUILTIN, help="folder of the judge's files")
    args = parser.parse_args()
    torch.manual_seed(0)
    judge = judge_of(weights_of([args.folder / WEIGHTS]))
    read, kinds = states(judge, Packed(np.load(args.packed / "claims.npz")))
    head = Kinds(read.shape[1] // 3, DROPOUT)
    fit(head, read, kinds)
    found = {f"{KINDS}.{name}": weight.detach().bfloat16() for name, weight in head.named_parameters()}
    save_file(found, args.folder / HEAD, {"format": "pt"})
    write_digests(args.folder)
    print(f"{len(read)} sentences, {args.folder / HEAD}")


if __name__ == "__main__":
    main()
