"""The guard's verdict on every claim of the development sets and every row of the attacks; and what changed between two runs.

    python benchmarks/verdicts.py > before.jsonl
    python benchmarks/verdicts.py --compare before.jsonl after.jsonl

One JSON line a sentence: its set, its key in the set, text, verdict, score and reason. The nearest source sentences are
judged by the built-in model, which needs no download; rows of the attacks are also read with a model that believes
everything, which shows whether the form of the sentence is refused.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attacks
import families
from tricks import FACTS

from groundrail import Guard

HERE = Path(__file__).parent
CLAIMS = ("written_dev", "real_dev")
DOCUMENTS = HERE.parent / "examples" / "documents"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def told(guard: Guard, name: str, key: str, answer: str, source: str, question: str = "") -> Iterator[dict[str, Any]]:
    """A row for every sentence of the answer."""
    for number, sentence in enumerate(guard.check(answer, source, question).sentences):
        score = None if sentence.score is None else round(sentence.score, 4)
        row = {"verdict": sentence.verdict.value, "score": score, "reason": sentence.reason}
        yield {"set": name, "key": f"{key}/{number}", "text": sentence.text} | row


def of_claims(guard: Guard) -> Iterator[dict[str, Any]]:
    for name in CLAIMS:
        for text in lines_of(HERE / "claims" / f"{name}.jsonl"):
            for number, claim in enumerate(text["claims"]):
                yield from told(guard, name, f"{text['id']}/{number}", claim["text"], text["text"])
    sources = {path.name: path.read_text(encoding="utf-8") for path in DOCUMENTS.glob("*.txt")}
    for claim in lines_of(HERE / "challenge" / "challenge.jsonl"):
        yield from told(guard, "challenge", claim["id"], claim["claim"], sources[claim["document"]])


def of_attacks(guard: Guard, name: str) -> Iterator[dict[str, Any]]:
    for row, _, cases in attacks.rows(FACTS, None):
        for number, case in enumerate(cases):
            yield from told(guard, name, f"{row}/{number}", case.answer, case.source)
    for group in families.rows():
        for kind, answers in (("false", group.false), ("true", group.true)):
            for number, (twins, text) in enumerate(answers):
                yield from told(guard, name, f"{group.name}/{kind}/{number}", text, twins.source, twins.question)


def differences(before: Path, after: Path) -> tuple[list[str], Counter[str]]:
    """The sentences whose text, verdict or score (by more than 0.001) changed, and how often which reason became which."""
    old, new = ({(row["set"], row["key"]): row for row in lines_of(path)} for path in (before, after))
    found: list[str] = []
    reasons: Counter[str] = Counter()
    for place in sorted(old.keys() | new.keys()):
        was, now = old.get(place, {}), new.get(place, {})
        same_score = abs((was.get("score") or 0) - (now.get("score") or 0)) <= 0.001
        changed = [name for name in ("text", "verdict") if was.get(name) != now.get(name)] + ["score"] * (
            not same_score
        )
        if changed:
            values = "; ".join(f"{name} {was.get(name)!r} -> {now.get(name)!r}" for name in (*changed, "reason"))
            found.append(f"{': '.join(place)}: {(now or was)['text'][:200]!r}: {values}")
        elif was["reason"] != now["reason"]:
            reasons[f"{was['reason']!r} -> {now['reason']!r}"] += 1
    return found, reasons


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--form", action="store_true", help="only the attacks, with the model that believes everything")
    options = parser.parse_args()
    if options.compare:
        found, reasons = differences(*options.compare)
        for line, count in reasons.most_common():
            print(f"{count} times another reason: {line}")
        print(*found, f"{len(found)} sentences differ", sep="\n")
        sys.exit(bool(found))
    rows = of_attacks(Guard(scorer=attacks.Believing()), "attacks, form")
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))
    if not options.form:
        guard = Guard(scorer="nearest")
        for maker in (of_claims(guard), of_attacks(guard, "attacks")):
            for row in maker:
                print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
