"""Replaces files whole or not at all: the new content is written beside the old, and then takes its place."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from kuijia_base.errors import InputError

_PARTIAL = re.compile(r"\..+\.(?P<process>\d+)\.partial(\..*)?")
"""The name of a file while a process, of this number, writes it."""

_NAME_KEPT = 40
"""Characters of a file's name in that of its partial file: no file system's limit is met by what is added."""

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""Answers of file systems that cannot bring a folder to the disk by itself."""


@contextmanager
def partial_beside(target: Path, write: Callable[[Path], object], suffix: str = "") -> Iterator[Path]:
    """Give the path of a file beside `target` that `write` has filled; it is removed after the block.

    Its name tells the process (`remove_partial_files` looks at it) and cannot be guessed; what stands there already is
    never opened. It has the mode and, as far as this is permitted, the owner of the target; without a target the mode
    that the umask leaves. Its content is on the disk.

    Raises:
        OSError: the file cannot be made or written.
    """
    name = f".{target.name[:_NAME_KEPT]}.{secrets.token_hex(8)}.{os.getpid()}.partial{suffix}"
    beside = target.with_name(name)
    try:
        former = target.stat()
    except FileNotFoundError:
        former = None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(beside, flags, 0o666 if former is None else 0o600)
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
    """Put what `write` makes in the place of `target`, and both name and content on the disk.

    Raises:
        OSError: this cannot be done; the target is as it was.
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
    """Give an open file the owner and mode of another, the owner only as far as this is permitted."""
    made = os.fstat(file)
    if former.st_gid != made.st_gid:
        with suppress(PermissionError):
            os.fchown(file, -1, former.st_gid)
    if former.st_uid != made.st_uid:
        with suppress(PermissionError):
            os.fchown(file, former.st_uid, -1)
    os.fchmod(file, stat.S_IMODE(former.st_mode))


def sync_folder(folder: Path) -> None:
    """Bring the names of a folder's files to the disk; raises OSError when the disk fails."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(descriptor)


def remove_partial_files(folder: Path) -> None:
    """Remove what processes that no longer live had begun to write into a folder of this machine.

    Raises:
        InputError: a file cannot be removed.
    """
    for path in folder.iterdir():
        name = _PARTIAL.fullmatch(path.name)
        if name is not None and not Path("/proc", name["process"]).exists():
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise InputError(path, "", f"cannot be removed ({error.strerror})", "permission") from error
