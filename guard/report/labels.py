"""Checked sentences as rows to label: what `groundrail calibrate` and `groundrail tune` read once a person has labelled them.

Which verdict is right is for that person to say; nothing is labelled here.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groundrail.errors import InputError
from groundrail.types import Document, GuardResult, Verdict

_CHECKED = (Verdict.SUPPORTED, Verdict.UNSUPPORTED)


def rows_to_label(result: GuardResult, documents: Sequence[Document]) -> list[dict[str, Any]]:
    """One row for each sentence that was compared with the source, `label` null.

    `premise` is the source, several documents one below the other, `hypothesis` the sentence. `verdict` and `score` are
    for the person's eyes and read by no command.
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
    """Add rows to a JSON-lines file, so that the answers of a week gather in one. Raises: InputError."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    except OSError as error:
        raise InputError(f"cannot write the rows to {path}: {error.strerror}") from error
