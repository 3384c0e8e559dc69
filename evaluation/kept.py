"""Results in a JSON-lines file, written at once and found again by their keys, so that a second run continues.

`groundrail.corpus.folder` continues corpora that are too large for memory, by the ids of their rows.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from groundrail.errors import InputError


class Keyed(BaseModel):
    """A result; `key` is a hash of everything that it depends on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str


R = TypeVar("R", bound=Keyed)


def key_of(*facts: object) -> str:
    """A hash of facts that JSON can hold."""
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def read_kept(path: str | Path | None, kind: type[R]) -> dict[str, R]:
    """The results of an earlier run by key; an unfinished last line is removed from the file.

    Raises: InputError for a line that is no result of this kind.
    """
    if path is None or not Path(path).exists():
        return {}
    content = Path(path).read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        Path(path).write_bytes(whole)
    results = {}
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            result = kind.model_validate_json(line)
        except ValidationError as error:
            raise InputError(
                f"{path}, line {number}: expected a result of an earlier run; name another file to write to"
            ) from error
        results[result.key] = result
    return results


def keep(path: str | Path | None, results: Iterable[Keyed]) -> None:
    """Append results to the file; its folder is made."""
    if path is None:
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with Path(path).open("a", encoding="utf-8") as file:
        file.writelines(result.model_dump_json() + "\n" for result in results)
