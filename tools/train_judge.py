"""Trains the built-in judge on packed claims. Needs torch, numpy and safetensors alone, so that it runs where nothing else is.

    python tools/train_judge.py tools/judge.toml --run 1 --weights guard/entailment/builtin/model.safetensors \
        --packed runs/packed --out runs/judge-1 --device cuda --compile --workers 10 --resume

A batch holds pairs of about one length. The learning rate rises for 100 steps and falls to a fiftieth at the end. OUT gets
the running mean of the weights in 16 bit, without the word embeddings, which stay as they are, and a line in `log.jsonl`
for each measurement. `OUT/checkpoint.pt` is written every ten minutes, after `--minutes`, and when the program is asked to
end (SIGTERM, Ctrl-C); it exits with 3 then, and `--resume` goes on there, over the claims in a new order.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mpnet import NAMES, Judge, judge_of, weights_of
from numpy.typing import NDArray
from packed import AS_WRITTEN, KIND, PAD, Packed, Pair
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

WARM_UP = 100
LOWEST = 0.02
"""Share of the learning rate that is left at the end."""

NARROW, WIDE = 150, 400
"""Tokens of the premises by which a judge is measured by default."""


def plan_of(file: Path, run: int) -> dict[str, Any]:
    """The settings of one run: of a list the run's value. `run` counts from 1.

    Raises: SystemExit where the plan has no such run.
    """

    def of_run(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        if run > len(value):
            raise SystemExit(f"{file} has no run {run}: its settings have {len(value)} values")
        return value[run - 1]

    plan = tomllib.loads(file.read_text(encoding="utf-8"))
    plan["run"] = {name: of_run(value) for name, value in plan["run"].items()}
    for name, settings in plan["sets"].items():
        plan["sets"][name] = {key: value if key == "files" else of_run(value) for key, value in settings.items()}
    return plan


class Draws(torch.utils.data.IterableDataset[tuple[Tensor, Tensor, Tensor]]):
    """Batches without end: padded ids (n, length), labels (n,), smoothing of the labels (n,). Each worker draws by a seed
    of its own."""

    def __init__(self, packed: Packed, plan: Mapping[str, Any], begun: int = 0) -> None:
        self.packed, self.run, self.sets, self.begun = packed, plan["run"], plan["sets"], begun

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        worker = torch.utils.data.get_worker_info()
        rng = random.Random(f"{self.run['seed']} {self.begun} {worker.id if worker else 0}")
        turns, shares = self._turns(rng)
        names = list(turns)
        while True:
            pairs: list[Pair] = []
            size = 0
            while size < 40 * self.run["batch_tokens"]:
                claim = next(turns[rng.choices(names, shares)[0]])
                for pair in self.packed.draw(claim, rng, self.run["joined"], self.run["exchanged"]):
                    pairs.append(pair)
                    size += len(pair.ids)
            pairs.sort(key=lambda pair: len(pair.ids) + rng.random())
            batches = cut(pairs, self.run["batch_tokens"])
            rng.shuffle(batches)
            for batch in batches:
                smoothing = [self.sets[pair.set.removesuffix(AS_WRITTEN)].get("smoothing", 0.0) for pair in batch]
                yield padded(batch), torch.tensor([pair.label for pair in batch]), torch.tensor(smoothing)

    def _turns(self, rng: random.Random) -> tuple[dict[str, Iterator[int]], list[float]]:
        """The claims of each set, each pass in a new order, and the sets' shares."""
        turns, shares = {}, []
        for name, settings in self.sets.items():
            for set_name, part in ((name, 0.7 if settings.get("table") else 1.0), (name + AS_WRITTEN, 0.3)):
                claims = self.packed.claims_of(set_name)
                if len(claims):
                    turns[set_name] = self._turn(claims, settings.get("wrong", 1.0), rng)
                    shares.append(settings["share"] * part)
        return turns, shares

    def _turn(self, claims: NDArray[np.int64], wrong: float, rng: random.Random) -> Iterator[int]:
        while True:
            order: list[int] = []
            for claim in claims.tolist():
                times = 1.0 if self.packed.rows[claim, 1] in (0, KIND) else wrong
                order += [claim] * (int(times) + (rng.random() < times % 1))
            rng.shuffle(order)
            yield from order


def cut(pairs: Sequence[Pair], tokens: int) -> list[Sequence[Pair]]:
    """Runs of pairs, sorted by length, that have at most `tokens` with padding, or one pair."""
    found, start = [], 0
    for n in range(len(pairs)):
        if (n + 1 - start) * _rounded(len(pairs[n].ids)) > tokens and n > start:
            found.append(pairs[start:n])
            start = n
    return [*found, pairs[start:]]


def padded(pairs: Sequence[Pair]) -> Tensor:
    """Ids, (n, length); the length is a multiple of 16."""
    ids = np.full((len(pairs), _rounded(max(len(pair.ids) for pair in pairs))), PAD, np.int32)
    for row, pair in zip(ids, pairs, strict=True):
        row[: len(pair.ids)] = pair.ids
    return torch.from_numpy(ids)


def _rounded(length: int) -> int:
    return -(-length // 16) * 16


def loss_of(logits: Tensor, labels: Tensor, smoothing: Tensor, cap: float) -> Tensor:
    """Cross-entropy, (n,), between entailed and not; label 3 leaves open which of the two others it is. For labels from 4 on
    it is that of the kinds.

    A pair of a smoothed set whose loss exceeds `cap` teaches nothing: its label is likely wrong (West et al., loss
    truncation).
    """
    kind = labels >= KIND
    log_p = F.log_softmax(logits[:, :3], dim=-1)
    rest = torch.logsumexp(log_p[:, 1:], dim=-1)
    one = log_p.gather(1, labels.clamp(max=2)[:, None])[:, 0]
    of_kind = F.log_softmax(logits[:, 3:], dim=-1).gather(1, (labels - KIND).clamp(min=0)[:, None])[:, 0]
    right = -torch.where(kind, of_kind, torch.where(labels == 3, rest, one))
    wrong = -torch.where(labels == 0, rest, log_p[:, 0])
    each = (1 - smoothing) * right + smoothing * wrong
    return torch.where((smoothing > 0) & (right > cap), each.detach(), each)


def auc(scores: NDArray[np.float64], true: NDArray[np.bool_]) -> float:
    """ROC-AUC x 100; of equal scores each counts half."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    n = int(true.sum())
    return float(100 * (ranks[true].sum() - n * (n + 1) / 2) / max(n * (len(true) - n), 1))


def measure(
    model: Judge, dev: Packed, groups: Mapping[str, Sequence[str]], room: int, tokens: int, most: int | None = None
) -> dict[str, float]:
    """ROC-AUC x 100 of P(entailment) by development set, the means of the groups, and `rule`, the mean of these.

    room: tokens of a premise. most: claims of a set that are measured, evenly spread over the set; None for all.
    """
    device = next(model.parameters()).device
    claims = [int(n) for name in dev.sets for n in spread(dev.claims_of(name), most)]
    pairs = sorted((dev.as_read(n, room) for n in claims), key=lambda pair: len(pair.ids))
    scores: list[float] = []
    model.eval()
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16):
        for run in cut(pairs, tokens):
            log_p = torch.log_softmax(model(padded(run).to(device))[:, :3], -1)
            scores += (log_p[:, 0] - torch.logsumexp(log_p[:, 1:], -1)).tolist()
    model.train()
    found, sets = np.array(scores), np.array([pair.set for pair in pairs])
    true = np.array([pair.label == 0 for pair in pairs])
    by_set = {name: auc(found[sets == name], true[sets == name]) for name in dev.sets}
    means = {f"mean {name}": float(np.mean([by_set[each] for each in names])) for name, names in groups.items()}
    return {"rule": float(np.mean(list(means.values()))), **means, **by_set}


def spread(claims: NDArray[np.int64], most: int | None) -> NDArray[np.int64]:
    """At most `most` claims, evenly spread."""
    few = most is not None and most < len(claims)
    return claims[np.linspace(0, len(claims) - 1, most or 0).astype(int)] if few else claims


class Training:
    """A judge that learns: its weights, their running mean, the optimizer. Word embeddings and position buckets stay, and the
    first `run["frozen"]` layers with all below them."""

    def __init__(self, model: Judge, run: Mapping[str, Any]) -> None:
        self.model, self.run = model.train(), run
        below = [model.places, model.embedded, *model.layers[: run["frozen"]]] if run["frozen"] else []
        for module in (model.words, model.relative, *below):
            module.requires_grad_(False)
        self.trained = [p for p in model.parameters() if p.requires_grad]
        self.mean = [p.detach().clone() for p in self.trained]
        new = list(model.kinds.parameters())  # begins from nothing, beside weights that have learned
        groups = [{"params": self.trained[: -len(new)], "times": 1.0}, {"params": new, "times": run["head"]}]
        self.optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
        self.steps = self.tokens = 0

    @property
    def progress(self) -> float:
        return float(self.tokens / (1e6 * self.run["millions"]))

    def step(self, ids: Tensor, labels: Tensor, smoothing: Tensor) -> Tensor:
        """Learn from a batch; the loss of each pair, (n,)."""
        rate = self.run["learning_rate"] * min(1.0, (self.steps + 1) / WARM_UP) * max(1 - self.progress, LOWEST)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["times"]
        with torch.autocast(ids.device.type, torch.bfloat16):
            logits = self.model(ids)
        losses = loss_of(logits, labels, smoothing, self.run["loss_cap"] if self.progress > 0.25 else float("inf"))
        losses.mean().backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.steps += 1
        self.tokens += ids.numel()
        torch._foreach_lerp_(self.mean, [p.detach() for p in self.trained], max(self.run["mean"], 1 / self.steps))
        return losses.detach()

    def swap(self) -> None:
        """Exchange the weights and their mean."""
        for parameter, mean in zip(self.trained, self.mean, strict=True):
            parameter.data, mean.data = mean.data, parameter.data

    def save(self, out: Path) -> None:
        """Write the mean for the export, and the checkpoint; the older checkpoint stays whole until the new one is."""
        self.swap()
        stay = (f"{NAMES['words']}.", f"{NAMES['relative']}.")
        kept = {name: p.detach().half().cpu() for name, p in self.model.by_name().items() if not name.startswith(stay)}
        self.swap()
        save_file(kept, out / "judge.safetensors")
        state: dict[str, Any] = {"steps": self.steps, "tokens": self.tokens, "run": dict(self.run)}
        state |= {"weights": [p.detach() for p in self.trained], "mean": self.mean}
        torch.save(state | {"optimizer": self.optimizer.state_dict()}, out / "checkpoint.new")
        os.replace(out / "checkpoint.new", out / "checkpoint.pt")

    def restore(self, file: Path) -> None:
        """Go on at a checkpoint.

        Raises: SystemExit where it was written with other settings.
        """
        state = torch.load(file, map_location="cpu", weights_only=True)
        for name, then in state["run"].items():
            if self.run.get(name) != then:
                raise SystemExit(
                    f"{file} was written with {name} = {then}, not {self.run.get(name)}: a run keeps its settings"
                )
        with torch.no_grad():
            for now, then in zip([*self.trained, *self.mean], [*state["weights"], *state["mean"]], strict=True):
                now.copy_(then)
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps, self.tokens = state["steps"], state["tokens"]


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--run", type=int, default=1)
    parser.add_argument("--weights", type=Path, nargs="+", required=True, help="as `mpnet.weights_of` reads them")
    parser.add_argument("--packed", type=Path, required=True, help="folder with claims.npz and dev.npz")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", action="store_true", help="go on at OUT/checkpoint.pt, if it is there")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of this call")
    parser.add_argument("--every", type=float, default=10, help="million tokens between measurements")
    parser.add_argument(
        "--rooms", type=int, nargs="+", default=[NARROW, WIDE], help="tokens of the premises that are measured"
    )
    parser.add_argument("--measured-claims", type=int, help="claims of a development set that are measured; all by default")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--compile", action="store_true", help="takes 20 seconds, then reads 1.6 times as fast on a GPU")
    parser.add_argument("--workers", type=int, default=0, help="processes that draw pairs")
    return parser


def train(settings: argparse.Namespace) -> bool:
    """One call of the program; whether the run reached its end."""
    plan = plan_of(settings.plan, settings.run)
    device, cuda = torch.device(settings.device), settings.device == "cuda"
    if cuda and not torch.cuda.is_available():
        raise SystemExit("torch finds no GPU for --device cuda: use --device cpu, or a torch that was built for the GPU")
    checkpoint = settings.out / "checkpoint.pt"
    if checkpoint.exists() and not settings.resume:
        raise SystemExit(f"{checkpoint} is there: add --resume to go on, or choose another --out")
    settings.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(plan["run"]["seed"])
    model = judge_of(weights_of(settings.weights), plan["run"]["dropout"]).to(device)
    if settings.compile:
        for layer in model.layers:
            layer.compile(dynamic=True)
    training = Training(model, plan["run"])
    if settings.resume and checkpoint.exists():
        training.restore(checkpoint)
    claims, dev = (Packed(np.load(settings.packed / name)) for name in ("claims.npz", "dev.npz"))
    draws = Draws(claims, plan, training.steps)
    prefetch = 8 if settings.workers else None
    loader = torch.utils.data.DataLoader(
        draws, batch_size=None, num_workers=settings.workers, prefetch_factor=prefetch, pin_memory=cuda
    )

    def report() -> None:
        training.swap()
        for room in settings.rooms:
            found = measure(model, dev, plan["groups"], room, 4 * plan["run"]["batch_tokens"], settings.measured_claims)
            line: dict[str, float] = {"steps": training.steps, "tokens": training.tokens, "room": room}
            text = json.dumps(line | {name: round(value, 1) for name, value in found.items()})
            print(text, flush=True)
            with (settings.out / "log.jsonl").open("a", encoding="utf-8") as log:
                print(text, file=log)
        training.swap()

    asked_to_end: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: asked_to_end.append(number))
    begun = written = time.monotonic()
    measured = training.progress
    recent: list[Tensor] = []
    for batch in loader:
        if training.progress >= 1 or asked_to_end or time.monotonic() - begun > 60 * settings.minutes:
            break
        recent.append(training.step(*(each.to(device, non_blocking=True) for each in batch)))
        if training.steps % 100 == 0:
            loss = float(torch.cat(recent).mean())
            print(f"{training.steps} steps, {training.tokens / 1e6:.1f} M tokens, loss {loss:.3f}", flush=True)
            recent = []
        if time.monotonic() - written > 600:
            training.save(settings.out)
            written = time.monotonic()
        if training.progress - measured > settings.every / plan["run"]["millions"]:
            measured = training.progress
            report()
    training.save(settings.out)
    if training.progress >= 1:
        report()
    return training.progress >= 1


if __name__ == "__main__":
    sys.exit(0 if train(options().parse_args()) else 3)
