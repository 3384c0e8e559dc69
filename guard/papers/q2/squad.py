"""Questions about texts with reference answers, as SQuAD 2.0 has them; how answers are compared belongs to their users."""

import json
from pathlib import Path
from typing import NamedTuple


class Question(NamedTuple):
    """`answers` is empty where the text has none."""

    question: str
    text: str
    answers: tuple[str, ...]


def load_questions(path: Path) -> list[Question]:
    """Every question of a file in SQuAD 2.0's format, in order."""
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
