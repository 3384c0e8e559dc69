"""`groundrail.tune_allocator()`: let the C library keep the memory that long batches free. Nothing here runs on import."""

import ctypes
from typing import Any

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # as malloc.h numbers them

_LARGEST = 2**31 - 1
"""`mallopt` takes a C int."""

_LARGEST_MMAP = 32 * 2**20
"""The highest mmap threshold that every 64-bit glibc takes; some take more."""

_PAD = 256 * 2**20
"""Bytes taken from the system at a time."""


def tune_allocator() -> bool:
    """Let glibc keep large blocks for the next batch instead of giving them back to the system after every use.

    For long batches on a processor, which otherwise spend much of their time in page faults. The whole process then
    stays as large as it has been, whatever the environment says (`MALLOC_MMAP_THRESHOLD_`). Call it once, before models
    are loaded.

    Returns: whether it did anything; False where the C library is not glibc.
    """
    library = _glibc()
    if library is None:
        return False
    mapped = library.mallopt(_MMAP_THRESHOLD, _LARGEST) or library.mallopt(_MMAP_THRESHOLD, _LARGEST_MMAP)
    kept = library.mallopt(_TRIM_THRESHOLD, _LARGEST)
    padded = library.mallopt(_TOP_PAD, _PAD)
    return bool(mapped and kept and padded)


def _glibc() -> Any:
    """The C library of this process, None where it is another's."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # Windows has no library of the process
        return None
    return library if hasattr(library, "gnu_get_libc_version") and hasattr(library, "mallopt") else None
