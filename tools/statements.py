"""Statements made from a question and its short answer: a fact said in a person's own words.

`answered(question, sentence)` finds the answer where exactly one phrase of the kind asked for stands
in the sentence and not in the question; `statement(question, answer)` puts the two together.
"""

import re

from rewrites import DAYS, IRREGULAR, MONTHS, YEAR, names

_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"(?:\d{{1,2}} )?\b(?:{_MONTH})\b(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?|\b1[0-9]\d\d\b|\b20[0-2]\d\b"
)
_NUMBER = re.compile(
    r"\b(?:(?:about|over|nearly) )?(?:\d[\d,]*(?:\.\d+)?|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)"
    r"(?: (?:hundred|thousand|million|billion))?\b"
)
_PERCENT = re.compile(r"\b\d[\d.,]* ?(?:%|percent\b|per cent\b)")
_MONEY = re.compile(r"[$€£]\d[\d.,]*(?: (?:million|billion|thousand))?")
_PARTICIPLE = re.compile(
    r"\b(\w+ed|born|built|held|made|found|written|sent|sold|won|known|begun|taken|given|put|set|cut|bought|brought|led|lost|shown|spoken|spent|taught|told|worn|seen|drawn|grown|chosen)\b"
)
_PAST = {base: past for past, base in IRREGULAR.items()}
_WHEN = r"(?:When|What year|In what year|In which year|What month and year|On what date|On what day)"


def answered(question: str, sentence: str) -> str | None:
    """The one phrase of `sentence` that can answer `question`, or None."""
    lowered = question.lower()
    if re.match(rf"{_WHEN}\b", question):
        found = [m.group() for m in _DATE.finditer(sentence)]
    elif re.match(r"(?:What|About what) percent", question):
        found = [m.group() for m in _PERCENT.finditer(sentence)]
    elif re.match(r"How many\b", question):
        found = [m.group() for m in _NUMBER.finditer(sentence) if not YEAR.fullmatch(m.group())]
    elif re.match(r"How much\b", question):
        found = [m.group() for m in _MONEY.finditer(sentence)]
    elif re.match(
        r"(?:Who|Whom|What (?:country|city|state|company|person|artist|writer|author|king|president|general))\b", question
    ):
        found = [m.group() for m in names(sentence) if not set(m.group().split()) & {*MONTHS, *DAYS}]
    else:
        return None
    found = [f for f in dict.fromkeys(found) if f.lower() not in lowered]
    return found[0] if len(found) == 1 else None


def statement(question: str, answer: str) -> str:
    """The question turned into a statement with `answer` in its place; question and answer where no rule fits."""
    asked = question.strip().rstrip("? ")
    for pattern, form in _RULES:
        match = re.fullmatch(pattern, asked)
        if match:
            parts = {name: part or "" for name, part in match.groupdict().items()}
            text = form.format(a=answer, past=_PAST.get(parts.get("base", ""), ""), **parts)
            text = re.sub(r"\s+", " ", text).strip()
            return text[0].upper() + text[1:] + "."
    return f"{asked}? {answer}."


_BE = r"(?P<be>is|are|was|were)"
_RULES: list[tuple[str, str]] = [
    (rf"Who {_BE} (?P<x>the .+)", "{x} {be} {a}"),
    (r"Who (?P<x>(?!is |are |was |were |did |do |does |has |had |can |would |will ).+)", "{a} {x}"),
    (rf"(?:{_WHEN}) (?P<be>was|were) (?P<x>.+? )(?P<v>{_PARTICIPLE.pattern[2:-2]})(?P<rest>\b.*)", "{x} {be} {v}{rest} in {a}"),
    (rf"(?:{_WHEN}) did (?P<x>.+? )(?P<base>{'|'.join(_PAST)})(?P<rest>\\b.*)", "{x} {past}{rest} in {a}"),
    (r"What percent(?:age)? of (?P<x>.+)", "{a} of {x}"),
    (r"How many (?P<n>\w+) (?P<x>(?:are|were|is|have|live|work|attend|died|make|made|took|lived|came) ?.*)", "{a} {n} {x}"),
    (r"How many (?P<n>\w+) (?:does|do|did) (?P<x>.+) have", "{x} has {a} {n}"),
    (r"What (?:country|city|state|company) (?P<x>(?!is |are |was |were |did |do |does ).+)", "{a} {x}"),
]  # fmt: skip
