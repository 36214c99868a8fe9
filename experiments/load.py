"""Watches how busy this machine and the boxes are, so that a run on overloaded ones is not believed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from testbed.load_counters import LoadCounters, count_load

MAX_STEAL = 0.05
MAX_SOFTIRQ = 0.35
"""Valid runs had 0.03 to 0.21, by their own frames. The switch takes half of two processors: above the bound a sixth of
the time or less is left to senders and receivers, half of what they had in the busiest valid runs."""

MAX_FORWARDING_SOFTIRQ = 0.85
"""Where no process forwards packets the kernel does, in softirqs: the same sixth of the time is left then."""

MAX_UNREAD = 2.0
"""Frames a second. A run on links of 50 Mbit/s with 30 of them carried 4 % less than was planned, others none."""

MAX_SWITCH_WAITING = 0.70
"""Runs with 0.6 still met every bar; the wait is in turns of a few milliseconds, less than the queues hold."""

REST_LOOK_SECONDS, REST_LOOKS = 1.0, 30
"""How long each look before a run takes, and how many there are at most."""

# Positions in the first line of /proc/stat (proc(5)), its name left out.
_IDLE, _IOWAIT, _SOFTIRQ, _STEAL = 3, 4, 6, 7


@dataclass(frozen=True)
class Load:
    """Shares of the time between two looks at the machine.

    Attributes:
        idle, steal, softirq: of the time of all processors.
        switch: in which the process that forwards packets ran; above 1 when several of its threads did. None when the
            kernel forwards them.
        switch_waiting: in which its main thread, which does the forwarding, could have run but had no processor.
        unread: frames a second that it was too late to read. None when the kernel forwards them.
        boxes: the load of each box by its name, where the network is made of boxes.
    """

    idle: float
    steal: float
    softirq: float
    switch: float | None
    switch_waiting: float | None
    unread: float | None
    boxes: Mapping[str, Load] = field(default_factory=dict)


def overload(load: Load) -> tuple[str, ...]:
    """In words, what of the load disturbs the timing of packets; empty when nothing does.

    That the processors are never idle alone does not, nor that the switch takes a whole one (`testbed.unread_frames`).
    """
    reasons = []
    if load.steal > MAX_STEAL:
        reasons.append(f"the hypervisor took {load.steal:.0%} of the processors' time, more than {MAX_STEAL:.0%}")
    max_softirq = MAX_FORWARDING_SOFTIRQ if load.switch is None else MAX_SOFTIRQ
    if load.softirq > max_softirq:
        reasons.append(f"softirqs took {load.softirq:.0%} of the processors' time, more than {max_softirq:.0%}")
    if load.unread is not None and load.unread > MAX_UNREAD:
        reasons.append(f"ovs-vswitchd lost {load.unread:.1f} frames/s unread, more than {MAX_UNREAD:g}")
    if load.switch_waiting is not None and load.switch_waiting > MAX_SWITCH_WAITING:
        reasons.append(
            f"ovs-vswitchd waited for a processor {load.switch_waiting:.0%} of the time,"
            f" more than {MAX_SWITCH_WAITING:.0%}"
        )
    reasons += [f"{name}: {reason}" for name, box in load.boxes.items() for reason in overload(box)]
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


class LoadWatch:
    """Looks at all machines when it is made and each time it is asked.

    Args:
        switch_pid: the process of this machine that forwards packets, None when the kernel forwards them.
        look_at_boxes: what the boxes are doing, by name, where the network is made of boxes.
        look: at this machine.
    """

    def __init__(
        self,
        switch_pid: int | None,
        look_at_boxes: Callable[[], Mapping[str, LoadCounters]] = dict,
        look: Callable[[int | None], LoadCounters] = count_load,
    ) -> None:
        self._look_at_boxes = look_at_boxes
        self._look = partial(look, switch_pid)
        self._last = self._look()
        self._last_of_boxes = look_at_boxes()

    def load(self) -> Load:
        """The load since the previous call, at first since the watch was made."""
        before, now = self._last, self._look()
        before_of_boxes, now_of_boxes = self._last_of_boxes, self._look_at_boxes()
        self._last, self._last_of_boxes = now, now_of_boxes
        boxes = {name: _load(before_of_boxes[name], counters) for name, counters in now_of_boxes.items()}
        return replace(_load(before, now), boxes=boxes)


def _load(before: LoadCounters, now: LoadCounters) -> Load:
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


def _share(before: float | None, now: float | None, seconds: float) -> float | None:
    return None if before is None or now is None or seconds <= 0 else (now - before) / seconds
