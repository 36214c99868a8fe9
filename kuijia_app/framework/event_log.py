"""Log of the controller's actions with their times, one JSON object a line; testbeds wait for them and measure them."""

from __future__ import annotations

import errno
import json
import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final, Protocol

from kuijia_base.errors import InputError
from kuijia_base.log_lines import part_logger

SWITCH_READY: Final = "switch-ready"
SWITCH_GONE: Final = "switch-gone"
SWITCH_UNKNOWN: Final = "switch-unknown"
SWITCH_NOT_OURS: Final = "switch-not-ours"
SWITCH_UNFIT: Final = "switch-unfit"
SWITCH_ERROR: Final = "switch-error"
SWITCH_REFUSED: Final = "switch-refused"
SWITCH_DUPLICATE: Final = "switch-duplicate"
SWITCH_UNBOUND: Final = "switch-unbound"
ROLE_TAKEN: Final = "role-taken"
ROLE_YIELDED: Final = "role-yielded"
ROLE_LOST: Final = "role-lost"
ROLE_DENIED: Final = "role-denied"
PEER_UNLISTED: Final = "peer-unlisted"
SUCCESSOR_READY: Final = "successor-ready"
SUCCESSOR_GONE: Final = "successor-gone"
HANDOVER_REFUSED: Final = "handover-refused"
CERTIFICATE_EXPIRES: Final = "certificate-expires"
PORT_STATUS: Final = "port-status"
PORT_DAMPED: Final = "port-damped"
PROBLEM_FOUND: Final = "problem-found"
PROBLEM_GONE: Final = "problem-gone"
TUNNEL_LIVENESS: Final = "tunnel-liveness"
RESTORATION: Final = "restoration"
UPDATE_STARTED: Final = "update-started"
UPDATE_LIVE: Final = "update-live"
UPDATE_DONE: Final = "update-done"
UPDATE_REFUSED: Final = "update-refused"
TABLES_WRONG: Final = "tables-wrong"
HOSTS_WRONG: Final = "hosts-wrong"
"""Somebody else has changed the tables of a switch, which are put right or, if that keeps happening, left for now."""

REOPTIMISED: Final = "reoptimised"
"""Name of an update to a plan that the controller has solved; those by plan files have only hexadecimal digits."""

SWITCH_DROPPED: Final = "switch-dropped"
"""The controller has ended a switch's connection for the given reason; it reads the switch again when it is back."""

FAILURE: Final = "failure"
"""Code of the application raised or hung: the place, the reason, and whether connection or process was given up."""

LONGEST_TEXT = 1000
"""Characters of a text in an event; peers choose some of them."""

LARGEST_FILE = 16_000_000
"""Bytes of the file of events, by default; a larger one gets `.1` behind its name, and a new file begins."""

KEPT_FILES = 4
"""Such earlier files that are kept, by default; the oldest ends in `.4`."""

MOST_KEPT = 1000
"""Each is renamed whenever a new file begins."""


class Log(Protocol):
    """Destination of events, such as `EventLog`."""

    def write(self, event: str, **details: object) -> None: ...


class EventLog:
    """Appends events to a file, each with its time in seconds; without a path it writes nothing.

    `time` is that of the wall clock, `monotonic` that of a clock which nobody sets and which all processes of a machine
    share.

    When a write fails, for example on a full disk or to a pipe whose reader is too slow, the file is given up:
    failover must go on. A file that cannot be renamed is not given up, but grows.

    Raises:
        InputError: the file cannot be written, or is a pipe that nobody reads.
    """

    def __init__(
        self,
        path: Path | None,
        heard: Callable[[str, dict[str, object]], None] | None = None,
        largest: int = LARGEST_FILE,
        kept: int = KEPT_FILES,
    ) -> None:
        """Open the file; `heard` receives each event and its details, also without a file.

        A file of `largest` bytes is renamed, and `kept` renamed ones are kept; 0 bytes mean no limit.
        """
        self._heard = heard
        try:
            self._file = None if path is None else _File(path, largest, kept)
        except OSError as error:
            problem = "nobody reads this pipe" if error.errno == errno.ENXIO else f"cannot be written: {error.strerror}"
            raise InputError(str(path), "", problem, "a file in a folder that exists") from error

    def write(self, event: str, **details: object) -> None:
        if self._heard is not None:
            self._heard(event, details)
        if event != FAILURE:  # which is logged anyway, perhaps in a thread that may not wait for the locks of loggers
            part_logger("events").debug("%s %s", event, details)
        if self._file is None:
            return
        texts = {name: _cut(value) for name, value in details.items()}
        line = json.dumps({"time": time.time(), "monotonic": time.monotonic(), "event": event, **texts}, default=repr)
        try:
            self._file.append(line)
        except OSError:
            part_logger("events").error("%s can no longer be written: no events from now on", self._file.baseFilename)
            with suppress(OSError):
                self._file.close()
            self._file = None


class _File(RotatingFileHandler):
    """A file of lines, each in one write: a reader that follows the file never sees half an event."""

    def __init__(self, path: Path, largest: int, kept: int) -> None:
        super().__init__(path, maxBytes=largest, backupCount=kept, encoding="utf-8")
        self.lock = None  # each line comes from one thread; one that ends the process cannot wait for others

    def append(self, line: str) -> None:
        """Write a line; raises OSError if that fails."""
        self.emit(logging.makeLogRecord({"msg": line}))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the library's name
        del record
        raise  # noqa: PLE0704  # the library calls this where it has caught an error

    def doRollover(self) -> None:  # noqa: N802  # the library's name
        try:
            super().doRollover()
        except OSError as error:
            part_logger("events").error("%s grows: it cannot be renamed: %s", self.baseFilename, error.strerror)
            self.maxBytes = 0
            self.stream = self._open()

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", opener=_open_without_waiting)


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK, 0o666)


def _cut(value: object) -> object:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"{value[:LONGEST_TEXT]}..."
    return value
