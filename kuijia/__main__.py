"""The command `kuijia`, also as `python -m kuijia`: Ctrl-C ends it in one line, whatever it is doing."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_AGAIN_SECONDS = 0.01


def run() -> int:
    """Run the command and return its exit status."""
    sys.unraisablehook = _interrupt_again
    try:
        from kuijia.cli.main import main  # noqa: PLC0415  # takes a tenth of a second, in which Ctrl-C may come

        status = main()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        status = 128 + signal.SIGINT
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left that could say it better
    return status


def _interrupt_again(dropped: UnraisableHookArgs) -> None:
    """Repeat Ctrl-C that came in a finalizer or callback, whose exceptions Python drops."""
    if dropped.exc_type is KeyboardInterrupt:
        threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(dropped)


if __name__ == "__main__":
    sys.exit(run())
