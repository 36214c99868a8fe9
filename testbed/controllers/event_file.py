"""Follows a file of events that its writer renames when it is large (`kuijia_app.framework.event_log`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from testbed.machine.bounded_output import LONGEST_OUTPUT, require_short

_LONGEST_EVENT = 1 << 20
"""Bytes."""


class EventFile:
    """The lines of a file, read piece by piece while it is written and renamed.

    The file that is being read stays open: under whatever name, it is read to its end, and then the one after it. What
    the writer has deleted before it could be opened is lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._begun = b""

    def clear(self) -> None:
        """Empty the file, delete those that an earlier writer has renamed, and begin again."""
        self._let_go()
        for earlier in self._renamed().values():
            earlier.unlink()
        self._path.write_bytes(b"")
        self._begun = b""

    def new_lines(self) -> list[bytes]:
        """Return the lines since the last call; one still being written is left for the next call."""
        read = b"".join(iter(self._next_piece, b""))
        complete, newline, self._begun = (self._begun + read).rpartition(b"\n")
        require_short(len(self._begun), f"an event in {self._path}", _LONGEST_EVENT)
        return (complete + newline).splitlines()

    def _next_piece(self) -> bytes:
        """Return what can be read now, b"" at the end of the last file."""
        if self._file is None:
            self._file = [*self._renamed().values(), self._path][0].open("rb")
        read = self._file.read(LONGEST_OUTPUT)
        if read:
            return read
        later = self._later_file()
        if later is None:
            return b""
        last = self._file.read(LONGEST_OUTPUT)  # written before the file was renamed
        if last:
            later.close()
            return last
        self._let_go()
        self._file = later
        return self._next_piece()

    def _later_file(self) -> IO[bytes] | None:
        """Open the file that follows the present one; None if there is none, or files are being renamed just now."""
        assert self._file is not None
        present = os.fstat(self._file.fileno())
        try:
            if os.path.samestat(self._path.stat(), present):
                return None
            renamed = self._renamed()
            place = next((n for n, path in renamed.items() if os.path.samestat(path.stat(), present)), None)
            if place is None:
                return None if present.st_nlink else [*renamed.values(), self._path][0].open("rb")
            later = self._named(place - 1).open("rb")
            # The writer renames the earliest first: if that has moved, perhaps another one was opened.
            if os.path.samestat(renamed[place].stat(), present):
                return later
            later.close()
        except FileNotFoundError:
            pass
        return None

    def _renamed(self) -> dict[int, Path]:
        """Return the renamed files by their numbers, the earliest first; it may miss some that are renamed just now."""
        suffixes = (path.suffix[1:] for path in self._path.parent.glob(f"{self._path.name}.*"))
        return {
            number: self._named(number) for number in sorted(map(int, filter(str.isdecimal, suffixes)), reverse=True)
        }

    def _named(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
