"""Texts that tell facts, alone or between other sentences, and claims about them."""

import functools
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from contrasts.facts import Fact, Pool, Teller, Value, long_words
from contrasts.grammar import SLOT, Claim, Family
from contrasts.words import sentence

LAYOUTS = ("prose", "prose", "documents", "bullets", "table", "faq", "titled", "titled")
_OPENS_WITH_POINTER = re.compile(
    r"(?:he|she|it|they|this|that|these|those|his|her|its|their|however|but|then|there|such|both|so|also|and|or|yet|we|i"
    r"|instead|otherwise|another|one|other|others|here|only|no|not)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_JOINS = (", and {}", "; {}", ", while {}", ", and {}")
_TITLES = ("# {}", "## {}", "{}", "**{}**", "{}:")
_ABOUT = ("What do you know about {}?", "Tell me about {}.", "What does the text say about {}?", "{}?")


@functools.cache
def fillers(folder: Path) -> list[list[str]]:
    """Plain sentences of each written text, in order, that point to no sentence before.

    Later files are left out: an equal seed has to give the text that it gave before.
    """
    found = []
    for file in sorted([*folder.glob("written-?.jsonl"), *folder.glob("written-1[0-8].jsonl")]):
        for line in file.read_text(encoding="utf-8").splitlines():
            some = [
                said
                for part in json.loads(line)["text"].split("\n")
                for said in _SENTENCE.split(part.strip())
                if 6 <= len(said.split()) <= 28
                and re.fullmatch(r"[A-Z][^|*#:\"“]+[a-z0-9)]\.", said)
                and not _OPENS_WITH_POINTER.match(said)
            ]
            if len(some) >= 4:
                found.append(some)
    return found


class Writer:
    """Collects a text, and the place of every fact in it."""

    def __init__(self) -> None:
        self.text = ""
        self.spans: dict[int, list[list[int]]] = {}

    def put(self, said: str, fact: Fact | None = None, after: str = " ") -> None:
        if fact is not None:
            self.spans.setdefault(id(fact), []).append([len(self.text), len(self.text) + len(said)])
        self.text += said + after


class Author:
    """Writes texts with claims."""

    def __init__(self, teller: Teller, others: list[list[str]], pairs: bool) -> None:
        self.teller, self.others, self.pairs, self.rng = teller, others, pairs, teller.rng
        self.told: Counter[tuple[str, bool]] = Counter()  # pairs about a bare sentence, and of families never trained on

    def texts(self, number: int, seed: int) -> Iterator[dict[str, Any]]:
        """Texts with claims, as `tools/written` has them."""
        for place in range(number):
            bare = self.fewer("bare") if self.pairs else self.rng.random() < 0.34
            pool = self.teller.pool(self.rng.random() < 0.5)
            layout = "bare" if bare else self.rng.choice(LAYOUTS)
            facts = self.facts(pool, layout)
            writer = self.bare(facts[0]) if bare else getattr(self, layout)(facts)
            text = writer.text.strip()
            claims = list(self.claims(facts, writer, bare))
            self.rng.shuffle(claims)
            if self.pairs:
                claims.sort(key=lambda claim: int(claim["pair"]))
            yield {"id": f"contrast-{seed}-{place:05}", "domain": f"contrasts {layout}", "text": text, "claims": claims}

    def fewer(self, what: str) -> bool:
        """Whether fewer pairs than half are of this kind so far."""
        return self.told[(what, True)] <= self.told[(what, False)]

    def family(self) -> Family:
        """A family, one with many verbs more often; about half of them never trained on if pairs are asked for."""
        some = self.teller.families
        if self.pairs:
            held = self.fewer("held out") if self.rng.random() < 0.5 else self.rng.random() < 0.5
            some = [family for family in some if family.held_out == held] or some
        return self.rng.choices(some, [1 + len(family.sources) // 12 for family in some])[0]

    def facts(self, pool: Pool, layout: str) -> list[Fact]:
        """Facts whose words do not meet; in a titled text, all about one person or organisation."""
        if layout == "bare":
            return [self.teller.fact(pool, self.family())]
        found: list[Fact] = []
        subject: Value | None = None
        wanted = self.rng.randint(2, 6)
        for _ in range(60):
            trial = pool.copy()
            fact = self.teller.fact(trial, self.family(), subject)
            if layout == "titled":
                if fact.subject is None or (subject and fact.subject != subject):
                    continue
                if fact.subject != fact.values.get("a"):
                    continue
                subject = fact.subject
            if any(len(fact.words & other.words) > 2 or fact.family is other.family for other in found):
                continue
            found.append(fact)
            pool = trial
            if len(found) == wanted:
                break
        return found

    def bare(self, fact: Fact) -> Writer:
        writer = Writer()
        for said in fact.sentences:
            writer.put(_shown(said), fact)
        return writer

    def between(self, facts: list[Fact]) -> list[str]:
        """Sentences of a written text that share few words with the facts."""
        seen = set().union(*(fact.words for fact in facts)) | set().union(
            *(long_words(claim.text) for fact in facts for claim in fact.claims)
        )
        some = [said for said in self.rng.choice(self.others) if len(long_words(said) & seen) < 3]
        start = self.rng.randrange(len(some)) if some else 0
        return some[start : start + self.rng.randint(2, 9)]

    def prose(self, facts: list[Fact], others: list[str] | None = None) -> Writer:
        writer, others = Writer(), self.between(facts) if others is None else others
        told = [(said, fact) for fact in facts for said in fact.sentences]
        if self.rng.random() < 0.4:
            told = _spread(told, self.rng)
        for said, fact in told:
            for _ in range(self.rng.randint(0, 2)):
                if others:
                    writer.put(others.pop(0))
            block = "\n" in said
            if block or self.rng.random() < 0.2:
                writer.text = writer.text.rstrip() + ("\n\n" if writer.text else "")
            writer.put(_shown(said), fact, "\n\n" if block else " ")
        for said in others[:2]:
            writer.put(said)
        return writer

    def documents(self, facts: list[Fact]) -> Writer:
        """Two documents; the sentences of one fact may stand in both."""
        writer, others = Writer(), self.between(facts)
        name = self.rng.choice(("Document {}", "Passage {}", "[{}]", "Source {}:", "## Page {}"))
        for half in (0, 1):
            writer.put(name.format(half + 1), after="\n")
            for place, fact in enumerate(facts):
                for number, said in enumerate(fact.sentences):
                    if (place + number) % 2 == half:
                        if "\n" in said:
                            writer.text = writer.text.rstrip() + "\n\n"
                        writer.put(_shown(said), fact, "\n\n" if "\n" in said else " ")
                        if others and self.rng.random() < 0.5:
                            writer.put(others.pop(0))
            writer.text = writer.text.rstrip() + "\n\n"
        return writer

    def bullets(self, facts: list[Fact]) -> Writer:
        writer, others = Writer(), self.between(facts)
        mark = self.rng.choice(("- ", "* ", "• ", "{}. "))
        if others:
            writer.put(others.pop(0), after="\n\n")
        for number, (said, fact) in enumerate(_mixed(facts, others, self.rng), 1):
            if "\n" in said:
                writer.text += "\n"
                writer.put(said, fact, "\n\n")
                continue
            writer.text += mark.format(number)
            writer.put(_shown(said), fact, "\n")
        return writer

    def table(self, facts: list[Fact]) -> Writer:
        if any("\n" in said for fact in facts for said in fact.sentences):
            return self.bullets(facts)
        writer, others = Writer(), self.between(facts)
        writer.put(self.rng.choice(("| No. | Content |\n| --- | --- |", "| Point | Note |\n| --- | --- |")), after="\n")
        for number, (said, fact) in enumerate(_mixed(facts, others, self.rng), 1):
            writer.text += f"| {number} | "
            writer.put(_shown(said), fact, " |\n")
        return writer

    def faq(self, facts: list[Fact]) -> Writer:
        writer, others = Writer(), self.between(facts)
        question, answer = self.rng.choice((("Q: {}\n", "A: "), ("**{}**\n", ""), ("### {}\n\n", ""), ("{}\n", "")))
        for fact in facts:
            asks = [ask for ask in (fact.frame.ask, *fact.family.asks) if ask]
            ask = self.teller.tell(fact, fact.frame.valued(self.rng.choice(asks))) if asks else "What else is known?"
            writer.text += question.format(_shown(ask, "?")) + answer
            for said in fact.sentences:
                if "\n" in said:
                    writer.text = writer.text.rstrip() + "\n\n"
                writer.put(_shown(said), fact, "\n\n" if "\n" in said else " ")
            if others and self.rng.random() < 0.5:
                writer.put(others.pop(0))
            writer.text = writer.text.rstrip() + "\n\n"
        return writer

    def titled(self, facts: list[Fact]) -> Writer:
        """A title that names the subject, and facts that call it "she", "he" or "it"."""
        subject = facts[0].subject if facts else None
        if subject is None:
            return self.prose(facts)
        writer = Writer()
        writer.put(self.rng.choice(_TITLES).format(subject[1]), after=self.rng.choice(("\n", "\n\n")))
        for fact in facts:
            for said in fact.sentences:
                if "\n" in said:
                    writer.text = writer.text.rstrip() + "\n\n"
                writer.put(_shown(_by_pronoun(said, subject)), fact, "\n\n" if "\n" in said else " ")
        return writer

    def claims(self, facts: list[Fact], writer: Writer, bare: bool) -> Iterator[dict[str, Any]]:
        """Claims about the facts of a text, and sentences that tell two of them."""
        balance, rng = self.teller.balance, self.rng
        for fact in facts:
            if self.pairs:
                yield from self.pair(fact, writer, bare)
                continue
            wanted = [rng.random() < 0.5]
            wanted += [not wanted[0]] * (bare or rng.random() < 0.5) + [rng.random() < 0.5] * (2 if bare else 0)
            for true in wanted:
                if claim := balance.pick(fact, true, rng):
                    yield self.row(fact, claim, writer)
        for first, second in () if self.pairs else pairwise(facts):
            if rng.random() < 0.6 and (joined := self.joined(first, second, writer)):
                yield joined

    def pair(self, fact: Fact, writer: Writer, bare: bool) -> Iterator[dict[str, Any]]:
        """A true and a false claim about a fact, in the same form if the family allows it."""
        true = self.teller.balance.pick(fact, True, self.rng)
        false = true and self.teller.balance.pick(fact, False, self.rng, like=true)
        if true is None or false is None:
            return
        self.told[("bare", bare)] += 1
        self.told[("held out", fact.family.held_out)] += 1
        number = self.told[("bare", True)] + self.told[("bare", False)]
        for claim in (true, false):
            yield self.row(fact, claim, writer) | {"pair": number}

    def joined(self, first: Fact, second: Fact, writer: Writer) -> dict[str, Any] | None:
        """A sentence that tells two facts: both true, or one of them not."""
        rng, balance = self.rng, self.teller.balance
        truths = rng.choice(((True, True), (True, True), (True, False), (False, True)))
        one, two = (balance.pick(fact, true, rng) for fact, true in zip((first, second), truths, strict=True))
        if one is None or two is None:
            return None
        said = [self.teller.tell(fact, claim.text) for fact, claim in ((first, one), (second, two))]
        label = next((claim.label for claim in (one, two) if claim.label != "entailment"), "entailment")
        spans = sorted(writer.spans[id(first)] + writer.spans[id(second)])
        text = sentence(said[0] + rng.choice(_JOINS).format(said[1]))
        return {"text": text, "label": label, "kind": "joined", "evidence": spans} | self.trained(first, second)

    def row(self, fact: Fact, claim: Claim, writer: Writer) -> dict[str, Any]:
        """A claim about one fact, now and then as the answer to a question."""
        rng, text, prompt = self.rng, claim.text, ""
        ask = fact.frame.ask
        opening = SLOT.match(text)
        if claim.short and rng.random() < 0.25:
            text, prompt = claim.short, _shown(self.teller.tell(fact, fact.frame.valued(ask)), "?")
        elif ask and rng.random() < 0.15:
            prompt = _shown(self.teller.tell(fact, fact.frame.valued(ask)), "?")
        said = self.teller.tell(fact, text)
        if not prompt and opening and not opening[2] and rng.random() < 0.15:
            subject = fact.values[opening[1]]
            if subject[0].startswith("person") or subject[0] == "org":
                said, prompt = _by_pronoun(said, subject), rng.choice(_ABOUT).format(subject[1])
        found: dict[str, Any] = {"text": sentence(said), "label": claim.label, "kind": fact.family.name}
        found["evidence"] = sorted(writer.spans[id(fact)])
        return found | ({"prompt": prompt} if prompt else {}) | self.trained(fact)

    def trained(self, *facts: Fact) -> dict[str, bool]:
        """Whether the families of a claim are trained on, for a file of held-out claims."""
        return {"trained": not any(fact.family.held_out for fact in facts)} if self.teller.held_out else {}


def _shown(said: str, end: str = "") -> str:
    """A sentence or question as it is shown; a table stays as it is."""
    return said if "\n" in said else sentence(said + (end if end and not said.endswith(end) else ""))


def _by_pronoun(said: str, subject: Value) -> str:
    """The sentence with a pronoun for the subject that it starts with, unless it names the subject again."""
    name, pronoun = str(subject[1]), {"person she": "she", "person he": "he"}.get(subject[0], "it")
    if said.count(name) > 1:
        return said
    if said.startswith(name + "'s "):
        return {"she": "her", "he": "his", "it": "its"}[pronoun] + said[len(name) + 2 :]
    return pronoun + said[len(name) :] if said.startswith(name + " ") else said


def _spread(told: list[tuple[str, Fact]], rng: Random) -> list[tuple[str, Fact]]:
    """The sentences of the facts in another order, those of one fact in their own."""
    order = [fact for _, fact in told]
    rng.shuffle(order)
    left = {id(fact): [said for said, other in told if other is fact] for fact in order}
    return [(left[id(fact)].pop(0), fact) for fact in order]


def _mixed(facts: list[Fact], others: list[str], rng: Random) -> list[tuple[str, Fact | None]]:
    """The sentences of the facts, with other sentences anywhere between."""
    told: list[tuple[str, Fact | None]] = [(said, fact) for fact in facts for said in fact.sentences]
    for said in others:
        told.insert(rng.randint(0, len(told)), (said, None))
    return told
