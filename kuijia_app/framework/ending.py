"""Ends the whole process for sure, with its last words, so that whoever supervises it starts it anew."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import NoReturn

EXIT_STATUS = os.EX_SOFTWARE
"""70 (sysexits.h): the program itself failed, and starting it anew is right."""

LAST_WORDS = 1.0
"""Seconds for the last words; the kernel ends the process by SIGALRM when they take longer, as on a full pipe."""


def end_process(say: Callable[[], None]) -> NoReturn:
    """Call `say`, then exit with `EXIT_STATUS`, whatever becomes of `say`.

    May be called in any thread. Other threads are neither waited for nor unwound: one of them may be what hangs. All
    that this process writes is either unbuffered (events, logs) or put in place whole (plan files).
    """
    signal.setitimer(signal.ITIMER_REAL, LAST_WORDS)
    try:
        say()
    finally:
        os._exit(EXIT_STATUS)
