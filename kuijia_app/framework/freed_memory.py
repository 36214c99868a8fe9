"""Settings of the C library by which memory that one thread has freed serves others, or goes back to the system."""

from __future__ import annotations

import ctypes
from typing import Final

_ARENA_MAX: Final = -8
_MMAP_THRESHOLD: Final = -3
"""Parameters of `mallopt(3)`."""

_OWN_PAGES: Final = 32 * 1024
"""Bytes from which on a block has pages of its own: buffers of sockets, and messages of polls."""


def give_back_freed_memory() -> None:
    """Use one heap for all threads, and no heap for large blocks; call this before threads are started.

    Else glibc gives each thread a heap of its own. What the gate's thread reads is freed by the application's, and
    holes stay: three megabytes while 10,000 hosts are known. Threads of Python take turns anyway, so nobody waits for
    the one heap. Other libraries have no such function and keep their ways.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _OWN_PAGES)
