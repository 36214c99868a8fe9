"""Recordings of the live lab: a folder with one file of JSON lines, written while it is shown and played back later."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from kuijia_base.errors import InputError
from testbed.web.backend import LogEntry
from testbed.web.shapes import to_json

FILE_NAME = "web-recording.jsonl"


class Recorder:
    """Writes what the server shows: lines of `{"lab": ...}`, `{"state": ...}` and `{"log": ...}`.

    Raises:
        InputError: the folder cannot be made or written to, or has a recording.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / FILE_NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("xb")
        except FileExistsError as error:
            raise InputError(folder, "", "it has a recording", "a folder without one") from error
        except (OSError, ValueError) as error:
            raise InputError(folder, "", f"cannot be written to ({error})", "a folder to record in") from error

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def lab(self, encoded: bytes) -> None:
        self._write(b"lab", encoded)

    def state(self, encoded: bytes) -> None:
        self._write(b"state", encoded)

    def log(self, entries: Sequence[LogEntry]) -> None:
        for entry in entries:
            self._write(b"log", json.dumps(to_json(entry), separators=(",", ":")).encode())

    def _write(self, what: bytes, encoded: bytes) -> None:
        if not self._file.closed:
            self._file.write(b'{"%s":%s}\n' % (what, encoded))
