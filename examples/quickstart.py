"""Check an answer that is already written: what is wrong, what is right, and where the source says so."""

from pathlib import Path

from groundrail import Document, Guard

lease = Path(__file__).parent / "documents" / "lease.txt"
source = Document(text=lease.read_text(encoding="utf-8"), id=lease.name)
answer = (
    "The lease ends on 28 February 2026. The monthly rent is 1,650 euros. "
    "If the tenants leave early, they owe one month's rent."
)

result = Guard().check(answer, source)
for sentence in result.sentences:
    print(f"{sentence.verdict:12} {sentence.text.strip()}")
    for citation in sentence.supporting:
        print(f"{'':12} ↳ {citation.text.strip()}  [{citation.start}:{citation.end}]")
print("\nReleased:", result.text)
