"""Measures answerers on SQuAD 2.0: exact match and token F1, by SQuAD's own definition.

    python benchmarks/answering.py --data squad_v2_dev.json
    python benchmarks/answering.py --data squad_v2_dev.json --head FILE

Half of the questions have no answer, and None is right for them. Answers are compared with the best of the
reference answers, without case, punctuation and articles.
"""

import argparse
import re
import string
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from shared import head, row

from groundrail.papers.q2.answering import Answerer, LexicalAnswerer
from groundrail.papers.q2.span_head import SpanHeadAnswerer
from groundrail.papers.q2.squad import Question, load_questions

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def words(text: str) -> list[str]:
    """SQuAD's normalisation."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def f1(predicted: str, reference: str) -> float:
    """Token F1; 1 where both are empty."""
    ours, theirs = words(predicted), words(reference)
    shared = (Counter(ours) & Counter(theirs)).total()
    return 2 * shared / (len(ours) + len(theirs)) if ours and theirs else float(ours == theirs)


def measured(answerer: Answerer, rows: Sequence[Question]) -> list[str]:
    """The cells of one row of the table, without the name."""
    started = time.perf_counter()
    found = answerer.answer([(row.question, row.text) for row in rows])
    seconds = time.perf_counter() - started
    texts = ["" if answer is None else answer.text for answer in found]
    exact = [max(words(t) == words(r) for r in row.answers or [""]) for t, row in zip(texts, rows, strict=True)]
    overlap = [max(f1(t, r) for r in row.answers or [""]) for t, row in zip(texts, rows, strict=True)]
    answerable = [value for value, row in zip(overlap, rows, strict=True) if row.answers]
    silent = [text == "" for text, row in zip(texts, rows, strict=True) if not row.answers]
    cells = [100 * sum(values) / max(1, len(values)) for values in (exact, overlap, answerable, silent)]
    return [f"{cell:.1f}" for cell in (*cells, 1000 * seconds / len(rows))]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="only every n-th question, so that about this many are asked")
    parser.add_argument("--head", type=Path, help="measure this span head; the shipped one")
    args = parser.parse_args()

    rows = load_questions(args.data)
    rows = rows[:: max(1, len(rows) // args.limit)] if args.limit else rows
    print(f"{len(rows)} questions of {args.data.name}\n")
    head("answerer | exact | F1 | F1 where answerable | none where none, % | ms a question")
    for answerer in (LexicalAnswerer(), SpanHeadAnswerer.builtin(args.head)):
        row(type(answerer).__name__, *measured(answerer, rows))


if __name__ == "__main__":
    main()
