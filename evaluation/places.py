"""`Place`, the position of a row in a benchmark file, and helpers for the readers of all formats.

A pydantic model describes each kind of row; error messages name file, line and field.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError

from groundrail.errors import InputError
from groundrail.evaluation.examples import parse_label
from groundrail.types import Document, Span

Label = Annotated[float | None, BeforeValidator(parse_label)]
Row = TypeVar("Row", bound=BaseModel)
T = TypeVar("T")


class Place:
    """The position of a row in a file, for error messages, and the files that are read with it.

    documents: the folder of these files, by default the folder of the row's file.
    files: the files that were read for the rows before.
    """

    def __init__(self, path: Path, line: int, documents: Path | None = None, files: dict[Path, Any] | None = None) -> None:
        self.path, self.line = path, line
        self.documents = path.parent if documents is None else documents
        self._files = {} if files is None else files

    def file(self, path: Path, read: Callable[[Path], T]) -> T:
        """The content of another file, which is read once for all rows."""
        if path not in self._files:
            self._files[path] = read(path)
        found: T = self._files[path]
        return found

    def text(self, row: Mapping[str, Any], field: str) -> str:
        """The text of a field. Raises: InputError for any other value."""
        if not isinstance(row[field], str):
            raise self.error(field, f"expected a string, not {str(row[field])[:80]!r}")
        return str(row[field])

    def label(self, row: Mapping[str, Any], field: str) -> float | None:
        """The label in a field, None if there is none. Raises: InputError for any other value."""
        try:
            return parse_label(row.get(field))
        except ValueError as error:
            raise self.error(field, f"{error}, not {str(row.get(field))[:80]!r}") from error

    def numbered(self, field: str, spans: Sequence[Span], numbers: Sequence[int]) -> tuple[Span, ...]:
        """The spans with these numbers, from 0. Raises: InputError for a number that no span has."""
        for number in numbers:
            if not 0 <= number < len(spans):
                raise self.error(field, f"expected numbers from 0 to {len(spans) - 1}, not {number}")
        return tuple(spans[number] for number in numbers)

    def require(self, row: Mapping[str, Any], fields: Set[str], of: str) -> None:
        """Raises: InputError for a row without one of the fields of a format; the message lists the fields of the row."""
        missing = sorted(fields - row.keys())
        if missing:
            has = f"{of} has {', '.join(sorted(fields))}, this row has {', '.join(row)}"
            raise self.error(missing[0], f"missing; {has}")

    def error(self, field: str, message: str) -> InputError:
        """Make an error about a field of this row; the caller raises it."""
        return InputError(f"{self.path}, line {self.line}, field {field!r}: {message}")

    def parse(self, model: type[Row], row: Mapping[str, Any]) -> Row:
        """Validate the row as a model. Raises: InputError that names file, line and field."""
        try:
            return model.model_validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            message = first["msg"]
            if first["type"] != "missing":
                message += f", not {str(first['input'])[:80]!r}"
            raise self.error(field, message) from error


def read_text(path: Path) -> str:
    """Read a UTF-8 text file. Raises: InputError for a file that cannot be read or is not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected UTF-8, byte {error.start} is not") from error


def one(text: str, id: str = "source") -> tuple[Document, ...]:
    """Make a source of one document."""
    return (Document(text=text, id=id),)


def lines(parts: Sequence[str]) -> tuple[Document, list[Span]]:
    """Make a document with each part on its own line, and the span of each part."""
    spans: list[Span] = []
    position = 0
    for part in parts:
        spans.append(Span(document_id="source", start=position, end=position + len(part)))
        position += len(part) + 1
    return Document(text="\n".join(parts)), spans
