"""The table of failures: whatever breaks under whatever policy, nothing unchecked is out, and errors are documented."""

from functools import cache
from pathlib import Path

import failures
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "failures.md"
INTERRUPTS = ("KeyboardInterrupt", "SystemExit")


@cache
def outcome(row: int, policy: str, is_async: bool) -> failures.Outcome:
    """The outcome of each cell of the table, made once for all tests."""
    return failures.outcome(failures.BREAKS[row], policy, is_async=is_async)


def ends_with(broken: failures.Break, is_async: bool) -> str:
    """The error that is raised whatever the policy says, empty for none."""
    if "CancelledError of asyncio" in broken.name and not is_async:
        return "CancelledError"  # which async code that was not cancelled takes for a failure
    if "SIGINT" in broken.name:
        return "KeyboardInterrupt"
    if broken.async_only:
        return "CancelledError"
    if broken.name == "stop of the policy raises":
        return "LookupError"
    return next((name for name in INTERRUPTS if name in broken.name), "")


@pytest.mark.parametrize(
    ("row", "policy", "is_async"),
    [
        pytest.param(
            row,
            policy,
            is_async,
            id=f"{broken.name}-{policy}-{'async' if is_async else 'plain'}",
            marks=[pytest.mark.slow] * (broken.alone or ("late" in broken.name and policy != "drop")),
        )
        for row, broken in enumerate(failures.BREAKS)
        for policy in failures.POLICIES
        for is_async in (False, True)
        if is_async or not broken.async_only
    ],
)
def test_nothing_unchecked_is_released(row: int, policy: str, is_async: bool) -> None:
    broken, found = failures.BREAKS[row], outcome(row, policy, is_async)
    ending = ends_with(broken, is_async)
    allowed = {"raise": {"", "UnsupportedError", "GenerationError"}, "callable that raises": {"", "LookupError"}}
    early = {"", "GenerationError"} if "generator's start" in broken.name else {""}
    assert found.error in ({ending} if ending else allowed.get(policy, early)), found
    released = found.released
    for text in (
        failures.TRUE,
        failures.LAST,
        "“The rent is 950 euros.” ",
        "[left out] ",
        "I cannot answer that from the source.",
    ):
        released = released.replace(text, "")
    opened = policy == "flag" or policy.startswith("open")
    assert released == "" or (opened and released.startswith(failures.FALSE.strip()))
    if "scorer" in broken.name and policy != "open on error":
        assert failures.FALSE not in found.released


def test_nothing_breaks_is_the_plain_case() -> None:
    assert outcome(0, "drop", False) == (failures.TRUE + failures.LAST, "unsupported", "")


@pytest.mark.slow
def test_the_page_has_the_table() -> None:
    rows = {broken.name: row for row, broken in enumerate(failures.BREAKS)}
    table = failures.table(lambda broken, policy, is_async: outcome(rows[broken.name], policy, is_async))
    assert table in PAGE.read_text(encoding="utf-8"), "python benchmarks/failures.py --page docs/failures.md"
