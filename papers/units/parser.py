"""spaCy's English pipelines (extra `parse`): part of speech, dependencies, entities.

The callers decide about a parsed text.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

from groundrail.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    from spacy.language import Language

PIPELINE = "en_core_web_sm"
"""The pipeline of Q²'s authors, spaCy's smallest for English."""


@lru_cache(maxsize=2)
def load_parser(pipeline: str = PIPELINE) -> "Language":
    """Load a pipeline by its package name or folder.

    Raises: MissingExtraError without spaCy; ModelError where the pipeline is not installed, or does not parse.
    """
    try:
        import spacy
    except ImportError as error:
        raise MissingExtraError("A dependency parser", "parse") from error
    try:
        parser = spacy.load(pipeline)
    except OSError as error:
        raise ModelError(
            f"spaCy has no pipeline {pipeline!r} here: python -m spacy download {pipeline}, or pass another one's name"
        ) from error
    if "parser" not in parser.pipe_names:
        raise ModelError(f"the pipeline {pipeline!r} has no parser among {', '.join(parser.pipe_names) or 'no parts'}")
    return parser
