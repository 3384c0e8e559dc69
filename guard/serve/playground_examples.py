"""Examples for the playground and the demo: a document, questions about it, and an answer that is partly wrong."""

import json
from importlib.resources import files

from pydantic import BaseModel, ConfigDict


class Example(BaseModel):
    """A source, questions that a model can be asked about it, and an answer with some sentences that are not true."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    source: str
    answer: str
    questions: tuple[str, ...]


_DOCUMENTS, _TOLD = files("groundrail.documents"), files("groundrail.serve") / "playground" / "examples.json"
EXAMPLES = tuple(
    Example(**fields, source=(_DOCUMENTS / fields["name"]).read_text(encoding="utf-8"))
    for fields in json.loads(_TOLD.read_text(encoding="utf-8"))
)
