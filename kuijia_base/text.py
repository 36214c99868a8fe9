"""Reads and writes files and their text, pipes and CSV for others too: every failure becomes one clear InputError."""

from __future__ import annotations

import csv
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import BinaryIO

from kuijia_base.errors import InputError, quoted
from kuijia_base.partial_file import replace_file, replace_files
from kuijia_base.reading import reason_of

SECONDS = 0.75
"""Time in which somebody must open a pipe to write: with the start of a command less than two seconds."""


def open_to_read(path: Path) -> BinaryIO:
    """Return an open file.

    Raises:
        OSError: it cannot be opened, or it is a named pipe that nobody opens to write in time.
        ValueError: the path has a NUL.
    """
    if not stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb")
    opened: SimpleQueue[BinaryIO | OSError] = SimpleQueue()

    def wait() -> None:
        try:
            opened.put(path.open("rb"))
        except OSError as error:
            opened.put(error)

    Thread(target=wait, daemon=True).start()
    try:
        found = opened.get(timeout=SECONDS)
    except Empty:
        _end_wait(path)
        raise TimeoutError("nobody writes to this pipe") from None
    if isinstance(found, OSError):
        raise found
    return found


def _end_wait(path: Path) -> None:
    """Be the writer of a pipe for a moment, so that whoever waits for one gets an empty file."""
    if sys.platform != "win32":  # which has no such files
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))


LARGEST_FILE = 64 * 2**20
"""Most bytes of a file that is read as a whole, unless its format says otherwise."""

LONGEST_LINE = 64 * 2**20
"""Most bytes of a line; each line must fit into memory."""

_MOST_LINES = 5_000_000
"""Of a file that is read line by line, which may have no end."""

_WRITABLE = "a path that can be written to"

LONGEST_NAME = 255
"""Most bytes of a file's name, on all file systems of Linux."""

_MOST_DIGITS = 40
"""Most digits of a whole number: seeds have up to 128 bits, and Python refuses more than 4,300 digits."""

Note = Callable[[str], None]
"""Receives one sentence, without its full stop, about what a reader assumes where a file leaves something open."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_bytes(path: Path, expected: str, most: int = LARGEST_FILE) -> bytes:
    """Return the content of a file.

    Args:
        path: path of the file.
        expected: the expected content, for the error.
        most: most bytes to read; a larger file is refused without reading the rest.

    Raises:
        InputError: it cannot be read or is too large.
    """
    try:
        with open_to_read(path) as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:  # ValueError: the path has a NUL
        raise InputError(path, "", f"cannot be read ({reason_of(error)})", expected) from error
    if len(content) > most:
        raise InputError(path, "", "is too large", f"{expected} of at most {most / 2**20:g} MiB")
    return content


def read_text(path: Path, expected: str, most: int = LARGEST_FILE) -> str:
    """Return the text of a UTF-8 file, without byte order mark, every line end a newline.

    Raises:
        InputError: the file cannot be read, is not UTF-8 or has more than `most` bytes; the error names the
            `expected` content.
    """
    content = read_bytes(path, expected, most).removeprefix(_BYTE_ORDER_MARK)
    return _decoded(path, content, first_line=1).replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path, expected: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, as in `read_text`; only one is in memory at a time.

    Raises:
        InputError: as `read_text`, or a line is longer than `LONGEST_LINE`, or there are too many.
    """
    number = 0
    try:
        with open_to_read(path) as file:
            content = file.readline(LONGEST_LINE + 1).removeprefix(_BYTE_ORDER_MARK)
            while content:
                if len(content) > LONGEST_LINE:
                    raise InputError(path, number + 1, "a line that does not end", f"at most {LONGEST_LINE} bytes")
                text = _decoded(path, content, first_line=number + 1)
                for line in text.removesuffix("\n").removesuffix("\r").split("\r"):
                    number += 1
                    if number > _MOST_LINES:
                        raise InputError(path, number, "a file that does not end", f"at most {_MOST_LINES} lines")
                    yield number, line
                content = file.readline(LONGEST_LINE + 1)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: the path has a NUL
        raise InputError(path, "", f"cannot be read ({reason_of(error)})", expected) from error


def _decoded(path: Path, content: bytes, first_line: int) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        raise InputError(path, line, f"byte {content[error.start]:#04x} is not UTF-8", "text in UTF-8") from error


def write_text(path: Path, text: str) -> None:
    """Write a whole file in UTF-8, as `write_bytes` does."""
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        problem = f"cannot hold the character {error.object[error.start]!r}"
        raise InputError(path, "", problem, "names and texts that UTF-8 has") from error
    write_bytes(path, content)


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write several whole files into a folder, by their names, or none of them.

    Raises:
        InputError: they cannot be written; what stood there before is unchanged.
    """
    try:
        replace_files({folder.resolve() / name: text.encode() for name, text in texts.items()})
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(folder, "", f"cannot be written to ({reason_of(error)})", _WRITABLE) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file or nothing: the old file stays until the new content is complete.

    Devices and pipes, such as /dev/stdout, are written to directly.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        if _is_device(path):
            _write_to_device(path, content)
            return
        replace_file(path.resolve(), lambda partial: partial.write_bytes(content))  # a symbolic link stays one
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(path, "", f"cannot be written ({reason_of(error)})", _WRITABLE) from error


def _is_device(path: Path) -> bool:
    """Return True if something other than a file is there; raise OSError if links lead nowhere."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _write_to_device(path: Path, content: bytes) -> None:
    """Write to a device or pipe; a pipe without a reader raises OSError instead of waiting for ever."""
    if sys.platform == "win32":
        path.write_bytes(content)
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as device:
        device.write(content)


def require_writable(path: Path) -> None:
    """Raise InputError if a file cannot be written; call this before long work."""
    try:
        if path.is_dir():
            raise InputError(path, "", "is a folder", _WRITABLE)
        _is_device(path)
        folder = path.parent
        if not folder.is_dir():
            raise InputError(path, "", f"cannot be written (there is no folder {folder})", _WRITABLE)
        if not os.access(folder, os.W_OK | os.X_OK) and not (path.exists() and os.access(path, os.W_OK)):
            raise InputError(path, "", f"cannot be written (folder {folder} cannot be written to)", _WRITABLE)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(path, "", f"cannot be written ({reason_of(error)})", _WRITABLE) from error


def is_file_name(name: str) -> bool:
    """Return True if a text can be the name of a file in a folder: it does not lead out of it and has no controls."""
    return name.isprintable() and "/" not in name and name not in {"", ".", ".."} and len(name.encode()) <= LONGEST_NAME


def parse_number(text: str) -> float | None:
    """Return the number in plain decimal notation, None if it is none; `nan` and `inf` are numbers."""
    if "_" in text or not text.isascii():  # float() accepts 1_000 and digits of other scripts
        return None
    try:
        return float(text)
    except ValueError:
        return None


def parse_whole(text: str) -> int | None:
    """Return the whole number, zero or more, written in digits only; None if it is none or too long."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def require_number(text: str, source: str | Path, place: str | int, what: str, expected: str) -> float:
    """Return the number that `parse_number` finds; raise InputError, which calls it `what`, if it is none."""
    number = parse_number(text)
    if number is None:
        raise InputError(source, place, f"{what} {quoted(text)} is not a number", expected)
    return number


def link_id(a: str, b: str) -> str:
    """Return the names of a link's nodes joined by `~`; in the names `%` and `~` become `%25` and `%7E`."""
    return "~".join(name.replace("%", "%25").replace("~", "%7E") for name in (a, b))


def name_in_address(name: str) -> str:
    """Return a node's name as a part of an address has it, before the address itself is encoded.

    Browsers and libraries take `.` and `..` out of addresses, also if their dots are percent-encoded. They become
    `%2E` and `%2E%2E` here, and `%` becomes `%25`.
    """
    return name.replace(".", "%2E") if name in {".", ".."} else name.replace("%", "%25")


def name_of_address(part: str) -> str:
    """Return the name that `name_in_address` has written."""
    return part.replace("%2E", ".").replace("%25", "%")


def link_words(identity: str) -> str:
    """Return a link, given by its id, as people write it."""
    return identity.replace("~", "-").replace("%7E", "~").replace("%25", "%")


def unheard(_sentence: str) -> None:
    """Ignore notes: a `Note` for callers who do not need them."""


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of cells that spreadsheets compute; an apostrophe before them makes a cell text."""


def csv_text(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return the text of a CSV file; numbers keep all digits, text that a spreadsheet would compute gets an apostrophe.

    A name such as `=HYPERLINK(...)` may come from somebody else's file, and the reader of the table trusts us.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(_inert, row) for row in rows)
    return text.getvalue()


def _inert(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and len(cell) > 1 and cell.startswith(_FORMULA) else cell
