"""Checks that only their owner, or root, can have created files and folders, before these are trusted."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kuijia_base.errors import TestbedError

LONGEST_RECORD = 1 << 16


def fault_of_folder(folder: Path) -> str | None:
    """Return why a folder is not to be trusted, None when it is: ours or root's, and theirs alone to write."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder"
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to user {found.st_uid}"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by others than its owner"
    return None


def require_trusted(folder: Path) -> None:
    """Raise TestbedError if others may have created files in a folder, OSError if it cannot be inspected."""
    fault = fault_of_folder(folder)
    if fault is not None:
        raise TestbedError(
            f"{folder} {fault}, expected a folder of root's or one's own that only its owner can write to"
        )


def read_record(path: Path) -> bytes:
    """Return the beginning of a file of `LONGEST_RECORD` bytes at most, without following a link in its place.

    Raises:
        OSError: it cannot be read, or a link stands there.
    """
    # Not blocking: there may be a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(LONGEST_RECORD)
