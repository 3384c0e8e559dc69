"""Count the claims with an invented figure that the default guard releases.

    python benchmarks/figures.py benchmarks/claims/written_dev.jsonl --limit 100

Takes true claims with a number in digits that the source states. The first of these numbers is exchanged for a random number
of as many digits that neither stands in the source nor follows from it (`groundrail.facts.computed`, which combines
the source's first 40 figures). The same claims as they were written are the control. `--limit` draws the same claims every time.
"""

import argparse
import random
import re
from pathlib import Path

from shared import DOCUMENTS, head, row

from groundrail import Guard
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.facts.computed import computation
from groundrail.facts.mentions import Mention, mentions
from groundrail.facts.missing import is_stated

_DIGITS = re.compile(r"\d[\d,]*")
_TRIES = 50


def with_invented_figure(claim: str, source: str, draw: random.Random) -> str | None:
    """The claim with another first figure; None if no figure in digits is stated, or no other one was found.

    >>> with_invented_figure("The rent is 1,450 euros.", "The rent is 1,450 euros.", random.Random(1)) is None
    False
    """
    for figure in mentions(claim):
        digits = _DIGITS.search(claim, figure.start, figure.end)
        if digits and figure.meaning[0] in ("quantity", "number") and is_stated(figure, source):
            return _exchanged(claim, figure, digits, source, draw)
    return None


def _exchanged(claim: str, figure: Mention, digits: re.Match[str], source: str, draw: random.Random) -> str | None:
    size = len(digits[0].replace(",", ""))
    for _ in range(_TRIES):
        number = draw.randrange(10 ** (size - 1), 10**size)
        written = f"{number:,}" if "," in digits[0] else str(number)
        other = claim[: digits.start()] + written + claim[digits.end() :]
        same_place = [each for each in mentions(other) if each.start == figure.start]
        if not same_place or is_stated(same_place[0], source):
            continue
        if computation(same_place[0], other, [source], roughly=True) is None:
            return other
    return None


def source_of(example: Example) -> str:
    """The text of all documents."""
    return "\n\n".join(document.text for document in example.source)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--limit", type=int, help="claims of a file at most")
    options = parser.parse_args()
    guard = Guard()
    head("file | claims | released with an invented figure | released as written")
    for path in options.data:
        draw = random.Random(0)
        true = [example for example in load(path, documents=DOCUMENTS) if example.label == 1]
        pairs = [(e, other) for e in true if (other := with_invented_figure(e.claim, source_of(e), draw))]
        pairs = draw.sample(pairs, min(options.limit or len(pairs), len(pairs)))
        invented = sum(guard.check(other, list(example.source)).supported for example, other in pairs)
        written = sum(guard.check(example.claim, list(example.source)).supported for example, _ in pairs)
        row(path.stem, len(pairs), invented, written)


if __name__ == "__main__":
    main()
