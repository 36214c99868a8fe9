"""Counts what a machine's processors and the process that forwards its packets have done; runs on boxes, too."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testbed.unread_frames import count_unread_frames

PROC = Path("/proc")

_KINDS = 8
"""Kinds of use in the first line of /proc/stat (proc(5)), its name left out."""


@dataclass(frozen=True)
class LoadCounters:
    """What there was until one look.

    Attributes:
        at: when it was, in seconds of a clock of the machine's own.
        processors: ticks of all processors by kind of use, as /proc/stat has them.
        switch: seconds in which the process that forwards packets ran; None when the kernel forwards them.
        switch_waiting: seconds in which its main thread could have run but had no processor.
        unread: frames that it was too late to read. None when the kernel forwards them.
    """

    at: float
    processors: tuple[int, ...]
    switch: float | None
    switch_waiting: float | None
    unread: int | None


def count_load(
    switch_pid: int | None,
    proc: Path = PROC,
    clock: Callable[[], float] = time.monotonic,
    count_unread: Callable[[int], int] = count_unread_frames,
) -> LoadCounters:
    """Look at this machine.

    Args:
        switch_pid: the process that forwards packets, None when the kernel forwards them.
        proc: where to look.
        clock: seconds.
        count_unread: of the process that forwards packets.

    Raises:
        TestbedError: the switch's sockets cannot be listed.
    """
    switch = None if switch_pid is None else proc / str(switch_pid)
    first_line = (proc / "stat").read_text().split("\n", 1)[0]
    return LoadCounters(
        at=clock(),
        processors=tuple(int(field) for field in first_line.split()[1 : 1 + _KINDS]),
        switch=_seconds(switch),
        switch_waiting=_waiting_seconds(switch),
        unread=None if switch_pid is None else count_unread(switch_pid),
    )


def _seconds(switch: Path | None) -> float | None:
    text = _text(switch, "stat")
    if text is None:
        return None
    user, system = text[text.rindex(")") + 2 :].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _waiting_seconds(switch: Path | None) -> float | None:
    """The second number of /proc/PID/schedstat: nanoseconds spent waiting to run, by the main thread alone."""
    text = _text(switch, "schedstat")
    return None if text is None else int(text.split()[1]) / 1e9


def _text(folder: Path | None, name: str) -> str | None:
    """None when there is no process, or the kernel does not tell this of it."""
    if folder is None:
        return None
    try:
        return (folder / name).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
