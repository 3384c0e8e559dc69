"""Sentence boundaries: exact slices, the same in a stream as whole, drawn where readers would."""

import re
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.growth import grows_with
from tests.tables import tabled

from groundrail.errors import InputError
from groundrail.text.sentences import Sentence, Stream, is_finished, split

FRAGMENTS = [
    *"abzAZ19 .!?…,:;-*#|`~()[]\"'”“\n\r\t。！」।é😀\u200d\u3000\u2028",
    *("The ", "rent ", "is ", "due. ", "Dr. ", "e.g. ", "3.5 ", "Fig. 2 ", "He ", "No. ", "U.S. ", "p.m. "),
    *("\r\n", "\n\n", "\n- ", "\n* ", "\n1. ", "\n  ", "\n# ", "\n```\n", "```py\n", "~~~\n", "\n| a |\n", "---\n"),
    *("...", "?!", ".” ", '." ', ".) ", ".[1] ", "。[1]", "** ", "🇩🇪", " 😀 ", "世界", "https://a.io/x.y?z=1. "),
]
texts = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join), st.text(max_size=80))


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(places)]


@given(texts)
def test_slices_are_exact_and_concatenate_to_the_text(text: str) -> None:
    sentences = split(text)
    assert "".join(sentence.text for sentence in sentences) == text
    for sentence in sentences:
        assert sentence.text == text[sentence.start : sentence.end] != ""
    for before, after in pairwise(sentences):
        assert before.end == after.start
        assert before.text.strip()
        assert not after.text[0].isspace()


@given(texts, st.lists(st.integers(0, 200), max_size=12))
def test_a_stream_cut_anywhere_gives_the_sentences_of_the_whole(text: str, cuts: list[int]) -> None:
    stream = Stream()
    sentences = [sentence for piece in pieces_of(text, cuts) for sentence in stream.feed(piece)]
    assert sentences + stream.flush() == split(text)
    assert stream.pending == ""
    assert stream.end == len(text)


@given(texts)
@example("The 。.[1] ")
def test_a_stream_of_single_characters_gives_the_sentences_of_the_whole(text: str) -> None:
    stream = Stream()
    sentences = [sentence for character in text for sentence in stream.feed(character)]
    assert sentences + stream.flush() == split(text)


@given(texts, texts, st.data())
def test_what_was_released_stays_right_whatever_comes_next(text: str, rest: str, data: st.DataObject) -> None:
    stream = Stream()
    released = stream.feed(text)
    assert split(text + rest)[: len(released)] == released
    if not released:
        return
    rejected = data.draw(st.sampled_from(released))
    stream.truncate(rejected.start)
    assert (stream.pending, stream.end) == ("", rejected.start)
    again = stream.feed((text + rest)[rejected.start :]) + stream.flush()
    assert again == split(text + rest)[released.index(rejected) :]


@tabled("sentences")
def test_boundaries_a_reader_would_draw(sentences: list[str]) -> None:
    assert [sentence.text for sentence in split("".join(sentences))] == sentences


@pytest.mark.parametrize(
    ("before", "last"),
    [
        ("The rent is due. It", " "),
        ("The rent is due.\nIt", " "),
        ("The rent is due\n\n", "I"),
        ("- a point\n-", " "),
        ("你好世界你好世界。", "世"),
        ("The rent is due. " + "x" * 39, "x"),
    ],
)
def test_a_sentence_is_released_no_later_than_the_first_word_of_the_next(before: str, last: str) -> None:
    stream = Stream()
    assert stream.feed(before) == []
    assert len(stream.feed(last)) == 1


def test_a_rejected_sentence_is_written_anew_in_the_same_list_item() -> None:
    stream = Stream()
    kept, rejected = stream.feed("- The rent is 500. It is due in May. It is")
    assert rejected.text == "It is due in May. "
    stream.truncate(rejected.start)
    text = "It is due in June\nNobody pays."
    assert stream.feed(text) + stream.flush() == [
        Sentence("It is due in June\n", kept.end, kept.end + 18),
        Sentence("Nobody pays.", kept.end + 18, kept.end + 30),
    ]


def test_truncating_within_what_is_pending_keeps_what_stands_before() -> None:
    stream = Stream()
    stream.feed("One is here. Two is wrong")
    stream.truncate(17)
    assert stream.pending == "Two "
    assert [sentence.text for sentence in stream.feed("is right.") + stream.flush()] == ["Two is right."]


@pytest.mark.parametrize("end", [-1, 3, 99])
def test_truncating_anywhere_else_is_an_error(end: int) -> None:
    stream = Stream()
    stream.feed("One is here. Two is here. Three")
    with pytest.raises(InputError, match="truncate"):
        stream.truncate(end)


@pytest.mark.parametrize("word", ["May", "no", "art", "HR", "me"])
def test_words_that_are_abbreviations_elsewhere_end_a_sentence(word: str) -> None:
    assert len(split(f"It is about {word}. Cats fly.")) == 2
    assert len(split("See No. 5 and Fig. 2 for Art. 3 of it.")) == 1


def test_a_text_without_stops_is_searched_once() -> None:
    stream = Stream(longest=10**6)
    for _ in range(50_000):  # takes minutes if every word looks at all before it again
        assert stream.feed("word ") == []
    assert len(stream.flush()) == 1


@pytest.mark.parametrize(
    ("text", "finished"),
    [("", True), ("It ends. ", True), ('He said "yes."', True), ("It ends", False), ("It ends, ", False)],
)
def test_a_text_is_finished_where_a_stop_ends_it(text: str, finished: bool) -> None:
    assert is_finished(text) == finished


_UNITS = [
    "1", "!", "😀", "word ", "(", '"', "a. b ", "\n", " ", "`", "[1]", "! [", "。", "-\n", "```\n", "e.g. ",
    "\u0301",
]  # fmt: skip


@pytest.mark.slow
@tabled("unit", *_UNITS)
def test_time_grows_with_the_text(unit: str) -> None:
    def feed(characters: int, piece: int) -> None:
        text, stream = (unit * characters)[:characters], Stream()
        for start in range(0, characters, piece):
            stream.feed(text[start : start + piece])
        stream.flush()

    assert grows_with(20_000, lambda characters: feed(characters, characters))
    assert grows_with(6_000, lambda characters: feed(characters, 40))


@given(
    st.lists(st.sampled_from([*_UNITS, "Ends here. ", "He ", "x" * 30, "\n\n", "## H\n"]), max_size=60).map("".join),
    st.integers(1, 90),
    st.integers(20, 120),
)
def test_a_long_text_is_cut_the_same_in_any_pieces(text: str, piece: int, longest: int) -> None:
    stream, found = Stream(longest), []
    for start in range(0, len(text), piece):
        found += stream.feed(text[start : start + piece])
        assert len(stream.pending) <= longest + 64
    found += stream.flush()
    assert found == split(text, longest)
    assert "".join(s.text for s in found) == text
    assert all(len(s.text) <= longest for s in found)
    if len(text) <= longest:
        assert found == split(text)


def test_a_lead_is_one_sentence_with_the_first_item_of_its_list_and_is_known_to_the_others() -> None:
    found = split("**Side effects:**\n\n- nausea\n- Rare: rash. Itching\n  too\n\nA paragraph.\n- no lead\n")
    assert [(sentence.text, sentence.lead) for sentence in found] == [
        ("**Side effects:**\n\n- nausea\n", "**Side effects:**"),
        ("- Rare: rash. ", "**Side effects:**"),
        ("Itching\n  too\n\n", "**Side effects:**"),
        ("A paragraph.\n", ""),
        ("- no lead\n", ""),
    ]


@pytest.mark.parametrize("name", ["lease", "manual", "meeting"])
@pytest.mark.parametrize("width", [36, 72, 80])
def test_wrapped_prose_has_the_sentences_of_the_same_text_on_one_line(name: str, width: int) -> None:
    text = (Path(__file__).parents[3] / "examples" / "documents" / f"{name}.txt").read_text(encoding="utf-8")
    numbers = re.compile(r"^[\d.]+ ")
    prose = [numbers.sub("", sentence.text.strip()) for sentence in split(text) if sentence.text.strip().endswith(".")]
    line = " ".join(" ".join(prose).split())
    whole = [" ".join(sentence.text.split()) for sentence in split(line)]
    assert len(whole) > 20
    wrapped = "\n".join(textwrap.wrap(line, width, break_on_hyphens=False, break_long_words=False))
    assert [" ".join(sentence.text.split()) for sentence in split(wrapped)] == whole
