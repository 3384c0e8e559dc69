"""Write checked sentences as rows for a person to label, for `groundrail calibrate` and `groundrail tune`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groundrail.errors import InputError
from groundrail.types import Document, GuardResult, Verdict

_CHECKED = (Verdict.SUPPORTED, Verdict.UNSUPPORTED)


def rows_to_label(result: GuardResult, documents: Sequence[Document]) -> list[dict[str, Any]]:
    """Make a row with `label` null for each sentence that was compared with the source.

    `premise` is the source, with all documents joined, and `hypothesis` the sentence. `verdict` and `score` are
    information for the person who labels; no command reads them.
    """
    premise = "\n\n".join(document.text for document in documents)
    return [
        {
            "premise": premise,
            "hypothesis": sentence.text.strip(),
            "label": None,
            "verdict": str(sentence.verdict),
            "score": sentence.score,
        }
        for sentence in result.sentences
        if sentence.verdict in _CHECKED
    ]


def append_rows(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Append rows to a JSON-lines file, so that one file can collect many answers. Raises: InputError."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    except OSError as error:
        raise InputError(f"cannot write the rows to {path}: {error.strerror}") from error
