"""Training pairs for the built-in judge: the public pool in measured doses, and pairs made from its texts.

The made pairs teach what the pool lacks: long premises with distractors, and claims of which one
detail is wrong. Each wrong claim has a right twin, and which of the two is the edited sentence is
drawn at random, so that neither overlap nor style gives the label away. Edits are in `rewrites.py`.
"""

import csv
import gzip
import json
import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from rewrites import SAME, WRONG, apply_one
from sentencex import segment  # type: ignore[import-untyped]
from statements import answered, statement

DOSES = {  # rows taken of each set at most: machine-labelled, template and question sets in small doses or none
    "snli_cat": 8000, "gnli_snli": 3000, "llmsknow_mnli": 9888, "gnli_mnli": 9815, "joci": 0, "conjnli": 1500,
    "fever_dev_2way": 13176, "multirc": 3000, "cad_nli": 6000, "mpe": 500, "climate_fever": 1500, "covidfact": 2500,
    "scifact_rte": 562, "healthver": 1719, "citint": 600, "nli4ct": 0, "rte_superglue": 2488, "cb": 250,
    "boolq": 0, "check_covid": 1067, "gnli_scitail": 2126, "hans_ketm": 800, "help": 600, "med": 600,
    "breaking_nli": 1200, "dnc_factuality": 0, "ares_synth": 800, "fever_symmetric": 708,
}  # fmt: skip
PASSAGE_SETS = set("multirc boolq ares_synth fever_dev_2way citint covidfact scifact_rte rte_superglue".split())
PARAPHRASE_SETS = {"llmsknow_mnli", "gnli_mnli", "fever_dev_2way", "rte_superglue", "gnli_scitail", "fever_symmetric", "healthver", "covidfact", "scifact_rte", "climate_fever"}  # fmt: skip
SPEAKERS = (
    "Anna Ben Carla David Elena Farid Grace Hugo Ines Jonas Karim Lena Marco Nadia Omar Petra Quinn Rosa Sam Tara".split()
)
MAX_WORDS = 140
_JOINED = [(spaced, spaced.strip()) for spaced in (" ,", " .", " ;", " :", " 's", " n't", "( ", " )", " %")]
_JOINED += [(" - ", "-"), ("$ ", "$"), ("``", '"'), ("''", '"'), (" ?", "?"), (" !", "!")]


@dataclass(frozen=True, slots=True)
class Pair:
    """`label` is entailment, neutral, contradiction, or not_entailment where only that is known."""

    premise: str
    claim: str
    label: str
    kind: str


def load_pool(path: Path) -> list[Pair]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Pair(r["premise"].strip(), r["hypothesis"].strip(), r["label"], r["ds"])
        for r in rows
        if r["premise"].strip() and r["hypothesis"].strip()
    ]


def load_splits(path: Path) -> list[tuple[str, list[str]]]:
    """WikiSplit: a sentence and the simple sentences it splits into, spacing restored."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if len(row) == 2]
    return [(untokenised(a), [untokenised(p) for p in b.split("<::::>")]) for a, b in rows]


def untokenised(text: str) -> str:
    for spaced, joined in _JOINED:
        text = text.replace(spaced, joined)
    return " ".join(text.split())


def passages(pool: list[Pair]) -> list[list[str]]:
    """The pool's distinct multi-sentence premises as lists of sentences."""
    texts = {pair.premise for pair in pool if pair.kind in PASSAGE_SETS}
    result = []
    for text in sorted(texts):
        text = untokenised(text.split(" -- ", 1)[-1].replace("@highlight", " "))
        sentences = [s.strip() for s in segment("en", text) if 5 <= len(s.split()) <= 60]
        if len(sentences) >= 2:
            result.append(sentences)
    return result


class PairMaker:
    """Makes pairs from passages, simple splits and entailed pairs; every draw comes from `rng`."""

    def __init__(
        self, pool: list[Pair], splits: list[tuple[str, list[str]]], questions: list[tuple[str, str]], rng: random.Random
    ) -> None:
        self.rng = rng
        self.answered = [(q, s, a) for q, s in questions if (a := answered(q, s))]
        self.passages = passages(pool)
        self.splits = splits
        self.paraphrases = [
            p for p in pool if p.kind in PARAPHRASE_SETS and p.label == "entailment" and len(p.claim.split()) >= 4
        ]
        self.by_kind: dict[str, list[Pair]] = defaultdict(list)
        for pair in pool:
            self.by_kind[pair.kind].append(pair)

    def make(self) -> list[Pair]:
        """One group of twins, from a randomly drawn recipe."""
        recipe = self.rng.choices(
            [
                self.from_passage,
                self.from_split,
                self.from_paraphrase,
                self.from_two_facts,
                self.from_speech,
                self.from_question,
            ],
            weights=[32, 18, 36, 8, 6, 5],
        )[0]
        return recipe()

    def from_passage(self) -> list[Pair]:
        """A sentence of the passage, said otherwise, against the same with one detail wrong."""
        sentences = self.window(self.rng.choice(self.passages))
        at = self.rng.randrange(len(sentences))
        fact = sentences[at]
        return self.twins(fact, self.reworded(fact, " ".join(sentences)), sentences, at, "passage")

    def from_split(self) -> list[Pair]:
        """A compound sentence as source, one of its simple sentences as claim."""
        compound, simple = self.rng.choice(self.splits)
        claim = self.rng.choice(simple)
        sentences, at = self.surround(compound)
        return self.twins(compound, self.reworded(claim, compound, 0.5), sentences, at, "split")

    def from_paraphrase(self) -> list[Pair]:
        """A pair that people judged entailed, its premise put among other text."""
        pair = self.rng.choice(self.paraphrases)
        same_set = self.by_kind[pair.kind]
        others = [
            p.premise
            for p in (self.rng.choice(same_set) for _ in range(self.rng.choice([0, 0, 1, 2, 4])))
            if p.premise != pair.premise
        ]
        if self.rng.random() < 0.35:
            others = self.window(self.rng.choice(self.passages))
        at = self.rng.randint(0, len(others))
        sentences = [*others[:at], pair.premise, *others[at:]]
        return self.twins(pair.premise, self.reworded(pair.claim, pair.premise, 0.25), sentences, at, "paraphrase")

    def from_two_facts(self) -> list[Pair]:
        """Two sentences merged, truly, and with the end of one hung on the other."""
        sentences = self.window(self.rng.choice(self.passages))
        pairs = [i for i in range(len(sentences) - 1) if len(sentences[i].split()) + len(sentences[i + 1].split()) < 50]
        if not pairs:
            return []
        at = self.rng.choice(pairs)
        first, second = sentences[at].rstrip(".!? "), sentences[at + 1]
        joint = self.rng.choice([" and ", ", and ", "; ", ", while ", ". "])
        merged = first + joint + (second if joint == ". " else second[0].lower() + second[1:])
        premise = " ".join(sentences)
        wrong = apply_one(WRONG, merged, premise, self.rng)
        pairs_made = [Pair(premise, merged, "entailment", "merged")]
        if wrong:
            pairs_made.append(Pair(premise, wrong[1], "not_entailment", f"merged:{wrong[0]}"))
        false = _crossed(sentences[at], self.rng.choice(sentences))
        if false and false not in premise:
            pairs_made.append(Pair(premise, false, "not_entailment", "crossed"))
        return pairs_made

    def from_speech(self) -> list[Pair]:
        """A conversation: who said what is the detail that matters."""
        sentences = self.window(self.rng.choice(self.passages))
        names = self.rng.sample(SPEAKERS, self.rng.randint(2, 4))
        turns = [(self.rng.choice(names), s) for s in sentences]
        speaker, said = self.rng.choice(turns)
        shouted = self.rng.random() < 0.5
        premise = "\n".join(f"{n.upper() if shouted else n}: {s}" for n, s in turns)
        frame = self.rng.choice(
            ["{n} said that {s}", "{n} told the others that {s}", "According to {n}, {s}", "{n} mentioned that {s}"]
        )
        spoken = said[0].lower() + said[1:]
        other = self.rng.choice([n for n in names if n != speaker])
        pairs = [
            Pair(premise, frame.format(n=speaker, s=spoken), "entailment", "speech"),
            Pair(premise, frame.format(n=other, s=spoken), "not_entailment", "speech:roles"),
        ]
        wrong = apply_one(WRONG, said, premise, self.rng)
        if wrong:
            pairs.append(
                Pair(
                    premise,
                    frame.format(n=speaker, s=wrong[1][0].lower() + wrong[1][1:]),
                    "not_entailment",
                    f"speech:{wrong[0]}",
                )
            )
        return pairs

    def from_question(self) -> list[Pair]:
        """A fact in the words of the person who asked for it, and the same with another row's answer."""
        question, sentence, answer = self.rng.choice(self.answered)
        others = [self.rng.choice(self.answered) for _ in range(self.rng.choice([0, 1, 2, 4]))]
        at = self.rng.randint(0, len(others))
        sentences = [*(o[1] for o in others[:at]), sentence, *(o[1] for o in others[at:])]
        premise = " ".join(sentences)
        pairs = [Pair(premise, statement(question, answer), "entailment", "question")]
        alike = [o[2] for o in others if o[0].split()[0] == question.split()[0] and o[2] != answer]
        alike = alike or [o[2] for o in self.rng.sample(self.answered, 40) if o[0].split()[0] == question.split()[0]]
        alike = [a for a in alike if a not in sentence]
        if alike:
            wrong = statement(question, self.rng.choice(alike))
            pairs.append(Pair(premise, wrong, "not_entailment", "question:answer"))
        return pairs

    def twins(self, fact: str, claim: str, sentences: list[str], at: int, kind: str) -> list[Pair]:
        """The right claim, the same with a wrong detail, and at times the right one with its fact removed."""
        premise = " ".join(sentences)
        pairs = [Pair(premise, claim, "entailment", kind)]
        wrong = apply_one(WRONG, claim, premise, self.rng)
        if wrong:
            edit, changed = wrong
            pairs.append(Pair(premise, changed, "not_entailment", f"{kind}:{edit}"))
            if claim == fact and edit not in ("invented", "hedge") and self.rng.random() < 0.5:
                edited = " ".join([*sentences[:at], changed, *sentences[at + 1 :]])
                pairs = [
                    Pair(edited, changed, "entailment", f"{kind}:flipped"),
                    Pair(edited, claim, "not_entailment", f"{kind}:{edit}:flipped"),
                ]
        if len(sentences) > 1 and self.rng.random() < 0.35:
            pairs.append(Pair(" ".join(sentences[:at] + sentences[at + 1 :]), claim, "not_entailment", f"{kind}:removed"))
        return pairs

    def reworded(self, text: str, context: str, chance: float = 0.75) -> str:
        for _ in range(2):
            if self.rng.random() < chance:
                edited = apply_one(SAME, text, context, self.rng)
                text = edited[1] if edited else text
        return text

    def window(self, sentences: list[str]) -> list[str]:
        """Consecutive sentences, at most a drawn number of words: short, middling and long premises."""
        limit = self.rng.choice([20, 35, 50, 70, 100, MAX_WORDS])
        start = self.rng.randrange(len(sentences))
        kept: list[str] = []
        words = 0
        for sentence in sentences[start:] + sentences[:start][::-1]:
            words += len(sentence.split())
            if kept and words > limit:
                break
            kept.append(sentence)
        return kept

    def surround(self, fact: str) -> tuple[list[str], int]:
        others = self.window(self.rng.choice(self.passages)) if self.rng.random() < 0.4 else []
        others += [self.rng.choice(self.splits)[0] for _ in range(self.rng.choice([0, 0, 1, 2, 4]))]
        at = self.rng.randint(0, len(others))
        return [*others[:at], fact, *others[at:]], at


def _crossed(first: str, second: str) -> str | None:
    """The subject of one sentence with what another says of its own."""
    verbs = (" was ", " is ", " were ", " are ", " has ", " had ", " will ")
    cut_first = min((first.find(v) for v in verbs if v in first), default=-1)
    cut_second = min((second.find(v) for v in verbs if v in second), default=-1)
    if first == second or cut_first < 3 or cut_second < 3 or cut_first > 60:
        return None
    return first[:cut_first] + second[cut_second:]


def training_pairs(data: Path, made: int, seed: int) -> list[Pair]:
    """The pool in doses plus about `made` made pairs, shuffled; the same for the same seed."""
    rng = random.Random(seed)
    pool = load_pool(data / "nli_pool.jsonl.gz")
    taken: dict[str, int] = defaultdict(int)
    chosen = []
    for pair in pool:
        if taken[pair.kind] < DOSES[pair.kind]:
            taken[pair.kind] += 1
            chosen.append(pair)
    asked = json.loads((data / "squad_questions.json").read_text(encoding="utf-8"))
    questions = list(zip(asked["questions"], asked["answers"], strict=True))
    maker = PairMaker(pool, load_splits(data / "wiki_split_tune.tsv"), questions, rng)
    extra: list[Pair] = []
    while len(extra) < made:
        extra.extend(maker.make())
    pairs = [p for p in chosen + extra if len(p.premise.split()) <= MAX_WORDS + 40]
    rng.shuffle(pairs)
    return pairs
