"""Counts the activity of a machine's processors and of its packet-forwarding process; also runs on boxes.

The load of the process does not show that it reads frames too late: every frame makes it look at all its ports, so with
dozens of them it takes a whole processor long before it falls behind, and then reads more frames at each look.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kuijia_base.commands import run_command

_LIST_SOCKETS = ["ss", "--packet", "--memory", "--processes", "--numeric", "--no-header"]
_DROPPED = re.compile(r"skmem:\(\S*\bd(\d+)\)")


def count_unread_frames(pid: int) -> int:
    """Return the frames lost so far at the ports of a switch process, in the calling thread's network namespace.

    Raises:
        TestbedError: the sockets cannot be listed.
    """
    return dropped_frames(run_command(_LIST_SOCKETS), pid)


def dropped_frames(listing: str, pid: int) -> int:
    """Return the number of frames dropped by the packet sockets of a process, from the output of ss(8)."""
    owner = re.compile(rf"\bpid={pid}\b")
    return sum(
        int(found[1]) for line in listing.splitlines() if owner.search(line) and (found := _DROPPED.search(line))
    )


PROC = Path("/proc")

_KINDS = 8
"""Kinds of use in the first line of /proc/stat (proc(5)), without its name."""


@dataclass(frozen=True)
class LoadCounters:
    """Counters at one moment.

    Attributes:
        at: time of the look, in seconds of the machine's own clock.
        processors: ticks of all processors by kind of use, as in /proc/stat.
        switch: processor seconds of the process that forwards packets; None when the kernel forwards them.
        switch_waiting: seconds in which its main thread was ready to run but had no processor.
        unread: frames dropped because it read too late. None when the kernel forwards them.
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
    """Return the counters of this machine.

    Args:
        switch_pid: the process that forwards packets, None when the kernel forwards them.
        proc: root of the proc file system.
        clock: returns seconds.
        count_unread: counts unread frames of the process that forwards packets.

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
    """Return the second number of /proc/PID/schedstat, nanoseconds waiting to run, of the main thread alone."""
    text = _text(switch, "schedstat")
    return None if text is None else int(text.split()[1]) / 1e9


def _text(folder: Path | None, name: str) -> str | None:
    """Return the content of a process's file, None if there is no process or the kernel does not provide the file."""
    if folder is None:
        return None
    try:
        return (folder / name).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
