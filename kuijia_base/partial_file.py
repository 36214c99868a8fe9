"""Replaces files as a whole or not at all: a second file gets the new content and then takes the place of the old."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from kuijia_base.errors import InputError

_PARTIAL = re.compile(r"\..+\.(?P<process>\d+)\.partial(\..*)?")
"""Name of a file while the process with this id writes it."""

_NAME_KEPT = 40
"""Characters of a file's name in that of its partial file, so that the latter is within any file system's limit."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
"""Windows has neither of the last two: its files are not inherited, and O_EXCL follows no link anywhere."""

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""Errors of file systems that cannot flush a folder to the disk."""


@contextmanager
def partial_beside(
    target: Path, write: Callable[[Path], object], suffix: str = "", mode: int | None = None
) -> Iterator[Path]:
    """Yield the path of a file beside `target` that `write` has filled; it is removed after the block.

    Its name contains the process id (for `remove_partial_files`) and cannot be guessed; a file that exists there is
    never opened. It has the mode of the target and, if permitted, the owner; without a target the mode
    that the umask allows; with `mode`, that one from the start. Its content is flushed to the disk.

    Raises:
        OSError: the file cannot be created or written.
    """
    name = f".{target.name[:_NAME_KEPT]}.{secrets.token_hex(8)}.{os.getpid()}.partial{suffix}"
    beside = target.with_name(name)
    try:
        former = target.stat() if mode is None else None
    except FileNotFoundError:
        former = None
    file = os.open(beside, _CREATE, 0o600 if former is not None else 0o666 if mode is None else mode)
    try:
        try:
            write(beside)
            if former is not None:
                _make_alike(file, former)
            os.fsync(file)
        finally:
            os.close(file)
        yield beside
    finally:
        beside.unlink(missing_ok=True)


def replace_file(target: Path, write: Callable[[Path], object], suffix: str = "") -> None:
    """Replace `target` by the file that `write` makes, and flush name and content to the disk.

    Raises:
        OSError: this failed; the target is unchanged.
    """
    with partial_beside(target, write, suffix) as written:
        written.replace(target)
        sync_folder(target.parent)


def replace_files(contents: Mapping[Path, bytes]) -> None:
    """Do the same for several files of one folder: all contents are on the disk before the first takes its place.

    Raises:
        OSError: this cannot be done; unless the disk itself fails, all files are as they were.
    """
    with ExitStack() as partials:
        made: dict[Path, Path] = {}
        for target, content in contents.items():
            made[target] = partials.enter_context(partial_beside(target, partial(_write, content)))
        for target, written in made.items():
            written.replace(target)
        for folder in {target.parent for target in made}:
            sync_folder(folder)


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _make_alike(file: int, former: os.stat_result) -> None:
    """Give an open file the mode of another and, if permitted, the owner."""
    if sys.platform == "win32":  # whose files have no such modes and owners
        return
    made = os.fstat(file)
    if former.st_gid != made.st_gid:
        with suppress(PermissionError):
            os.fchown(file, -1, former.st_gid)
    if former.st_uid != made.st_uid:
        with suppress(PermissionError):
            os.fchown(file, former.st_uid, -1)
    os.fchmod(file, stat.S_IMODE(former.st_mode))


def sync_folder(folder: Path) -> None:
    """Flush the names of a folder's files to the disk; raise OSError if the disk fails."""
    if sys.platform == "win32":  # which opens no folders
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(descriptor)


def remove_partial_files(folder: Path) -> None:
    """Remove the partial files of dead processes from a folder of this machine.

    Raises:
        InputError: a file cannot be removed.
    """
    for path in folder.iterdir():
        name = _PARTIAL.fullmatch(path.name)
        if name is not None and not _may_live(name["process"]):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise InputError(path, "", f"cannot be removed ({error.strerror})", "permission") from error


def _may_live(process: str) -> bool:
    """Return False if a process is dead for certain; only Linux shows all processes as files."""
    return sys.platform != "linux" or Path("/proc", process).exists()
