"""Peak memory with a long source: what loading, reading and deciding take at most, each case in a process of its own.

    python benchmarks/memory.py
    python benchmarks/memory.py --cases nearest:1:100 scale:1:100 nearest:20:5

A case is SCORER:MEGABYTES:CLAIMS. The source is the sentences of examples/documents drawn at random, each with figures
of its own; the claims are sentences of it, for `nearest` every other one with a figure changed. (`scale` reads all of
the source for a claim that is not supported, which takes hours.) It fails where a case of 1 MB or less takes more
than `--bound`.
"""

import argparse
import json
import random
import re
import time

from shared import DOCUMENTS, alone, head, megabytes, row

STEPS = ("judge loaded", "source read", "claims decided")
_FIGURE = re.compile(r"\d+")


def source(characters: int, seed: int = 0) -> list[str]:
    """Sentences that have so many characters together, blanks between them included."""
    from groundrail.text.sentences import split

    draw = random.Random(seed)
    texts = [path.read_text(encoding="utf-8") for path in sorted(DOCUMENTS.glob("*.txt")) if path.stem != "README"]
    known = [text for document in texts for part in split(document) if (text := part.text.strip())]
    found: list[str] = []
    length = 0
    while length < characters:
        sentence = _FIGURE.sub(lambda _: str(draw.randrange(1, 10_000)), draw.choice(known))
        found.append(sentence)
        length += len(sentence) + 1
    return found


def claims(sentences: list[str], count: int, some_false: bool) -> list[str]:
    """Sentences from all over the source; where wanted, every other one with another figure in it."""
    with_figures = [sentence for sentence in sentences if _FIGURE.search(sentence)]
    chosen = [with_figures[place * len(with_figures) // count] for place in range(count)]
    return [
        _FIGURE.sub("12345", claim, count=1) if some_false and number % 2 else claim for number, claim in enumerate(chosen)
    ]


def measured(case: str) -> dict[str, list[float]]:
    """Peak megabytes and seconds after each of `STEPS`, in this process, and how many claims were supported."""
    from groundrail.scoring.registry import load_scorer

    name, size, count = case.split(":")
    sentences = source(round(float(size) * 1_000_000))
    text, asked = " ".join(sentences), claims(sentences, int(count), some_false=name == "nearest")
    del sentences
    peaks: list[float] = []
    seconds: list[float] = []
    started = time.perf_counter()

    def note() -> None:
        peaks.append(megabytes("VmHWM"))
        seconds.append(time.perf_counter() - started)

    scorer = load_scorer(name)
    note()
    reader = scorer.read(text)
    note()
    scores = reader.score(asked, scorer.metadata.threshold)
    note()
    return {"peaks": peaks, "seconds": seconds, "supported": [sum(s.value >= scorer.metadata.threshold for s in scores)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=["nearest:1:100", "scale:1:100", "nearest:20:5", "scale:20:5"])
    parser.add_argument("--bound", type=float, default=1200, help="megabytes that a case of 1 MB may take at most")
    parser.add_argument("--alone", metavar="CASE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measured(options.alone)))
        return
    head("scorer", "source, MB", "claims", "supported", *(f"{step}, MB" for step in STEPS), "seconds")
    over = []
    for case in options.cases:
        found = alone(__file__, case)
        taken = found["seconds"][-1] - found["seconds"][0]
        row(*case.split(":"), found["supported"][0], *(f"{number:.0f}" for number in (*found["peaks"], taken)))
        if float(case.split(":")[1]) <= 1 and found["peaks"][-1] > options.bound:
            over.append(case)
    if over:
        raise SystemExit(f"over {options.bound:g} MB: {', '.join(over)}")


if __name__ == "__main__":
    main()
