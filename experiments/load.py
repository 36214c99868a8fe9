"""Watches how busy the machine is, so that a run on an overloaded one is not believed."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")

MAX_STEAL = 0.05
MIN_IDLE = 0.10
MAX_SWITCH_CPU = 0.85
MAX_STALL = 0.50

# Positions in the first line of /proc/stat (proc(5)), its name left out.
_IDLE, _IOWAIT, _SOFTIRQ, _STEAL, _KINDS = 3, 4, 6, 7, 8


@dataclass(frozen=True)
class Load:
    """Shares of the time between two looks at the machine.

    Attributes:
        idle, steal, softirq: of the time of all processors.
        switch: of one processor, used by the process that forwards packets; None when the kernel forwards them.
        stall: in which some process waited for a processor; None on kernels that do not tell.
    """

    idle: float
    steal: float
    softirq: float
    switch: float | None
    stall: float | None


def overload(load: Load) -> tuple[str, ...]:
    """In words, what of the load disturbs the timing of packets; empty when nothing does."""
    reasons = []
    if load.steal > MAX_STEAL:
        reasons.append(f"the hypervisor took {load.steal:.0%} of the processors' time, at most {MAX_STEAL:.0%} is fine")
    if load.idle < MIN_IDLE:
        reasons.append(f"the processors were idle for {load.idle:.0%} of the time, less than {MIN_IDLE:.0%}")
    if load.switch is not None and load.switch > MAX_SWITCH_CPU:
        reasons.append(f"ovs-vswitchd used {load.switch:.0%} of a processor, more than {MAX_SWITCH_CPU:.0%}")
    if load.stall is not None and load.stall > MAX_STALL:
        reasons.append(f"processes waited for a processor {load.stall:.0%} of the time, more than {MAX_STALL:.0%}")
    return tuple(reasons)


@dataclass(frozen=True)
class _Look:
    at: float
    processors: tuple[int, ...]
    """Ticks by kind of use."""
    switch: float | None
    """Processor time in seconds."""
    stall: float | None
    """Seconds."""


class LoadWatch:
    """Looks at the machine when it is made and each time it is asked.

    Args:
        switch_pid: the process that forwards packets, None when the kernel forwards them.
        proc: where to look.
    """

    def __init__(self, switch_pid: int | None, proc: Path = PROC) -> None:
        self._switch_pid = switch_pid
        self._proc = proc
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
            stall=_share(before.stall, now.stall, seconds),
        )

    def _look(self) -> _Look:
        first_line = (self._proc / "stat").read_text().split("\n", 1)[0]
        return _Look(
            at=time.monotonic(),
            processors=tuple(int(field) for field in first_line.split()[1 : 1 + _KINDS]),
            switch=self._switch_seconds(),
            stall=self._stall_seconds(),
        )

    def _switch_seconds(self) -> float | None:
        if self._switch_pid is None:
            return None
        try:
            text = (self._proc / str(self._switch_pid) / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        user, system = text[text.rindex(")") + 2 :].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _stall_seconds(self) -> float | None:
        try:
            text = (self._proc / "pressure" / "cpu").read_text()
        except OSError:  # missing, or switched off by a boot parameter
            return None
        found = re.search(r"^some .*total=(\d+)", text, re.MULTILINE)
        return int(found[1]) / 1e6 if found else None


def _share(before: float | None, now: float | None, seconds: float) -> float | None:
    return None if before is None or now is None or seconds <= 0 else (now - before) / seconds
