"""Settings of TLS that follow their files: new connections use replaced files, without a restart."""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

Passphrase = Callable[[], str]
"""Returns the passphrase of a private key."""

_INTERVAL: Final = 1.0
"""Seconds between two looks at the files."""

_LOG = logging.getLogger("kuijia.tls")


class FollowedTls:
    """A TLS context made of files, and made again when they change; any thread may call it.

    `make` returns the context. It receives None at first, so that OpenSSL asks at the terminal for the passphrase of an
    encrypted key; later a function that has none, because nobody is there to answer. If it raises OSError later, the
    former context stays in use. `clock` returns seconds.
    """

    def __init__(
        self,
        files: Sequence[str | Path],
        make: Callable[[Passphrase | None], ssl.SSLContext],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make the first context; raises OSError if a file is not usable."""
        self._files = [Path(file) for file in files]
        self._make = make
        self._clock = clock
        self._lock = threading.Lock()
        self._next = clock() + _INTERVAL
        self._seen = self._marks()  # before they are read, so that no later change is missed
        self._context = make(None)

    def __call__(self) -> ssl.SSLContext:
        """Return the context for a new connection; changed files are read, at most once a second."""
        with self._lock:
            now = self._clock()
            if now >= self._next:
                self._next = now + _INTERVAL
                self._look()
            return self._context

    def _look(self) -> None:
        marks = self._marks()
        if marks == self._seen:
            return
        self._seen = marks
        try:
            self._context = self._make(_no_passphrase)
        except OSError as error:  # SSLError is one
            names = ", ".join(map(str, self._files))
            _LOG.error("changed TLS files cannot be used, the old ones stay in use: %s: %s", names, error)
        else:
            _LOG.info("TLS files have changed: new connections use them")

    def _marks(self) -> list[tuple[int, int, int] | None]:
        return [_mark(file) for file in self._files]


def _mark(file: Path) -> tuple[int, int, int] | None:
    """Return what differs after a change of a file, None if it cannot be found."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _no_passphrase() -> str:
    return ""
