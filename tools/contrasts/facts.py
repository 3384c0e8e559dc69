"""Facts: a family's words with values drawn for their slots, and the claims that can be made about them."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from contrasts import words
from contrasts.grammar import PARTS, SLOT, Claim, Family, Form, Frame

Value = tuple[str, int | str]
"""The kind of a value (int, time, money, date, year, person, or another list of the lexicon), and the value."""

_PRONOUNS = {"they": ("she", "he"), "them": ("her", "him"), "their": ("her", "his")}


class Pool:
    """Names and things that one text may still draw, so that no two facts share a name."""

    def __init__(self, lists: dict[str, list[str]], rng: Random, full_names: bool) -> None:
        self._left = {name: rng.sample(some, len(some)) for name, some in lists.items()}
        self._rng, self._full = rng, full_names

    def copy(self) -> "Pool":
        """A pool with the same names left."""
        return Pool(self._left, self._rng, self._full)

    def draw(self, kind: str) -> Value:
        """The next value of a list; a person has a first name of the list "she" or "he"."""
        if kind != "person":
            return kind, self._left[kind].pop()
        pronoun = self._rng.choice(("she", "he"))
        name = self._left[pronoun].pop()
        return f"person {pronoun}", f"{name} {self._left['surname'].pop()}" if self._full else name


def drawn(spec: str, values: dict[str, Value], pool: Pool, rng: Random) -> Value:
    """A value for a slot of this kind; `= d + n` reckons with the values of other slots."""
    reckoned = re.fullmatch(r"(?:(\w+) )?= (.+)", spec)
    if reckoned:
        total, sign = 0, 1
        for part in reckoned[2].split():
            if part in "+-*":
                sign = {"+": 1, "-": -1, "*": 0}[part]
            else:
                number = int(part) if part.isdigit() else int(values[part][1])
                total = total * number if sign == 0 else total + sign * number
        return reckoned[1] or "int", total
    ranged = re.fullmatch(r"(?:(\w+) )?(\d+)-(\d+)(?:/(\d+))?", spec)
    if ranged:
        return ranged[1] or "int", rng.randrange(int(ranged[2]), int(ranged[3]) + 1, int(ranged[4] or 1))
    return pool.draw(spec)


def values_of(family: Family, pool: Pool, rng: Random, subject: Value | None = None) -> dict[str, Value]:
    """Values for every slot of a family, no two numbers equal; the subject fills the slot `a` if it is of that kind."""
    fits = subject and subject[0].split()[0] == family.slots.get("a")
    given = {"a": subject} if subject and fits else {}
    drawn_once = {
        name: drawn(spec, {}, pool, rng)
        for name, spec in family.slots.items()
        if not re.search(r"\d-\d|= ", spec) and name not in given
    }
    for _ in range(300):
        values = dict(drawn_once)
        for name, spec in family.slots.items():
            if name in given:
                values[name] = given[name]
            elif name not in values:
                values[name] = drawn(spec, values, pool, rng)
        numbers = [value for _, value in values.values() if isinstance(value, int)]
        if len(numbers) == len(set(numbers)) and all(number > 0 for number in numbers):
            return values
    raise family.fault("its slots cannot have different numbers; widen their ranges")


def spelled(value: Value, style: str | None, noun: str | None, rng: Random) -> str:
    """A value in words, in a style (`{n:th}`), or before a noun that agrees with it (`{n person}`)."""
    kind, what = value
    if isinstance(what, str):
        if style in _PRONOUNS:
            return _PRONOUNS[style]["he" in kind.split()]
        return what
    if noun:
        return f"{words.number(what, rng)} {noun if what == 1 else words.plural(noun)}"
    if style == "th":
        return words.ordinal(what, rng)
    if style == "digits" or kind == "year":
        return str(what)
    if style == "words":
        return words.in_words(what)
    if style == "duration":
        return words.duration(what, rng)
    spell = {"time": words.clock, "money": words.money, "date": words.date}.get(kind, words.number)
    return spell(what, rng)


def rendered(template: str, values: dict[str, Value], rng: Random) -> str:
    """The template with its values."""
    return SLOT.sub(lambda found: spelled(values[found[1]], found[2], found[3], rng), template)


@dataclass
class Fact:
    """A fact that a source tells: sentences without capitals and full stops, or one table."""

    family: Family
    frame: Frame
    meaning: str
    template: str
    values: dict[str, Value]
    sentences: list[str]
    claims: list[Claim]
    used: set[str] = field(default_factory=set)

    @property
    def words(self) -> set[str]:
        """The long words of the fact, without names."""
        text = " ".join([*self.sentences, self.frame.sentence])
        return long_words(text)

    @property
    def subject(self) -> Value | None:
        """The person or organisation with whom the fact's first sentence starts."""
        found = SLOT.match(self.template)
        if found and not found[2]:
            value = self.values[found[1]]
            if value[0].startswith("person") or value[0] == "org":
                return value
        return None


def long_words(text: str) -> set[str]:
    return set(re.findall(r"\b[a-z]{5,}\b", text))


class Balance:
    """Counts how often each form was true and false, and picks the claim that evens the counts out."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str, bool]] = Counter()

    def _tilt(self, family: str, claim: Claim) -> int:
        true = claim.label == "entailment"
        key = (family, claim.meaning, claim.form.text)
        return self.counts[(*key, true)] - self.counts[(*key, not true)]

    def pick(self, fact: Fact, true: bool, rng: Random, like: Claim | None = None) -> Claim | None:
        """An unused claim about the fact that is true, or one that is not; None if there is none.

        Args:
            like: a claim whose form is taken again if it can be.
        """
        left = [c for c in fact.claims if (c.label == "entailment") == true and c.text not in fact.used]
        if not left:
            return None
        others = [c for c in left if c.text != fact.template] or left  # not the source's own words, if it can be helped
        if rng.random() < 0.85:
            left = others
        if like:
            left = [c for c in left if c.form == like.form] or left
        least = min(self._tilt(fact.family.name, c) for c in left)
        chosen = rng.choice([c for c in left if self._tilt(fact.family.name, c) <= least])
        self.count(fact, chosen)
        return chosen

    def count(self, fact: Fact, claim: Claim) -> None:
        fact.used.add(claim.text)
        self.counts[(fact.family.name, claim.meaning, claim.form.text, claim.label == "entailment")] += 1


class Teller:
    """Tells facts of families: for training, or from the words that are held out."""

    def __init__(self, families: Iterable[Family], lists: dict[str, list[str]], held_out: bool, rng: Random) -> None:
        self.held_out, self._lists, self.rng = held_out, lists, rng
        self.families = [f for f in families if held_out or not f.held_out]
        self.balance = Balance()

    def pool(self, full_names: bool) -> Pool:
        return Pool(self._lists, self.rng, full_names)

    def frames(self, family: Family) -> list[Frame]:
        if family.held_out:
            return family.frames
        some = [frame for frame in family.frames if frame.held_out == self.held_out]
        return some if some or not self.held_out else family.frames

    def meanings(self, family: Family) -> list[str]:
        if family.held_out or not family.held_meanings:
            return family.sources
        return [m for m in family.sources if (m in family.held_meanings) == self.held_out]

    def allowed(self, family: Family, meaning: str, form: Form) -> bool:
        """Whether a form may be written: held-out words only where they are asked for."""
        if family.held_out:
            return True
        if not self.held_out:
            return not form.held_out and meaning not in family.held_meanings
        return form.held_out or form in family.meanings[meaning][:2] or not _has_held(family.meanings[meaning])

    def fact(self, pool: Pool, family: Family, subject: Value | None = None) -> Fact:
        """A fact of a family, with values from the pool.

        Args:
            subject: a person or an organisation for the slot `a`.
        """
        rng = self.rng
        frame = rng.choice(self.frames(family))
        meaning = rng.choice(self.meanings(family))
        forms = [form for form in family.meanings[meaning] if self.allowed(family, meaning, form)]
        if not forms:
            raise family.fault(f"the meaning {meaning} has no form that may be written here")
        template = frame.fill(rng.choice(forms).text)
        values = values_of(family, pool, rng, subject)
        said = [template] if "\n" in template else template.split(PARTS)
        claims = [c for c in family.claims(meaning, frame) if self.allowed(family, c.meaning, c.form)]
        return Fact(family, frame, meaning, template, values, [rendered(one, values, rng) for one in said], claims)

    def tell(self, fact: Fact, template: str) -> str:
        """The words of a claim or question about a fact, without capital and full stop."""
        return rendered(template, fact.values, self.rng)


def _has_held(forms: list[Form]) -> bool:
    return any(form.held_out for form in forms)
