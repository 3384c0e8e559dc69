"""Booleans, yes and no, dates, signs, currencies and units in objects: how often does the guard say what is so?

    python benchmarks/objects_grid.py
    python benchmarks/objects_grid.py --judge ID --each

`objects_grid.jsonl` holds 68 objects of one field with a source: a value that the source states, and a false one.
`--each` prints every field with its score.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from shared import json_lines

from groundrail import Guard

GRID = Path(__file__).with_name("objects_grid.jsonl")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--judge", metavar="ID", help="the judge (the built-in one)")
    parser.add_argument("--each", action="store_true", help="print every field with its score")
    options = parser.parse_args()
    guard, right, all_of = Guard(judge=options.judge), Counter[str](), Counter[str]()
    for case in json_lines(GRID):
        result = guard.check_object(case["object"], case["source"])
        (field,) = result.fields.values()
        is_right = result.supported is case["supported"]
        right[case["kind"]] += is_right
        all_of[case["kind"]] += 1
        if options.each:
            scores = ", ".join(f"{sentence.score:.2f}" for sentence in field.sentences if sentence.score is not None)
            print("right" if is_right else "WRONG", case["supported"], json.dumps(case["object"]), field.statement, scores)
    for kind, count in all_of.items():
        print(f"{kind:9} {right[kind]:3} of {count}")
    print(f"{'all':9} {right.total():3} of {all_of.total()}")


if __name__ == "__main__":
    main()
