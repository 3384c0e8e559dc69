"""Fits the head for the kinds of sentences on the states of the built-in judge's encoder, and writes it beside the weights.

    python tools/fit_kinds.py

The encoder stays; its states for the sentences with a kind in `tools/written` are read once (half an hour on two cores), then
the head takes two minutes. Each sentence is read with the words around it and alone, as the guard does. Claims weigh twice, since a
claim that is taken for talk goes out unchecked. It has to be fitted again whenever the judge's weights change;
`benchmarks/talk.py` measures it, and its thresholds are in `groundrail.entailment.builtin.kinds`.
"""

import argparse
import random
from pathlib import Path

import torch
from export_builtin import BUILTIN, write_digests
from mpnet import Kinds
from pack_claims import WRITTEN, kinds_of_answers, kinds_of_talk
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

from groundrail.entailment.builtin import HEAD, BuiltinEntailment, load_builtin
from groundrail.entailment.builtin.mpnet import KINDS

OF_ANSWERS = 2500
"""Sentences of whole answers that are read; the written sentences are read all."""

BATCH, EPOCHS, RATE, DROPOUT, ALONE = 256, 25, 5e-4, 0.5, 0.5
"""`ALONE` weighs a sentence without the words around it."""
COSTS = (2.0, 1.0, 1.0)
"""Weights of claim, talk, silence in the loss."""
ORDER = ("claim", "talk", "silence")


def states(judge: BuiltinEntailment, sentences: list[tuple[str, str]]) -> Tensor:
    """The states that the head reads, (n, states), of the sentences, each with the words around it."""
    order = sorted(range(len(sentences)), key=lambda number: sum(map(len, sentences[number])))
    with torch.inference_mode():
        read = [judge.kind_states([sentences[n] for n in order[start : start + 64]]) for start in range(0, len(order), 64)]
    return torch.cat(read)[torch.tensor(order).argsort()]


def fit(read: Tensor, kinds: Tensor, weights: Tensor) -> Kinds:
    """A head for these states; the learning rate falls to 0."""
    torch.manual_seed(0)
    head = Kinds(read.shape[1], DROPOUT)
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=0.1)
    steps = EPOCHS * -(-len(read) // BATCH)
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for _ in range(EPOCHS):
        for chosen in torch.split(torch.randperm(len(read)), BATCH):
            logits = head(F.dropout(read[chosen].float(), 0.1))
            cost = torch.tensor(COSTS)
            loss = F.cross_entropy(logits, kinds[chosen], weight=cost, label_smoothing=0.02, reduction="none")
            optimizer.zero_grad()
            (loss @ weights[chosen] / weights[chosen].sum()).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            falling.step()
    return head


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=BUILTIN, help="folder of the judge's files")
    args = parser.parse_args()
    judge = load_builtin("cpu", "float32").model
    if not isinstance(judge, BuiltinEntailment):
        raise SystemExit("the built-in judge is not what it was; reinstall groundrail")
    rows, answers = list(kinds_of_talk(WRITTEN)), list(kinds_of_answers(WRITTEN))
    random.Random(0).shuffle(answers)
    rows += answers[:OF_ANSWERS]
    read = states(judge, [*((around, text) for _, around, text in rows), *(("", text) for *_, text in rows)]).half()
    kinds = torch.tensor([ORDER.index(kind) for kind, *_ in rows]).repeat(2)
    weights = torch.cat([torch.ones(len(rows)), torch.full((len(rows),), ALONE)])
    head = fit(read, kinds, weights)
    found = {f"{KINDS}.{name}": weight.detach().bfloat16() for name, weight in head.named_parameters()}
    save_file(found, args.folder / HEAD, {"format": "pt"})
    write_digests(args.folder)
    print(f"{len(rows)} sentences, {args.folder / HEAD}")


if __name__ == "__main__":
    main()
