"""Trains the head with which the built-in judge's encoder, left as it is, answers Q²'s questions.

    python tools/train_span_head.py --data DATA/train --dev DATA/eval/squad_v2_dev.json --cache runs/span
    python benchmarks/answering.py --data DATA/eval/squad_v2_dev.json

The encoder reads every question once; its states are kept in `--cache` in 16 bit, and the head is trained on them in
minutes. `--data` holds `nli_pool.jsonl.gz` and `squad_questions.json`; what the questions are made of is in
`questions.py`. The threshold is the one at which, on every fifteenth question of `--dev`, the worse of token F1 where there
is an answer and silence where there is none is best. It must be trained again whenever the judge's weights change.
"""

import argparse
import copy
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from pairs import load_pool
from questions import Asked, among, around, beside, from_claims, from_multirc, misasked, neighbours, placed, squad, written
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from groundrail.entailment.batching import by_length
from groundrail.entailment.builtin import as_cross_encoder
from groundrail.papers.q2.exchanges import token_f1
from groundrail.papers.q2.span_head import FILE, Reading, Shape, SpanHead, SpanHeadAnswerer
from groundrail.papers.q2.squad import Question, load_questions

ANSWERS = Path(__file__).parent / "answers"
LONGEST = 55
"""Words of a text."""

BLOCK = 512
"""Readings in a file of states."""


@dataclass(frozen=True, slots=True)
class Example:
    """A reading with its states and the first and last token of its answer, -1 where there is none."""

    reading: Reading
    states: Tensor
    first: int
    last: int


def examples(data: Path, limit: int | None, rng: random.Random) -> list[tuple[str, Asked]]:
    """Training questions with their kind, shuffled; about half of them have no answer."""
    made: list[tuple[str, Asked]] = []
    rows = squad(data / "squad_questions.json", ANSWERS / "squad.json")
    unanswerable = written(ANSWERS / "unanswerable.json")
    for place, row in enumerate(rows):
        others = neighbours(rows, place)
        asked = placed(row.question, row.answer, row.sentence) if row.answer else None
        whole = Asked(row.question, row.sentence, 0, 0)
        some = rng.sample(others[:6], min(rng.choice([0, 0, 1, 2]), len(others[:6])))
        if asked is not None:
            whole = among(asked, some, LONGEST, rng)
            made.append(("squad", whole))
        if row.number in unanswerable:
            made.append(("written", among(Asked(unanswerable[row.number], row.sentence, 0, 0), some, LONGEST, rng)))
        elif rng.random() < (0.8 if asked else 0.4):
            first, second = (misasked(whole, rng), beside(row.question, others, LONGEST))
            kind, without = ("misasked", first) if first and rng.random() < 0.5 else ("beside", second)
            if without is not None:
                made.append((kind, without))
    pool = load_pool(data / "nli_pool.jsonl.gz")
    rng.shuffle(pool)
    made += [("multirc", short) for asked in from_multirc(pool) if (short := around(asked, LONGEST))]
    templates = list(from_claims(pool[: len(pool) // 8], rng, LONGEST))[:1200]
    made += [("template", asked) for asked in templates]
    made += [("mistemplate", wrong) for asked in templates[:700] if (wrong := misasked(asked, rng))]
    rng.shuffle(made)
    return made[:limit]


def located(reading: Reading, asked: Asked) -> tuple[int, int] | None:
    """First and last token of the answer, -1 where there is none; None where the reading does not hold it."""
    if not asked.end:
        return -1, -1
    inside = [
        place
        for place, (start, end) in enumerate(reading.slices)
        if reading.sentence[place] and start < asked.end and asked.start < end
    ]
    whole = inside and reading.slices[inside[0]][0] <= asked.start and asked.end <= reading.slices[inside[-1]][1]
    return (inside[0], inside[-1]) if whole else None


def states_of(readings: Sequence[Reading], answerer: SpanHeadAnswerer, cache: Path, name: str) -> list[Tensor]:
    """The encoder's states of each reading in 16 bit, (tokens, layers, width), kept in files of `BLOCK` readings."""
    cache.mkdir(parents=True, exist_ok=True)
    states: list[Tensor] = []
    started = time.monotonic()
    for begin in range(0, len(readings), BLOCK):
        path, block = cache / f"{name}-{begin:05}.pt", readings[begin : begin + BLOCK]
        if not path.is_file():
            torch.save(_encoded(block, answerer), path)
            print(f"{begin + len(block)} of {len(readings)}, {(time.monotonic() - started) / 60:.1f} min", flush=True)
        states += torch.load(path, mmap=True)
    return states


def _encoded(readings: Sequence[Reading], answerer: SpanHeadAnswerer) -> list[Tensor]:
    encoded = [torch.empty(0)] * len(readings)
    for batch in by_length([len(reading.slices) for reading in readings], 1024, alike=True):
        with torch.inference_mode():
            states, _, _ = answerer.states([readings[index] for index in batch])
        for row, index in enumerate(batch):
            encoded[index] = torch.stack([state[row, : len(readings[index].slices)] for state in states], dim=1).half()
    return encoded


def inputs(readings: Sequence[Reading], states: Sequence[Tensor]) -> tuple[list[Tensor], Tensor, Tensor]:
    """The inputs of the head: a tensor of every layer, which sentence a token is of, and which tokens are real."""
    sentence = pad_sequence([torch.tensor(reading.sentence) for reading in readings], batch_first=True)
    real = pad_sequence([torch.ones(len(state), dtype=torch.bool) for state in states], batch_first=True)
    return list(pad_sequence(list(states), batch_first=True).float().unbind(2)), sentence, real


def loss_of(slices: Tensor, none: Tensor, firsts: Tensor, lasts: Tensor) -> Tensor:
    """Cross-entropy over all slices and none; an answer that no slice may be is left out."""
    everything = torch.cat([slices.flatten(1), none[:, None]], dim=1)
    target = torch.where(firsts < 0, slices.shape[1] ** 2, firsts * slices.shape[1] + lasts)
    loss = torch.logsumexp(everything, 1) - everything.gather(1, target[:, None])[:, 0]
    return loss[loss.isfinite()].mean()


def trained(head: SpanHead, examples: Sequence[Example], epochs: int, lr: float, batch: int, rng: random.Random) -> SpanHead:
    """The running mean of the head's weights."""
    optimizer = torch.optim.AdamW(head.parameters(), lr=lr, weight_decay=0.05)
    total, step = epochs * -(-len(examples) // batch), 0
    mean = copy.deepcopy(head)
    for epoch in range(epochs):
        losses = []
        for group in grouped(examples, batch, rng):
            for settings in optimizer.param_groups:
                settings["lr"] = lr * min(1.0, (step + 1) / 100) * max(0.0, 1 - step / total)
            slices, none = head(*inputs([one.reading for one in group], [one.states for one in group]))
            places = torch.tensor([(one.first, one.last) for one in group])
            loss = loss_of(slices, none, places[:, 0], places[:, 1])
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
            step += 1
            with torch.no_grad():
                for old, new in zip(mean.parameters(), head.parameters(), strict=True):
                    old.lerp_(new, max(0.01, 1 / step))
        print(f"epoch {epoch + 1}: loss {sum(losses) / len(losses):.3f}", flush=True)
    return mean.eval()


def grouped(examples: Sequence[Example], size: int, rng: random.Random) -> list[list[Example]]:
    """Batches of like length in random order."""
    rows, batches = rng.sample(examples, len(examples)), []
    for begin in range(0, len(rows), 16 * size):
        block = sorted(rows[begin : begin + 16 * size], key=lambda one: len(one.states))
        batches += [block[start : start + size] for start in range(0, len(block), size)]
    return rng.sample(batches, len(batches))


def found(head: SpanHead, readings: Sequence[Reading], states: Sequence[Tensor]) -> list[tuple[float, int, int]]:
    """The margin of each reading's best slice over none, and its place in the text."""
    best = []
    for begin in range(0, len(readings), 32):
        group = readings[begin : begin + 32]
        with torch.inference_mode():
            slices, none = head(*inputs(group, states[begin : begin + 32]))
        margins, places = (slices.flatten(1) - none[:, None]).max(dim=1)
        for reading, margin, place in zip(group, margins.tolist(), places.tolist(), strict=True):
            first, last = divmod(place, slices.shape[1])
            best.append((margin, reading.slices[first][0], reading.slices[last][1]))
    return best


def measured(questions: Sequence[Question], best: Sequence[tuple[float, int, int]], threshold: float) -> tuple[float, float]:
    """Token F1 where there is an answer, and the share of silence where there is none."""
    right, silent = [], []
    for (_, text, answers), (margin, start, end) in zip(questions, best, strict=True):
        said = text[start:end] if margin >= threshold else ""
        if answers:
            right.append(max(token_f1(said, answer) for answer in answers))
        else:
            silent.append(not said)
    return sum(right) / len(right), sum(silent) / len(silent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="folder of the encoder's states")
    parser.add_argument("--out", type=Path, help="file of the head; beside Q²'s code in the package")
    parser.add_argument("--limit", type=int, help="only so many questions, to try it")
    parser.add_argument("--states", type=int, nargs="+", default=[9], help="the encoder's layers that are kept")
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    judge = as_cross_encoder()
    shape = Shape(tuple(args.states), judge.model.config.hidden_size, args.width, args.layers)
    head = SpanHead(shape, args.dropout)
    answerer = SpanHeadAnswerer(judge, head)
    made = examples(args.data, args.limit, rng)
    print(dict(Counter(kind for kind, _ in made)))
    readings = answerer.readings([(asked.question, asked.text) for _, asked in made])
    questions = load_questions(args.dev)[5::15]
    asked_of_dev = answerer.readings([(question, text) for question, text, _ in questions])
    states_of_dev = states_of(asked_of_dev, answerer, args.cache, "dev")
    states = states_of(readings, answerer, args.cache, "train")
    kept = [
        Example(reading, state, *place)
        for (_, asked), reading, state in zip(made, readings, states, strict=True)
        if (place := located(reading, asked)) is not None
    ]
    print(f"{len(kept)} of {len(made)} questions, {sum(map(len, states))} tokens", flush=True)
    head = trained(head.train(), kept, args.epochs, args.lr, args.batch, rng)
    best = found(head, asked_of_dev, states_of_dev)
    levels = sorted({round(margin, 2) for margin, _, _ in best})
    threshold = max(levels, key=lambda level: min(measured(questions, best, level)))
    for level in (threshold - 1, threshold, threshold + 1):
        f1, silent = measured(questions, best, level)
        print(f"threshold {level:.2f}: F1 where answerable {100 * f1:.1f}, none where none {100 * silent:.1f} %")
    out = args.out or Path(__file__).parents[1] / "papers" / "q2" / FILE
    head.save(out, judge.metadata.identity, threshold)
    print(f"{out.stat().st_size / 1e6:.2f} MB in {out.name}")


if __name__ == "__main__":
    main()
