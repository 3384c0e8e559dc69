"""Marks written into the released text: taken out again they leave `result.text`, and each has its reference."""

import re

from hypothesis import given
from hypothesis import strategies as st
from tests.guard.report.conftest import Told

from groundrail import Document, Guard, Policy
from groundrail.types import CheckedSentence, Citation, GuardResult, Verdict

PLACE = Citation(document_id="a", start=0, end=3, text="Yes", score=0.9)


def answered(*pieces: tuple[str, int]) -> GuardResult:
    """A result whose sentences are supported by so many places each."""
    sentences, start = [], 0
    for text, cited in pieces:
        places = tuple(PLACE.model_copy(update={"start": n, "end": n + 3}) for n in range(cited))
        verdict = Verdict.SUPPORTED if cited else Verdict.NO_CLAIM
        sentence = CheckedSentence(
            text=text, start=start, end=start + len(text), verdict=verdict, citations=places, released=True
        )
        sentences.append(sentence)
        start += len(text)
    text = "".join(text for text, _ in pieces)
    return GuardResult(text=text, answer=text, sentences=tuple(sentences), threshold=0.5)


TEXTS = st.sampled_from(
    ["Rent is due [1]. ", "Pets are out [2-4].\n\n", "(Cash is in.)", "See [2024].", "- An item\n", "x = a[10]", " "]
)


@given(st.lists(st.tuples(TEXTS, st.integers(0, 3)), max_size=6))
def test_without_the_written_marks_the_text_is_the_released_text(pieces: list[tuple[str, int]]) -> None:
    result = answered(*pieces)
    body, _, references = result.to_markdown(marks=True).partition("\n\n**References**\n\n")
    numbers = re.findall(r"^- \[(\d+)\] ", references, re.MULTILINE)
    written = re.compile(" (?:" + "|".join(rf"\[{n}\]" for n in numbers) + r")+(?:\\(?=\())?") if numbers else None
    bare = written.sub("", body) if written else body
    assert bare.rstrip() == result.text.rstrip()
    used = {n for n in re.findall(r"\[(\d+)\]", body) if f"[{n}]" not in result.text}
    assert used == set(numbers)
    assert not any(f"[{n}](" in body for n in numbers)


def test_a_number_of_the_answers_own_is_never_used_again() -> None:
    text = answered(("The rent is due [1-3].", 1), (" Pets are out [2024].", 2)).to_markdown(marks=True)
    assert text.startswith("The rent is due [1-3]. [4] Pets are out [2024]. [4][5]\n")


def test_references_name_title_page_link_and_words_and_escape_them() -> None:
    lease = Document(
        text="Pets are *out*.", id="a", metadata={"title": "The [lease]", "url": "https://example.org/a", "page": 2}
    )
    told = Told({"Pets": (0.9, "Pets are *out*.", "")})
    result = Guard(scorer=told, policy=Policy()).check("Pets are out.", lease)
    place = result.citations[0]
    cited = lease.cite(place.start, place.end, place.score)
    sentence = result.sentences[0].model_copy(update={"citations": (cited,)})
    text = result.model_copy(update={"sentences": (sentence,)}).to_markdown(marks=True)
    assert text.startswith("Pets are out. [1]\n\n**References**\n\n- [1] [The \\[lease\\], page 2](<https://example.org/a")
    assert text.endswith(">): “Pets are \\*out\\*.”\n")


def test_released_text_without_support_has_no_mark() -> None:
    result = Guard(scorer=Told({}), policy=Policy(fallback="flag")).check("Pets are in.", "Pets are out.")
    assert result.to_markdown(marks=True) == "Pets are in.\n"
