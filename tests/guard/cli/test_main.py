"""The command line with the built-in judge: exit codes, one-line errors, output that is safe to pipe."""

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.guard.parts import install_wheels
from tests.tables import tabled

from groundrail.cli.main import main

ROOT = Path(__file__).parents[3]
LEASE = Path(__file__).with_name("lease.txt")
TRUE = "The lease ends on 28 February 2026."
FALSE = "The lease ends on 28 March 2027."


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object) -> Ran:
        code = main([str(argument) for argument in arguments])
        return Ran(code, *capsys.readouterr())

    return command


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    return written(tmp_path / "answer.txt", f"{TRUE} {FALSE}\n")


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def given(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Put a text on standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def require_one_line(ran: Ran, said: str) -> None:
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.startswith("groundrail: ")
    assert ran.err.count("\n") == 1


def test_check_finds_the_wrong_date(run, answer) -> None:
    ran = run("check", answer, "--source", LEASE)
    assert ran.code == 1
    assert "unsupported" in ran.out
    assert "\x1b" not in ran.out
    ran = run("check", answer, "--source", LEASE, "--json")
    assert ran.code == 1
    result = json.loads(ran.out)
    assert result["text"] == TRUE + " "
    assert [sentence["verdict"] for sentence in result["sentences"]] == ["supported", "unsupported"]
    (citation,) = result["sentences"][0]["citations"]
    assert "28 February 2026" in citation["text"]
    assert LEASE.read_text()[citation["start"] : citation["end"]] == citation["text"]


@pytest.mark.parametrize("command", [["check", "-", "--source", LEASE], ["demo"]])
def test_without_rich_one_line_names_the_extra(command, run, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("groundrail.cli.demo", "groundrail.report.terminal"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "rich", None)  # what an import of a missing package finds
    given(monkeypatch, TRUE)
    require_one_line(run(*command), "groundrail[cli]")


def test_check_reads_the_answer_with_its_question(run, tmp_path) -> None:
    answer = written(tmp_path / "answer.txt", "Yes.")
    asked = run("check", answer, "--source", LEASE, "--question", "Is the rent 1,450 euros a month?")
    assert (asked.code, run("check", answer, "--source", LEASE).code) == (0, 1)


def test_check_object_finds_the_wrong_field(run, tmp_path) -> None:
    answer = written(tmp_path / "answer.json", '{"lease_end": "28 March 2027", "end": "28 February 2026"}')
    told = '{"properties": {"end": {"description": "The day on which the lease ends"}}}'
    schema = written(tmp_path / "schema.json", told)
    command = ["check", "--object", answer, "--source", LEASE, "--schema", schema]
    ran = run(*command, "--json")
    assert ran.code == 1
    result = json.loads(ran.out)
    assert result["object"] == {"lease_end": None, "end": "28 February 2026"}
    assert result["fields"]["/end"]["statement"] == "The day on which the lease ends is 28 February 2026."
    ran = run(*command)
    assert ran.code == 1
    assert "/lease_end" in ran.out
    written(answer, "{")
    require_one_line(run(*command), "not JSON")


def test_check_correct_shows_what_was_and_what_is(run, answer) -> None:
    ran = run("check", answer, "--source", LEASE, "--correct")
    assert ran.code == 1
    shown = " ".join(ran.out.split())
    assert "corrected 0.9" in shown
    assert "28 February 2026, not 28 March 2027" in shown


def test_check_shows_how_a_figure_follows(run, tmp_path) -> None:
    source = written(tmp_path / "lease.txt", "The rent is 1,450 euros per month. The notice period is 3 months.")
    answer = written(tmp_path / "answer.txt", "The notice period is 3 months, which makes 4,350 euros of rent.")
    assert "│ 4,350 euros = 3 months x 1,450 euros\n" in run("check", answer, "--source", source).out


def test_standard_input_and_report(run, tmp_path, monkeypatch) -> None:
    given(monkeypatch, TRUE)
    page, rows = tmp_path / "report.html", tmp_path / "rows.jsonl"
    assert run("check", "-", "--source", LEASE, "--html", page, "--rows", rows).code == 0
    assert "28 February 2026" in page.read_text(encoding="utf-8")
    (row,) = map(json.loads, rows.read_text(encoding="utf-8").splitlines())
    assert (row["hypothesis"], row["label"], row["verdict"]) == (TRUE, None, "supported")


def test_a_report_in_a_missing_folder_is_an_error_before_judging(run, tmp_path, monkeypatch) -> None:
    given(monkeypatch, TRUE)
    page = tmp_path / "missing" / "report.html"
    ran = run("check", "-", "--source", LEASE, "--html", page, "--judge", tmp_path / "never-loaded")
    assert ran.code == 2
    assert "--html: there is no folder" in ran.err


def test_several_sources_are_named_in_citations_and_an_empty_one_supports_nothing(run, tmp_path, answer) -> None:
    other = written(tmp_path / "other.txt", "The dishwasher needs two litres of water.")
    result = json.loads(run("check", answer, "--source", other, LEASE, "--json").out)
    assert result["sentences"][0]["citations"][0]["document_id"] == str(LEASE)
    ran = run("check", answer, "--source", written(tmp_path / "blank.txt", " \n"), "--json")
    assert ran.code == 1
    assert {s["verdict"] for s in json.loads(ran.out)["sentences"]} == {"no_source"}


@pytest.mark.slow
def test_peak_memory_of_check_stays_under_700_mb_beside_torch(answer) -> None:
    """The size of torch itself depends on its build: 224 MB for processors alone, 394 MB with CUDA's libraries."""
    source = str(ROOT / "examples" / "documents" / "lease.txt")
    check = f"from groundrail.cli.main import main; main(['check', {str(answer)!r}, '--source', {source!r}])"
    assert peak(check) - peak("import torch") < 700_000


def peak(program: str) -> int:
    """The most memory that a process of its own takes, in kB."""
    told = "import sys; print(next(line for line in open('/proc/self/status') if 'VmHWM' in line), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", f"{program}\n{told}"], capture_output=True, text=True, check=True)
    found = re.search(r"VmHWM:\s*(\d+) kB", done.stderr)
    assert found is not None
    return int(found[1])


@tabled("arguments, said")
def test_bad_use_is_one_line_and_exit_code_2(run, answer, tmp_path, monkeypatch, arguments, said) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("latin", b"caf\xe9 co\xfbte"), ("empty", ""), ("blank", " \n"), ("hidden", "\u200b\u200b")):
        written(tmp_path / f"{name}.txt", text)
    meant = {"ANSWER": answer, "LEASE": LEASE}
    require_one_line(run(*(meant.get(argument, argument) for argument in arguments.split())), said)


def in_a_shell(answer: object, redirection: str) -> tuple[int, str]:
    """The exit code of the command in a shell, and what it wrote to standard error."""
    command = f'"$0" -m groundrail.cli.main check "$1" --source "$2" {redirection}'
    line = ["bash", "-c", f"set -o pipefail; {command}", sys.executable, str(answer), str(LEASE)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("redirection", ["--json > /dev/full", ">&-", "| head -c 0"])
def test_output_that_cannot_be_written_is_one_line_and_exit_code_2(answer, redirection) -> None:
    code, told = in_a_shell(answer, redirection)
    assert code == 2
    assert "Traceback" not in told
    assert told.count("groundrail: ") == (0 if "|" in redirection else 1)


@pytest.mark.slow
def test_closed_standard_input_is_one_line() -> None:
    code, told = in_a_shell("-", "<&-")
    assert (code, told.count("groundrail: ")) == (2, 1)
    assert "closed" in told or "descriptor" in told


def test_a_source_without_text_is_said_before_a_model_is_loaded(run, tmp_path) -> None:
    blank = written(tmp_path / "blank.txt", " \n")
    require_one_line(run("ask", "when", "--source", blank, "--model", tmp_path / "none"), "blank.txt: no text in it")


@pytest.mark.parametrize("blank", [True, False])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_model_that_writes_nothing_is_exit_code_2(run, blank, form, causal_folder, tiny_nli_folder, tmp_path) -> None:
    folder = Path(shutil.copytree(causal_folder, tmp_path / "model"))
    changes: dict[str, Any] = {"generation_config": {"eos_token_id": list(range(50 if blank else 1))}}
    for name, value in (changes | {"config": {"max_position_embeddings": 9000}}).items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **value}))
    source = written(tmp_path / "source.txt", "the rent is due")
    ran = run("ask", "when", "--source", source, "--model", folder, "--judge", tiny_nli_folder, *form)
    assert (ran.code == 2) == blank
    assert ("wrote nothing" in ran.err) == blank
    assert bool(ran.out) != blank


def test_piped_output_is_as_wide_as_is_said(run, answer, monkeypatch) -> None:
    for width in (30, 70):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = run("check", answer, "--source", LEASE).out.splitlines()
        assert width - 15 < max(map(len, shown)) <= width


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_no_control_character_reaches_the_terminal(run, form, tmp_path) -> None:
    text = f"{TRUE}\x1b[2K\r\x07 \u202eNo\u202c \x9b2J\x7f\U0001d173 {FALSE}\n"
    shown = run("check", written(tmp_path / "answer.txt", text), "--source", LEASE, *form)
    assert shown.code == 1
    refused = run("check", "no\x1b[31m\u202esuch", "--source", LEASE)
    assert refused.code == 2
    assert all(letter.isprintable() or letter == "\n" for letter in shown.out + shown.err + refused.err)


def test_another_package_adds_a_command_and_a_broken_one_stops_no_other(run, tmp_path, monkeypatch) -> None:
    install_wheels(monkeypatch, tmp_path, "[groundrail.commands]\nroll = wheels_here:roll\nflat = wheels_gone:flat\n")
    roll = 'def roll(*, far: int = 1) -> int:\n    """Roll."""\n    print("rolled", far)\n    return 0\n'
    written(tmp_path / "wheels_here.py", roll)
    ran = run("roll", "--far", "3")
    assert (ran.code, ran.out) == (0, "rolled 3\n")
    ran = run("flat", "tyre")
    assert ran.code == 2
    assert all(name in ran.err for name in ("'flat'", "package wheels ", "wheels_gone"))
    ran = run("--help")
    assert ran.code == 0
    assert all(f"│ {name} " in ran.out for name in ("check", "eval", "roll", "flat"))
