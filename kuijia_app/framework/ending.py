"""Ends the whole process in any case, after its last messages, so that a supervisor restarts it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from kuijia_base.errors import InputError, KuijiaError

EXIT_STATUS = os.EX_SOFTWARE
"""70 (sysexits.h): the program itself failed, and a restart is right."""

LAST_WORDS = 1.0
"""Seconds for the last messages; if they take longer, as on a full pipe, the kernel ends the process by SIGALRM."""


def refuse_to_start(error: KuijiaError | ValueError, source: str) -> NoReturn:
    """Print why an application does not start, in one line, and end: the frameworks would print a traceback.

    `source` is the file at fault if the error does not name it. Call this in the constructor of the application.
    """
    named = "" if isinstance(error, KuijiaError) else f"{source}: "
    print(f"error: {named}{error}", file=sys.stderr)  # noqa: T201
    raise SystemExit(error.exit_status if isinstance(error, KuijiaError) else InputError.exit_status) from error


def end_process(say: Callable[[], None]) -> NoReturn:
    """Call `say`, then exit with `EXIT_STATUS`, even if `say` fails or hangs.

    May be called in any thread. Other threads are neither awaited nor unwound: one of them may hang. Everything
    that this process writes is either unbuffered (events, logs) or put in place as a whole (plan files).
    """
    signal.setitimer(signal.ITIMER_REAL, LAST_WORDS)
    try:
        say()
    finally:
        os._exit(EXIT_STATUS)
