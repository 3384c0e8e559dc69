"""What a reader sees: hidden characters out, look-alikes folded, markup as rendered; the rest is refused."""

import contextlib
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundrail.errors import UncheckableError
from groundrail.text.rendering.visible import visible


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("Plain text, 5 * 3 = 15 & snake_case_name.", "Plain text, 5 * 3 = 15 & snake_case_name."),
        ("Smoking is 𝐧𝐨𝐭 allowed.", "Smoking is not allowed."),
        ("Smoking is ⓝⓞⓣ ｎｏｔ ⁿᵒᵗ allowed.", "Smoking is not not not allowed."),
        ("25 m² and 1½ months, 50 µg … 10³", "25 m² and 1½ months, 50 µg … 10³"),
        ("n\u200bo\u200dt\u00ad \ufeffallowed\x01", "not allowed"),
        ("1\ufe0f\u20e3 rent", "1 rent"),
        ("The **rent** is *due* __now__ and `x * y`.", "The rent is due now and x * y."),
        ("n*o*t and **bold begins", "not and bold begins"),
        ("a \\*star\\*", "a *star*"),
        ("`~~kept~~` as code", "~~kept~~ as code"),
        ("&#110;ot &amp; so on", "not & so on"),
        ("<b>no</b> pets<br>no <!-- --> dogs", "no pets no  dogs"),
        ('pay [here](http://a.b/c "")', "pay here <http://a.b/c>"),
        ('pay <a href="http://a.b/c">here</a>', "pay here <http://a.b/c>"),
        ("write to <me@a.b>", "write to <me@a.b>"),
        ("between ~5 and ~10 euros", "between ~5 and ~10 euros"),
        ("5 < 6 and 7 > 2 [1] (x)", "5 < 6 and 7 > 2 [1] (x)"),
        ("cafe\u0301\xa0open", "café open"),
        ("1\u248b50 Ⅻ ⑴ ❶ 🄂 ﹣5﹪", "14.50 XII (1) 1 1, -5%"),
        ("isnʼt isn´t isn`t ŉot", "isn't isn't isn't 'not"),
        ("93 ºC, № 5, 5′, ¨ ´", "93 ºC, № 5, 5′, ¨ '"),
        ("no\u2800table, no\u3164table, no\u200btable", "no table, no table, notable"),
        ("<q>not</q>", '"not"'),
        ("```python\nx = 1\n```", "\nx = 1\n"),
        ("1. Do:\n    ```shell\n    a ** b **c\n    ```", "Do:\na ** b **c\n"),
        ("| `a` | `b \\| c` |", "| a | b \\| c |"),
        ("1<ul>450</ul>", "1 450 "),
        ("`<table>` holds `<tr>`", "<table> holds <tr>"),
        ("see [^1]: it is due", "see [^1]: it is due"),
        ("one\r\ntwo\r", "one\ntwo\n"),
        ("AT&T, R&D, ?a=1&copy=2, &nosuch; &amp;#110;ot", "AT&T, R&D, ?a=1&copy=2, &nosuch; &#110;ot"),
    ],
)
def test_seen_as_a_reader_sees_it(raw: str, seen: str) -> None:
    assert visible(raw) == seen


@pytest.mark.parametrize(
    "raw",
    [
        "The rent is \u202e1,450\u202c euros.",
        "The rent is \u20671,450\u2069 euros.",
        "5\u200f-10 days",
        "Cash is ~~not~~ accepted.",
        "Cash is ~~not accepted.",
        "Cash is <del>not</del> accepted.",
        "Cash is n\u0336o\u0336t\u0336 accepted.",
        "Do <!-- not --> use water.",
        "Do <!-- not use water.",
        'Do <span style="display:none">not</span> use water.',
        "Do <script>not</script> use water.",
        "not\b\b\b",
        "Cash is &#110&#111&#116 accepted.",
        "Cash is &not accepted.",
        "Cash is &notit; accepted.",
        "Cash is &#8;&#x1b;[8mnot",
        "Cash is &#150; accepted.",
        "Cash is </ not> accepted.",
        "Cash is <b not accepted.",
        "Cash is <b " + "x" * 600 + " not> accepted.",
        "Cash is \ufff9not\ufffaalways\ufffb accepted.",
        "Cash is \x9fnot\x9c accepted.",
        "Cash is \x0enot\x0f accepted.",
        "There is no\x1ctable.",
        "Never \rcash is accepted.",
        '<a href="http://a.b/c">Cash is not accepted.',
        'Cash is [accepted](http://a.b/c "not").',
        "accepted. The rent](x.png) is due.",
        "- ```not\n  cash is accepted.\n  ```",
        "Cash is accepted\n[^1]: by nobody.",
        "> - [^by nobody]: Cash is accepted.",
        "```mermaid\nCash is accepted %% by nobody\n```",
        "See <table><tr><td>a</td></tr></table>",
        "Cash <table>is accepted<tr><td>is not",
        "Cash is <TABLE ><tr><td>not</td></tr >accepted</table>",
        "Cash is</td>not<td>accepted",
        "Cash is <tbody>not</tbody> accepted",
        "[Do](<not x>) use distilled water.",
        "![Do not](http://a.b/c.png) use distilled water.",
        "```Do not\nuse distilled water.\n```",
        "```not\nuse distilled water.",
        "The rent is 1*4*50 euros.",
        "Cash is n\u1cd4o\u1cd4t\u1cd4 accepted.",
        "Cash is n\u0489ot accepted.",
        "\x1b[8mnot\x1b[0m allowed",
        "allowed\U000e006e\U000e006f",
    ],
)
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
    def seconds(times: int) -> float:
        started = time.process_time()  # other load does not count
        with contextlib.suppress(UncheckableError):
            visible(piece * times)
        return time.process_time() - started

    seconds(100)
    assert any(seconds(16_000) < 12 * seconds(4000) + 0.05 for _ in range(3))
