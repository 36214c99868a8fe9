"""Watches how busy the machine is, so that a run on an overloaded one is not believed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from testbed.unread_frames import count_unread_frames

PROC = Path("/proc")

MAX_STEAL = 0.05
MAX_SOFTIRQ = 0.35
"""Valid runs had 0.03 to 0.21, by their own frames. The switch takes half of two processors: above the bound a sixth of
the time or less is left to senders and receivers, half of what they had in the busiest valid runs."""

MAX_UNREAD = 2.0
"""Frames a second. A run on links of 50 Mbit/s with 30 of them carried 4 % less than was planned, others none."""

MAX_SWITCH_WAITING = 0.70
"""Runs with 0.6 still met every bar; the wait is in turns of a few milliseconds, less than the queues hold."""

REST_LOOK_SECONDS, REST_LOOKS = 1.0, 30
"""How long each look before a run takes, and how many there are at most."""

# Positions in the first line of /proc/stat (proc(5)), its name left out.
_IDLE, _IOWAIT, _SOFTIRQ, _STEAL, _KINDS = 3, 4, 6, 7, 8


@dataclass(frozen=True)
class Load:
    """Shares of the time between two looks at the machine.

    Attributes:
        idle, steal, softirq: of the time of all processors.
        switch: in which the process that forwards packets ran; above 1 when several of its threads did. None when the
            kernel forwards them.
        switch_waiting: in which its main thread, which does the forwarding, could have run but had no processor.
        unread: frames a second that it was too late to read. None when the kernel forwards them.
    """

    idle: float
    steal: float
    softirq: float
    switch: float | None
    switch_waiting: float | None
    unread: float | None


def overload(load: Load) -> tuple[str, ...]:
    """In words, what of the load disturbs the timing of packets; empty when nothing does.

    That the processors are never idle alone does not, nor that the switch takes a whole one (`testbed.unread_frames`).
    """
    reasons = []
    if load.steal > MAX_STEAL:
        reasons.append(f"the hypervisor took {load.steal:.0%} of the processors' time, more than {MAX_STEAL:.0%}")
    if load.softirq > MAX_SOFTIRQ:
        reasons.append(f"softirqs took {load.softirq:.0%} of the processors' time, more than {MAX_SOFTIRQ:.0%}")
    if load.unread is not None and load.unread > MAX_UNREAD:
        reasons.append(f"ovs-vswitchd lost {load.unread:.1f} frames/s unread, more than {MAX_UNREAD:g}")
    if load.switch_waiting is not None and load.switch_waiting > MAX_SWITCH_WAITING:
        reasons.append(
            f"ovs-vswitchd waited for a processor {load.switch_waiting:.0%} of the time,"
            f" more than {MAX_SWITCH_WAITING:.0%}"
        )
    return tuple(reasons)


def load_at_rest(watch: LoadWatch, wait: Callable[[float], None] = time.sleep) -> Load:
    """The load before a run, when nothing is sent: looked at until nothing disturbs, or for as long as one may wait.

    Args:
        watch: made just before.
        wait: for so many seconds.
    """

    def look() -> Load:
        wait(REST_LOOK_SECONDS)
        return watch.load()

    load, looks = look(), 1
    while overload(load) and looks < REST_LOOKS:
        load, looks = look(), looks + 1
    return load


@dataclass(frozen=True)
class _Look:
    at: float
    processors: tuple[int, ...]
    """Ticks by kind of use."""
    switch: float | None
    switch_waiting: float | None
    """Both in seconds."""
    unread: int | None


class LoadWatch:
    """Looks at the machine when it is made and each time it is asked.

    Args:
        switch_pid: the process that forwards packets, None when the kernel forwards them.
        proc: where to look.
        clock: seconds.
        count_unread: of the process that forwards packets.
    """

    def __init__(
        self,
        switch_pid: int | None,
        proc: Path = PROC,
        clock: Callable[[], float] = time.monotonic,
        count_unread: Callable[[int], int] = count_unread_frames,
    ) -> None:
        self._count_unread = None if switch_pid is None else partial(count_unread, switch_pid)
        self._switch = None if switch_pid is None else proc / str(switch_pid)
        self._proc = proc
        self._clock = clock
        self._last = self._look()

    def load(self) -> Load:
        """The load since the previous call, at first since the watch was made."""
        before, now = self._last, self._look()
        self._last = now
        ticks = [after - earlier for after, earlier in zip(now.processors, before.processors, strict=True)]
        all_ticks = max(1, sum(ticks))
        seconds = now.at - before.at
        return Load(
            idle=(ticks[_IDLE] + ticks[_IOWAIT]) / all_ticks,
            steal=ticks[_STEAL] / all_ticks,
            softirq=ticks[_SOFTIRQ] / all_ticks,
            switch=_share(before.switch, now.switch, seconds),
            switch_waiting=_share(before.switch_waiting, now.switch_waiting, seconds),
            unread=_share(before.unread, now.unread, seconds),
        )

    def _look(self) -> _Look:
        first_line = (self._proc / "stat").read_text().split("\n", 1)[0]
        return _Look(
            at=self._clock(),
            processors=tuple(int(field) for field in first_line.split()[1 : 1 + _KINDS]),
            switch=self._switch_seconds(),
            switch_waiting=self._switch_waiting_seconds(),
            unread=None if self._count_unread is None else self._count_unread(),
        )

    def _switch_seconds(self) -> float | None:
        text = _text(self._switch, "stat")
        if text is None:
            return None
        user, system = text[text.rindex(")") + 2 :].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _switch_waiting_seconds(self) -> float | None:
        """The second number of /proc/PID/schedstat: nanoseconds spent waiting to run, by the main thread alone."""
        text = _text(self._switch, "schedstat")
        return None if text is None else int(text.split()[1]) / 1e9


def _text(folder: Path | None, name: str) -> str | None:
    """None when there is no process, or the kernel does not tell this of it."""
    if folder is None:
        return None
    try:
        return (folder / name).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _share(before: float | None, now: float | None, seconds: float) -> float | None:
    return None if before is None or now is None or seconds <= 0 else (now - before) / seconds
