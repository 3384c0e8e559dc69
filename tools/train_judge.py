"""Trains the built-in judge on written and real claims, beside public and made pairs.

    python tools/train_judge.py --base runs/start --written tools/written --pool DATA/train --out runs/judge --minutes 90
    python tools/train_judge.py --base runs/start --written tools/written --pool DATA/train --out runs/judge --steps 6000 \
      --device cuda --tokens 32000 --at-once 64000 --resume

`--base` is a folder with a three-class sequence classifier: what `train_builtin.py` wrote, or what `start_judge.py`
makes of the shipped judge. `--written` holds JSON-lines files of texts with claims (`windows.py` says how they become
pairs); the folder is looked at again now and then, so that files may be added meanwhile. What is saved is the running
mean of the weights, with `--keep` also as it was now and then, in folders beside `--out`, for `mean_weights.py`.

The seed decides the order of the pairs, whatever the device. `OUT/checkpoint.pt` holds all that a run needs to go on
with `--resume` exactly where it stopped; a run that is asked to end (SIGTERM, Ctrl-C) writes it first and
exits with 3.
"""

import argparse
import hashlib
import json
import random
import signal
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from batches import Batches, pool_pairs
from judge_forward import scores_of
from judge_training import Training, read_checkpoint, write_checkpoint
from windows import Pair, Text, Windows, load_texts

from groundrail.runtime.checksums import sha256_of

ROOM = 150
"""Tokens of the premises of the development sets."""


def development(training: Training, texts: list[Text], room: int) -> dict[str, float]:
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
    found = scores_of(training.model, training.tokenizer, pairs, 2 * training.at_once)
    entailed = [pair.label == "entailment" for pair in pairs]
    rest = [n for n, pair in enumerate(pairs) if pair.label != "entailment"]
    return {
        "n": len(pairs),
        "auc": round(100 * roc_auc_score(entailed, found[:, 0]), 1),
        "conflict": round(100 * roc_auc_score([pairs[n].label == "contradiction" for n in rest], found[rest, 2]), 1),
    }


class Run:
    """One run of training, from its settings to the saved judge; `options()` lists the settings.

    Raises: SystemExit where the settings and what lies in `--out` do not go together.
    """

    def __init__(self, settings: argparse.Namespace) -> None:
        self.settings = settings
        settings.out.mkdir(parents=True, exist_ok=True)
        self.checkpoint = settings.out / "checkpoint.pt"
        if self.checkpoint.exists() and not settings.resume:
            raise SystemExit(f"{self.checkpoint} is there: add --resume to go on, or choose another --out")
        self.training = Training(
            settings.base, torch.device(settings.device), settings.lr, settings.frozen, settings.at_once
        )
        tokenizer = self.training.tokenizer
        pool = pool_pairs(settings.pool, tokenizer, settings.seed) if settings.pool else iter(())
        self.windows = Windows(random.Random(settings.seed), tokenizer)
        self.batches = Batches(self.windows, pool, settings.tokens, settings.pool_share)
        self.dev = {path.stem: load_texts(path, tokenizer) for path in settings.dev}
        self.losses: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=600))
        self.tokens = 0
        self.started, self.before = time.monotonic(), 0.0
        self.read: str | None = None  # the names and sums of the files that were read
        self.read_texts()
        if settings.resume and self.checkpoint.exists():
            self.restore(read_checkpoint(self.checkpoint))

    @property
    def fixed(self) -> dict[str, Any]:
        """Options that a run keeps when it goes on, or its end would not be that of a run in one piece."""
        names = ("seed", "steps", "minutes", "tokens", "pool_share", "lr", "lr_floor", "frozen")
        kept = {"--" + name.replace("_", "-"): getattr(self.settings, name) for name in names}
        return kept | {"--base": sha256_of(self.settings.base / "model.safetensors")}

    @property
    def minutes(self) -> float:
        """Minutes of training, those before a checkpoint included."""
        return self.before + (time.monotonic() - self.started) / 60

    @property
    def progress(self) -> float:
        """Share of the run that is done; from 1 on it is at its end."""
        if self.settings.steps is not None:
            return float(self.training.steps / self.settings.steps)
        return float(self.minutes / self.settings.minutes)

    def train(self, paused: Callable[[], bool] = lambda: False) -> bool:
        """Train to the end, or until `paused` says so after a step; whether the end was reached."""
        settings = self.settings
        measured = looked = written = self.minutes
        kept = settings.keep and self.minutes // settings.keep * settings.keep
        while self.progress < 1:
            if paused():
                self.write()
                self.report(step=self.training.steps, paused=True)
                return False
            self.step()
            if settings.keep and self.minutes >= kept + settings.keep:
                kept += settings.keep
                self.training.save(settings.out.with_name(f"{settings.out.name}-{kept:g}"))
            if self.minutes >= looked + settings.reload:
                looked = self.minutes
                self.read_texts()
            if self.minutes >= written + settings.checkpoint:
                written = self.minutes
                self.write()
            if self.minutes >= measured + settings.every:
                measured = self.minutes
                self.measure()
        self.write()
        self.measure()
        return True

    def step(self) -> None:
        """Learn from the next batch; the learning rate rises for 20 steps and falls to its floor at the end."""
        settings, done = self.settings, self.training.steps
        lr = settings.lr * min(1.0, (done + 1) / 20) * max(1 - self.progress, settings.lr_floor)
        for pair, loss in self.training.step(next(self.batches), lr):
            self.losses[pair.kind].append(loss)
            self.losses["all"].append(loss)
            self.tokens += len(pair)
        if self.training.steps % 20 == 0:
            recent = sum(self.losses["all"]) / len(self.losses["all"])
            print(self.training.steps, round(self.minutes, 1), self.tokens, round(recent, 3), flush=True)

    def read_texts(self) -> None:
        """Read the written claims where they are not what they were; then a new pass begins."""
        files = sorted(self.settings.written.glob("*.jsonl"))
        sums = [f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files]
        if self.read == (now := "\n".join(sums)):
            return
        texts = [text for file in files for text in load_texts(file, self.training.tokenizer)]
        if not texts:
            raise SystemExit(f"{self.settings.written} holds no claims: --written takes a folder of JSON-lines files")
        self.windows.load(texts)
        self.read = now
        self.report(texts=len(texts), claims=sum(len(text.claims) for text in texts))

    def measure(self) -> None:
        """Report the judge's figures on the development sets."""
        with self.training.averaged():
            scores = {f"{name}-{ROOM}": development(self.training, texts, ROOM) for name, texts in self.dev.items()}
        recent = {kind: round(sum(v) / len(v), 3) for kind, v in sorted(self.losses.items()) if len(v) > 20}
        self.report(step=self.training.steps, tokens=self.tokens, dev=scores, loss=recent)

    def report(self, **fields: Any) -> None:
        """One line on the screen and in OUT/log.jsonl."""
        line = json.dumps({"minutes": round(self.minutes, 1), **fields})
        print(line, flush=True)
        with (self.settings.out / "log.jsonl").open("a", encoding="utf-8") as log:
            print(line, file=log)

    def write(self) -> None:
        """Write the judge as it is now and the checkpoint."""
        state = {
            "fixed": self.fixed,
            "training": self.training.state(),
            "batches": self.batches.state(),
            "read": self.read,
            "tokens": self.tokens,
            "minutes": self.minutes,
        }
        self.training.save(self.settings.out)
        write_checkpoint(self.checkpoint, state)

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where a checkpoint was written; with other texts than then, a new pass begins."""
        for option, then in state["fixed"].items():
            if (now := self.fixed[option]) != then:
                raise SystemExit(f"{self.checkpoint} was written with {option} {then}, not {now}: a run keeps {option}")
        self.training.restore(state["training"])
        self.batches.restore(state["batches"], same_texts=state["read"] == self.read)
        self.tokens, self.before = state["tokens"], state["minutes"]
        self.started = time.monotonic()
        self.report(step=self.training.steps, resumed=True)


class Signals:
    """Notes the first SIGTERM or SIGINT inside its block, which then does not end the program: `if signals():`."""

    def __init__(self) -> None:
        self._seen = False

    def __call__(self) -> bool:
        return self._seen

    def __enter__(self) -> "Signals":
        self._old = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *error: object) -> None:
        self._release()

    def _release(self) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: object) -> None:
        self._seen = True
        self._release()


def options() -> argparse.ArgumentParser:
    """The settings of a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--written", type=Path, required=True)
    parser.add_argument("--pool", type=Path, help="folder with nli_pool.jsonl.gz; a dose of it goes into every pass")
    parser.add_argument("--pool-share", type=float, default=0.12, help="share of a step's tokens, about")
    parser.add_argument(
        "--dev", type=Path, nargs="*", default=[], help="files in the same format, measured now and then"
    )
    parser.add_argument("--out", type=Path, required=True)
    limit = parser.add_mutually_exclusive_group(required=True)
    limit.add_argument("--minutes", type=float, help="the learning rate reaches its floor by then")
    limit.add_argument(
        "--steps", type=int, help="the same, counted in steps: then a run's result follows from its seed"
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="a GPU reads in bfloat16")
    parser.add_argument("--resume", action="store_true", help="go on at OUT/checkpoint.pt, if it is there")
    parser.add_argument("--checkpoint", type=float, default=10, help="minutes between checkpoints")
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument(
        "--lr-floor", type=float, default=0.0, help="share of the learning rate that is left at the end"
    )
    parser.add_argument("--keep", type=float, help="minutes between copies of the running mean, OUT-10, OUT-20, ...")
    parser.add_argument("--tokens", type=int, default=2600, help="of a step")
    parser.add_argument("--at-once", type=int, default=2000, help="tokens with padding that are read at once")
    parser.add_argument("--every", type=float, default=15, help="minutes between measurements")
    parser.add_argument("--reload", type=float, default=10, help="minutes between looks into the folder")
    parser.add_argument("--frozen", type=int, default=0, help="lowest layers left as they are, beside the embeddings")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def main() -> None:
    parser = options()
    settings = parser.parse_args()
    if settings.device == "cuda" and not torch.cuda.is_available():
        parser.error("torch finds no GPU for --device cuda: use --device cpu, or a torch that was built for the GPU")
    with Signals() as signals:
        finished = Run(settings).train(signals)
    sys.exit(0 if finished else 3)


if __name__ == "__main__":
    main()
