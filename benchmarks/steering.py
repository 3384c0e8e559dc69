"""The cost of steering for a guard: the time of `steering=PMI(0.5)` against none, as ratios.

    python benchmarks/steering.py --repeats 5

Answers of a fixed number of tokens, written by the generator alone and under a guard with the built-in judge and no
retries, so that both ways write and judge as much. Each pair of runs, steered and not, is made one after the other,
which of them first in turn, and gives one ratio, so that a machine that slows down slows both. The model is
SmolLM2-135M-Instruct, or `--model ID`.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from tenacity import stop_after_attempt
from transformers import LogitsProcessor, LogitsProcessorList

from groundrail import Document, Guard, Policy
from groundrail.decoding import PMI, HFGenerator, Sampling

DOCUMENTS = Path(__file__).parent.parent / "examples" / "documents"
QUESTIONS = {
    "meeting.txt": ["What was decided?", "Who takes part in the meeting?"],
    "lease.txt": ["When is the rent due?", "How much is the deposit?"],
}


class Endless(LogitsProcessor):
    """Rules out the tokens that end an answer."""

    def __init__(self, stops: set[int]) -> None:
        self.stops = sorted(stops)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        scores[:, self.stops] = -torch.inf
        return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="hub id or folder")
    parser.add_argument("--device")
    parser.add_argument("--alpha", type=float, default=0.5)
    parser.add_argument("--tokens", type=int, default=48, help="of an answer")
    parser.add_argument("--characters", type=int, default=2000, help="of each document")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    if args.model:
        base = HFGenerator.from_pretrained(args.model, device=args.device)
    else:
        from groundrail.generators.smollm2 import smollm2

        base = HFGenerator(*smollm2())

    sampling = Sampling(max_new_tokens=args.tokens)
    endless = LogitsProcessorList([Endless(base.stop_ids)])
    generators = [
        HFGenerator(base.model, base.tokenizer, steering=steering, sampling=sampling, logits_processor=endless)
        for steering in (None, PMI(args.alpha))
    ]
    guards = [Guard(generator, policy=Policy(stop=stop_after_attempt(1))) for generator in generators]
    asked = [
        (question, Document(text=(DOCUMENTS / name).read_text(encoding="utf-8")[: args.characters]))
        for name, questions in QUESTIONS.items()
        for question in questions
    ]

    def written(way: int, question: str, document: Document) -> None:
        for _ in generators[way].start(question, [document]).propose():
            pass

    def guarded(way: int, question: str, document: Document) -> None:
        guards[way].generate(question, document)

    print(f"| what | steered, against plain | middle half | pairs |\n| {' | '.join(['---'] * 4)} |")
    for name, run in (("generator", written), ("guard", guarded)):
        ratios = _ratios(run, asked, args.repeats)
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"| {name} | {middle:.2f} | {low:.2f} to {high:.2f} | {len(ratios)} |", flush=True)


def _ratios(run: Callable[[int, str, Document], None], asked: list[tuple[str, Document]], repeats: int) -> list[float]:
    """Seconds of way 1 over way 0, one for each question and repeat; a first round is not counted."""
    ratios = []
    for repeat in range(repeats + 1):
        for question, document in asked:
            seconds = [0.0, 0.0]
            for way in (0, 1) if repeat % 2 else (1, 0):
                started = time.perf_counter()
                run(way, question, document)
                seconds[way] = time.perf_counter() - started
            if repeat:
                ratios.append(seconds[1] / seconds[0])
    return ratios


if __name__ == "__main__":
    main()
