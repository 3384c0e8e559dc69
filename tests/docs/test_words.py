"""Names and docs keep to the glossary: words that were given up stay away."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEFT = (
    "likest|reckon|leans?[ _]on|takes_context|(?:Judge|Scorer)Facts|Pushed|text[./]facts|Grounded[A-Z]|that is none|"
    r"hands? (?:it|them) on|\breach="
)
"""Words that the glossary has others for."""
FORMER = "former"
"""Files that name a former word as such."""


def texts() -> list[Path]:
    code = [
        path
        for room in ("guard", "decoding", "integrations", "evaluation", "papers")
        for path in (ROOT / room).rglob("*.py")
    ]
    return [path for path in (*code, *ROOT.glob("docs/*.md"), ROOT / "README.md") if FORMER not in path.name]


def test_no_text_has_a_word_that_was_left() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {word[0]}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (word := re.search(LEFT, line))
    ]
    assert found == []


def test_the_glossary_has_sixty_rows_at_most_each_with_a_meaning() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (.+) \|$", page.partition("## Glossary")[2].partition("\n## ")[0], re.MULTILINE)[2:]
    terms = [term for names, _ in rows for term in names.split(", ")]
    assert 30 <= len(terms) <= 60
    assert len(set(terms)) == len(terms)
