"""Families of facts, read from TOML and checked.

A family says in which words a fact is told, and which words say the same:

    [bounds]
    slots = { n = "3-40", m = "3-40" }
    frames = ["the lift carries {} ? How many people does the lift carry?", "* a raft holds {}"]
    swap = ["n m"]
    [bounds.says]
    most = ["at most {n person}", "no more than {n person}", "* not over {n person}"]
    least = ["at least {n person}"]
    [bounds.if]
    most = { not = "least" }

Every form of a meaning (`most`) says the same. `if` tells for a source of one meaning which other meanings follow (`so`), are
contradicted (`not`) or are not stated (`open`). `swap` exchanges two values, which makes a claim contradicted; `loose`
exchanges two values, which makes it not stated. A star marks words that are never trained on. `README.md` tells the rest.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contrasts.words import plural

LABELS = {"so": "entailment", "not": "contradiction", "open": "neutral"}
SLOT = re.compile(r"\{([a-z]\w*)(?::(\w+))?(?: ([^{}]+))?\}")
PARTS = " // "
"""Stands between two sentences of a source that may stand apart."""

_KEYS = {"slots", "frames", "says", "if", "swap", "loose", "held_out", "cross", "sources", "symmetric", "asks"}


class GrammarError(ValueError):
    """A family that cannot be used; the message names the file, the family and the fault."""


@dataclass(frozen=True)
class Swap:
    """Slots that are exchanged with one another, and the label of a claim after it.

    A `cross` exchanges only in forms that have one of the two slots, not both.
    """

    pairs: dict[str, str]
    label: str
    cross: bool = False

    def fits(self, names: set[str]) -> bool:
        """Whether a form with these slots may be exchanged."""
        return not self.cross or len(names & set(self.pairs)) == 1


@dataclass(frozen=True)
class Form:
    """Words with slots, and whether they are held out from training."""

    text: str
    held_out: bool


@dataclass(frozen=True)
class Frame:
    """The subject of a fact: values of slots, or a sentence with `{}` for the form; and a question, if any."""

    values: dict[str, str]
    sentence: str
    ask: str
    held_out: bool

    def fill(self, form: str, swap: Swap | None = None) -> str:
        """The form in its frame, with the frame's values and perhaps two slots exchanged; slots that are drawn remain."""
        return self.valued(self.sentence.replace("{}", form) if self.sentence else form, swap)

    def valued(self, text: str, swap: Swap | None = None) -> str:
        """The words with the frame's values, outside of its sentence."""
        text = exchanged(text, swap)
        values = {name: exchanged(value, swap) for name, value in self.values.items()}

        def filled(found: re.Match[str]) -> str:
            if found[1] in values:
                return plural(values[found[1]]) if found[2] == "s" else values[found[1]]
            return "{" + found[1] + " " + values[found[3]] + "}" if found[3] in values else found[0]

        return SLOT.sub(filled, text)


@dataclass(frozen=True)
class Claim:
    """A claim about a source: a form of a meaning in its frame, perhaps with two slots exchanged, and its label.

    `short` answers the question of the frame; it is empty if there is none.
    """

    meaning: str
    form: Form
    label: str
    text: str
    short: str


@dataclass
class Family:
    """Facts of one kind; see the module."""

    file: str
    name: str
    slots: dict[str, str]
    frames: list[Frame]
    meanings: dict[str, list[Form]]
    held_out: bool
    held_meanings: set[str]
    sources: list[str]
    relations: dict[str, dict[str, str]]
    swaps: dict[str, list[Swap]]
    symmetric: set[str]
    asks: list[str] = field(default_factory=list)

    def fault(self, text: str) -> GrammarError:
        return GrammarError(f"{self.file}, family {self.name}: {text}")

    def counted(self, slot: str) -> bool:
        """Whether a slot holds a number or a time, and no name."""
        return bool(re.search(r"\d-\d|= |date", self.slots.get(slot, "")))

    def claims(self, source: str, frame: Frame) -> list[Claim]:
        """Every claim that a source of this meaning decides in a frame."""
        found = []
        for meaning, label in self.relations[source].items():
            for form in self.meanings[meaning]:
                if only_source(form.text):
                    continue
                text = frame.fill(form.text)
                short = frame.sentence and frame.ask
                found.append(Claim(meaning, form, label, text, frame.valued(form.text) if short else ""))
                for swap in self.swaps[source] if label == "entailment" else ():
                    changed = frame.fill(form.text, swap)
                    if changed == text or not swap.fits(names_in(text)):
                        continue
                    if meaning in self.symmetric and not any(self.counted(name) for name in swap.pairs):
                        continue
                    inside = short and exchanged(frame.sentence, swap) == frame.sentence
                    answer = frame.valued(form.text, swap) if inside else ""
                    found.append(Claim(meaning, form, swap.label, changed, answer))
        return found


def only_source(form: str) -> bool:
    """Whether the form is no sentence of its own: a table, or two sentences."""
    return PARTS in form or "\n" in form


def exchanged(text: str, swap: Swap | None) -> str:
    """The text with slots exchanged.

    >>> exchanged("{a} paid {b} {n euro}", Swap({"a": "b", "b": "a"}, "contradiction"))
    '{b} paid {a} {n euro}'
    """
    other = swap.pairs if swap else {}
    return SLOT.sub(lambda found: "{" + other.get(found[1], found[1]) + found[0][1 + len(found[1]) :], text)


def names_in(text: str) -> set[str]:
    """The slots of a text."""
    return {found[1] for found in SLOT.finditer(text)}


def _starred(text: str) -> tuple[str, bool]:
    return text.removeprefix("* "), text.startswith("* ")


def _frames(written: list[str] | str) -> list[Frame]:
    """Frames from a list of sentences, or from a table whose first line names the slots."""
    if isinstance(written, list):
        found = []
        for line in written:
            text, held_out = _starred(line)
            sentence, _, ask = text.partition(" ? ")
            found.append(Frame({}, sentence.strip(), ask.strip(), held_out))
        return found
    lines = [line.strip() for line in written.strip().splitlines()]
    header = [cell.strip() for cell in lines[0].split("|")]
    rows = []
    for line in lines[1:]:
        text, held_out = _starred(line)
        cells = [cell.strip() for cell in text.split("|")]
        if len(cells) != len(header):
            raise ValueError(f"the frame {text!r} has {len(cells)} cells, not {len(header)}")
        values = dict(zip(header, cells, strict=True))
        sentence, ask = values.pop("frame", ""), values.pop("ask", "")
        rows.append(Frame(values, sentence, ask, held_out))
    return rows


def _mirrored(frame: Frame, table: dict[str, Any]) -> Iterator[Frame]:
    """The frame with the values exchanged that a swap exchanges, so that no value is always on the same side."""
    for names in [*table.get("swap", []), *table.get("loose", [])]:
        first, _, second = names.partition(" ")
        if first in frame.values and second in frame.values:
            values = frame.values | {first: frame.values[second], second: frame.values[first]}
            yield Frame(values, frame.sentence, frame.ask, frame.held_out)


def _family(file: str, name: str, table: dict[str, Any]) -> Family:
    def fault(text: str) -> GrammarError:
        return GrammarError(f"{file}, family {name}: {text}")

    if unknown := set(table) - _KEYS:
        raise fault(f"unknown key {', '.join(sorted(unknown))}; use {', '.join(sorted(_KEYS))}")
    if not table.get("says"):
        raise fault("has no `says`")
    try:
        frames = _frames(table.get("frames", [])) or [Frame({}, "", "", False)]
        frames += [other for frame in frames for other in _mirrored(frame, table)]
    except ValueError as error:
        raise fault(str(error)) from None
    says: dict[str, list[Form]] = {key: [Form(*_starred(text)) for text in forms] for key, forms in table["says"].items()}
    rules: dict[str, dict[str, Any]] = table.get("if", {})
    held = table.get("held_out", [])
    for key in (
        *rules,
        *(held if isinstance(held, list) else ()),
        *table.get("sources", "").split(),
        *table.get("symmetric", "").split(),
    ):
        if key not in says:
            raise fault(f"{key!r} is no meaning; `says` has {', '.join(says)}")
    relations: dict[str, dict[str, str]] = {}
    swaps: dict[str, list[Swap]] = {}
    for source in says:
        rule = rules.get(source, {})
        relations[source] = {source: "entailment"}
        for word, label in LABELS.items():
            for meaning in rule.get(word, "").split():
                if meaning not in says:
                    raise fault(f"`if.{source}` names {meaning!r}, which is no meaning of `says`")
                if meaning in relations[source]:
                    raise fault(f"`if.{source}` names {meaning!r} twice, or as its own opposite")
                relations[source][meaning] = label
        if unknown := set(rule) - {*LABELS, *_SWAPS}:
            raise fault(f"`if.{source}` has an unknown key {', '.join(sorted(unknown))}")
        swaps[source] = [
            Swap(_pairs(names, fault), label, key == "cross")
            for key, label in _SWAPS.items()
            for names in rule.get(key, table.get(key, []))
        ]
    sources = table.get("sources", " ".join(says)).split()
    return Family(
        file, name, table.get("slots", {}), frames, says, held is True, set(held) if isinstance(held, list) else set(),
        sources, relations, swaps, set(table.get("symmetric", "").split()), table.get("asks", []),
    )  # fmt: skip


_SWAPS = {"swap": "contradiction", "cross": "contradiction", "loose": "neutral"}


def _pairs(names: str, fault: Callable[[str], GrammarError]) -> dict[str, str]:
    """Slots with the slots that they are exchanged for."""
    some = names.split()
    if len(some) % 2 or not some:
        raise fault(f"a swap exchanges pairs of slots, not {names!r}")
    pairs = dict(zip(some[::2], some[1::2], strict=True))
    return pairs | {second: first for first, second in pairs.items()}


_ALIKE = re.compile(r"\{(\w+)\} (?:and|nor|or) \{(\w+)\}")
"""Two slots that may change places: "{a} and {b} met"."""


def _only_names(family: Family, claim: Claim, frame: Frame, pair: re.Match[str]) -> bool:
    """Whether a claim differs from its form only by the order of the pair."""
    swap = Swap({pair[1]: pair[2], pair[2]: pair[1]}, claim.label)
    return claim.text == frame.fill(claim.form.text, swap)


def check(family: Family, kinds: set[str]) -> None:
    """Reads the forms of a family against each other.

    Args:
        kinds: the names of the lists of the lexicon.

    Raises: GrammarError for a fault.
    """
    known = set(family.slots) | {name for frame in family.frames for name in frame.values}
    for name, spec in family.slots.items():
        if (
            not re.fullmatch(r"(?:(?:time|money|date|year) )?\d+-\d+(?:/\d+)?|(?:time |money |date |year )?= .+", spec)
            and spec not in kinds
        ):
            raise family.fault(f"the slot {name} has an unknown kind {spec!r}")
    texts = [form.text for forms in family.meanings.values() for form in forms]
    texts += [text for frame in family.frames for text in (frame.sentence, frame.ask, *frame.values.values())]
    for text in (*texts, *family.asks):
        for name in names_in(text):
            if name not in known:
                raise family.fault(f"{text!r} has an unknown slot {{{name}}}; known are {', '.join(sorted(known))}")
        if re.search(r"[{}]", SLOT.sub("", text.replace("{}", ""))):
            raise family.fault(f"{text!r} has a slot that cannot be read")
    for frame in family.frames:
        if frame.sentence and "{}" not in frame.sentence:
            raise family.fault(f"the frame {frame.sentence!r} has no {{}} for the form")
    for swap in (swap for swaps in family.swaps.values() for swap in swaps):
        if unknown := set(swap.pairs) - known:
            raise family.fault(f"a swap names the unknown slot {', '.join(sorted(unknown))}")
    named = {name for name, spec in family.slots.items() if spec in kinds}
    for source in family.sources:
        if len({frozenset(names_in(form.text) & named) for form in family.meanings[source]}) > 1:
            raise family.fault(f"the forms of the source {source!r} do not name the same {', '.join(sorted(named))}")
    told: dict[str, set[str]] = {}
    for source in family.sources:
        for frame in family.frames:
            claims = family.claims(source, frame)
            right = {claim.text for claim in claims if claim.label == "entailment"}
            for claim in claims:
                pair = _ALIKE.search(claim.form.text)
                if claim.text != frame.fill(claim.form.text) and pair and claim.label != "entailment":
                    rest = names_in(claim.form.text.replace(pair[0], ""))
                    if not rest & (named | set(pair.groups())) and _only_names(family, claim, frame, pair):
                        raise family.fault(f"{claim.form.text!r} is as true with {pair[1]} and {pair[2]} exchanged")
                if claim.label != "entailment" and claim.text in right:
                    raise family.fault(f"a source {source!r} makes {claim.text!r} true and false")
                told.setdefault(claim.meaning, set()).add("true" if claim.label == "entailment" else "false")
    for meaning in family.meanings:
        if all(only_source(form.text) for form in family.meanings[meaning]):
            continue
        for side in ("true", "false"):
            if side not in told.get(meaning, set()):
                raise family.fault(f"a claim {meaning!r} is never {side}")
    if not family.held_out and not family.held_meanings and not any(frame.held_out for frame in family.frames):
        raise family.fault("holds nothing out: star a quarter of the frames, or list `held_out` meanings")


def lexicon(folder: Path) -> dict[str, list[str]]:
    """Lists of words by name, from `lexicon.toml`."""
    lists = tomllib.loads((folder / "lexicon.toml").read_text(encoding="utf-8"))
    return {name: [word.strip() for word in words.split(",")] for name, words in lists.items()}


def read(folder: Path) -> list[Family]:
    """The families of every TOML file of a folder but its lexicon, checked.

    Raises: GrammarError that names the file, the family and the fault.
    """
    kinds = set(lexicon(folder)) | {"person"}
    families = []
    for file in sorted(folder.glob("*.toml")):
        if file.name == "lexicon.toml":
            continue
        try:
            tables = tomllib.loads(file.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise GrammarError(f"{file.name}: {error}") from None
        for name, table in tables.items():
            family = _family(file.name, name, table)
            check(family, kinds)
            families.append(family)
    names = [family.name for family in families]
    for family in families:
        if names.count(family.name) > 1:
            raise family.fault("the name is used twice")
    return families
