"""SQuAD 2.0's format, read."""

import json
from pathlib import Path

from groundrail.papers.q2.squad import Question, load_questions


def test_questions_keep_their_order_their_text_and_all_their_answers(tmp_path: Path) -> None:
    asked = [
        {"question": "Who pays?", "is_impossible": False, "answers": [{"text": "the tenant"}, {"text": "tenant"}]},
        {"question": "Who cleans?", "is_impossible": True, "answers": [], "plausible_answers": [{"text": "Bob"}]},
    ]
    paragraphs = [{"context": "The tenant pays.", "qas": asked}, {"context": "Bob sold it.", "qas": asked[:1]}]
    (tmp_path / "dev.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}))
    assert load_questions(tmp_path / "dev.json") == [
        Question("Who pays?", "The tenant pays.", ("the tenant", "tenant")),
        Question("Who cleans?", "The tenant pays.", ()),
        Question("Who pays?", "Bob sold it.", ("the tenant", "tenant")),
    ]
