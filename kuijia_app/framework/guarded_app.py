"""Base of applications that notices when a handler or thread raises, ends or hangs, under either framework.

Under os-ken an exception ends the event loop silently; Ryu goes on as if nothing had happened. Here a failure
is logged with the event being handled. Then everything that it may have left inconsistent is given up: the
connection (the switch connects again) or the process (a supervisor restarts it, see `kuijia_app.framework.ending`).
"""

from __future__ import annotations

import ctypes
import gc
import io
import logging
import signal
import sys
import time
import traceback
from abc import abstractmethod
from collections.abc import Callable
from functools import partial, wraps
from inspect import getmembers, ismethod
from types import FrameType
from typing import Any, NoReturn, TypeVar

from kuijia_app.framework import event_log
from kuijia_app.framework.ending import EXIT_STATUS, end_process
from kuijia_app.framework.seam import SHARES_ONE_THREAD, BaseApp, Harm, hub, native_threading, native_time
from kuijia_app.framework.switch_limits import BackOff, SwitchFaultError, repeated
from kuijia_app.framework.watchdog import Watchdog
from kuijia_base.log_lines import LineFormatter, part_logger

_Body = TypeVar("_Body", bound=Callable[..., None])

_LONGEST_ERROR = 300
_LONGEST_TRACE = 10_000
"""Characters."""

_STDERR = 2
_EXITS = f"exits with status {EXIT_STATUS}"

_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
"""Parameters of `mallopt(3)`."""

_OWN_PAGES = 32 * 1024
"""Bytes from which on a block has pages of its own: buffers of sockets, and messages of polls."""

_COLLECTIONS = 1000
"""Searches for cyclic garbage among younger objects before one among all; Python's default is 10. While messages are
made from large tables there are a million objects, and a search stops all threads for a third of a second."""

_EVENT_LOOP = "event loop"
_GATE = "gate"


def background(body: _Body) -> _Body:
    """Mark a method of an application as the body of a thread, which runs from `start` on and never returns."""
    vars(body)["is_background"] = True
    return body


class GuardedApp(BaseApp):  # type: ignore[misc]  # the base class is one of two untyped ones
    """Guards every handler and every thread, by overriding the methods that the frameworks call.

    Every failure goes to the logger and to `_log`, which the application sets.

    Attributes:
        part: short name of the application in logs.
    """

    part = "application"

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        self.logger = part_logger(self.part)
        self._formatter = LineFormatter()
        self._log: event_log.Log = event_log.EventLog(None)
        self._reports = BackOff()
        self._watchdog = Watchdog(self._stalled, native_time.sleep)
        self._watchdog.expect(_EVENT_LOOP)
        self._loop_threads: dict[str, int] = {}
        self._loop_greenlets: dict[str, Any] = {}

    def start(self) -> None:
        """Start the threads; either framework calls this in the main thread."""
        # Under Ryu an interrupt would be raised in whichever green thread runs, perhaps in a handler.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the last resort of `end_process`
        gc.set_threshold(*gc.get_threshold()[:2], _COLLECTIONS)
        super().start()
        for name, body in getmembers(self, lambda member: ismethod(member) and hasattr(member, "is_background")):
            self.threads.append(hub.spawn(self._run_for_ever, f"thread {name}", body))
        native_threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> NoReturn:
        """Exit: a framework stops its applications when it no longer listens, so no switch could connect."""
        self._exit("framework", "no longer listens for switches")

    def register_handler(self, event_class: Any, handler: Callable[[Any], None]) -> None:
        """Register a handler, guarded."""
        super().register_handler(event_class, self._guarded(handler))

    def gate_turned(self) -> None:
        """Note that the gate's loop has turned; that loop calls this in each turn."""
        if _GATE not in self._loop_threads:
            self._note_loop(_GATE)
        self._watchdog.beat(_GATE)

    def gate_failed(self, error: Exception) -> NoReturn:
        """Exit, as the gate's loop has raised: no switch would be served."""
        self._exit(_GATE, "has failed", error)

    @abstractmethod
    def _drop(self, datapath: Any, reason: str) -> None:
        """End a connection and ignore its further events; its switch may be unknown."""

    def _close(self, datapath: Any) -> None:
        """End a connection in a separate thread: closing sends this application an event, and its queue may be full."""
        hub.spawn(self._run, "closing a connection", datapath.close)

    def _guarded(self, handle: Callable[[Any], None]) -> Callable[[Any], None]:
        @wraps(handle)
        def guarded(event: Any) -> None:
            try:
                handle(event)
            except BaseException as error:  # noqa: BLE001  # the frameworks would hide it
                self._run("guard", partial(self._handler_failed, handle, event, error))
            self._watchdog.beat(_EVENT_LOOP)

        return guarded

    def _handler_failed(self, handle: Callable[[Any], None], event: Any, error: BaseException) -> None:
        datapath = _datapath(event)
        if isinstance(error, SwitchFaultError) and datapath is not None:
            self._drop(datapath, str(error))
            return
        part = f"handler {handle.__name__} of {_described(event)}"
        harms = getattr(handle, "harms", Harm.APPLICATION)
        if harms is Harm.APPLICATION or datapath is None or not isinstance(error, Exception):
            self._exit(part, "raised", error)
        told = self._reports.occurred((handle.__name__, type(error)), time.monotonic())
        if told is not None:
            self._log.write(event_log.FAILURE, part=part, error=_text(error), given_up="connection", times=told)
            self.logger.error("%s raised, its connection is dropped%s", part, repeated(told), exc_info=error)
        self._drop(datapath, f"handler {handle.__name__} raised {_text(error)}")

    def _event_loop(self) -> None:
        self._note_loop(_EVENT_LOOP)
        self._run_for_ever(_EVENT_LOOP, super()._event_loop)

    def _note_loop(self, loop: str) -> None:
        """Note the current thread as that of a loop."""
        if SHARES_ONE_THREAD:
            self._loop_greenlets[loop] = hub.getcurrent()
        self._loop_threads[loop] = native_threading.get_ident()

    def _run_for_ever(self, part: str, body: Callable[[], None]) -> NoReturn:
        self._run(part, body)
        self._exit(part, "has ended")

    def _run(self, part: str, body: Callable[[], None]) -> None:
        try:
            body()
        except BaseException as error:  # noqa: BLE001  # a thread that ends does so unseen
            self._exit(part, "raised", error)

    def _exit(self, part: str, problem: str, error: BaseException | None = None) -> NoReturn:
        def say() -> None:
            self._log.write(event_log.FAILURE, part=part, error=_text(error) if error else problem, given_up="process")
            self.logger.critical("%s %s: the process %s", part, problem, _EXITS, exc_info=error)

        end_process(say)

    def _watch(self) -> None:
        try:
            self._watchdog.watch()
        except BaseException as error:  # noqa: BLE001
            self._exit_natively("watchdog", f"raised {_text(error)}", _trace(error))

    def _stalled(self, loop: str, seconds: float) -> None:
        running = sys._current_frames().get(self._loop_threads.get(loop, 0))  # noqa: SLF001  # documented, "for debugging"
        frames = [running, getattr(self._loop_greenlets.get(loop), "gr_frame", None)]
        stacks = [_stack(frame) for frame in frames if frame is not None]
        self._exit_natively(loop, f"has not turned for {seconds:g} s", "and then\n".join(stacks))

    def _exit_natively(self, part: str, problem: str, trace: str) -> NoReturn:
        """Exit from a thread of the operating system, which cannot wait for eventlet's locks, as those of loggers."""

        def say() -> None:
            self._log.write(event_log.FAILURE, part=part, error=problem, given_up="process", at=trace[-_LONGEST_ERROR:])
            words = f"{part} {problem}: the process {_EXITS}"
            line = self._formatter.line(
                native_time.time(), logging.getLevelName(logging.CRITICAL), self.part, words, trace
            )
            io.FileIO(_STDERR, "w", closefd=False).write(f"{line}\n".encode(errors="backslashreplace"))

        end_process(say)


def _datapath(event: Any) -> Any:
    """Return the connection of an event, None for an event that the application sent to itself."""
    return getattr(getattr(event, "msg", event), "datapath", None)


def _described(event: Any) -> str:
    """Return an event's class and, for an event of a switch, its datapath id, address and transaction id."""
    words = [type(event).__name__]
    datapath, message = _datapath(event), getattr(event, "msg", None)
    if datapath is not None:
        datapath_id = getattr(datapath, "id", None) or 0
        words.append(f"from datapath id {datapath_id:016x} at {getattr(datapath, 'address', None)}")
    if message is not None:
        words.append(f"with xid {getattr(message, 'xid', None)}")
    return " ".join(words)


def _text(error: BaseException) -> str:
    """Return an exception on one line with the place that raised it, cut if it is long."""
    said = " ".join("".join(traceback.format_exception_only(error)).split())
    said = said if len(said) <= _LONGEST_ERROR else f"{said[:_LONGEST_ERROR]}..."
    places = traceback.extract_tb(error.__traceback__)
    return f"{said} at {places[-1].filename}:{places[-1].lineno} in {places[-1].name}" if places else said


def _trace(error: BaseException) -> str:
    """Return an exception's traceback, without its beginning if it is long: its message may hold a peer's data."""
    return "".join(traceback.format_exception(error))[-_LONGEST_TRACE:]


def _stack(frame: FrameType) -> str:
    return "".join(traceback.format_stack(frame))


def give_back_freed_memory() -> None:
    """Use one heap for all threads, and no heap for large blocks; call this before threads are started.

    Else glibc gives each thread a heap of its own. What the gate's thread reads is freed by the application's, and
    holes stay: three megabytes while 10,000 hosts are known. Threads of Python take turns anyway, so nobody waits for
    the one heap. Other libraries have no such function and keep their ways.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _OWN_PAGES)
