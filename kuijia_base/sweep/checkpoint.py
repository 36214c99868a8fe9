"""The file that keeps the finished cases of a sweep, locked: appended line by line; other sweeps refuse it."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from kuijia_base.errors import InputError

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


FORMAT = "kuijia-sweep"

_SYNC_SECONDS = 1.0
"""An added line survives this process at once, and a crash of the machine after this time."""

_ANOTHER_WAY = "the same command as before, another -o, or no such file"


class Checkpoint:
    """Finished cases in a file: the first line identifies the sweep, each other line holds a case, its result and a
    checksum of the result.

    A truncated last line is dropped, and its case is done again.

    Args:
        path: the file, created if missing.
        sweep: JSON data that the results depend on: settings by name, among them the number of `cases`.

    Attributes:
        done: the results of finished cases by number.

    Raises:
        InputError: the file belongs to another sweep, is damaged, is in use, or cannot be written.
    """

    def __init__(self, path: Path, sweep: Mapping[str, Any]) -> None:
        self.path = path
        self.done: dict[int, Any] = {}
        self._synced = time.monotonic()
        try:
            if path.exists() and not path.is_file():
                raise InputError(path, "", "is not a regular file", "another -o, or no such file")
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._lock()
            self._read(dict(sweep))
        except BaseException:
            self._file.close()
            raise

    def add(self, case: int, text: str) -> None:
        """Keep a result, given as JSON text; raises InputError if it cannot be written."""
        self._append(f"[{case}, {text}, {_checksum(text)}]\n")
        if time.monotonic() - self._synced >= _SYNC_SECONDS:
            self._sync()
        self.done[case] = json.loads(text)

    def close(self) -> None:
        """Close the file for a later run, or remove it if it holds no case."""
        if self._file.closed:
            return
        if self.done:
            self._sync()
            self._file.close()
        else:
            self.remove()

    def remove(self) -> None:
        """Remove the file once the sweep's own files are written."""
        if sys.platform == "win32":  # which removes no open file
            self._file.close()
        self.path.unlink(missing_ok=True)
        self._file.close()

    def _lock(self) -> None:
        try:
            lock(self._file)
        except BlockingIOError as error:
            raise InputError(
                self.path, "", "another run is writing to it", "one run at a time, or another -o"
            ) from error

    def _read(self, sweep: dict[str, Any]) -> None:
        header = json.dumps({"format": FORMAT, **sweep}, allow_nan=False) + "\n"
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        if not whole and header.encode().startswith(content):
            self._begin(header)
            return
        first, *others = whole.splitlines() or [content]
        told = "; ".join(_differences(self._header(first), json.loads(header)))
        if told and others:
            raise InputError(self.path, "", f"holds results of another run ({told})", _ANOTHER_WAY)
        if told:
            self._begin(header)
            return
        for number, line in enumerate(others, start=2):
            case, result = self._case(line, number, sweep["cases"])
            self.done[case] = result
        self._cut(len(whole))

    def _begin(self, header: str) -> None:
        self._cut(0)
        self._append(header)

    def _case(self, line: bytes, number: int, cases: int) -> tuple[int, Any]:
        try:
            text = line.decode()
            case, result, checksum = json.loads(text)
            sound = checksum == _checksum(text[text.index(",") + 2 : text.rindex(",")])
        except (ValueError, TypeError, RecursionError):
            case, result, sound = None, None, False
        if not sound or type(case) is not int or not 0 <= case < cases:
            raise InputError(self.path, number, "is not a finished case", "a file as a sweep left it, or none")
        return case, result

    def _header(self, line: bytes) -> dict[str, Any]:
        try:
            header = json.loads(line)
        except (ValueError, RecursionError):
            header = None
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise InputError(self.path, "", "is not a checkpoint of a sweep", "another -o, or no such file")
        return header

    def _cut(self, length: int) -> None:
        try:
            self._file.truncate(length)
        except OSError as error:
            raise self._unwritable(error) from error

    def _append(self, line: str) -> None:
        try:
            if self._file.write(line.encode()) != len(line.encode()):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise self._unwritable(error) from error

    def _sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error
        self._synced = time.monotonic()

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(self.path, "", f"cannot be written ({error.strerror})", "space and permission")


def _checksum(text: str) -> int:
    """Return a checksum that reveals a damaged line: users of a result trust its form."""
    return zlib.crc32(text.encode())


def _differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[str]:
    for key in {**theirs, **ours}:
        before, now = theirs.get(key), ours.get(key)
        if before != now:
            yield "another version of the program" if key == "code" else f"{key} was {before}, is {now}"
