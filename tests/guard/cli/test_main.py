"""The command line with the built-in judge: exit codes, one-line errors, output that is safe to pipe."""

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from groundrail.cli.main import main

ROOT = Path(__file__).parents[3]
LEASE = ROOT / "examples" / "documents" / "lease.txt"
TRUE = "The lease ends on 28 February 2026."
FALSE = "The lease ends on 28 March 2027."


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "answer.txt"
    path.write_text(f"{TRUE} {FALSE}\n", encoding="utf-8")
    return path


def test_check_finds_the_wrong_date(answer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(answer), "--source", str(LEASE)]) == 1
    shown = capsys.readouterr().out
    assert "unsupported" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("command", [["check", "-", "--source", str(LEASE)], ["demo"]])
def test_without_rich_one_line_names_the_extra(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("groundrail.cli.demo", "groundrail.report.terminal"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "rich", None)  # what an import of a missing package finds
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TRUE.encode())))
    assert main(command) == 2
    shown = capsys.readouterr().err
    assert "groundrail[cli]" in shown
    assert shown.count("\n") == 1


def test_check_object_finds_the_wrong_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer, schema = tmp_path / "answer.json", tmp_path / "schema.json"
    answer.write_text('{"lease_end": "28 March 2027", "end": "28 February 2026"}', encoding="utf-8")
    schema.write_text('{"properties": {"end": {"description": "The day on which the lease ends"}}}', encoding="utf-8")
    command = ["check", "--object", str(answer), "--source", str(LEASE), "--schema", str(schema)]
    assert main([*command, "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["object"] == {"lease_end": None, "end": "28 February 2026"}
    assert result["fields"]["/end"]["statement"] == "The day on which the lease ends is 28 February 2026."
    assert main(command) == 1
    assert "/lease_end" in capsys.readouterr().out
    answer.write_text("{", encoding="utf-8")
    assert main(command) == 2
    assert "not JSON" in capsys.readouterr().err


def test_check_correct_shows_what_was_and_what_is(answer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(answer), "--source", str(LEASE), "--correct"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "corrected 0.9" in shown
    assert "28 February 2026, not 28 March 2027" in shown


def test_check_json_is_the_result(answer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(answer), "--source", str(LEASE), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["text"] == TRUE + " "
    assert [sentence["verdict"] for sentence in result["sentences"]] == ["supported", "unsupported"]
    (citation,) = result["sentences"][0]["citations"]
    assert "28 February 2026" in citation["text"]
    assert LEASE.read_text()[citation["start"] : citation["end"]] == citation["text"]


def test_check_shows_how_a_figure_follows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer, source = tmp_path / "answer.txt", tmp_path / "lease.txt"
    source.write_text("The rent is 1,450 euros per month. The notice period is 3 months.", encoding="utf-8")
    answer.write_text("The notice period is 3 months, which makes 4,350 euros of rent.", encoding="utf-8")
    main(["check", str(answer), "--source", str(source)])
    assert "│ 4,350 euros = 3 months x 1,450 euros\n" in capsys.readouterr().out


def test_standard_input_and_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TRUE.encode())))
    page = tmp_path / "report.html"
    assert main(["check", "-", "--source", str(LEASE), "--html", str(page)]) == 0
    assert "28 February 2026" in page.read_text(encoding="utf-8")


def test_several_sources_are_named_in_citations(answer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manual = LEASE.with_name("manual.txt")
    main(["check", str(answer), "--source", str(manual), str(LEASE), "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["sentences"][0]["citations"][0]["document_id"] == str(LEASE)


def test_an_empty_source_supports_nothing(tmp_path: Path, answer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blank = tmp_path / "blank.txt"
    blank.write_text(" \n")
    assert main(["check", str(answer), "--source", str(blank), "--json"]) == 1
    assert {s["verdict"] for s in json.loads(capsys.readouterr().out)["sentences"]} == {"no_source"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder / "missing.txt", "there is no such file"),
        (lambda folder: folder, "is a folder"),
        (lambda folder: _written(folder / "latin.txt", b"caf\xe9 co\xfbte"), "not UTF-8"),
    ],
)
def test_unreadable_input_is_one_line_and_exit_code_2(
    make: Callable[[Path], Path], message: str, tmp_path: Path, answer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(answer), "--source", str(make(tmp_path))]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_bad_options_are_exit_code_2(answer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(answer)]) == 2
    assert "--source" in capsys.readouterr().err
    assert main(["check", str(answer), "--source", str(LEASE), "--threshold", "nan"]) == 2
    assert "--threshold is nan" in capsys.readouterr().err


@pytest.mark.slow
def test_peak_memory_of_check_stays_under_700_mb_beside_torch(answer: Path) -> None:
    """The size of torch itself depends on its build: 224 MB for processors alone, 394 MB with CUDA's libraries."""
    check = f"from groundrail.cli.main import main; main(['check', {str(answer)!r}, '--source', {str(LEASE)!r}])"
    assert _peak(check) - _peak("import torch") < 700_000


def _peak(program: str) -> int:
    """The most memory that a process of its own takes, in kB."""
    told = "import sys; print(next(line for line in open('/proc/self/status') if 'VmHWM' in line), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", f"{program}\n{told}"], capture_output=True, text=True, check=True)
    peak = re.search(r"VmHWM:\s*(\d+) kB", done.stderr)
    assert peak is not None
    return int(peak[1])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "-", "--source", "-"], "once"),
        (["check", "ANSWER", "--source", "LEASE", "LEASE"], "id"),
        (["ask", "?", "--source", "LEASE", "--model", "./no-such-model"], "no-such-model"),
        (["check", "ANSWER", "--source", "LEASE", "--judge", "./no-such-model"], "no-such-model"),
    ],
)
def test_bad_use_is_one_line_and_exit_code_2(
    answer: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    given = {"ANSWER": str(answer), "LEASE": str(LEASE)}
    assert main([given.get(argument, argument) for argument in arguments]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.startswith("groundrail: ")
    assert printed.err.count("\n") == 1


def _command(answer: Path, redirection: str = "", name: str = "") -> tuple[int, str]:
    """The exit code of the command in a shell, and what it wrote to standard error."""
    command = f'"$0" -m groundrail.cli.main check "$1" --source "$2" {redirection}'
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}", sys.executable, name or str(answer), str(LEASE)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("redirection", ["--json > /dev/full", ">&-", "| head -c 0"])
def test_output_that_cannot_be_written_is_one_line_and_exit_code_2(answer: Path, redirection: str) -> None:
    code, told = _command(answer, redirection)
    assert code == 2
    assert "Traceback" not in told
    assert told.count("groundrail: ") == (0 if "|" in redirection else 1)


@pytest.mark.slow
def test_closed_standard_input_is_one_line(answer: Path) -> None:
    code, told = _command(answer, "<&-", "-")
    assert (code, told.count("groundrail: ")) == (2, 1)
    assert "closed" in told or "descriptor" in told


@pytest.mark.parametrize("text", ["", " \n", "\u200b\u200b"])
def test_an_empty_answer_is_no_supported_one(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answer.txt"
    path.write_text(text, encoding="utf-8")
    assert main(["check", str(path), "--source", str(LEASE)]) == 2
    assert "empty" in capsys.readouterr().err


@pytest.mark.parametrize("blank", [True, False])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_model_that_writes_nothing_is_exit_code_2(
    blank: bool,
    form: list[str],
    causal_folder: Path,
    tiny_nli_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = Path(shutil.copytree(causal_folder, tmp_path / "model"))
    for name, value in (
        ("generation_config", {"eos_token_id": list(range(50 if blank else 1))}),
        ("config", {"max_position_embeddings": 9000}),
    ):
        path = folder / f"{name}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **value}))
    source = tmp_path / "source.txt"
    source.write_text("the rent is due")
    ask = ["ask", "when", "--source", str(source), "--model", str(folder), "--judge", str(tiny_nli_folder)]
    code = main([*ask, *form])
    printed = capsys.readouterr()
    assert (code == 2) == blank
    assert ("wrote nothing" in printed.err) == blank
    assert bool(printed.out) != blank


def test_piped_output_is_as_wide_as_is_said(
    answer: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for width in (30, 70):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main(["check", str(answer), "--source", str(LEASE)]) == 1
        shown = capsys.readouterr().out.splitlines()
        assert width - 15 < max(map(len, shown)) <= width


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_no_control_character_reaches_the_terminal(
    form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "answer.txt"
    path.write_text(f"{TRUE}\x1b[2K\r\x07 \u202eNo\u202c \x9b2J\x7f\U0001d173 {FALSE}\n", encoding="utf-8")
    assert main(["check", str(path), "--source", str(LEASE), *form]) == 1
    assert main(["check", "no\x1b[31m\u202esuch", "--source", str(LEASE)]) == 2
    shown = capsys.readouterr()
    assert all(letter.isprintable() or letter == "\n" for letter in shown.out + shown.err)


def test_another_package_adds_a_command_and_a_broken_one_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = tmp_path / "wheels-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: wheels\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[groundrail.commands]\nroll = wheels_here:roll\nflat = wheels_gone:flat\n")
    (tmp_path / "wheels_here.py").write_text(
        'def roll(*, far: int = 1) -> int:\n    """Roll."""\n    print("rolled", far)\n    return 0\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["roll", "--far", "3"]) == 0
    assert "rolled 3" in capsys.readouterr().out
    assert main(["flat", "tyre"]) == 2
    told = capsys.readouterr().err
    assert "'flat'" in told
    assert "package wheels " in told
    assert "wheels_gone" in told
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {name}: " in listed for name in ("check", "eval", "roll", "flat"))
