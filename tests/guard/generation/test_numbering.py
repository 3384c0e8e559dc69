"""A stream writes the guard's own marks as it releases sentences, with the numbers of the whole result."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail import Guard, Policy
from groundrail.generation.streams import GuardedStream
from groundrail.report.markdown import references
from groundrail.scoring.nearest import NearestScorer
from groundrail.testing import FakeEntailment, ScriptedGenerator

SOURCE = ["The rent is 950 euros a month. Cash is accepted.", "Pets are allowed."]
SENTENCES = ["Pets are allowed. ", "The king owns it. ", "Cash is accepted.\n\n", "Hello! ", "(Pets are allowed.) "]


def guard(script: Sequence[str], **policy: Any) -> Guard:
    scorer = NearestScorer(FakeEntailment(), rivals=0, invented=0)
    return Guard(ScriptedGenerator(list(script)), scorer=scorer, policy=Policy(**policy))


def streamed(script: Sequence[str], source: Sequence[str] = SOURCE, **policy: Any) -> tuple[str, GuardedStream]:
    stream = guard(script, **policy).stream("", source, marks=True)
    return "".join(stream), stream


def test_marks_stand_behind_supported_sentences_and_have_their_places() -> None:
    text, stream = streamed(["Pets are allowed. The king owns it. Cash is accepted. ", "Pets are allowed."])
    assert text == "Pets are allowed. [1] Cash is accepted. [2] Pets are allowed. [1]"
    assert [(number, place.document_id) for number, place in stream.references] == [(1, "source-2"), (2, "source-1")]
    assert stream.result.text == "Pets are allowed. Cash is accepted. Pets are allowed."


@given(st.lists(st.sampled_from(SENTENCES), max_size=5))
def test_a_stream_and_its_result_have_the_same_marks(script: list[str]) -> None:
    text, stream = streamed(["".join(script)] if script else [])
    parts = (text.rstrip(), references(stream.references))
    assert stream.result.to_markdown(marks=True) == "\n\n".join(part for part in parts if part) + "\n"


@pytest.mark.parametrize("written", ["Pets are allowed [2].", "Pets are allowed [1].", "Pets are allowed (source 2)."])
def test_the_generators_own_marks_give_way(written: str) -> None:
    text, _ = streamed([written])
    assert text == "Pets are allowed. [1]"


def test_a_number_that_the_source_has_in_brackets_is_not_used() -> None:
    text, _ = streamed(["Pets are allowed."], ["Pets are allowed. Cash is out [1].", "Dogs bark [4]."])
    assert text == "Pets are allowed. [5]"


def test_a_stream_without_marks_has_no_references() -> None:
    stream = guard(["Pets are allowed."]).stream("", SOURCE)
    assert ("".join(stream), stream.references) == ("Pets are allowed.", ())


def test_an_event_loop_sees_the_same() -> None:
    async def read() -> tuple[str, list[int]]:
        stream = await guard(["Pets are allowed. Cash is accepted."]).astream("", SOURCE, marks=True)
        text = "".join([piece async for piece in stream])
        return text, [number for number, _ in stream.references]

    assert asyncio.run(read()) == ("Pets are allowed. [1] Cash is accepted. [2]", [1, 2])
