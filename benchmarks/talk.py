"""Which sentences the built-in judge's second head takes for talk or silence, and at which probability it may.

    python benchmarks/talk.py benchmarks/talk/talk.jsonl --claims benchmarks/claims/*_dev.jsonl

Prints for each threshold the share of talk that is known, and the share of claims that would go out as talk, without and
with the last look of `groundrail.text.kinds`. The rule: the lowest threshold at which at most one false claim in 500 goes
out as talk. Needs weights with the head.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from groundrail.entailment.base import FloatArray
from groundrail.entailment.builtin import BuiltinEntailment, load_builtin
from groundrail.text.context import around
from groundrail.text.kinds import may_be_talk, words_of

THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995)


def rows_of(files: Sequence[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def kinds(judge: BuiltinEntailment, sentences: Sequence[tuple[str, str]]) -> FloatArray:
    return judge.kinds(sentences) if sentences else np.zeros((0, 3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("talk", type=Path)
    parser.add_argument("--claims", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    judge = load_builtin().model
    if not isinstance(judge, BuiltinEntailment) or not judge.knows_kinds:
        raise SystemExit("the installed weights have no head for kinds")
    rows = rows_of([args.talk])
    sentences = [(around(row["prompt"], row["previous"]), row["text"]) for row in rows]
    found, named = kinds(judge, sentences), np.array([row["kind"] for row in rows])
    texts = rows_of(args.claims)
    false = [(text, claim) for text in texts for claim in text["claims"] if claim["label"] != "entailment"]
    of_false = kinds(judge, [(around(claim.get("prompt", ""), ""), claim["text"]) for _, claim in false])
    known = [may_be_talk(c["text"], c.get("prompt", ""), words_of(t["text"]).__contains__) for t, c in false]
    print("threshold  talk known  disguised claims as talk  false claims as talk, with the last look")
    for threshold in THRESHOLDS:
        is_talk, as_talk = found[:, 1] >= threshold, of_false[:, 1] >= threshold
        print(
            f"{threshold:9.3f}  {is_talk[named == 'talk'].mean():10.1%}  {is_talk[named == 'claim'].mean():24.1%}"
            f"  {as_talk.sum()} of {len(false)}, {(as_talk & np.array(known, bool)).sum()}"
        )
    best = found.argmax(1)
    for number, kind in enumerate(("claim", "talk", "silence")):
        print(f"{kind}: {(best[named == kind] == number).mean():.1%} told rightly of {(named == kind).sum()}")


if __name__ == "__main__":
    main()
