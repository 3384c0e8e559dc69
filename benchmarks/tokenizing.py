"""How often a source goes through the tokenizer in one answer, by scorer and sentences.

    python benchmarks/tokenizing.py

`once` is the guard's way: the source is read when the first claim asks for it, and kept for the answer. `each` asks
`scorer.score` sentence by sentence, which reads the source anew every time. Printed are calls of the tokenizer and the
characters it read, in lengths of the source; the rest of what it read are claims. The model is a fake that takes words
for tokens and believes what shares all words: how often it is asked depends on the scorer, not on the model.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from groundrail import Guard
from groundrail.scoring.base import Scorer
from groundrail.scoring.registry import load_scorer
from groundrail.testing import FakeEntailment

SCORERS = ("nearest", "scale", "pairs", "topk", "full")
WORDS = "rent lease keys pets deposit flat month euros landlord tenant garden cellar water heating repairs".split()


class Counting(FakeEntailment):
    """Counts what goes through its tokenizer."""

    def __init__(self) -> None:
        super().__init__()
        self.tokenized = 0
        self.characters = 0

    def offsets(self, text: str) -> list[tuple[int, int]]:
        self.tokenized += 1
        self.characters += len(text)
        return super().offsets(text)


class Read(NamedTuple):
    """The work for one answer: calls of the tokenizer, and characters as a multiple of the source's."""

    calls: int
    lengths: float


def written(characters: int, seed: int = 0) -> list[str]:
    """Sentences of a source of about so many characters, no two the same."""
    draw, found = random.Random(seed), list[str]()
    while sum(map(len, found)) + len(found) < characters:
        found.append(f"Clause {len(found) + 1} is about the {' and the '.join(draw.sample(WORDS, 4))}.")
    return found


def once(scorer: Scorer, answer: Sequence[str], source: str) -> None:
    """The whole answer under a guard."""
    Guard(scorer=scorer).check(" ".join(answer), source)


def each(scorer: Scorer, answer: Sequence[str], source: str) -> None:
    """Every sentence for itself."""
    for sentence in answer:
        scorer.score([sentence], source)


def read(name: str, way: Callable[[Scorer, Sequence[str], str], None], answer: Sequence[str], source: str) -> Read:
    """The characters that the tokenizer of the scorer called `name` read."""
    model = Counting()
    way(load_scorer(name, model), answer, source)
    return Read(model.tokenized, model.characters / len(source))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scorers", nargs="+", default=SCORERS)
    parser.add_argument("--characters", type=int, default=80_000, help="length of the source")
    parser.add_argument("--sentences", type=int, nargs="+", default=[1, 5, 10, 20], help="of the answer")
    options = parser.parse_args()
    sentences = written(options.characters)
    source = " ".join(sentences)
    print(f"a source of {len(source):,} characters, {len(sentences):,} sentences\n")
    print("| scorer | sentences of the answer | calls, once | each | lengths of the source, once | each |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in options.scorers:
        for count in options.sentences:
            answer = sentences[:: len(sentences) // count][:count]
            cells = [read(name, way, answer, source) for way in (once, each)]
            calls, lengths = zip(*cells, strict=True)
            row = [name, str(count), *(f"{n:,}" for n in calls), *(f"{n:.2f}" for n in lengths)]
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
