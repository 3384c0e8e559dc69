"""The memory that a value takes, with all that it refers to."""

import gc
import sys
from collections.abc import Iterable
from types import FunctionType, ModuleType


def bytes_of(value: object, without: Iterable[object] = ()) -> int:
    """Bytes of a value and of all that can be reached from it, each counted once, but not from the values in `without`.

    Classes and modules count nothing, and a function only counts the variables that it holds. Memory that an
    extension does not report to Python is not seen.

    >>> text = "x" * 1_000
    >>> 1_000 < bytes_of([text]) < 1_300, bytes_of([text], [text]) < 200
    (True, True)
    """
    seen: set[int] = set()
    for each in without:
        _sum(each, seen)
    return _sum(value, seen)


def _sum(value: object, seen: set[int]) -> int:
    """Bytes of all that can be reached and is not `seen`, which grows by it."""
    total, waiting = 0, [value]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, type | ModuleType):
            continue
        seen.add(id(each))
        total += sys.getsizeof(each)
        waiting += (each.__closure__ or ()) if isinstance(each, FunctionType) else gc.get_referents(each)
    return total
