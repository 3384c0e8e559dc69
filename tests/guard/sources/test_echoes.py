"""What a tool repeats of the calls before it is taken out of its result; what it says itself stays as it is."""

import json
from typing import Any

import pytest
from tests.growth import grows_with

from groundrail.sources import echoes
from groundrail.sources.echoes import Echoes

NOTE = "The rent is 990 euros."
LONG = "The rent of the café is 990 euros a month,\nand pets are allowed in all rooms."
OWN = "Pets are not allowed. The lease ends on 28 February 2026."


def evidence(result: str, *calls: Any) -> str:
    """What is left of a result after these calls."""
    conversation = Echoes()
    for arguments in calls:
        conversation.call(arguments)
    return conversation.evidence(result)


@pytest.mark.parametrize(
    ("result", "arguments"),
    [
        (NOTE, {"note": NOTE}),
        ("Saved: the rent  is 990 EUROS!", {"note": NOTE}),
        ('{"ok": true, "note": "The rent is 990 euros."}', {"note": NOTE}),
        ("Rent saved: 990 euros", {"rent": "990 euros"}),
        ("Monthly rent saved: 1,450 euros.", {"monthly_rent": 1450}),
        ("Rent saved: 990 euros", {"rent": 990.0}),
        ("Rent saved: 990 eu…", {"rent": "990 euros"}),
        ("Rent saved: 990 eu…", {"rent": "990 euros", "number": "990"}),
        ("The rent is 990 euros.", {"what": "rent", "value": "990 euros"}),
        ("Saved: The rent of the café is 9…", {"note": LONG}),
        ("Saved: The rent of the café is", {"note": LONG}),
        (json.dumps({"saved": LONG}), {"note": LONG}),
        (json.dumps({"saved": json.dumps(LONG)}), {"note": LONG}),
        ("Kept: the rent of the cafe\u0301 is 990 euros a month, and pets are allowed in all rooms", {"note": LONG}),
        ("Noted: pets are allowed.", {"notes": [{"text": "Pets are allowed."}]}),
        ("Noted: pets are allowed.", '{"notes": [{"text": "Pets are allowed."}]}'),
        ("Noted: pets are allowed.", "Pets are allowed."),
    ],
)
def test_a_result_that_says_nothing_beside_its_call_is_no_evidence(result: str, arguments: Any) -> None:
    assert evidence(result, arguments) == ""
    assert evidence(result, arguments, {"query": "lease"}) == ""  # nor after another one
    assert evidence(result) == result


@pytest.mark.parametrize(
    ("result", "arguments"),
    [
        ("The monthly rent is 1650 euros.\n", {"code": "print('The monthly rent is 1650 euros.')"}),
        ("Pets are allowed.", {"code": 'text = "Pets are allowed."\nprint(text)'}),
        ("stdout: The monthly rent is 1,650 euros.", {"code": "x = 'The monthly rent is 1650 euros.'; print(x)"}),
        ('[{"id": 4, "rent": 1650}]', {"sql": "UPDATE leases SET rent = 1650 WHERE id = 4 RETURNING id, rent"}),
        ("1650", {"expression": "1650 + 0"}),
        ("1650 * 1 = 1650", {"expression": "1650 * 1"}),
    ],
)
def test_words_within_an_argument_are_no_evidence_either(result: str, arguments: Any) -> None:
    assert evidence(result, arguments) == ""
    assert evidence(result) == result


@pytest.mark.parametrize(
    ("result", "arguments", "left"),
    [
        ("The rent is 1650 euros.", {"text": "Die Miete beträgt 1650 Euro."}, "The rent is  …  euros."),
        (
            '[{"id": 4, "city": "Oslo", "rent": 1650}]',
            {"sql": "UPDATE leases SET rent = 1650 WHERE city = 'Oslo' RETURNING *"},
            '[{"id": 4, "city": "Oslo", "rent":  … }]',
        ),
        ("Ran in 2 s. The rent is 1650 euros.", {"code": "print('The rent is 1650 euros.')"}, "Ran in 2 s.  … ."),
        ("It runs for 9 months.", {"text": "Sie läuft 6 Monate."}, "It runs for 9 months."),
    ],
)
def test_figures_of_statements_and_of_code_are_taken_out_wherever_they_stand(result: str, arguments: Any, left: str) -> None:
    assert evidence(result, arguments) == left


def test_a_figure_that_a_tool_said_first_stays() -> None:
    conversation = Echoes()
    conversation.evidence("Die Miete beträgt 950 Euro.")
    conversation.call({"text": "Die Miete beträgt 950 Euro im Monat."})
    assert conversation.evidence("The rent is 950 euros a month.") == "The rent is 950 euros a month."


@pytest.mark.parametrize(
    "result",
    [
        f"{OWN} Noted: {{}}",
        '{{"id": 7, "note": "{}", "made": "2025-01-01"}}',
        "2025-01-01 10:00 {}\n2025-01-02 09:30 Pets were asked about.",
        "| 7 | {} | 3 March |",
        "On 3 March you noted that {}",
    ],
)
@pytest.mark.parametrize("cut", [None, 60])
def test_a_note_is_taken_out_of_a_result_that_says_more(result: str, cut: int | None) -> None:
    note = "The rent of the two cafés in Main Street is 990 euros a month."
    shown = note if cut is None else note[:51] + "..."
    for written in (shown, json.dumps(shown)[1:-1]):
        left = evidence(result.format(written), {"note": note})
        assert "990" not in left
        before, after = result.format("\n").split("\n")[0], result.format("\n").split("\n")[-1]
        assert left.startswith(before.rstrip())
        assert left.endswith(after)


@pytest.mark.parametrize(
    ("result", "arguments"),
    [
        ("The lease end date is 28 February 2026. The rent is 950 euros.", {"query": "lease end date"}),
        ("Lease end date: 28 February 2026.", {"query": "lease end date"}),
        ("The notice period for the tenant is 3 months.", {"query": "notice period for the tenant"}),
        ("It depends on the notice period for the tenant.", {"query": "notice period for the tenant"}),
        ("Notice period for the tenant: 3 months", {"query": "notice period for the tenant"}),
        ('{"notice period for the tenant": "3 months"}', {"query": "notice period for the tenant"}),
        ('{"city": "Paris", "temperature": 21}', {"city": "Paris"}),
        ("Paris: 21 °C", {"city": "Paris"}),
        ("Order 10234 was shipped.", {"order": 10234}),
        ("lease_2024.pdf, page 2: The rent is 950 euros [1].", {"path": "lease_2024.pdf"}),
        ("| Flat | Rent |\n| --- | --- |\n| 4 | €950 |", {"flat": 4}),
        ("- Anna Berg: tenant\n- Carl Dorn: landlord", {"name": "Anna Berg"}),
        ("Flat 4: the lease ends on 28 February 2026.", {"query": "flat 4 lease end February 2026"}),
        ("The lease ends on 28 February 2026.", {"query": "When in 2026 does the lease end?"}),
        ("Pets are allowed.", {"query": "are pets allowed"}),
        ("Pets are not allowed.", {"query": "pets", "about": "allowed"}),
        ("No.", {"query": "are pets allowed"}),
        ("saved", {"note": NOTE}),
        (r"C:\new\tables holds 12 files.", {"path": r"C:\new\tables"}),
    ],
)
def test_what_a_lookup_found_stays_as_it_is(result: str, arguments: Any) -> None:
    assert evidence(result, arguments) == result


def test_what_was_written_into_an_earlier_call_is_no_evidence_either() -> None:
    assert evidence(f"Notes: {NOTE}", {"text": NOTE}, {"notes": 1}) == ""
    assert "990" not in evidence(f"{OWN} 1 note: {NOTE}", {"text": NOTE}, {"all": True})


def test_what_a_tool_said_first_stays_evidence() -> None:
    conversation = Echoes()
    clause = "The lease ends on 28 February 2026."
    conversation.call({"query": "end"})
    assert conversation.evidence(OWN) == OWN
    conversation.call({"note": clause})
    assert conversation.evidence(f"Noted: {clause}") == f"Noted: {clause}"
    conversation.call({"note": NOTE})
    assert conversation.evidence(NOTE) == ""
    conversation.call({"note": NOTE})  # which no tool has said
    assert conversation.evidence(NOTE) == ""


def test_where_results_are_too_long_to_search_a_sentence_counts_as_the_models(monkeypatch) -> None:
    monkeypatch.setattr(echoes, "MOST_READ", 150)
    clause, more = "The lease ends on 28 February 2026.", "Pets are not allowed in the flat."
    conversation = Echoes()
    conversation.evidence(f"{clause} {more}")
    conversation.call([clause])
    assert conversation.evidence(clause) == clause
    conversation.call([more])
    assert conversation.evidence(more) == ""


def test_arguments_of_any_form_are_read() -> None:
    deep: Any = NOTE
    for _ in range(5000):
        deep = [deep]
    for arguments in (deep, "[" * 100_000, '{"a": ', None, {"a": None, "b": True}, "", b"bytes"):
        assert evidence(f"{OWN} 7: {OWN}", arguments) == f"{OWN} 7: {OWN}"
    assert evidence(NOTE, deep) == ""


@pytest.mark.parametrize(
    ("value", "result"), [("a " * 4000 + "b", "a "), (NOTE * 50, NOTE), ("x.", "\\" * 8), ("one, two", "one, two, three. ")]
)
def test_time_grows_with_the_text(value: str, result: str) -> None:
    def evidence(times: int) -> None:
        conversation = Echoes()
        conversation.call({"value": value})
        conversation.evidence(result * times)

    assert grows_with(80_000 // len(result), evidence)
