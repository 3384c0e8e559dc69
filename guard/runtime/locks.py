"""One lock for loading, since transformers' lazy imports and its default dtype are not thread-safe."""

import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LOADING = threading.RLock()


def one_at_a_time(load: Callable[P, T]) -> Callable[P, T]:
    """A function that imports or loads models, made to wait while another such function runs in another thread."""

    @wraps(load)
    def alone(*args: P.args, **kwargs: P.kwargs) -> T:
        with LOADING:
            return load(*args, **kwargs)

    return alone
