"""What a reader sees: hidden characters out, look-alikes folded, markup as rendered; the rest is refused."""

import contextlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import grows_with
from tests.tables import tabled

from groundrail.errors import UncheckableError
from groundrail.text.rendering.visible import visible


@tabled("raw, seen")
def test_seen_as_a_reader_sees_it(raw: str, seen: str) -> None:
    assert visible(raw) == seen


@tabled("raw", "Cash is <b " + "x" * 600 + " not> accepted.")
def test_what_readers_would_read_differently_is_refused(raw: str) -> None:
    with pytest.raises(UncheckableError):
        visible(raw)


_PIECES = st.sampled_from(
    [
        "**", "*", "_", "`", "``", "[a](b)", "[", "](", "&amp;", "<b>", "</b>", "é", "e\u0301", "𝐧", "\u200b", "x",
        " ", "\n", "\\*", "ﬁ", "½",
    ]
)  # fmt: skip


@given(st.lists(_PIECES | st.characters(codec="utf-8"), max_size=30).map("".join))
def test_no_hidden_character_stays_and_plain_words_do(raw: str) -> None:
    try:
        seen = visible(raw)
    except UncheckableError:
        return
    assert not any(unicodedata.category(letter) == "Cf" for letter in seen)
    if raw.isalnum() and raw.isascii():
        assert seen == raw


@pytest.mark.parametrize(
    "piece",
    [
        "`", "~", "*", "**a ", "[", "](x) ", "<b", "&amp", "_a_", "e\u0301", "\u200b", "``` ", "[a](", "<!", "\\",
        "&#1", "1*1", "```x\n", "[a]: b\n", "[a\\]", "- - ", "\t```", "| ` ", "<td></td>", "<tr>a", "[^a]:",
    ],
)  # fmt: skip
def test_time_grows_with_the_text(piece: str) -> None:
    def read(times: int) -> None:
        with contextlib.suppress(UncheckableError):
            visible(piece * times)

    assert grows_with(4000, read)


@pytest.mark.parametrize(
    "line",
    [
        "<div>only by letter.</div>",
        "> <p>only by letter.</p>",
        "- <pre>only</pre>",
        "<b>\nonly by letter.</b>",
        "</div> only",
    ],
)
def test_a_line_that_begins_a_block_of_html_is_refused(line: str) -> None:
    with pytest.raises(UncheckableError, match="begins with a tag"):
        visible(f"Pets are allowed in the flat\n{line}")


def test_a_tag_within_a_line_is_no_block() -> None:
    shown = visible("Pets are allowed <p>only <b>by letter.</b></p>")
    assert shown.split() == ["Pets", "are", "allowed", "only", "by", "letter."]
