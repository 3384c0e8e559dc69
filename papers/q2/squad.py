"""Read questions about texts with reference answers in the format of SQuAD 2.0."""

import json
from pathlib import Path
from typing import NamedTuple


class Question(NamedTuple):
    """A question about a text; `answers` is empty if the text has no answer."""

    question: str
    text: str
    answers: tuple[str, ...]


def load_questions(path: Path) -> list[Question]:
    """Read all questions of a file in SQuAD 2.0's format, in order."""
    return [
        Question(
            asked["question"],
            paragraph["context"],
            () if asked["is_impossible"] else tuple(answer["text"] for answer in asked["answers"]),
        )
        for article in json.loads(path.read_text(encoding="utf-8"))["data"]
        for paragraph in article["paragraphs"]
        for asked in paragraph["qas"]
    ]
