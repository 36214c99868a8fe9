"""Replaces a file that others write as well, without losing what they write, at whatever moment."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from pathlib import Path

from kuijia_base.partial_file import partial_beside, sync_folder
from kuijia_base.text import LARGEST_FILE

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NO_EXCHANGE = (errno.EINVAL, errno.ENOSYS, errno.EPERM)
"""Errors of kernels and file systems, such as NFS, that cannot exchange two files."""

_libc = ctypes.CDLL(None, use_errno=True)


def replace_if(
    path: Path, content: bytes, may_replace: Callable[[bytes], bool], replaced_as: Path | None = None
) -> bool:
    """Write `content` to a file that is missing or whose content may be replaced; return True if it was written.

    The old and the new file are exchanged (renameat2(2)), and the old one is checked again: if somebody has replaced it
    since the first check, the two are exchanged back. File systems without this operation leave a gap of microseconds.

    Args:
        path: path of the file; a symbolic link stays one.
        content: the new content.
        may_replace: returns True for content that may be replaced; what is not a regular file, or has more than
            `LARGEST_FILE` bytes, is never replaced.
        replaced_as: where to keep the old file; by default it is dropped.

    Raises:
        OSError: the file cannot be read or written, or the old one cannot be kept.
    """
    target = path.resolve()
    if target.exists() and not _allows(target, may_replace):
        return False
    with partial_beside(target, lambda partial: partial.write_bytes(content)) as ours:
        put = ours.stat().st_ino
        while not _exchanged(ours, target):
            if _linked(ours, target):
                return True
        if not _allows(ours, may_replace):
            _put_back(ours, target, put)
            return False
        sync_folder(target.parent)
        if replaced_as is not None:
            ours.replace(replaced_as)
        return True


def _allows(path: Path, may_replace: Callable[[bytes], bool]) -> bool:
    return path.is_file() and path.stat().st_size <= LARGEST_FILE and may_replace(path.read_bytes())


def _put_back(taken: Path, target: Path, put: int) -> None:
    """Exchange the files again until the newest one is at `target`: the file that comes out is the last one put there.

    Args:
        taken: the file that was at `target`.
        target: the place.
        put: inode number of the file that was put there.
    """
    while True:
        put_next = taken.stat().st_ino
        if not _exchanged(taken, target) or taken.stat().st_ino == put:
            return
        put = put_next


def _linked(ours: Path, target: Path) -> bool:
    """Return True if our file took the place of a missing one."""
    try:
        os.link(ours, target)
    except FileExistsError:
        return False
    return True


def _exchanged(one: Path, other: Path) -> bool:
    """Return True if both files existed and have changed places."""
    if _libc.renameat2(_AT_FDCWD, bytes(one), _AT_FDCWD, bytes(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code == errno.ENOENT:
        return False
    if code not in _NO_EXCHANGE:
        raise OSError(code, os.strerror(code), str(other))
    return _renamed_in_turn(one, other)


def _renamed_in_turn(one: Path, other: Path) -> bool:
    """Do the same by three renames; in between others find no file, and a file that they write is lost."""
    between = one.with_name(f"{one.name}.other")
    try:
        other.replace(between)
    except FileNotFoundError:
        return False
    one.replace(other)
    between.replace(one)
    return True
