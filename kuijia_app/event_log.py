"""What the controller did and when, one JSON object a line, so that a testbed can wait for it and measure it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Final

from te_solver.errors import InputError

SWITCH_READY: Final = "switch-ready"
SWITCH_GONE: Final = "switch-gone"
SWITCH_UNKNOWN: Final = "switch-unknown"
SWITCH_ERROR: Final = "switch-error"
PORT_STATUS: Final = "port-status"
TUNNEL_LIVENESS: Final = "tunnel-liveness"


class EventLog:
    """Appends events to a file, each with its wall-clock time in seconds; without a path it keeps silent.

    Raises:
        InputError: the file cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        try:
            self._file = None if path is None else path.open("a", encoding="utf-8")
        except OSError as error:
            problem = f"cannot be written: {error.strerror}"
            raise InputError(str(path), "", problem, "a file in a folder that exists") from error

    def write(self, event: str, **details: object) -> None:
        if self._file is None:
            return
        # One write per line, flushed: a reader that follows the file never sees half an event.
        self._file.write(json.dumps({"time": time.time(), "event": event, **details}) + "\n")
        self._file.flush()
