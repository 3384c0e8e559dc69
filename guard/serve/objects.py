"""An answer in JSON: read whole from the writer, checked as one object, and released as one text."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from groundrail.errors import InputError, MissingExtraError, UnsupportedObjectError
from groundrail.generation.steps import Read
from groundrail.generation.streams import AsyncGuardedStream, Event
from groundrail.generation.writing import Writing
from groundrail.guard import Guard
from groundrail.objects.answers import ObjectFormat, as_answer, object_format
from groundrail.objects.results import places_of_refused
from groundrail.objects.schemas import Schema
from groundrail.runtime.deadlines import Calls
from groundrail.runtime.leaving import cancelled_with_task
from groundrail.serve.error_forms import ProtocolError
from groundrail.text.rendering.visible import is_blank
from groundrail.types import Document, GuardResult


def read_format(response_format: Any, field: str, *, tools: bool) -> ObjectFormat | None:
    """The format of an answer in JSON, None for text. A schema takes a moment to read.

    Raises: ProtocolError that names the request's `field`, for a format or a schema that cannot be read, and for JSON
    beside tools.
    """
    try:
        wanted = object_format(response_format)
        if wanted is not None and wanted.schema is not None and Schema(wanted.schema).has_patterns:
            raise InputError("the server runs no regular expressions: leave pattern and patternProperties out")
    except MissingExtraError as error:
        raise ProtocolError(501, str(error), code="no_schemas", retry=False) from error
    except InputError as error:
        raise ProtocolError(400, f"{field}: {error}", param=field) from error
    if wanted is not None and tools:
        raise ProtocolError(400, "tools: an object is checked in answers without tools; leave tools out", param="tools")
    return wanted


class ObjectStream(AsyncGuardedStream):
    """One released text: the checked object as JSON. It ends with a ProtocolError where there is none to release."""

    def __init__(self, guard: Guard, question: str, documents: Sequence[Document], wanted: ObjectFormat) -> None:
        if guard.generator is None:
            raise InputError("this guard has no generator that writes an object")
        logs_tracebacks = guard.policy.keep_refused
        writing = Writing(
            guard.generator, question, documents, Calls(), is_async=True, ahead=False, logs_tracebacks=logs_tracebacks
        )
        super().__init__(lambda closed: self._checked(writing, guard, question, documents, wanted), writing)

    async def _checked(
        self, writing: Writing, guard: Guard, question: str, documents: Sequence[Document], wanted: ObjectFormat
    ) -> AsyncGenerator[Event]:
        try:
            text = await _whole(writing)
        finally:
            await writing.aclose()
        if is_blank(text):  # as the upstream's own refusal to answer
            yield GuardResult(text="", answer="", threshold=guard.threshold)
            return
        try:
            with cancelled_with_task():
                result = await guard.acheck_object(text, documents, wanted.schema, question)
        except UnsupportedObjectError as error:
            message = f"fields are not supported by the source: {', '.join(places_of_refused(error.fields))}"
            raise ProtocolError(422, message, code="unsupported", retry=False) from error
        except InputError as error:
            raise ProtocolError(502, f"the answer cannot be used: {error}", code="bad_object") from error
        answer = as_answer(text, result, keep_refused=guard.policy.keep_refused)
        for sentence in answer.sentences:
            yield sentence
        yield answer


async def _whole(writing: Writing) -> str:
    """All that the writer writes. Raises: ProtocolError for an answer that was cut off."""
    text = ""
    while (piece := await writing.read(Read(None))).text is not None:
        text += piece.text
    if piece.cut_off:
        raise ProtocolError(502, f"the object is not whole: {piece.cut_off}", code="bad_object")
    return text
