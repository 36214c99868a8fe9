"""Pseudo-terminals for tests of what people see on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_MARK = "\0"


@dataclass(frozen=True)
class Terminal:
    """A pseudo-terminal: the stream to write on, and the descriptor that its output is read from."""

    stream: TextIO
    screen: int

    def written(self) -> str:
        """Return what was written since the last call."""
        self.stream.write(_MARK)  # reading cannot tell a pause from the end
        self.stream.flush()
        found = b""
        while not found.endswith(_MARK.encode()):
            found += os.read(self.screen, 10**6)
        return found.decode().removesuffix(_MARK)

    def shown(self) -> str:
        """Return that without colours and movements."""
        return without_controls(self.written())


@contextmanager
def terminal(columns: int = 80, encoding: str = "utf-8") -> Iterator[Terminal]:
    """Yield a pseudo-terminal that is so wide."""
    screen, descriptor = pty.openpty()
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with os.fdopen(descriptor, "w", encoding=encoding) as stream:
        yield Terminal(stream, screen)
    os.close(screen)


def without_controls(text: str) -> str:
    return _CONTROL.sub("", text)
