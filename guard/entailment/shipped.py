"""Facts about the shipped weights of the built-in judge that are known without torch."""

from functools import cache
from importlib.resources import files


@cache
def knows_kinds() -> bool:
    """Whether there is a head for the kinds of sentences (`groundrail.entailment.builtin.kinds`)."""
    return files("groundrail.entailment").joinpath("builtin", "kinds.safetensors").is_file()
