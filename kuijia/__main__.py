"""The command `kuijia`, also as `python -m kuijia`: Ctrl-C ends it in one line, whatever it is doing."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_LOOK_SECONDS = 0.01


def run() -> int:
    """Run the command and return its exit status."""
    sys.unraisablehook = _interrupt_again
    status = 128 + signal.SIGINT
    try:
        try:
            from kuijia.cli.main import main  # noqa: PLC0415  # takes a tenth of a second, in which Ctrl-C may come

            status = main()
        finally:
            exec("")  # noqa: S102  # forgets Ctrl-C in an earlier one, for which Python would end `-m kuijia` by a signal
            if threading.current_thread() is threading.main_thread():
                # Python's own end must not change status or last line, but a second Ctrl-C ends what still hangs.
                is_stopped = status == 128 + signal.SIGINT and not isinstance(sys.exc_info()[1], SystemExit)
                signal.signal(signal.SIGINT, signal.SIG_DFL if is_stopped else signal.SIG_IGN)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
    return status


def _interrupt_again(dropped: UnraisableHookArgs) -> None:
    """Repeat Ctrl-C that came in a finalizer or callback, whose exceptions Python drops."""
    if dropped.exc_type is KeyboardInterrupt:
        threading.Thread(target=_interrupt_elsewhere, daemon=True).start()
    else:
        sys.__unraisablehook__(dropped)


def _interrupt_elsewhere() -> None:
    """Interrupt the main thread once it is out of the hook, where the exception would be dropped once more."""
    while _is_in_hook(threading.main_thread()):
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGINT)


def _is_in_hook(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001  # documented, and the only way to its stack
    while frame is not None and frame.f_code is not _interrupt_again.__code__:
        frame = frame.f_back
    return frame is not None


if __name__ == "__main__":
    sys.exit(run())
