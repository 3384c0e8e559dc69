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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contrasts.words import plural

LABELS = {"so": "entailment", "not": "contradiction", "open": "neutral"}
SLOT = re.compile(r"\{([a-z]\w*)(?::(\w+))?(?: ([^{}]+))?\}")
PARTS = " // "
"""Stands between two sentences of a source that may stand apart."""

_KEYS = {"slots", "frames", "says", "if", "swap", "loose", "held_out", "only_claims", "only_sources", "asks"}


class GrammarError(ValueError):
    """A family that cannot be used; the message names the file, the family and the fault."""


@dataclass(frozen=True)
class Form:
    """Words with slots, and whether they are held out from training."""

    text: str
    held_out: bool


@dataclass(frozen=True)
class Frame:
    """What a fact is about: values of slots, or a sentence with `{}` for the form; and a question, if any."""

    values: dict[str, str]
    sentence: str
    ask: str
    held_out: bool

    def fill(self, form: str, first: str = "", second: str = "") -> str:
        """The form in its frame, with the frame's values and perhaps two slots exchanged; slots that are drawn remain."""
        return self.valued(self.sentence.replace("{}", form) if self.sentence else form, first, second)

    def valued(self, text: str, first: str = "", second: str = "") -> str:
        """The words with the frame's values, outside of its sentence."""
        text = exchanged(text, first, second)
        values = {name: exchanged(value, first, second) for name, value in self.values.items()}

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
    claimed: list[str]
    relations: dict[str, dict[str, str]]
    swaps: dict[str, list[tuple[str, str, str]]]
    asks: list[str] = field(default_factory=list)

    def fault(self, text: str) -> GrammarError:
        return GrammarError(f"{self.file}, family {self.name}: {text}")

    def claims(self, source: str, frame: Frame) -> list[Claim]:
        """Every claim that a source of this meaning decides in a frame."""
        found = []
        for meaning, label in self.relations[source].items():
            for form in self.meanings[meaning]:
                if only_source(form.text) or meaning not in self.claimed:
                    continue
                text = frame.fill(form.text)
                short = frame.sentence and frame.ask
                found.append(Claim(meaning, form, label, text, frame.valued(form.text) if short else ""))
                for first, second, other in self.swaps[source] if label == "entailment" else ():
                    changed = frame.fill(form.text, first, second)
                    if changed != text:
                        inside = short and exchanged(frame.sentence, first, second) == frame.sentence
                        found.append(
                            Claim(
                                meaning, form, other, changed, frame.valued(form.text, first, second) if inside else ""
                            )
                        )
        return found


def only_source(form: str) -> bool:
    """Whether the form is no sentence of its own: a table, or two sentences."""
    return PARTS in form or "\n" in form


def exchanged(text: str, first: str, second: str) -> str:
    """The text with two slots exchanged.

    >>> exchanged("{a} paid {b} {n euro}", "a", "b")
    '{b} paid {a} {n euro}'
    """
    other = {first: second, second: first}
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


def _family(file: str, name: str, table: dict[str, Any]) -> Family:
    def fault(text: str) -> GrammarError:
        return GrammarError(f"{file}, family {name}: {text}")

    if unknown := set(table) - _KEYS:
        raise fault(f"unknown key {', '.join(sorted(unknown))}; use {', '.join(sorted(_KEYS))}")
    if not table.get("says"):
        raise fault("has no `says`")
    try:
        frames = _frames(table.get("frames", [])) or [Frame({}, "", "", False)]
    except ValueError as error:
        raise fault(str(error)) from None
    says: dict[str, list[Form]] = {
        key: [Form(*_starred(text)) for text in forms] for key, forms in table["says"].items()
    }
    rules: dict[str, dict[str, Any]] = table.get("if", {})
    held = table.get("held_out", [])
    for key in (*rules, *(held if isinstance(held, list) else ()), *table.get("only_claims", "").split()):
        if key not in says:
            raise fault(f"{key!r} is no meaning; `says` has {', '.join(says)}")
    relations: dict[str, dict[str, str]] = {}
    swaps: dict[str, list[tuple[str, str, str]]] = {}
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
        if unknown := set(rule) - {*LABELS, "swap", "loose"}:
            raise fault(f"`if.{source}` has an unknown key {', '.join(sorted(unknown))}")
        swaps[source] = [
            (*_two(pair, fault), label)
            for key, label in (("swap", "contradiction"), ("loose", "neutral"))
            for pair in rule.get(key, table.get(key, []))
        ]
    only_claims, only_sources = table.get("only_claims", "").split(), table.get("only_sources", "").split()
    for source in only_sources:
        del relations[source][source]
    return Family(
        file, name, table.get("slots", {}), frames, says, held is True, set(held) if isinstance(held, list) else set(),
        [key for key in says if key not in only_claims], [key for key in says if key not in only_sources],
        relations, swaps, table.get("asks", []),
    )  # fmt: skip


def _two(pair: str, fault: Any) -> tuple[str, str]:
    names = pair.split()
    if len(names) != 2:
        raise fault(f"a swap exchanges two slots, not {pair!r}")
    return names[0], names[1]


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
    for pairs in family.swaps.values():
        for first, second, _ in pairs:
            if not {first, second} <= known:
                raise family.fault(f"the swap of {first} and {second} names an unknown slot")
    told: dict[str, set[str]] = {}
    for source in family.sources:
        for frame in family.frames:
            claims = family.claims(source, frame)
            right = {claim.text for claim in claims if claim.label == "entailment"}
            for claim in claims:
                if claim.label != "entailment" and claim.text in right:
                    raise family.fault(f"a source {source!r} makes {claim.text!r} true and false")
                told.setdefault(claim.meaning, set()).add("true" if claim.label == "entailment" else "false")
    for meaning in family.claimed:
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
