"""Read logged answers, check those that carry no verdicts, and count how their sentences came out.

A line of the log is a JSON object with `answer` and `source`, or with verdicts that were given before: `sentences`, as
`GuardResult` writes them, or `verdict`, as `groundrail score` does.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from groundrail.corpus.files import json_lines
from groundrail.corpus.folder import results
from groundrail.corpus.rows import Row
from groundrail.errors import InputError
from groundrail.guard import Guard
from groundrail.report.rates import Judged, Rates, outcome
from groundrail.sources.files import existing
from groundrail.types import Document, Verdict, as_documents


class Logged(NamedTuple):
    """An answer of the log.

    day: as the log writes it, in the time zone of the log.
    sources: the names of the sources; none where the log names none.
    sentences: None where the answer is still to be checked.
    """

    day: date | None
    sources: tuple[str, ...]
    sentences: tuple[Judged, ...] | None
    answer: str = ""
    question: str = ""
    documents: tuple[Document, ...] = ()


def rates(path: str | Path, build: Callable[[], Guard], progress: Callable[[int, int], None] | None = None) -> Rates:
    """Count the sentences of logged answers: a file of JSON lines, or a folder of `groundrail score`.

        rates("answers.jsonl", Guard).total["held_back"]

    The log is read twice: all lines are looked at before the first answer is checked.

    Args:
        build: makes the guard, if any answer is still to be checked.
        progress: gets the number of answers done and the number of answers to do.

    Raises: InputError for a log without answers, and for a line that lacks something, by its number; what the guard raises.
    """
    count = sum(1 for _ in logged(path))
    if count == 0:
        raise InputError(f"{path} holds no answers: each line is an object with 'answer' and 'source'")
    found, guard = Rates(), cache(build)
    for done, answer in enumerate(logged(path), start=1):
        found.add(_checked(answer, guard) if answer.sentences is None else answer.sentences, answer.day, answer.sources)
        if progress is not None:
            progress(done, count)
    return found


def logged(path: str | Path) -> Iterator[Logged]:
    """Yield the answers of a log. Raises: InputError, which names the line and the key."""
    place = Path(path)
    rows = enumerate(results(place), start=1) if place.is_dir() else json_lines(_log(place))
    for number, row in rows:
        try:
            answer = _answer(row)
        except InputError as error:
            raise InputError(f"line {number} of {path}: {error}") from error
        yield answer


def _checked(answer: Logged, guard: Callable[[], Guard]) -> list[Judged]:
    result = guard().check(answer.answer, answer.documents, answer.question)
    return [Judged(outcome(s.verdict, s.conflict is not None), s.released) for s in result.sentences]


def _log(path: Path) -> Path:
    if path.suffix == ".parquet":
        raise InputError(f"{path} is Parquet: name a file of JSON lines, or the folder that groundrail score wrote")
    return existing(path)


def _answer(row: Row) -> Logged:
    day, named = _day(row), _names(row)
    if row.get("sentences") is not None:
        rows = row["sentences"]
        if not isinstance(rows, list) or not all(isinstance(item, dict) for item in rows):
            raise InputError("'sentences' is no list of objects")
        return Logged(day, named or _cited(rows), tuple(map(_judged, rows)))
    if row.get("verdict") is not None:
        return Logged(day, named or _cited([row]), (_judged(row),))
    ids, documents = _documents(row)
    question = next((_text(row, key) for key in ("question", "prompt") if row.get(key) is not None), "")
    return Logged(day, named or ids, None, _text(row, "answer"), question, documents)


def _day(row: Row) -> date | None:
    for key in ("time", "date"):
        if (value := row.get(key)) is not None:
            try:
                return datetime.fromisoformat(value).date()
            except (TypeError, ValueError):
                raise InputError(f"{key!r} is {value!r}: write it as 2026-03-01 or 2026-03-01T09:30:00Z") from None
    return None


def _names(row: Row) -> tuple[str, ...]:
    """The names that the line gives its sources by `source_name` or `document_ids`."""
    if row.get("source_name") is not None:
        return (_text(row, "source_name"),)
    ids = row.get("document_ids")
    if ids is not None and not isinstance(ids, list):
        raise InputError("'document_ids' is no list")
    return tuple(map(str, ids or ()))


def _cited(sentences: Sequence[Row]) -> tuple[str, ...]:
    """The documents at which verdicts point."""
    places = [
        place
        for sentence in sentences
        for place in (sentence, sentence.get("conflict"), *_listed(sentence.get("citations")))
        if isinstance(place, dict)
    ]
    return tuple(dict.fromkeys(str(place["document_id"]) for place in places if place.get("document_id")))


def _judged(sentence: Row) -> Judged:
    """A verdict of the log; rows of `groundrail score` tell neither whether it was released nor what contradicts it."""
    try:
        verdict = Verdict(str(sentence.get("verdict")))
    except ValueError:
        known = ", ".join(Verdict)
        raise InputError(f"'verdict' is {sentence.get('verdict')!r}, which is none of {known}") from None
    released = sentence.get("released")
    if released is None:
        released = verdict.is_good
    if not isinstance(released, bool):
        raise InputError(f"'released' is {released!r}: write true or false")
    contradicted = sentence["conflict"] is not None if "conflict" in sentence else None
    return Judged(outcome(verdict, contradicted), released)


def _documents(row: Row) -> tuple[tuple[str, ...], tuple[Document, ...]]:
    """The ids that the line gives its documents, and the documents; none says that the answer had no source.

    Chunks of one document, which share its id, are documents with a number each.
    """
    if row.get("source") is None:
        raise InputError("'source' is missing: add the text that the answer was written from, or a list of texts")
    ids: Counter[str] = Counter()
    documents: list[str | Document] = []
    for item in _listed(row["source"]):
        if isinstance(item, str):
            documents.append(item)
        elif isinstance(item, dict) and item.get("id") is not None:
            name = str(item["id"])
            ids[name] += 1
            documents.append(Document(text=_text(item, "text"), id=name if ids[name] == 1 else f"{name}-{ids[name]}"))
        else:
            raise InputError("'source' is neither text, an object with 'id' and 'text', nor a list of these")
    return tuple(ids), as_documents(documents)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(row: Row, key: str) -> str:
    value = row.get(key)
    if value is None:
        raise InputError(f"{key!r} is missing")
    if not isinstance(value, str):
        raise InputError(f"{key!r} is {value!r:.40}, which is no text")
    return value
