"""Known judges by one word; `known.toml` beside this file has the facts, with the place each was read from.

`groundrail.entailment.loading` applies a form to weights.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Renamed:
    """Weights whose own code is not run: the transformers class they fit, and its names for the saved names.

    `base` is the hub id of the model that gives configuration and tokenizer.
    """

    architecture: str
    base: str
    labels: int
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KnownJudge:
    """A judge by name.

    `form` goes to the constructor of the class that `kind` stands for. `chunk_tokens`: its authors' premise length, None
    where they cut no document. `chat` fills the tokenizer's own chat template, with `{premise}` and `{claim}` as
    contents. `published` has its authors' figures, `code` the place that the form was read from, `hint` the way to
    weights that the hub does not have as safetensors.
    """

    name: str
    hub_id: str
    kind: Literal["pair classifier", "encoder-decoder", "decoder", "token classifier"]
    parameters: str
    licence: str
    languages: str
    code: str
    form: Mapping[str, Any]
    chunk_tokens: int | None = None
    threshold: float = 0.5
    published: str = ""
    chat: Mapping[str, Any] | None = None
    renamed: Renamed | None = None
    hint: str = ""


_FILE = files("groundrail.entailment") / "known.toml"
JUDGES = TypeAdapter(tuple[KnownJudge, ...]).validate_python(tomllib.loads(_FILE.read_text(encoding="utf-8"))["judges"])


def find(name: str) -> tuple[KnownJudge, str] | None:
    """The known judge that `name` means, with the place of its weights; None for any other name.

    A name is a judge's own, or its hub id, either with `@REVISION`; or `NAME:FOLDER` for weights in a folder.

        >>> judge, weights = find("minicheck-flan-t5-large")
        >>> weights
        'lytang/MiniCheck-Flan-T5-Large'
    """
    word, colon, folder = name.partition(":")
    word, at, revision = word.partition("@")
    for judge in JUDGES:
        if word.lower() == judge.name or (word == judge.hub_id and not colon):
            return judge, folder if colon else judge.hub_id + at + revision
    return None
