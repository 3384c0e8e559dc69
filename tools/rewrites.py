"""Edits of one sentence, for making training pairs: some keep its meaning, some change one detail.

Every edit is `(sentence, context, rng) -> str | None`; None where it does not apply. `context` is the
passage around the sentence, from which other names and numbers are taken. Which label an edit
deserves, and how pairs are put together, belongs to `pairs.py`.
"""

import random
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

Edit = Callable[[str, str, random.Random], str | None]

NUMBER = re.compile(r"(?<![\w.,/-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w-])|(?<![\w.,/-])\d+(?:\.\d+)?(?![\w,/-]*\w)")
YEAR = re.compile(r"\b(1[5-9]\d\d|20[0-4]\d)\b")
NAME = re.compile(r"\b[A-Z][a-zA-Z'’-]+(?:\s+(?:of\s+|the\s+|de\s+|van\s+|von\s+)?[A-Z][a-zA-Z'’-]+)*")
_THE_NOUN = re.compile(
    r"(?<=\b[Tt]he )[a-z]{3,}(?= (?:[a-z]+s|[a-z]+ed|is|are|was|were|has|had|will|must|may|can|of|to|for|in|by|with)\b|[,.])"
)
_WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_LISTS: list[list[str]] = [_WORDS[name].split() for name in ("ones", "ordinals", "months", "days", "colours")]
ONES, ORDINALS, MONTHS, DAYS, COLOURS = _LISTS
DETAILS: list[str] = _WORDS["details"]
FRAMES: list[str] = _WORDS["frames"]
FIRST_WORDS, SMALL_WORDS = frozenset(_WORDS["first_words"].split()), frozenset(_WORDS["small_words"].split())
UNITS: list[list[str]] = [row.split() for row in _WORDS["units"]]


def _pairs(name: str) -> list[list[str]]:
    """The pairs of words of a table."""
    return [[word.replace("_", " ") for word in row.split()] for row in re.split(r"[|\n]", _WORDS[name])]


IRREGULAR = dict(_pairs("irregular"))
AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|may|might|does|did|has been|have been|had been)\b(?! not|n't)"
)
NEGATED = re.compile(r"\b(is|are|was|were|can|could|will|would|should|must|may|might|has|have|had)(?: not|n't)\b|\bcannot\b")


def _word_map(name: str, both_ways: bool = True) -> dict[str, list[str]]:
    words: dict[str, list[str]] = {}
    for left, right in _pairs(name):
        words.setdefault(left, []).append(right)
        if both_ways:
            words.setdefault(right, []).append(left)
    return words


OPPOSITE, HEDGE, SYNONYM = _word_map("opposites"), _word_map("hedges", both_ways=False), _word_map("synonyms")


def _replace_one(text: str, words: dict[str, list[str]], rng: random.Random) -> str | None:
    found = [m for w in words for m in re.finditer(rf"(?<!\w){re.escape(w)}(?!\w)", text)]
    if not found:
        return None
    match = rng.choice(found)
    return text[: match.start()] + rng.choice(words[match.group()]) + text[match.end() :]


def opposite(text: str, context: str, rng: random.Random) -> str | None:
    return _replace_one(text, OPPOSITE, rng)


def hedge(text: str, context: str, rng: random.Random) -> str | None:
    return _replace_one(text, HEDGE, rng)


def synonyms(text: str, context: str, rng: random.Random) -> str | None:
    result = _replace_one(text, SYNONYM, rng)
    for _ in range(2):
        result = (result and _replace_one(result, SYNONYM, rng)) or result
    return result


def number(text: str, context: str, rng: random.Random) -> str | None:
    """Another number from the context, one nearby, or any one of as many digits."""
    found = [m for m in NUMBER.finditer(text) if not YEAR.fullmatch(m.group())]
    if not found:
        return _number_word(text, rng)
    match = rng.choice(found)
    old = match.group()
    others = [n for n in NUMBER.findall(context) if n != old and not YEAR.fullmatch(n) and n not in text]
    draw = rng.random()
    if others and draw < 0.4:
        new = rng.choice(others)
    elif draw > 0.7 and "." not in old:
        digits = len(old.replace(",", ""))
        any_one = rng.randrange(10 ** (digits - 1), 10**digits)
        new = f"{any_one:,}" if "," in old else str(any_one)
    else:
        value = float(old.replace(",", ""))
        step = rng.choice([1, 2, 5, 10, value, value / 2]) if value < 100 else value * rng.choice([0.1, 0.2, 0.5, 1, 9])
        changed = value + step if rng.random() < 0.5 or value - step <= 0 else value - step
        new = (
            f"{changed:.{len(old.split('.')[1])}f}"
            if "." in old
            else (f"{round(changed):,}" if "," in old else str(round(changed)))
        )
    return None if new == old else text[: match.start()] + new + text[match.end() :]


def _number_word(text: str, rng: random.Random) -> str | None:
    for words in (ONES, ORDINALS):
        found = [m for m in re.finditer(r"(?<![\w-])[a-z]+(?![\w-])", text) if m.group() in words[1:]]
        if found:
            match = rng.choice(found)
            new = rng.choice([w for w in words[1:14] if w != match.group()])
            return text[: match.start()] + new + text[match.end() :]
    return None


def date(text: str, context: str, rng: random.Random) -> str | None:
    """Another year, month, weekday or day of the month."""
    kinds: list[list[tuple[re.Match[str], list[str]]]] = [
        [
            (m, [str(int(m.group()) + d) for d in (-10, -3, -2, -1, 1, 2, 3, 10)] + YEAR.findall(context))
            for m in YEAR.finditer(text)
        ],
        [(m, MONTHS) for m in re.finditer("|".join(rf"\b{w}\b" for w in MONTHS), text)],
        [(m, DAYS) for m in re.finditer("|".join(rf"\b{w}\b" for w in DAYS), text)],
        [
            (m, [str(d) for d in range(1, 29)])
            for m in re.finditer(
                rf"\b\d{{1,2}}(?= (?:{'|'.join(MONTHS)}))|(?<=(?:.March|.April|..June|..July|August) )\d{{1,2}}\b", text
            )
        ],
    ]
    kinds = [kind for kind in kinds if kind]
    if not kinds:
        return None
    match, options = rng.choice(rng.choice(kinds))
    new = rng.choice([o for o in options if o != match.group()])
    return text[: match.start()] + new + text[match.end() :]


def unit(text: str, context: str, rng: random.Random) -> str | None:
    words = {w: [o for o in family if o != w] for family in UNITS for w in family}
    pattern = re.compile(
        r"(?<=[\d] )(" + "|".join(map(re.escape, words)) + r")\b|\b(" + "|".join(w for w in words if len(w) > 3) + r")\b"
    )
    found = list(pattern.finditer(text))
    if not found:
        currency = re.search(r"[$€£](?=\d)", text)
        if not currency:
            return None
        new = rng.choice([c for c in "$€£" if c != currency.group()])
        return text[: currency.start()] + new + text[currency.end() :]
    match = rng.choice(found)
    return text[: match.start()] + rng.choice(words[match.group()]) + text[match.end() :]


def colour(text: str, context: str, rng: random.Random) -> str | None:
    return _replace_one(text, {c: [o for o in COLOURS if o != c] for c in COLOURS}, rng)


def names(text: str) -> list[re.Match[str]]:
    dated = set(MONTHS) | set(DAYS)
    return [
        m
        for m in NAME.finditer(text)
        if m.group().split()[0] not in FIRST_WORDS
        and not dated & set(m.group().split())
        and (m.start() > 0 or " " in m.group())
    ]


def name(text: str, context: str, rng: random.Random) -> str | None:
    """Another name from the context in place of one in the sentence."""
    found = names(text)
    if not found:
        return None
    match = rng.choice(found)
    others = [m.group() for m in names(context) if m.group() not in text and match.group() not in m.group()]
    alike = [o for o in others if len(o.split()) == len(match.group().split())] or others
    return text[: match.start()] + rng.choice(alike) + text[match.end() :] if alike else None


def roles(text: str, context: str, rng: random.Random) -> str | None:
    """Two names of the sentence exchanged."""
    found = names(text)
    if len(found) < 2:
        found = list(_THE_NOUN.finditer(text))
    if len(found) < 2:
        return None
    first, second = sorted(rng.sample(found, 2), key=lambda m: m.start())
    between = text[first.end() : second.start()]
    if first.group() == second.group() or between.strip() in {"and", ",", "or", ", and", "and the", "&"}:
        return None
    return text[: first.start()] + second.group() + between + first.group() + text[second.end() :]


def negation(text: str, context: str, rng: random.Random) -> str | None:
    """A negation put in, or taken out."""
    negated = NEGATED.search(text)
    if negated:
        return text[: negated.start()] + (negated.group(1) or "can") + text[negated.end() :]
    auxiliary = AUXILIARY.search(text)
    if auxiliary:
        first, rest = auxiliary.group().split()[0], text[auxiliary.start() + len(auxiliary.group().split()[0]) :]
        short = "n't" if auxiliary.group() not in ("may", "might", "can", "will") else " not"
        return text[: auxiliary.start()] + first + rng.choice([" not", " not", short, " never"]) + rest
    past = [m for m in re.finditer(r"\b[a-z]+\b", text) if m.group() in IRREGULAR]
    if past:
        return (
            text[: past[0].start()]
            + (f"did not {IRREGULAR[past[0].group()]}" if rng.random() < 0.6 else f"never {past[0].group()}")
            + text[past[0].end() :]
        )
    return None


def invented(text: str, context: str, rng: random.Random) -> str | None:
    """A detail the source does not give, hung on the end."""
    detail = rng.choice(DETAILS).format(y=rng.randint(1950, 2025), n=rng.randint(2, 40), d=rng.choice(DAYS))
    return f"{text.rstrip(' .!?')} {detail}." if detail not in context else None


def shortened(text: str, context: str, rng: random.Random) -> str | None:
    """An aside, a leading phrase or a trailing clause left out; what remains still follows."""
    options = [
        re.sub(r"\s*\([^)]*\)", "", text),
        re.sub(r",\s+(?:which|who|whose|where)\b[^,.;]*,", "", text),
        re.sub(r",\s+(?:which|who|whose|where|while|and|as well as|with|including|making|leading)\b[^,;]*\.$", ".", text),
        re.sub(
            r"^(?:In|On|At|During|By|Since|As of|According to|Despite|For) [^,]{3,40}, (\w)",
            lambda m: m.group(1).upper(),
            text,
        ),
        re.sub(
            r"(?<=\w), (?:a|an|the|his|her|its) [^,]{3,60},(?= (?:is|was|has|had|will|would|said|began|became))", "", text
        ),
    ]
    options = [o for o in options if o != text and len(o.split()) >= 4]
    return rng.choice(options) if options else None


def reordered(text: str, context: str, rng: random.Random) -> str | None:
    """`In 1990, X did Y.` as `X did Y in 1990.`, and framed statements."""
    lead = re.match(r"^((?:In|On|At|During|By|Since|After|Before) [^,]{3,40}), (.+?)([.!?]?)$", text)
    if lead and rng.random() < 0.8:
        return f"{lead.group(2)[0].upper()}{lead.group(2)[1:]} {lead.group(1)[0].lower()}{lead.group(1)[1:]}{lead.group(3)}"
    frame = rng.choice(FRAMES)
    return frame.format(text[0].lower() + text[1:] if not _starts_with_name(text) else text)


def _starts_with_name(text: str) -> bool:
    first = text.split(" ", 1)[0]
    return (
        first == "I" or bool(re.match(r"[A-Z]\S* [A-Z]", text)) or (first[:1].isupper() and first.lower() not in SMALL_WORDS)
    )


def reformatted(text: str, context: str, rng: random.Random) -> str | None:
    """The same number, date or duration written another way."""

    def full_date(m: re.Match[str]) -> str:
        day, month, year = int(m.group("d")), m.group("m"), m.group("y")
        index = MONTHS.index(month) + 1
        forms = [
            f"{day} {month} {year}",
            f"{month} {day}, {year}",
            f"{year}-{index:02d}-{day:02d}",
            f"the {day}{_suffix(day)} of {month} {year}",
            f"{month[:3]} {day}, {year}",
        ]
        return rng.choice([f for f in forms if f != m.group()])

    def times(size: int, unit: str) -> Callable[[re.Match[str]], str]:
        return lambda m: f"{size * (int(m[1]) if m[1].isdigit() else ONES.index(m[1]))} {unit}"

    months = "|".join(MONTHS)
    rules: list[tuple[str, Callable[[re.Match[str]], str]]] = [
        (rf"\b(?P<d>\d{{1,2}}) (?P<m>{months}) (?P<y>\d{{4}})\b", full_date),
        (rf"\b(?P<m>{months}) (?P<d>\d{{1,2}}), (?P<y>\d{{4}})\b", full_date),
        (r"\b(12|24|36|48|60) months\b", lambda m: f"{ONES[int(m.group(1)) // 12]} year{'s' * (m.group(1) != '12')}"),
        (r"\b(two|three|four|five|2|3|4|5) years\b", times(12, "months")),
        (r"\b(two|three|four|2|3|4) weeks\b", times(7, "days")),
        (r"\b(two|three|2|3) hours\b", times(60, "minutes")),
        (r"\b50 ?(?:%|percent|per cent)", lambda m: "half"),
        (r"\b(\d+(?:\.\d+)?) ?%", lambda m: f"{m.group(1)} {rng.choice(['percent', 'per cent'])}"),
        (r"\b(\d+) (?:percent|per cent)\b", lambda m: f"{m.group(1)}%"),
        (r"\b(\d+(?:\.\d+)?) kg\b", lambda m: f"{m.group(1)} kilograms"),
        (r"\b(\d+(?:\.\d+)?) km\b", lambda m: f"{m.group(1)} kilometres"),
        (r"\b(\d{1,3}),(\d{3})(,\d{3})?\b", lambda m: m.group().replace(",", "")),
        (r"(?<![\w,.])(\d{4,7})(?![\w,.])", lambda m: f"{int(m.group()):,}" if not YEAR.fullmatch(m.group()) else m.group()),
        (r"\$(\d[\d,.]*\d)\b(?! (?:m|b|tr)illion)", lambda m: f"{m.group(1)} dollars"),
        (r"(?<![\w$€£.,:-])([2-9]|1\d|20)(?![\w.,:%-]|\s*(?:%|" + months + "))", lambda m: ONES[int(m.group(1))]),
        (r"\b(" + "|".join(ONES[2:]) + r")\b(?!-)", lambda m: str(ONES.index(m.group(1)))),
        (r"\bnoon\b", lambda m: "12 pm"),
        (r"\b(\d{1,2}):00 ?(?:am|a\.m\.)", lambda m: f"{m.group(1)} am"),
        (r"\b(1[3-9]|2[0-3]):(\d\d)\b", lambda m: f"{int(m.group(1)) - 12}:{m.group(2)} pm"),
    ]
    rng.shuffle(rules)
    for pattern, form in rules:
        changed = re.sub(pattern, form, text, count=1)
        if changed != text:
            return changed
    return None


def _suffix(day: int) -> str:
    return "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


WRONG: list[tuple[float, str, Edit]] = [
    (3, "number", number), (2.5, "date", date), (2.5, "unit", unit), (3, "name", name), (3.5, "roles", roles),
    (3, "negation", negation), (4, "opposite", opposite), (3, "hedge", hedge), (0.5, "colour", colour), (1.5, "invented", invented),
]  # fmt: skip
SAME: list[tuple[float, str, Edit]] = [
    (3, "shortened", shortened), (2, "reordered", reordered), (3, "reformatted", reformatted), (3, "synonyms", synonyms),
]  # fmt: skip


def apply_one(edits: list[tuple[float, str, Edit]], text: str, context: str, rng: random.Random) -> tuple[str, str] | None:
    """The first applicable edit in a weighted random order: (its name, the new sentence)."""
    order = sorted(edits, key=lambda e: -(rng.random() ** (1 / e[0])))
    for _, label, edit in order:
        changed = edit(text, context, rng)
        if changed and changed != text:
            return label, changed
    return None
