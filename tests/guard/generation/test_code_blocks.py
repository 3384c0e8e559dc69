"""A block of code goes out only if the source supports each of its lines."""

import math
from collections.abc import Sequence

import pytest
from tests.guard.parts import Scoring

from groundrail import Guard, Policy
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.types import Source, as_documents

SOURCE = "Smoking is not allowed. The limit of the pool is 12. retries = 3. timeout = 30."


class Verbatim(Scorer):
    """Supports what the source says in the same words, and cites it."""

    def read(self, source: Source) -> Reader:
        (document,) = as_documents(source)

        def scored(claim: str) -> Score:
            start = document.text.find(claim.strip())
            if start < 0:  # without a place, if only stops lie between
                return Score(0.9 if claim in document.text.replace(".", "") else 0.1)
            return Score(0.9, (document.cite(start, start + len(claim), 0.9),))

        return Prepared(lambda claims, _: [scored(claim) for claim in claims], source)


def block(*lines: str, mark: str = "```", before: str = "") -> str:
    return "".join(f"{before}{line}\n" for line in (mark, *lines, mark))


@pytest.mark.parametrize(
    "text",
    [
        block("retries = 3", "", "timeout = 30"),
        block("retries = 3", "timeout = 30", "# -----", mark="~~~~"),
        block("  retries = 3", "  timeout = 30", before="> "),
    ],
)
def test_a_block_whose_lines_all_stand_in_the_source_goes_out_and_cites_them(text: str) -> None:
    (sentence,) = Guard(scorer=Verbatim()).check(text, SOURCE).sentences
    assert sentence.released
    assert [citation.text for citation in sentence.citations] == ["retries = 3", "timeout = 30"]


@pytest.mark.parametrize(
    "text",
    [
        block("Smoking is not allowed.", "Smoking is allowed on balconies.", mark="```"),
        block("- Smoking is not allowed.", "+ Smoking is allowed on balconies."),
        block("retries = 3", "timeout = 300"),
        block("retries = 4", "timeout = 30", before="> "),
        block("Smoking is", "", "allowed."),  # it goes on in the next line
    ],
)
def test_one_wrong_line_refuses_the_whole_block(text: str) -> None:
    guard = Guard(scorer=Verbatim(), policy=Policy(fallback="drop"))
    result = guard.check(text, SOURCE)
    assert result.text == ""
    assert result.sentences[0].score == 0.1


def test_each_line_is_asked_alone_and_in_one_call() -> None:
    asked: list[list[str]] = []

    class Asked(Verbatim):
        def read(self, source: Source) -> Reader:
            reader = super().read(source)

            def score(claims: Sequence[str], _: Source) -> list[Score]:
                asked.append(list(claims))
                return reader.score(claims)

            return Prepared(score, source)

    Guard(scorer=Asked()).check(f"Smoking is not allowed.\n\n{block('retries = 3', '---', 'timeout = 30')}", SOURCE)
    assert asked == [["Smoking is not allowed.", "retries = 3", "timeout = 30", "retries = 3 timeout = 30"]]


@pytest.mark.parametrize("scores", [(Score(0.6), Score(0.7, threshold=0.9)), (Score(math.nan), Score(0.4))])
def test_a_refused_line_counts_before_a_lower_score_on_another_scale_and_before_an_error(scores: list[Score]) -> None:
    result = Guard(scorer=Scoring(lambda claims: [*scores, Score(0.95)]), policy=Policy(on_error="open")).check(
        block("retries = 3", "timeout = 30"), SOURCE
    )
    assert result.text == ""
    assert result.sentences[0].score == scores[1].value
