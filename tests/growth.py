"""Time that grows with the size of what is read, and not with its square."""

import time
from collections.abc import Callable


def grows_with(size: int, run: Callable[[int], object]) -> bool:
    """Whether `run` takes less than twelve times the processor time for four times the size: a square takes sixteen times."""

    def seconds(times: int) -> float:
        started = time.process_time()  # other load does not count
        run(times)
        return time.process_time() - started

    seconds(size // 10)
    return any(seconds(4 * size) < 12 * seconds(size) + 0.1 for _ in range(3))
