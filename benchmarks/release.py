"""Seconds from a sentence's last character to its release, for a chain that streams through GuardedRunnable.

    python benchmarks/release.py

The chain streams one sentence of the lease after another, word by word and without pauses; the word that shows
that a sentence has ended counts as part of it. The judge is the built-in one, the source the whole lease.
"""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableGenerator

from groundrail import Guard
from groundrail.text.sentences import split

LEASE = Path(__file__).parents[1] / "examples" / "documents" / "lease.txt"
CLAIMS = 12


def main() -> None:
    source = LEASE.read_text(encoding="utf-8")
    sentences = [s.text.strip() + " " for s in split(source) if len(s.text) > 40][:CLAIMS]
    written = [0.0]

    def write(inputs: Iterator[Any]) -> Iterator[str]:
        for word in "".join(sentences).split(" "):
            written[0] = time.perf_counter()
            yield word + " "

    guarded = Guard().as_runnable(RunnableGenerator(write))
    guarded.invoke({"documents": source})  # loads the judge
    waits = [time.perf_counter() - written[0] for _ in guarded.stream({"documents": source})]
    print(f"{len(waits)} of {len(sentences)} sentences released, source of {len(source)} characters")
    print(f"seconds to release: median {statistics.median(waits):.2f}, longest {max(waits):.2f}")


if __name__ == "__main__":
    main()
