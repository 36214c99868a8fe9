"""Whole text files in and out, and what is found in them: every failure becomes one clear InputError."""

from __future__ import annotations

import os
from pathlib import Path

from te_solver.errors import InputError


def read_text(path: Path, expected: str) -> str:
    """The text of a UTF-8 file, without byte order mark, every line end a newline.

    Raises:
        InputError: the file cannot be read or is not UTF-8; `expected` says what it should have been.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(path, "", f"cannot be read ({error.strerror})", expected) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(path, line, f"byte {content[error.start]:#04x} is not UTF-8", "text in UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing: what stood there before stays until the new text is complete.

    Devices and pipes, such as /dev/stdout, are written to directly.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        target = path.resolve()  # a symbolic link stays one
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            partial.write_text(text, encoding="utf-8")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(path, "", f"cannot be written ({error.strerror})", "a path that can be written to") from error


def parse_number(text: str) -> float | None:
    """The number a user wrote in plain decimal notation, None when it is none; `nan` and `inf` are numbers."""
    if "_" in text or not text.isascii():  # float() would take 1_000 and digits of other scripts
        return None
    try:
        return float(text)
    except ValueError:
        return None
