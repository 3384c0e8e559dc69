"""Writes texts with claims from the families of facts beside this file.

    python tools/contrasts/write.py --out FILE.jsonl --texts N --seed S [--held-out] [--pairs] [--claims N]
    python tools/contrasts/write.py --show FAMILY

An equal seed gives equal texts. `--held-out` writes only from the words that are never trained on, and `--pairs` a true and
a false claim about each fact. `--claims` stops at so many claims. `--show` prints each source of a family with claims about it, to be read.

Raises: SystemExit that names the file, the family and the fault.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from contrasts.facts import Teller
from contrasts.grammar import GrammarError, lexicon, read
from contrasts.texts import Author, fillers
from contrasts.words import sentence

HERE = Path(__file__).parent


def author(seed: int, held_out: bool, pairs: bool = False) -> Author:
    """An author of texts; equal arguments give equal texts."""
    teller = Teller(read(HERE), lexicon(HERE), held_out, Random(seed))
    return Author(teller, fillers(HERE.parent / "written"), pairs)


def show(name: str, number: int) -> None:
    """Prints facts of a family, each with claims about it."""
    teller = Teller(read(HERE), lexicon(HERE), True, Random(number))
    teller.held_out = False
    for family in teller.families:
        if family.name != name:
            continue
        for _ in range(number):
            fact = teller.fact(teller.pool(False), family)
            print("\n" + " ".join(sentence(said) for said in fact.sentences))
            for true in (True, True, False, False, False):
                if claim := teller.balance.pick(fact, true, teller.rng):
                    print(f"   {claim.label[:4]:4}  {sentence(teller.tell(fact, claim.text))}")


def cut(texts: Iterable[dict[str, Any]], claims: int) -> Iterator[dict[str, Any]]:
    """The texts up to a number of claims; 0 for all of them. A text without claims is left out."""
    left = claims or sys.maxsize
    for text in texts:
        text["claims"] = text["claims"][:left]
        left -= len(text["claims"])
        if text["claims"]:
            yield text
        if not left:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--claims", type=int, default=0, help="stop at so many claims; 0 for no limit")
    parser.add_argument("--show", help="families, with commas between")
    args = parser.parse_args()
    try:
        if args.show:
            for name in args.show.split(","):
                print(f"\n=== {name}")
                show(name, args.texts if args.texts != 100 else 5)
            return
        if args.out is None:
            parser.error("--out is missing")
        texts = author(args.seed, args.held_out, args.pairs).texts(args.texts, args.seed)
        rows = [json.dumps(row, ensure_ascii=False) for row in cut(texts, args.claims)]
    except GrammarError as error:
        raise SystemExit(str(error)) from None
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
