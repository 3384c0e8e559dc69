"""Large blocks are kept after `tune_allocator()`, and not before it: asked of the C library itself, in a process of its own."""

import os
import platform
import subprocess
import sys

import pytest

import groundrail

PROGRAM = """
import ctypes
import groundrail, groundrail.guard

libc = ctypes.CDLL(None)
if not hasattr(libc, "gnu_get_libc_version"):
    raise SystemExit(print(groundrail.tune_allocator()))
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]

class Counts(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    _fields_ = [(name, ctypes.c_int) for name in names]

libc.mallinfo.restype = Counts

def mapped_alone():
    before = libc.mallinfo().hblks
    block = libc.malloc(24 * 2**20)
    after = libc.mallinfo().hblks
    libc.free(block)
    return after > before

def arena():
    return libc.mallinfo().arena

first = mapped_alone()
print(first, groundrail.tune_allocator(), mapped_alone(), arena() >= 256 * 2**20)
"""


@pytest.mark.slow
def test_large_blocks_are_kept_once_it_was_asked_for_and_not_on_import() -> None:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=plain)
    expected = "True True False True" if platform.libc_ver()[0] == "glibc" else "False"
    assert done.stdout.strip() == expected


def test_without_glibc_nothing_is_done_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        """Another C library: none of glibc's names."""

    monkeypatch.setattr("ctypes.CDLL", lambda name: Other())
    assert groundrail.tune_allocator() is False
