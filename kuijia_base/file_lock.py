"""Locks on open files, which end with the process: another process is told at once that a file is in use."""

from __future__ import annotations

import sys
from io import FileIO

if sys.platform == "win32":
    import msvcrt

    _BEHIND = 2**30
    """Place of the locked byte, behind any content: others may not even read a byte that is locked."""

    def lock(file: FileIO) -> None:
        """Lock an open file; raise BlockingIOError if another process holds the lock."""
        file.seek(_BEHIND)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from error
        finally:
            file.seek(0)

else:
    import fcntl

    def lock(file: FileIO) -> None:
        """Lock an open file; raise BlockingIOError if another process holds the lock."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
