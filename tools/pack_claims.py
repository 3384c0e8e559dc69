"""Packs texts and claims as token ids, so that training needs neither texts nor a tokenizer.

    python tools/pack_claims.py tools/judge.toml --data DATA --out runs/packed

The plan names the sets of `claims.npz`: written claims with evidence, claims by people without, whole answers, claims that a
text is silent, sentences with their kinds, and plain pairs (the pool). `dev.npz` has the development sets. A table is
packed twice, as the rows that the scorers read and as it is written. Premises and claims have the form of the guard
(`groundrail.text.context`, `groundrail.sources.above`).

Raises: SystemExit that names the file and the line for a claim without a known label or a text without claims.
"""

import argparse
import gzip
import json
import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pairs
import rewrites
import silence
from contrasts.write import author
from packed import AS_WRITTEN, LABELS, Builder
from transformers import AutoTokenizer
from whole_answers import read_answers

from groundrail.entailment.builtin import folder
from groundrail.scoring.index import WordIndex
from groundrail.sources.above import NONE, headings
from groundrail.sources.premise import Premise
from groundrail.sources.reading import read_by_form
from groundrail.text.context import around, context_of

ROOM = 460
"""Tokens of the nearest sentences that are kept for a claim."""

LONGEST_CLAIM = 110

CONTEXT = 120
"""Tokens of the message and the sentence before from which the second head tells the kind of a sentence."""

LOOSE = re.compile(
    r"\b(?:at (?:least|most)|(?:more|less|fewer|later|earlier|other) than|over|under|above|below|up to|within|about|around"
    r"|almost|nearly|roughly|some|between|before|after|by|until|since)\b",
    re.IGNORECASE,
)
"""Beside these words another figure may be as true."""

ROOT = Path(__file__).parents[1]
WRITTEN = ROOT / "tools" / "written"
WRITTEN_SETS = ("written_dev", "real_dev", "frames_dev", "attributions_dev")
TABLES = {
    "infotabs",
    "tabfact_pairs",
    "semtabfacts",
    "scitab",
    "citod",
    "rotowire_accuracy",
    "e2e_noise",
    "ragtruth_data2txt",
}
"""Development sets that are measured as they are written, too."""


class Tokens:
    """A tokenizer without special tokens."""

    def __init__(self) -> None:
        self._tokenizer = AutoTokenizer.from_pretrained(folder())

    def __call__(self, texts: list[str]) -> list[list[int]]:
        found: list[list[int]] = self._tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        return found


def rows_of(file: Path) -> Iterator[dict[str, Any]]:
    """The lines of a JSON-lines file, packed or not, each checked."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            row = json.loads(line)
            if "claims" not in row or "text" not in row:
                raise SystemExit(f"{file}, line {number}: a text needs `text` and `claims`")
            for claim in row["claims"]:
                if claim.get("label") not in LABELS:
                    raise SystemExit(f"{file}, line {number}: {claim.get('label')!r} is no label; use {', '.join(LABELS)}")
            yield row


def parts_of(text: str, as_written: bool = False) -> list[Premise]:
    """The premises of a text; `as_written` takes its lines instead."""
    if not as_written:
        return [part for part in read_by_form(text).premises() if text[part.start : part.end].strip()]
    found, start = [], 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            found.append(Premise(start, start + len(line), line.strip()))
        start += len(line)
    return found


def words_of(text: str, parts: Iterable[Premise]) -> list[str]:
    """The words that the judge reads of each part."""
    return [text[part.start : part.end] if part.said is None else part.said for part in parts]


def nearest(index: WordIndex, claim: str, lengths: list[int]) -> list[int]:
    """Numbers of the sentences most like the claim, as many as `ROOM` tokens hold."""
    ranked = index.ranked(claim)
    chosen: list[int] = []
    size = 0
    for place in (*ranked, *(n for n in range(len(lengths)) if n not in set(ranked))):
        if chosen and size + lengths[place] > ROOM:
            break
        chosen.append(place)
        size += lengths[place]
    return chosen


def add_text(builder: Builder, row: dict[str, Any], tokens: Tokens, name: str, as_written: bool, rng: random.Random) -> None:
    """One text with its claims, and a twin with another figure, date or unit for true claims that have one."""
    texts = row["texts"] if "texts" in row else [row["text"]]
    parts = [parts_of(text, as_written) for text in texts]
    said = [words for text, some in zip(texts, parts, strict=True) for words in words_of(text, some)]
    above: list[int] = []
    for text, some in zip(texts, parts, strict=True):
        above += [place if place == NONE else place + len(above) for place in headings(text, some)]
    sentences = tokens(said)
    lengths = [len(ids) for ids in sentences]
    index = WordIndex(said)
    number_of_text = builder.text(name, sentences, above)
    claims = row["claims"]
    ids = tokens([claim["text"] for claim in claims])
    contexts = tokens([context_in(claim) for claim in claims])
    for claim, claim_ids, context in zip(claims, ids, contexts, strict=True):
        if not claim_ids or len(claim_ids) > LONGEST_CLAIM:
            continue
        evidence = [
            n
            for n, part in enumerate(parts[0])
            if any(part.start < e and s < part.end for s, e in claim.get("evidence") or ())
        ]
        near = nearest(index, f"{claim.get('context', '')} {claim['text']}", lengths)
        kind, by_model = claim.get("kind") or "", "model" in claim
        number = builder.claim(number_of_text, claim_ids, claim["label"], kind, evidence, near, context, by_model)
        has_twin = claim["label"] == "entailment" and kind != "silence"
        if has_twin and (twin := exchanged(claim, [said[n] for n in sorted({*evidence, *near[:5]})], rng)):
            builder.twin(number, tokens([twin])[0])


def context_in(claim: dict[str, Any]) -> str:
    """The context of a claim: its own, or the message that it answers."""
    found: str = claim.get("context", "") or context_of(claim["text"], question=claim.get("prompt") or "")
    return found


def exchanged(claim: dict[str, Any], nearby: list[str], rng: random.Random) -> str | None:
    """The claim with one figure, date or unit of another value, if it has one."""
    if claim.get("kind") == "example" or LOOSE.search(claim["text"]):
        return None
    edits = [(1.0, name, edit) for _, name, edit in rewrites.WRONG if name in ("number", "date", "unit")]
    edited = rewrites.apply_one(edits, claim["text"], " ".join(nearby), rng)
    return None if edited is None else edited[1]


def answers_as_texts(file: Path) -> Iterator[dict[str, Any]]:
    """Whole answers as texts with claims; talk is left out."""
    for documents, sentences in read_answers(file):
        claims = [
            {"text": read.claim, "context": read.context, "label": "entailment", "evidence": []}
            | ({"label": "not_entailment"} if read.kind == "wrong" else {})
            | ({"kind": "silence"} if read.kind == "silent" else {"kind": read.kind})
            for read in sentences
            if read.kind != "talk"
        ]
        yield {"texts": [document.text for document in documents], "claims": claims}


def add_kinds(builder: Builder, rows: Iterable[tuple[str, str, str]], tokens: Tokens, name: str) -> None:
    """Sentences with their kinds: (label, message and sentence before, sentence). Without both, the text is empty."""
    for label, before, sentence in rows:
        context, ids = tokens([before, sentence])
        if ids and len(ids) <= LONGEST_CLAIM:
            builder.claim(builder.text(name, [context[-CONTEXT:]] if context else []), ids, label, "", [], [], [], False)


def kinds_of_talk(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Sentences with their kinds, from the files that list them."""
    for row in (row for file in sorted(folder.glob("talk-*.jsonl")) for row in lines_of(file)):
        yield row["kind"], around(row["prompt"], row["previous"]), row["text"]


def kinds_of_answers(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Sentences of whole answers with their kinds."""
    for _, sentences in (answer for file in sorted(folder.glob("answers-*.jsonl")) for answer in read_answers(file)):
        for read in sentences:
            yield {"talk": "talk", "silent": "silence"}.get(read.kind, "claim"), read.around, read.claim


def add_pool(builder: Builder, data: Path, tokens: Tokens, made: int, seed: int) -> None:
    """Public pairs in doses and made ones, each a text of one sentence with one claim."""
    chosen = [pair for pair in pairs.training_pairs(data, made, seed) if len(pair.premise.split()) <= 250]
    for start in range(0, len(chosen), 2000):
        some = chosen[start : start + 2000]
        premises, claims = tokens([p.premise for p in some]), tokens([p.claim for p in some])
        for pair, premise, claim in zip(some, premises, claims, strict=True):
            if premise and claim and len(claim) < LONGEST_CLAIM:
                builder.claim(builder.text("pool", [premise[:400]]), claim, pair.label, pair.kind, [0], [0], [], False)


def texts_of(rows: Iterable[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """Claims that carry the key of their text, gathered by text."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row[text]].append(row)
    return [{"text": key, "claims": claims} for key, claims in found.items()]


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def development_sets(data: Path) -> dict[str, list[dict[str, Any]]]:
    """Texts with claims by set; nothing says which sentences are the evidence."""
    claims = ROOT / "benchmarks" / "claims"
    sets = {name: list(rows_of(claims / f"{name}.jsonl")) for name in WRITTEN_SETS}
    sets["contrasts"] = list(rows_of(ROOT / "benchmarks" / "contrasts" / "contrasts.jsonl"))
    sets["answers"] = list(answers_as_texts(ROOT / "benchmarks" / "answers" / "answers.jsonl"))
    sets["silence"] = list(silence.of_questions(data / "eval" / "squad_v2_dev.json", training=False))
    sets["tables"] = list(rows_of(ROOT / "benchmarks" / "tables" / "tables.jsonl"))
    challenge = [
        row | {"text": row["claim"], "label": "entailment" if row["label"] else "not_entailment", "evidence": []}
        for row in lines_of(ROOT / "benchmarks" / "challenge" / "challenge.jsonl")
    ]
    sets["challenge"] = [
        row | {"text": (ROOT / "examples" / "documents" / row["text"]).read_text(encoding="utf-8")}
        for row in texts_of(challenge, "document")
    ]
    people = [row | {"text": row["hypothesis"]} for row in lines_of(data / "eval" / "people_dev.jsonl")]
    for name in sorted({row["set"] for row in people}):
        sets[name] = texts_of([row for row in people if row["set"] == name], "premise")
    for row in (row for rows in sets.values() for row in rows):
        row["claims"] = [claim | {"evidence": []} for claim in row["claims"]]  # nobody tells a scorer where to look
    return sets


def texts_of_set(name: str, settings: dict[str, Any], data: Path) -> Iterator[dict[str, Any]]:
    """The texts with claims of a set of the plan. Raises: SystemExit for a set without files."""
    if name == "contrasts":
        yield from author(seed=1, held_out=False).texts(settings["texts"], 1)
        return
    if name == "silence":
        yield from silence.of_questions(data / "eval" / "squad_v2_dev.json", training=True)
        yield from silence.of_claims(row for file in sorted(WRITTEN.glob("written-*.jsonl")) for row in rows_of(file))
        return
    folders = (WRITTEN, data / "train")
    files = [file for pattern in settings["files"] for folder in folders for file in sorted(folder.glob(pattern))]
    if not files:
        raise SystemExit(f"the set {name} has no files: {settings['files']}")
    if name == "answers":
        yield from (row for file in files for row in answers_as_texts(file))
    else:
        yield from (row for file in files for row in rows_of(file) if row["claims"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    plan = tomllib.loads(args.plan.read_text(encoding="utf-8"))
    tokens, rng, claims, dev = Tokens(), random.Random(0), Builder(), Builder()
    for name, settings in plan["sets"].items():
        match name:
            case "pool":
                add_pool(claims, args.data / "train", tokens, settings["made"], 0)
            case "kinds":
                add_kinds(claims, chain(kinds_of_talk(WRITTEN), kinds_of_answers(WRITTEN)), tokens, name)
            case _:
                for row in texts_of_set(name, settings, args.data):
                    add_text(claims, row, tokens, name, False, rng)
                    if settings.get("table"):
                        add_text(claims, row, tokens, name + AS_WRITTEN, True, rng)
        print(name, claims.sizes(), flush=True)
    for name, rows in development_sets(args.data).items():
        for row in rows:
            add_text(dev, row, tokens, name, False, rng)
            if name in TABLES:
                add_text(dev, row, tokens, name + AS_WRITTEN, True, rng)
    args.out.mkdir(parents=True, exist_ok=True)
    for file, builder in (("claims.npz", claims), ("dev.npz", dev)):
        builder.write(args.out / file)
        print(f"{file}: {builder.sizes()}, {(args.out / file).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
