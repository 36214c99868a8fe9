"""Notes when a process of a given niceness was not run in time; needs only Python.

Argument: the niceness. Prints `ticking` when it is ready. When terminated it prints a line of JSON: `stalls`, pairs of
the time at which it should have run and at which it did, in seconds of the monotonic clock; only delays of at least
`LATE_SECONDS` are noted. On failure it prints the error instead.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from types import FrameType

TICK_SECONDS = 0.005
LATE_SECONDS = 0.01


class _Terminated(BaseException):
    """Raised on SIGTERM."""


def watch() -> list[tuple[float, float]]:
    """Return the delays until the program is terminated."""
    stalls: list[tuple[float, float]] = []
    try:
        due = time.monotonic() + TICK_SECONDS
        while True:
            time.sleep(max(0.0, due - time.monotonic()))
            now = time.monotonic()
            if now - due >= LATE_SECONDS:
                stalls.append((due, now))
            due = now + TICK_SECONDS
    except _Terminated:
        return stalls


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Terminated


def main() -> None:
    signal.signal(signal.SIGTERM, _terminate)
    gc.disable()
    try:
        os.setpriority(os.PRIO_PROCESS, 0, int(sys.argv[1]))
        _say("ticking")
        stalls = watch()
    except OSError as error:
        _say(str(error.strerror))
        sys.exit(1)
    _say(json.dumps({"stalls": stalls}))


if __name__ == "__main__":
    main()
