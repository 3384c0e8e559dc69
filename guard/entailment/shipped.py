"""Facts about the shipped weights of the built-in judge that are known without torch."""

import json
from functools import cache
from importlib.resources import files


@cache
def knows_kinds() -> bool:
    """Whether the weights have a head for the kinds of sentences (`groundrail.entailment.builtin.kinds`)."""
    config = files("groundrail.entailment").joinpath("builtin", "config.json").read_text(encoding="utf-8")
    return bool(json.loads(config).get("entailment_kinds", False))
