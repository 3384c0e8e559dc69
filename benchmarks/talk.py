"""Which sentences the built-in judge's second head takes for talk or silence, and at which probability it may.

    python benchmarks/talk.py

Prints for each threshold the share of talk and silence that is known, in `benchmarks/talk` and among the right sentences of
`benchmarks/answers`, and how many other sentences are mistaken: disguised claims, false claims of the development sets and of
the answers, each with its context. The rule: the lowest thresholds at which at most one false claim in 500 and three disguised
claims in 100 go out as talk, and at most one other claim in 500 counts as silence. `may_be_talk` looks last at what the head takes for talk.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from groundrail.entailment.base import FloatArray
from groundrail.entailment.builtin import BuiltinEntailment, load_builtin
from groundrail.text.context import around
from groundrail.text.kinds import may_be_talk, words_of

HERE = Path(__file__).parent
THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9)


class Said(NamedTuple):
    """A sentence with the words around it and its source, if there is one."""

    around: str
    text: str
    source: str = ""


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def false_claims() -> list[Said]:
    """The false claims of the development sets."""
    texts = [text for file in sorted((HERE / "claims").glob("*_dev.jsonl")) for text in rows_of(file)]
    return [
        Said(around(claim.get("prompt", ""), ""), claim["text"], text["text"])
        for text in texts
        for claim in text["claims"]
        if claim["label"] != "entailment"
    ]


def of_answers() -> tuple[list[tuple[str, Said]], list[tuple[str, Said]]]:
    """The right and the wrong sentences of the answers, each with the kind of the right one in its place."""
    right, wrong = [], []
    for row in rows_of(HERE / "answers" / "answers.jsonl"):
        documents = [row["source"]] if isinstance(row["source"], str) else [each["text"] for each in row["source"]]
        source, previous, beside = " ".join(documents), "", {}
        for sentence in row["sentences"]:
            kind, near = sentence["kind"], around(row["prompt"], previous)
            right.append((kind, Said(near, sentence["text"], source)))
            beside[sentence["text"]], previous = (kind, near), sentence["text"]
        for each in row["wrong"]:
            kind, near = beside[each["text"]]
            wrong.append((kind, Said(near, each["replace"], source)))
    return right, wrong


def kinds(judge: BuiltinEntailment, sentences: list[Said]) -> FloatArray:
    """Probabilities of the kinds, (n, 3); of two readings, one without the words around, talk is the lower, silence the higher."""
    found = judge.kinds([(each.around, each.text) for each in sentences])
    alone = judge.kinds([("", each.text) for each in sentences])
    found[:, 1] = np.minimum(found[:, 1], alone[:, 1])
    found[:, 2] = np.maximum(found[:, 2], alone[:, 2])
    return found


def main() -> None:
    judge = load_builtin().model
    if not isinstance(judge, BuiltinEntailment):
        raise SystemExit("the built-in judge is not what it was; reinstall groundrail")
    written = rows_of(HERE / "talk" / "talk.jsonl")
    head = kinds(judge, [Said(around(row["prompt"], row["previous"]), row["text"]) for row in written])
    named = np.array([row["kind"] for row in written])
    right, wrong = of_answers()
    of_right, right_kinds = kinds(judge, [said for _, said in right]), np.array([kind for kind, _ in right])
    false = [*false_claims(), *(said for kind, said in wrong if kind != "silent")]
    of_false = kinds(judge, false)
    known = np.array([may_be_talk(each.text, each.around, words_of(each.source).__contains__) for each in false])
    others = right_kinds != "silent"
    print(f"{len(false)} false claims, {int(others.sum())} right sentences of answers that are not silent")
    print("threshold  talk: known, of answers  disguised  false | silence: known, of answers  others")
    for threshold in THRESHOLDS:
        talk, silent = head[:, 1] >= threshold, head[:, 2] >= threshold
        as_talk, as_silent = of_right[:, 1] >= threshold, of_right[:, 2] >= threshold
        mistaken = int(as_silent[others].sum() + (of_false[:, 2] >= threshold).sum())
        print(
            f"{threshold:9.2f}  {talk[named == 'talk'].mean():11.1%} {as_talk[right_kinds == 'talk'].mean():11.1%}"
            f"  {talk[named == 'claim'].mean():9.1%}  {int(((of_false[:, 1] >= threshold) & known).sum()):5}"
            f" | {silent[named == 'silence'].mean():14.1%} {as_silent[~others].mean():11.1%}  {mistaken:6}"
        )


if __name__ == "__main__":
    main()
