"""Examples for the playground and the demo: a document, questions about it, and an answer that is partly wrong."""

from importlib.resources import files

from pydantic import BaseModel, ConfigDict


class Example(BaseModel):
    """A source, questions that a model can be asked about it, and an answer with some sentences that are not true."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    source: str
    answer: str
    questions: tuple[str, ...]


def _example(name: str, title: str, answer: str, *questions: str) -> Example:
    source = (files("groundrail.documents") / name).read_text(encoding="utf-8")
    return Example(name=name, title=title, source=source, answer=answer, questions=questions)


EXAMPLES = (
    _example(
        "lease.txt",
        "A lease",
        "Here is a short summary. The lease begins on 1 March 2025 and ends on February 28, 2026. The rent is 1,650 euros "
        "a month. Before they get the keys, the tenants pay a deposit of 2,900 euros. The landlord pays for water, "
        "heating and waste collection. A spare key is kept by the caretaker, Anton Birke. No more than three people may "
        "live in the flat.",
        "When does the lease end?",
        "How large is the deposit?",
        "What happens if the rent is late?",
    ),
    _example(
        "manual.txt",
        "A manual",
        "The machine has one boiler for coffee and another for steam. The water tank holds 3.2 litres. A grinder is not "
        "included. Never use vinegar for descaling, since it damages the seals. The steam pressure can be set between "
        "1 and 2 bar. The warranty is two years from the date of purchase. I hope this helps.",
        "At what temperature does the machine brew?",
        "How long is the guarantee?",
    ),
    _example(
        "meeting.txt",
        "Minutes of a meeting",
        "The library reopens on 1 November 2025. The upper floor will be finished on 17 October. So far 1.52 million "
        "dollars have been spent, which leaves 340,000. All fines are abolished. The fire permit allows no more than "
        "400 people in the building at one time. The café contract goes to Daybreak.",
        "When does the library reopen?",
        "How many applications were received for the children's librarian?",
    ),
)
