"""Examples in a TOML file beside their tests, which has a table for each test of many; and rows that a test writes."""

import json
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest


def tabled(arguments: str, *more: Any) -> Callable[[Any], Any]:
    """Run a test on each row of the table of its name, `test_` left out, and on `more` rows."""

    def on_rows(test: Any) -> Any:
        file = Path(test.__code__.co_filename).with_suffix(".toml")
        rows = tomllib.loads(file.read_text(encoding="utf-8"))[test.__name__.removeprefix("test_")]
        return pytest.mark.parametrize(arguments, [*rows, *more])(test)

    return on_rows


def json_lines(path: Path, rows: Iterable[Any]) -> Path:
    """The file, with a line of JSON for each row."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
