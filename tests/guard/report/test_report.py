"""Reports as people see them: every text escaped, every citation numbered, struck-out sentences recognisable."""

import base64
import hashlib
import html as html_module
import html.parser
import io
import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from tests.guard.report.conftest import Told

from groundrail import Citation, Document, Guard, InputError, Policy, Verdict
from groundrail.report import layout
from groundrail.report.chart import HEIGHT, Axis, chart
from groundrail.report.hidden import in_json, marked_up, plain
from groundrail.report.html import save
from groundrail.report.layout import Passage, blocks
from groundrail.report.terminal import print_result
from groundrail.scoring.base import Scorer
from groundrail.scoring.scale import ScaleScorer
from groundrail.testing import FakeEntailment, ScriptedGenerator, shares_all_words
from groundrail.types import GuardResult

SOURCE = "<b>The rent</b> is 950 euros & due on the 1st. Pets are [not] allowed. "
HOSTILE = 'The rent is 950 euros. Pets pay <script>alert("x")</script> twice. Hello!'


def check(answer: str, source: str, scorer: Scorer | None = None, **policy: Any) -> GuardResult:
    return Guard(scorer=scorer or ScaleScorer(FakeEntailment()), policy=Policy(**policy)).check(answer, source)


def result(**policy: Any) -> GuardResult:
    return check(HOSTILE, SOURCE, **policy)


class Tags(html.parser.HTMLParser):
    """Which elements there are, that they are closed in order, and the text inside `del` and `ins`."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = {"del": "", "ins": "", "mark": ""}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in self.text:
            if tag in self.open:
                self.text[tag] += data


@pytest.mark.parametrize("source", [None, SOURCE])
def test_html_is_well_formed_and_escapes_everything(source: str | None) -> None:
    page = result().to_html(source)
    tags = Tags(page)
    assert tags.open == []
    assert page.count("<script") == 1  # its own
    assert "alert" not in tags.seen
    assert 'alert("x")' in tags.text["del"]
    assert "http" not in page.replace("http-equiv", "")


def test_only_the_pages_own_script_and_style_may_run() -> None:
    page = result().to_html(SOURCE)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    allowed = html_module.unescape(policy[1])
    for tag in ("script", "style"):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in allowed
    assert "default-src 'none'" in allowed
    assert "unsafe" not in allowed


def test_html_shows_a_replacement_beside_what_it_replaces_and_a_retry_struck_out() -> None:
    tags = Tags(result(fallback=lambda sentence: "<removed>").to_html())
    assert "<removed>" in tags.text["ins"]
    assert 'alert("x")' in tags.text["del"]
    script = [["The rent is 1 euro.", "The rent is 950 euros."]]
    retried = Guard(ScriptedGenerator(script), scorer=ScaleScorer(FakeEntailment())).generate("?", SOURCE)
    assert retried.sentences[0].verdict is Verdict.SUPPORTED
    struck = Tags(retried.to_html(SOURCE)).text["del"]
    assert "The rent is 1 euro." in struck
    assert "The rent is 950 euros." not in struck


def test_every_view_shows_what_was_and_what_is_in_a_corrected_sentence() -> None:
    source, wrong = "The rent is 950 euros.", "The rent is 990 euros."
    checked = check(wrong, source, fallback="correct")
    tags, told = Tags(checked.to_html(source)), "950 euros, not 990 euros"
    assert (source in tags.text["ins"], wrong in tags.text["del"]) == (True, True)
    assert told in checked.to_html(source)
    assert checked.to_markdown() == f"{source}[^1]\n\n[^1]: Corrected: {told}. {source} (source, characters 0-22)\n"
    assert lines(checked, width=150)[-5:-3] == [f"→ corrected    1.00 │ {source}", f"→                   │ {told}"]


def test_html_refuses_a_source_that_was_not_checked() -> None:
    with pytest.raises(InputError, match="not what the result cites"):
        result().to_html("Something else entirely, in which nothing of that stands.")
    with pytest.raises(InputError, match="not among the sources"):
        result().to_html(Document(text=SOURCE, id="other"))


def test_a_notebook_gets_a_short_form_without_a_script() -> None:
    shown = result()._repr_html_()
    tags = Tags(shown)
    assert tags.open == []
    assert tags.seen <= {"div", "span", "bdi", "em", "code"}
    assert "line-through" in shown


spans = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)).map(sorted), max_size=12)


@given(text=st.text(st.sampled_from("ab <&\n"), max_size=300), cut=spans, size=st.integers(1, 80))
def test_a_cut_up_source_is_whole_and_every_place_in_it(text: str, cut: list[list[int]], size: int) -> None:
    document = Document(text=text)
    places = [
        Passage(n, Citation(document_id="source", start=a, end=b, text=text[a:b], score=1.0))
        for n, (a, b) in enumerate(cut)
        if b <= len(text)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "BLOCK", size)
        pieces = [piece for block in blocks(document, places) for piece in block]
    assert html_module.unescape("".join(piece.text for piece in pieces)) == text
    for place in places:
        lit = "".join(piece.text for piece in pieces if place in piece.places)
        assert html_module.unescape(lit) == place.citation.text


@given(st.lists(st.tuples(st.floats(-9, 9), st.sampled_from([-3.0, 0.0, 5.0])), min_size=1, max_size=9))
def test_a_bar_reaches_its_line_exactly_from_its_threshold_up(scored: list[tuple[float, float]]) -> None:
    drawn = chart([scored], Axis.over([value for pair in scored for value in pair]))
    for (score, threshold), bar in zip(scored, drawn.bars, strict=True):
        assert 0 <= bar.y <= bar.y + bar.height <= HEIGHT + 1e-9
        (line,) = [line for line in drawn.lines if line.x1 < bar.x + bar.width / 2 < line.x2]
        if abs(score - threshold) > 1:
            assert (bar.y < line.y) == (score > threshold)


@pytest.mark.parametrize("count", [1, 43, 44, 300])
def test_bars_of_any_number_of_answers_stand_side_by_side(count: int) -> None:
    drawn = chart([[(0.2, 0.5), (0.9, 0.5)]] * count, Axis.over([0.2, 0.9]))
    places = [drawn.bars[0].x - 1, *(bar.x + bar.width for bar in drawn.bars)]
    assert all(bar.width > 0 and bar.x > before for bar, before in zip(drawn.bars, places, strict=False))


def test_a_page_compares_every_score_with_the_threshold_that_decided() -> None:
    """The second scorer's where it was asked: below the first's a sentence may be supported, above it refused."""
    first = FakeEntailment(lambda premise, claim: 0.5 if "perhaps" in claim else 0.9)
    for threshold, verdicts in ((0.2, "ssss"), (0.8, "suus")):
        second = FakeEntailment(lambda premise, claim: 0.3 if "pets" in claim else 0.7, threshold=threshold)
        guard = Guard(scorer="scale", judge=first, second=second, policy=Policy(doubt=(0.4, 0.6)))
        checked = guard.check("The rent is due. Cats, perhaps. The pets, perhaps. Keys are paid.", SOURCE)
        assert [sentence.verdict.value[0] for sentence in checked.sentences] == list(verdicts)
        shown = checked.to_html(SOURCE)
        meters = re.findall(r'class="bar" width="([\d.]+)".*?class="line" x="([\d.]+)"', shown)
        assert [float(bar) >= float(line) for bar, line in meters] == [verdict == "s" for verdict in verdicts]
        assert f"at {min(threshold, 0.5):.2f}, {max(threshold, 0.5):.2f}, a sentence counts" in shown
        assert f"Threshold {min(threshold, 0.5):.2f}, {max(threshold, 0.5):.2f}." in checked._repr_html_()


def test_markdown_has_the_released_text_and_escaped_footnotes() -> None:
    text = result().to_markdown()
    assert text.startswith("The rent is 950 euros.[^1] Hello!")
    assert "script" not in text
    assert "\n[^1]: \\<b\\>The rent\\</b\\> is 950" in text


def test_json_goes_round() -> None:
    whole = result()
    again = GuardResult.model_validate_json(whole.model_dump_json())
    assert again == whole
    assert isinstance(again.sentences[0].citations[0], Citation)


def test_a_page_and_a_file_tell_the_way_from_the_chunk_to_the_sentence() -> None:
    source = "The rent is 950 euros. The dog barks. Keys were lost. The garden is shared."
    scorer = ScaleScorer(FakeEntailment(lambda premise, claim: 0.9 if shares_all_words(premise, claim) else 0.1))
    result = check("The rent is 950 euros.", source, scorer)
    way = "chunk 1 of 1 (0.90), then 2 sentences (0.90), then this sentence (0.90)"
    assert f"Found by {way}" in result.to_html(source)
    again = GuardResult.model_validate_json(result.model_dump_json())
    assert [step.name for step in again.sentences[0].citations[0].path] == ["chunk 1 of 1", "2 sentences"]


def test_a_terminal_is_sent_no_commands() -> None:
    answer = "The rent is 950 euros\x1b[2J\x1b]52;c;aGk=\x07. Pets \u202eowe\u202c \x9b2J rent."
    shown = "\n".join(lines(check(answer, SOURCE + "\x1b[31m"), width=200))
    assert "rent" in shown
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)


VISIBLE = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Format characters that are seen: signs of Arabic, Syriac and Kaithi that stand around what follows them."""


def test_no_character_that_acts_or_hides_reaches_a_terminal_or_goes_unseen_on_a_page() -> None:
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    acting = {chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in kinds}
    acting -= {"\t", "\n", *map(chr, VISIBLE)}
    assert len(acting) > 2000
    for letter in acting:
        assert plain(f"a{letter}b") in ("a\N{REPLACEMENT CHARACTER}b", "ab")
        assert letter in "\u200c\u200d" or f"U+{ord(letter):04X}" in marked_up(f"a{letter}b")


def test_ordinary_text_is_shown_as_it_is() -> None:
    text = "Miete: 1.450 € · größer als\t3 m² — «да», 数, नमस्ते, سلام, 👍🏽"
    assert plain(text) == text
    assert marked_up(text) == text
    family = "👩\u200d🚀"
    assert marked_up(family) == family


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_that_is_printed_means_the_same_and_acts_on_no_terminal(text: str) -> None:
    written = json.dumps({text: [text]}, indent=2, ensure_ascii=False)
    shown = in_json(written)
    assert json.loads(shown) == {text: [text]}
    assert all(letter.isprintable() or letter == "\n" for letter in shown)


def test_markdown_keeps_marks_apart_from_fences_and_from_the_models_own() -> None:
    source = "```\nx = 1\n```\nThe rent is 950 euros."
    assert "```\n\n[^1]" in check("```\nx = 1\n```", source).to_markdown()
    assert "\\[^1]" in check("The rent is 950 euros [^1].", source + " [^1]").to_markdown()


def lines(checked: GuardResult, *, colour: bool = False, width: int = 60) -> list[str]:
    written = io.StringIO()
    print_result(checked, Console(file=written, force_terminal=colour, width=width))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", written.getvalue()) if colour else written.getvalue()
    return shown.splitlines()


@pytest.mark.parametrize("colour", [False, True])
@given(
    fake=st.sampled_from(
        ["\n✓ supported    0.99 │ ", "\r✓ ", "\u2028✓ supported ", " " * 70 + "✓ supported 0.99 │ ", "\x1b[1A✓ "]
    ),
    width=st.integers(12, 120),
)
def test_a_refused_sentence_cannot_draw_a_line_that_looks_released(colour: bool, fake: str, width: int) -> None:
    answer = f"Pets pay twice{fake}the rent is 950 euros and pets live here for nothing at all."
    checked = check(answer, SOURCE)
    assert [s.released for s in checked.sentences] == [False] * len(checked.sentences)
    told = lines(checked, colour=colour, width=width)
    body = told[: told.index("")]
    assert body
    assert all(line.startswith("✗ ") and cell_len(line) <= width for line in body)
    assert "unsupported" in "".join(line.removeprefix("✗ │ ") for line in body)


def test_the_terminal_tells_why_and_what_the_source_says() -> None:
    source = "The rent is 950 euros. Pets are forbidden."
    scorer = Told(
        {
            "950": (0.9, "The rent is 950 euros.", ""),
            "Pets": (0.1, "", "Pets are forbidden."),
            "Rex": (0.1, "Pets are forbidden.", ""),
        }
    )
    checked = check("The rent is 950 euros. Pets are welcome. Rex may stay. Thank you!", source, scorer)
    told = "\n".join(lines(checked, width=150))
    assert "✓                   │ ↳ “The rent is 950 euros.”" in told
    assert (
        "✗ unsupported  0.10 │ Pets are welcome.\n✗                   │ the source says otherwise: “Pets are forbidden.”"
        in told
    )
    assert "the source does not say this; nearest: “Pets are forbidden.”" in told
    assert "· no claim          │ Thank you!" in told
    assert lines(check("Pets are welcome.", source, scorer, fallback="flag"))[0].startswith("! unsupported")


@pytest.mark.parametrize(
    ("score", "conflict", "reason"),
    [
        (0.1, "", "the source does not say this; nearest: “Pets are forbidden.”"),
        (0.6, "", "the source does not say this clearly enough; nearest: “Pets are forbidden.”"),
        (0.1, "Pets are forbidden.", "the source says otherwise: “Pets are forbidden.”"),
        (0.6, "Pets are forbidden.", "the source may say otherwise: “Pets are forbidden.”"),
    ],
)
def test_a_reason_is_no_surer_than_the_score(score: float, conflict: str, reason: str) -> None:
    told = Told({"Rex": (score, "Pets are forbidden.", conflict)})
    (sentence,) = check("Rex may stay.", "Pets are forbidden.", told, threshold=0.7).sentences
    assert sentence.reason == reason


def test_a_figure_that_follows_is_shown_with_its_reckoning() -> None:
    source = "The rent of 1,450 <euros> is due on 1 May 2025. It is <b>1,200 euros</b> and 250 euros for heating."
    near = source[source.index("It is") :]
    scorer = Told({"flat": (0.9, near, ""), "room": (0.1, near, "")})
    answer = "The flat costs 1,450 euros in all. A room costs 1,450 euros in all."
    checked = check(answer, source, scorer)
    for mark, line in zip("✓✗", [line for line in lines(checked, width=150) if "=" in line], strict=True):
        assert line == f"{mark}                   │ 1,450 euros = 1,200 euros + 250 euros"
    assert checked.to_html(source).count("<bdi>1,450 euros = 1,200 euros + 250 euros</bdi>") == 2
    assert GuardResult.model_validate_json(checked.model_dump_json()) == checked
    kept = check(answer, source, scorer, keep_refused=False)
    assert [len(sentence.findings) for sentence in kept.sentences] == [1, 0]


def test_markdown_marks_what_was_released_without_support_and_lists_what_was_not() -> None:
    source = "Pets are *forbidden*."
    scorer = Told({"Pets": (0.1, "", "Pets are *forbidden*.")})
    flagged = check("Pets are welcome.", source, scorer, fallback="flag")
    assert flagged.citations == ()
    assert "Pets are welcome.[^1]" in flagged.to_markdown()
    assert "[^1]: Not supported: the source says otherwise: “Pets are \\*forbidden\\*.”" in flagged.to_markdown()
    dropped = check("Pets are welcome.", source, scorer)
    assert "welcome" not in dropped.to_markdown()
    struck = "- ~~Pets are welcome.~~ (not supported, 0.10): the source says otherwise"
    assert struck in dropped.to_markdown(held_back=True)
    without_text = check("Pets are welcome.", "Pets are out.", Told({}), keep_refused=False).to_markdown(held_back=True)
    assert "~~" not in without_text
    assert "- (not supported" in without_text


def test_a_quotation_in_the_source_does_not_hide_where_the_quoted_place_begins() -> None:
    source = "The tenant said “no” to the offer."
    checked = check("The tenant said yes.", source, Told({"yes": (0.1, "", source)}))
    assert "\n".join(lines(checked, width=150)).count("to the offer") == 1
    assert checked.to_markdown(held_back=True).count("to the offer") == 1


def test_a_replacement_is_no_released_sentence() -> None:
    said = check("Pets pay.", "None.", Told({}), fallback="abstain", abstention="Ask us.")
    assert "0 of 1 sentences released, 1 replaced." in "\n".join(lines(said))


@pytest.mark.slow
def test_a_page_that_does_not_fit_on_the_disk_leaves_the_one_before(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("before")
    code = f"""
import pathlib, resource
from groundrail.report.html import save
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
save("x" * 5000, pathlib.Path({str(page)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"InputError: cannot write {page}" in done.stderr
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("page.html", "before")]


def test_a_page_goes_where_a_link_points(tmp_path: Path) -> None:
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    link.symlink_to(page)
    save("first", link)
    save("second", link)
    assert link.is_symlink()
    assert page.read_text() == "second"
