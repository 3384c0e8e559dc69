"""What people see: every text escaped, every citation numbered, struck-out sentences recognisable."""

import html.parser
import io

from rich.console import Console

from groundrail import Citation, Guard, Policy, Verdict
from groundrail.report.terminal import print_result, print_sentence
from groundrail.scoring.scale.scorer import ScaleScorer
from groundrail.testing import FakeEntailment, ScriptedGenerator
from groundrail.types import GuardResult

SOURCE = "<b>The rent</b> is 950 euros & due on the 1st. Pets are [not] allowed. "
HOSTILE = 'The rent is 950 euros. Pets pay <script>alert("x")</script> twice. Hello!'


def result(**policy: object) -> GuardResult:
    return Guard(scorer=ScaleScorer(FakeEntailment()), policy=Policy(**policy)).check(HOSTILE, SOURCE)


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.struck = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "del" in self.open:
            self.struck += data


def test_html_is_well_formed_and_escapes_everything() -> None:
    page = result().to_html()
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "b" not in tags.seen
    assert 'alert("x")' in tags.struck
    assert "http" not in page.replace("http-equiv", "")


def test_html_links_each_citation() -> None:
    page = result().to_html()
    assert 'href="#c1"' in page
    assert 'id="c1"' in page


def test_html_shows_a_replacement_beside_what_it_replaces() -> None:
    page = result(fallback=lambda sentence: "<removed>").to_html()
    assert '<span class="replaced">&lt;removed&gt;</span>' in page


def test_markdown_has_the_released_text_and_escaped_footnotes() -> None:
    text = result().to_markdown()
    assert text.startswith("The rent is 950 euros.[^1] Hello!")
    assert "script" not in text
    assert "\n[^1]: \\<b\\>The rent\\</b\\> is 950" in text


def test_a_retry_is_shown_struck_out() -> None:
    script = [["The rent is 1 euro.", "The rent is 950 euros."]]
    retried = Guard(ScriptedGenerator(script), scorer=ScaleScorer(FakeEntailment())).generate("?", SOURCE)
    assert retried.sentences[0].verdict is Verdict.SUPPORTED
    assert "<del><bdi>The rent is 1 euro.</bdi></del>" in retried.to_html()


def test_json_goes_round() -> None:
    whole = result()
    again = GuardResult.model_validate_json(whole.model_dump_json())
    assert again == whole
    assert isinstance(again.sentences[0].citations[0], Citation)


def test_a_terminal_is_sent_no_commands() -> None:
    answer = "The rent is 950 euros\x1b[2J\x1b]52;c;aGk=\x07. Pets \u202eowe\u202c \x9b2J rent."
    checked = Guard(scorer=ScaleScorer(FakeEntailment())).check(answer, SOURCE + "\x1b[31m")
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    print_result(checked, console)
    for sentence in checked.sentences:
        print_sentence(sentence, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "rent" in shown
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)


def test_markdown_keeps_marks_apart_from_fences_and_from_the_models_own() -> None:
    source = "```\nx = 1\n```\nThe rent is 950 euros."
    page = Guard(scorer=ScaleScorer(FakeEntailment())).check("```\nx = 1\n```", source).to_markdown()
    assert "```\n\n[^1]" in page
    marked = Guard(scorer=ScaleScorer(FakeEntailment())).check("The rent is 950 euros [^1].", source + " [^1]")
    assert "\\[^1]" in marked.to_markdown()
