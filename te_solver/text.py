"""Files in and out, and the text found in them: every failure becomes one clear InputError."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from te_solver.errors import InputError, quoted

LONGEST_LINE = 64 * 2**20
"""Bytes; a line that a file is read by has to fit into memory."""

_PARTIAL = re.compile(r"\..+\.(?P<process>\d+)\.partial(\..*)?")
"""What a file is called while a process, of this number, writes it."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_bytes(path: Path, expected: str) -> bytes:
    """The content of a file; raises InputError when it cannot be read, which says what was `expected`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(path, "", f"cannot be read ({error.strerror})", expected) from error


def read_text(path: Path, expected: str) -> str:
    """The text of a UTF-8 file, without byte order mark, every line end a newline.

    Raises:
        InputError: the file cannot be read or is not UTF-8; `expected` says what it should have been.
    """
    content = read_bytes(path, expected).removeprefix(_BYTE_ORDER_MARK)
    return _decoded(path, content, first_line=1).replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path, expected: str) -> Iterator[tuple[int, str]]:
    """The lines of a file as `read_text` would give them, with their numbers, held one at a time.

    Raises:
        InputError: as `read_text`, or a line is longer than `LONGEST_LINE`.
    """
    number = 0
    try:
        with path.open("rb") as file:
            content = file.readline(LONGEST_LINE + 1).removeprefix(_BYTE_ORDER_MARK)
            while content:
                if len(content) > LONGEST_LINE:
                    raise InputError(path, number + 1, "a line that does not end", f"at most {LONGEST_LINE} bytes")
                text = _decoded(path, content, first_line=number + 1)
                for line in text.removesuffix("\n").removesuffix("\r").split("\r"):
                    number += 1
                    yield number, line
                content = file.readline(LONGEST_LINE + 1)
    except OSError as error:
        raise InputError(path, "", f"cannot be read ({error.strerror})", expected) from error


def _decoded(path: Path, content: bytes, first_line: int) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        raise InputError(path, line, f"byte {content[error.start]:#04x} is not UTF-8", "text in UTF-8") from error


def write_text(path: Path, text: str) -> None:
    """Write a whole file in UTF-8, as `write_bytes` does."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file or nothing: what stood there before stays until the new content is complete.

    Devices and pipes, such as /dev/stdout, are written to directly.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        target = path.resolve()  # a symbolic link stays one
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            partial.write_bytes(content)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(path, "", f"cannot be written ({error.strerror})", "a path that can be written to") from error


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


def require_writable(path: Path) -> None:
    """Find out before long work whether a file can be written afterwards; raises InputError when it cannot."""
    expected = "a path that can be written to"
    try:
        if path.is_dir():
            raise InputError(path, "", "is a folder", expected)
        folder = path.parent
        if not folder.is_dir():
            raise InputError(path, "", f"cannot be written (there is no folder {folder})", expected)
        if not os.access(folder, os.W_OK | os.X_OK) and not (path.exists() and os.access(path, os.W_OK)):
            raise InputError(path, "", f"cannot be written (folder {folder} cannot be written to)", expected)
    except OSError as error:
        raise InputError(path, "", f"cannot be written ({error.strerror})", expected) from error


def parse_number(text: str) -> float | None:
    """The number a user wrote in plain decimal notation, None when it is none; `nan` and `inf` are numbers."""
    if "_" in text or not text.isascii():  # float() would take 1_000 and digits of other scripts
        return None
    try:
        return float(text)
    except ValueError:
        return None


def require_number(text: str, source: str | Path, place: str | int, what: str, expected: str) -> float:
    """The number that `parse_number` finds; raises InputError, which calls it `what`, when it is none."""
    number = parse_number(text)
    if number is None:
        raise InputError(source, place, f"{what} {quoted(text)} is not a number", expected)
    return number
