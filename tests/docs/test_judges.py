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


def test_the_command_lists_every_judge(capsys) -> None:
    assert main(["judges"]) == 0
    shown = "".join(capsys.readouterr().out.split())
    for judge in JUDGES:
        for fact in (judge.name, judge.parameters, judge.licence):
            assert fact.replace(" ", "") in shown
    assert main(["judges", "--json"]) == 0
    assert [row["hub_id"] for row in json.loads(capsys.readouterr().out)] == [judge.hub_id for judge in JUDGES]
