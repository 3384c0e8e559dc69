"""A value that corrects a sentence comes from a statement about the same subject, whatever is cited."""

from tests.tables import tabled

from groundrail.generation.exchanges import exchanges
from groundrail.sources.statements import statements
from groundrail.types import Document

TITLES = ((4, "Heron Pool"), (6, "Otter Pool"))


def offered(sentence: str, source: str, context: str = "") -> list[str]:
    """The sentences after each exchange, where all statements of a source are cited."""
    document = Document(text=source)
    cited = [document.cite(each.start, each.end, 0.5) for each in statements(source)]
    return [each.applied(sentence) for each in exchanges(sentence, context, cited, [document])]


@tabled("sentence, source, allowed")
def test_a_value_of_another_subject_is_never_offered(sentence: str, source: str, allowed: list[str]) -> None:
    assert offered(sentence, source) == allowed


@tabled("sentence, source, corrected")
def test_a_value_of_the_same_subject_is_offered(sentence: str, source: str, corrected: str) -> None:
    assert corrected in offered(sentence, source)


def test_the_question_names_the_subject_of_a_sentence_with_a_pronoun() -> None:
    source = "The Otter Pool costs 6 pounds. The Heron Pool costs 4 pounds."
    assert offered("It costs 5 pounds.", source, "What does the Otter Pool cost?") == ["It costs 6 pounds."]


def test_the_title_of_a_document_names_the_subject_of_its_statements() -> None:
    pools = [Document(text=f"The sauna costs {n} pounds.", id=f"{n}", metadata={"title": title}) for n, title in TITLES]
    cited = [pool.cite(0, len(pool.text), 0.5) for pool in pools]
    found = exchanges("The sauna at the Otter Pool costs 5 pounds.", "", cited, pools)
    assert [each.now for each in found] == ["6 pounds"]


def test_other_statements_on_the_subject_offer_rivals_of_the_cited_value() -> None:
    lido = Document(text="The sauna costs 6 pounds. On Sundays the sauna costs 8 pounds. Towels are free.")
    found = exchanges("The sauna costs 5 pounds.", "", [lido.cite(0, 25, 0.5)], [lido])
    assert {each.now: cited for each, cited in found.items()} == {"6 pounds": True, "8 pounds": False}
