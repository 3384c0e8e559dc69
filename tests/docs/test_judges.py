"""The table of known judges in docs/choosing.md says what the code says, and `groundrail judges` lists the same."""

import json
from pathlib import Path

from groundrail.cli.main import main
from groundrail.entailment.known import JUDGES

PAGE = Path(__file__).parents[2] / "docs" / "choosing.md"


def test_the_page_has_a_row_for_every_judge_and_no_other() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("## Stronger judges by one word") :].split("\n\n| judge |", 1)[1].split("\n\n", 1)[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{judge.name}` | {judge.hub_id} | {judge.parameters} | {judge.licence} | {judge.languages} "
        f"| {judge.published or '–'} |"
        for judge in JUDGES
    ]


def test_the_command_lists_every_judge_in_a_line_of_a_terminal(capsys) -> None:
    assert main(["judges"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for judge, line in zip(JUDGES, lines, strict=False):
        assert all(fact in line for fact in (judge.name, judge.parameters, judge.hub_id))


def test_the_command_tells_all_about_one(capsys) -> None:
    assert main(["judges", JUDGES[0].name]) == 0
    shown = capsys.readouterr().out
    assert all(fact in shown for fact in (JUDGES[0].licence, JUDGES[0].code, str(JUDGES[0].threshold)))
    assert main(["judges", "none"]) == 2
    assert "groundrail judges" in capsys.readouterr().err


def test_the_list_is_there_as_json(capsys) -> None:
    assert main(["judges", "--json"]) == 0
    assert [row["hub_id"] for row in json.loads(capsys.readouterr().out)] == [judge.hub_id for judge in JUDGES]
