"""Places in an object: paths and their JSON pointers (RFC 6901)."""

from collections.abc import Sequence
from typing import TypeAlias

from jsonpointer import JsonPointer

Step: TypeAlias = str | int
"""A key of an object, or the position of an item of a list."""


def pointer_of(path: Sequence[Step]) -> str:
    """The JSON pointer of a path."""
    return str(JsonPointer.from_parts(path).path)
