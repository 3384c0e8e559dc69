"""Whether checks of new lengths cost more than checks of known ones: oneDNN makes and keeps kernels for each length.

    python benchmarks/shapes.py

Processor time of a first and a second pass over 100 different checks of a sentence over two to four, after one check that warms
up, and the resident memory after 1,000 different checks. It fails where the first pass takes over 1.05 times the
second, or the memory is over 750 MB.
"""

import argparse
import random
import sys
import time

from memory import source
from shared import megabytes

from groundrail import Guard

BARS = {"ratio": 1.05, "megabytes": 750.0}


def checks(count: int, seed: int) -> list[tuple[str, str]]:
    """Different answers of a sentence, each with a source of two to four."""
    draw, sentences = random.Random(seed), source(200_000, seed)
    return [(draw.choice(sentences), " ".join(draw.sample(sentences, draw.randint(2, 4)))) for _ in range(count)]


def seconds(guard: Guard, pairs: list[tuple[str, str]]) -> float:
    """Processor time of all checks."""
    started = time.process_time()
    for answer, text in pairs:
        guard.check(answer, text)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checks", type=int, default=1000, help="checks before memory is read")
    options = parser.parse_args()
    pairs, guard = checks(options.checks, seed=1), Guard()
    seconds(guard, pairs[:1])
    print(f"loaded: {megabytes('VmRSS'):.0f} MB")
    first, second = seconds(guard, pairs[:100]), seconds(guard, pairs[:100])
    print(f"100 checks: {first:.1f} s of processor time, again {second:.1f} s: {first / second:.2f} times")
    seconds(guard, pairs[100:])
    held = megabytes("VmRSS")
    print(f"after {len(pairs):,} checks: {held:.0f} MB")
    sys.exit(first / second > BARS["ratio"] or held > BARS["megabytes"])


if __name__ == "__main__":
    main()
