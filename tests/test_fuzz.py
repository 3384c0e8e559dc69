"""Fuzzing: texts, answers, files and command lines, at least 20,000 in all; no crash but the documented errors.

How many cases every property really got is counted, and compared with the table in docs/failures.md.
"""

import asyncio
import functools
import io
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundrail import Guard, GuardResult, InputError, Policy, UnsupportedError, Verdict
from groundrail.cli.main import main
from groundrail.errors import GenerationError, UncheckableError
from groundrail.evaluation.loaders import load
from groundrail.papers.overlap import OverlapScorer
from groundrail.papers.premises import sentences
from groundrail.papers.scale.tree import Node, Search, descend, fitting_children
from groundrail.papers.scale.windows import Windows
from groundrail.scoring.index import fitted
from groundrail.scoring.nearest import NearestScorer
from groundrail.scoring.scale import ScaleScorer
from groundrail.testing import FakeEntailment, ScriptedGenerator
from groundrail.text.claims import claim_of
from groundrail.text.english.phrases import question_of
from groundrail.text.form import links
from groundrail.text.marks import USUAL, without
from groundrail.text.rendering.visible import is_blank, visible
from groundrail.text.sentences import Stream, is_unicode, split

pytestmark = pytest.mark.slow

_FAILURES = Path(__file__).parents[1] / "docs" / "failures.md"
_FUZZ = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)
_CASES: Counter[str] = Counter()


def fuzzed(what: str, examples: int, *cases: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test on so many generated cases and counts those that reach it."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        _CASES[what] = 0

        @functools.wraps(test)
        def counted(*arguments: Any, **named: Any) -> None:
            _CASES[what] += 1
            test(*arguments, **named)

        return settings(_FUZZ, max_examples=examples)(given(*cases)(counted))

    return decorate


_WORDS = st.sampled_from(
    [
        *"The rent is 950 euros . ! ? ~~ ** _ ` ``` [1] [44] <b> </del> <!-- --> &amp; http://a.b (see ) \n \n\n - 1. | 🚫 😊 \u200b \u202e "
        "́ e.g. Dr. Yes No never until Friday both \x00 \r\n � ” “ 。 … é ﬁ 𝐧 ½ \t # > Anna , and which".split(" "),
        " ",
        "\n",
        "\u2028",
        "�",
    ]
)
_MARKED = st.lists(_WORDS, max_size=25).map(" ".join) | st.lists(_WORDS, max_size=25).map("".join)
_TEXTS = _MARKED | st.text(max_size=60)
_UNICODE = _TEXTS.filter(is_unicode)


@fuzzed("sentences, in any pieces", 6000, _TEXTS, st.integers(1, 9))
def test_sentences_are_the_text(text: str, piece: int) -> None:
    stream, found = Stream(40), []
    for start in range(0, len(text), piece):
        found += stream.feed(text[start : start + piece])
    found += stream.flush()
    assert found == split(text, 40)
    assert "".join(sentence.text for sentence in found) == text


@fuzzed("claims of sentences", 6000, _TEXTS, _TEXTS, _TEXTS)
def test_claims_are_text_or_nothing_or_uncheckable(sentence: str, previous: str, prompt: str) -> None:
    try:
        claim = claim_of(sentence, previous, prompt)
    except UncheckableError as error:
        _explained(error)
        return
    assert claim is None or claim.strip()
    if is_blank(sentence):
        assert claim is None


@fuzzed("what a reader sees of a text", 3000, _TEXTS)
def test_reading_a_text_never_fails_otherwise(text: str) -> None:
    links(text), question_of(text)
    assert len(without(text, USUAL.find(text))) <= len(text)
    try:
        seen = visible(text)
    except UncheckableError:
        return
    assert not {"\u200b", "\u202e", "\ufeff"} & set(seen)


@fuzzed(
    "answers and sources, judged",
    1500,
    _UNICODE,
    st.lists(_UNICODE, max_size=3),
    st.sampled_from([ScaleScorer, NearestScorer]),
    st.integers(8, 60),
)
def test_any_source_and_answer_are_judged(answer: str, sources: list[str], kind: Any, tokens: int) -> None:
    guard = Guard(scorer=kind(FakeEntailment(max_tokens=tokens)))
    result = guard.check(answer, sources, "How much is it?")
    assert result.answer == answer
    _holds(result)
    for citation in result.citations:
        source = sources[int(citation.document_id.removeprefix("source-") or 1) - 1 if len(sources) > 1 else 0]
        assert source[citation.start : citation.end] == citation.text


def _tokens(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w{1,3}|\S", text)]


@fuzzed("sources, cut into chunks", 2000, _TEXTS, st.integers(1, 30), st.floats(0, 0.95))
def test_every_character_of_any_source_is_in_a_chunk(text: str, size: int, overlap: float) -> None:
    spans = Windows(text, _tokens).cut(size, overlap)
    held = {place for start, end in spans for place in range(start, end)}
    assert all(place in held or text[place].isspace() for place in range(len(text)))
    assert all(len(_tokens(text[start:end])) <= size for start, end in spans)


@fuzzed("searches in the tree", 1500, _UNICODE, st.integers(2, 5), st.integers(1, 30), st.integers(0, 999))
def test_any_search_goes_down_to_one_sentence(text: str, branches: int, size: int, seed: int) -> None:
    def judge(premise: str, claim: str) -> float:
        drawn = zlib.crc32(f"{seed} {premise}".encode())
        return math.nan if drawn % 17 == 0 else drawn % 101 / 100

    model = FakeEntailment(judge)
    for document in sentences(text, model):
        searched = Search("?", tuple(fitted(document, size, model)), size)
        (path,) = descend(model, [searched], branches)
        above = searched.sentences
        for node in path:
            assert node.sentences in fitting_children(model, above, branches, size)
            assert node.score == judge(node.passage.text, "?")
            above = node.sentences
        if len(above) > 1 or not path:  # no child had a score
            left = fitting_children(model, above, branches, size)
            assert all(math.isnan(judge(Node(child, 0).passage.text, "?")) for child in left)


_GUARD = Guard(scorer=ScaleScorer(FakeEntailment()))
"""Its copies share its worker threads; a guard of its own for each case would start its own."""


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all cases."""
    with asyncio.Runner() as running:
        yield running


@fuzzed(
    "answers, written under guard",
    3000,
    st.lists(_TEXTS | st.lists(_TEXTS, min_size=1, max_size=3), max_size=4),
    st.integers(1, 20),
    st.sampled_from(["drop", "flag", "abstain", "raise"]),
    st.booleans(),
    st.booleans(),
)
def test_any_answer_is_written_under_guard(
    runner: asyncio.Runner, script: Any, piece: int, fallback: Any, keep: bool, is_async: bool
) -> None:
    policy = Policy(fallback=fallback, keep_refused=keep, longest_sentence=100)
    guard = _GUARD.with_generator(ScriptedGenerator(script, piece)).with_policy(policy)
    source = "The rent is 950 euros. Both pay until Friday."
    try:
        result = runner.run(guard.agenerate("Who?", source)) if is_async else guard.generate("Who?", source)
    except (UnsupportedError, GenerationError) as error:
        result = error.result if isinstance(error.result, GuardResult) and fallback == "raise" else pytest.fail(str(error))
    _holds(result)


_FIELDS = st.sampled_from(
    "text source claim label id answer question context evidence grounding generated_text nonsense".split()
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _UNICODE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner, max_size=4),
    max_leaves=8,
)
_FILES = (
    st.binary(max_size=80)
    | _UNICODE.map(str.encode)
    | st.lists(st.dictionaries(_FIELDS, _VALUES, max_size=5), max_size=3).map(
        lambda rows: "\n".join(map(json.dumps, rows)).encode()
    )
)


@fuzzed("files of claims", 2500, _FILES, st.sampled_from(["jsonl", "json", "csv", "tsv", "txt"]))
def test_any_file_is_loaded_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes, ending: str) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzz.{ending}"
    path.write_bytes(data)
    try:
        load(path)
    except InputError as error:
        _explained(error)


@fuzzed(
    "command lines",
    600,
    st.lists(
        _UNICODE | st.sampled_from("check ask eval calibrate - --source --json --threshold nan --html".split()), max_size=6
    ),
)
def test_any_command_line_is_refused_in_order(arguments: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
        if any(Path(a).is_file() for a in arguments if a and "\x00" not in a and len(a) < 200) or "--version" in arguments:
            return
        assert main(arguments) == 2 or {"-h", "--help"} & set(arguments)


_SOURCE = "The rent is 950 euros. Both pay until Friday. Pets are allowed."
_SENTENCES = st.sampled_from(
    [*_SOURCE.split(". "), "The rent is 990 euros.", "Thanks! The rent is 950 euros.", "~~Pets~~", "Yes."]
)
_ANSWERS = st.just(_SOURCE) | st.lists(_SENTENCES | _UNICODE, max_size=3).map(" ".join)
_CLAIMS = st.lists(st.tuples(_ANSWERS, st.booleans()), min_size=1, max_size=3)
_RARE = st.integers(0, 9)
"""An option that costs more is drawn once in ten."""


def _pair(premise: str, hypothesis: str, label: bool) -> dict[str, Any]:
    """A row as `eval` and `calibrate` read it."""
    return {"premise": premise, "hypothesis": hypothesis, "label": label}


@fuzzed(
    "command lines on files",
    200,
    st.sampled_from(["check"] * 20 + ["score"] * 2 + ["eval", "calibrate"]),
    _CLAIMS,
    st.sampled_from(["", *[_SOURCE] * 5]),
    st.sampled_from([[], ["--json"]]),
    _RARE,
)
def _command_on_files(
    folder: Path,
    ended: Counter[int],
    command: str,
    claims: list[tuple[str, bool]],
    source: str,
    options: list[str],
    rare: int,
) -> None:
    answer, text, rows = folder / "answer.txt", folder / "source.txt", folder / "claims.jsonl"
    answer.write_text(" ".join(claim for claim, _ in claims), encoding="utf-8")
    text.write_text(source, encoding="utf-8")
    lines = [
        {"id": n, "source": source, "claim": claim, **_pair(source, claim, label)} for n, (claim, label) in enumerate(claims)
    ]
    rows.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    page, out = folder / "page.html", folder / f"out-{_CASES['command lines on files']}"
    arguments = {
        "check": [answer, "--source", text, "--scorer", "overlap", *options, *(["--html", page] if rare == 0 else [])],
        "score": [rows, "--out", out, "--scorer", "overlap"],
        "eval": ["--data", rows, "--scorer", "overlap", *options],
        "calibrate": [rows, "--scorer", "overlap", "--false-release", "0.5", *options],
    }[command]
    shown, told = io.StringIO(), io.StringIO()
    with redirect_stdout(shown), redirect_stderr(told):
        code = main([command, *map(str, arguments)])
    ended[code] += 1
    assert code in (0, 1, 2)
    if code == 2:
        assert re.fullmatch(r"groundrail: [^\n]+\n", told.getvalue())
        return
    assert shown.getvalue().strip()
    if command == "check":
        result = Guard(scorer=OverlapScorer()).check(answer.read_bytes().decode(), source)
        assert code == (0 if result.supported else 1)
        if options:
            assert GuardResult.model_validate_json(shown.getvalue()).text == result.text


def test_any_command_on_files_ends_as_documented(tmp_path: Path) -> None:
    ended: Counter[int] = Counter()
    _command_on_files(tmp_path, ended)
    assert min(ended[code] for code in (0, 1, 2)) >= 5, ended


def test_the_cases_are_as_many_as_documented() -> None:
    """Last in the file, after all others; where some of these were left out only the table itself is looked at."""
    rows = re.findall(r"^\| ([^|]+) \| ([\d,]+) \|$", _FAILURES.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {what: int(count.replace(",", "")) for what, count in rows}
    made = {**_CASES, "in all": _CASES.total()}
    table = "\n".join(f"| {what} | {count:,} |" for what, count in made.items())
    assert documented.keys() == made.keys(), table
    assert documented["in all"] >= 20_000
    if all(_CASES.values()):
        assert all(documented[what] <= count for what, count in made.items()), table


def _explained(error: Exception) -> None:
    """Every refusal says why."""
    if not str(error).strip():
        raise AssertionError(f"{type(error).__name__} says nothing") from error


def _holds(result: GuardResult) -> None:
    """Check the properties of every result."""
    assert result.text == "".join(sentence.released_text for sentence in result.sentences)
    for sentence in result.sentences:
        assert result.answer[sentence.start : sentence.end] == sentence.text
        assert sentence.verdict is not Verdict.ERROR or not sentence.released
        assert not sentence.released or is_unicode(sentence.text)
