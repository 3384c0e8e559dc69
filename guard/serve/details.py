"""The field `groundrail` of chunks and answers: verdicts, citations, and what was refused.

The header `x-groundrail-details` says how much: `on` (the default) leaves out the text of what was not released,
so that it never crosses the wire; `full` has everything; `off` leaves out the field.
"""

from typing import Any, Literal, TypeAlias, cast, get_args

from starlette.requests import Request

from groundrail.serve.error_forms import ProtocolError
from groundrail.types import CheckedSentence, GuardResult, Verdict

HEADER = "x-groundrail-details"
Level: TypeAlias = Literal["on", "full", "off"]


def level_of(request: Request) -> Level:
    """Raises: ProtocolError for a level that does not exist."""
    asked = request.headers.get(HEADER, "on").strip().lower()
    if asked not in get_args(Level):
        raise ProtocolError(400, f"{HEADER} is {asked!r}; it is one of {', '.join(get_args(Level))}", param=HEADER)
    return cast(Level, asked)


def of_sentence(sentence: CheckedSentence, level: Level) -> dict[str, Any]:
    """A sentence as JSON. Under `on`, text is only what was released."""
    fields = sentence.model_dump(mode="json")
    if level == "full":
        return fields
    fields["text"] = sentence.text if sentence.released else None
    if fields["corrected"]:
        fields["corrected"]["was"] = ""
    fields["attempts"] = len(sentence.attempts)
    fields["reason"] = why(sentence)
    return fields


def why(sentence: CheckedSentence) -> str | None:
    """Why a sentence is withheld, in none of its own words; other sentences' reasons as they are.

    A reason that came without a score may quote the sentence: a link, a symbol or a word that cannot be read, what an
    error says.
    """
    if sentence.released or sentence.score is not None:
        return sentence.reason
    if sentence.verdict is Verdict.ERROR:
        return "it could not be checked"
    if sentence.verdict is Verdict.UNSUPPORTED:
        return "it cannot be judged as it is written, or the source has nothing of it"
    return sentence.reason


def of_result(result: GuardResult, place: str, level: Level, *, sentences: bool) -> dict[str, Any]:
    """The details of a whole answer; `place` is where its source was found."""
    released = sum(sentence.released for sentence in result.sentences)
    summary: dict[str, Any] = {
        "supported": result.supported,
        "threshold": result.threshold,
        "seconds": result.seconds,
        "source": place,
        "released": released,
        "withheld": len(result.sentences) - released,
    }
    if sentences:
        summary["sentences"] = [of_sentence(sentence, level) for sentence in result.sentences]
    return summary
