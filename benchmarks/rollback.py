"""The cost of a retry: the caches rolled back to the last accepted sentence, against generating again.

    python benchmarks/rollback.py

An answer of three sentences of 20 tokens; the third is refused. `rollback` writes a new third from the
caches, `again` reads the prompt anew and writes all three. Interleaved, medians, one run. The model is
SmolLM2-135M-Instruct, or `--model ID`.
"""

import argparse
import statistics
import time
from itertools import islice

import torch
from shared import DOCUMENTS, generator_of, head, row
from transformers import LogitsProcessor, LogitsProcessorList

from groundrail import Document
from groundrail.decoding import HFGenerator, Sampling
from groundrail.decoding.session import HFSession

SENTENCE = 20


class Endless(LogitsProcessor):
    """Rules out the tokens that end an answer, so that every sentence has its 20 tokens."""

    def __init__(self, stops: set[int]) -> None:
        self.stops = sorted(stops)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        scores[:, self.stops] = -torch.inf
        return scores


def write(session: HFSession, tokens: int) -> int:
    """Propose about so many tokens; returns the characters written."""
    return len("".join(islice(session.propose(), tokens)))


def document_of(generator: HFGenerator, tokens: int) -> Document:
    """A document that makes the whole prompt about `tokens` long."""
    text = (DOCUMENTS / "meeting.txt").read_text(encoding="utf-8") * 2
    spans = generator.tokenizer(text, return_offsets_mapping=True, verbose=False)["offset_mapping"]
    rest = len(generator.encode("What was decided?", ""))
    return Document(text=text[: spans[tokens - rest - 1][1]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="hub id or folder")
    parser.add_argument("--device")
    parser.add_argument("--prompts", type=int, nargs="+", default=[500, 2000, 4000])
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    generator = generator_of(args.model, args.device)
    generator.sampling = Sampling(max_new_tokens=4 * SENTENCE)
    generator.logits_processor = LogitsProcessorList([Endless(generator.stop_ids)])
    head("prompt tokens | rollback, s | again, s | ratio | tokens fed by the retry | by generating again")
    for tokens in args.prompts:
        document = document_of(generator, tokens)
        rolled, again, fed, fed_again = [], [], 0.0, 0.0
        for _ in range(args.repeats):
            session = generator.start("What was decided?", [document])
            session.accept(write(session, SENTENCE))
            session.accept(write(session, SENTENCE))
            refused = write(session, SENTENCE)
            before = session.stats["tokens_fed"]
            started = time.perf_counter()
            session.reject(refused)
            write(session, SENTENCE)
            rolled.append(time.perf_counter() - started)
            fed = session.stats["tokens_fed"] - before

            started = time.perf_counter()
            fresh = generator.start("What was decided?", [document])
            write(fresh, 3 * SENTENCE)
            again.append(time.perf_counter() - started)
            fed_again = fresh.stats["tokens_fed"]
        back, anew = statistics.median(rolled), statistics.median(again)
        row(tokens, f"{back:.2f}", f"{anew:.2f}", f"{back / anew:.2f}", f"{fed:.0f}", f"{fed_again:.0f}")


if __name__ == "__main__":
    main()
