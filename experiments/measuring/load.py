"""Watches the load of this machine and the boxes, and repeats runs on overloaded ones, if need be on slower links."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Protocol, TypeVar

from experiments.results.result import Result
from testbed.links.load_counters import LoadCounters, count_load

MAX_STEAL = 0.05
MAX_SOFTIRQ = 0.35
"""Valid runs had 0.03 to 0.21 from their own frames. The switch takes half of two processors: above the bound, senders
and receivers have a sixth of the time or less, half of what they had in the busiest valid runs."""

MAX_FORWARDING_SOFTIRQ = 0.85
"""Bound for runs without a forwarding process: the kernel forwards in softirqs, which leaves the same sixth."""

MAX_UNREAD = 2.0
"""Frames a second. A run on links of 50 Mbit/s that lost 30 carried 4 % less than planned; others lost none."""

MAX_SWITCH_WAITING = 0.70
"""Runs with 0.6 still met every bar; the switch waits a few milliseconds at a time, less than the queues hold."""

REST_LOOK_SECONDS, REST_LOOKS = 1.0, 30
"""Duration of each look before a run, and the largest number of looks."""

# Positions in the first line of /proc/stat (proc(5)), without its name.
_IDLE, _IOWAIT, _SOFTIRQ, _STEAL = 3, 4, 6, 7


@dataclass(frozen=True)
class MachineLoad:
    """Load between two looks at the machine, as shares of the time.

    Attributes:
        idle, steal, softirq: of the time of all processors.
        switch: processor time of the process that forwards packets; above 1 when several of its threads ran. None when
            the kernel forwards them.
        switch_waiting: share in which its main thread, which forwards, was ready to run but had no processor.
        unread: frames per second dropped because it read too late. None when the kernel forwards them.
        boxes: load of each box by its name, where the network is made of boxes.
    """

    idle: float
    steal: float
    softirq: float
    switch: float | None
    switch_waiting: float | None
    unread: float | None
    boxes: Mapping[str, MachineLoad] = field(default_factory=dict)


def overload(load: MachineLoad) -> tuple[str, ...]:
    """Return the reasons, in words, why the load disturbs the timing of packets; empty when nothing does.

    Processors that are never idle are no reason by themselves, nor is a switch that takes a whole one
    (`testbed.links.load_counters`).
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


def load_at_rest(watch: LoadWatch, wait: Callable[[float], None] = time.sleep) -> MachineLoad:
    """Return the load before a run, when nothing is sent; look again until nothing disturbs or the looks are used up.

    Args:
        watch: created just before.
        wait: sleeps for a number of seconds.
    """

    def look() -> MachineLoad:
        wait(REST_LOOK_SECONDS)
        return watch.load()

    load, looks = look(), 1
    while overload(load) and looks < REST_LOOKS:
        load, looks = look(), looks + 1
    return load


class LoadWatch:
    """Measures the load of all machines between successive calls.

    Args:
        switch_pid: process on this machine that forwards packets, None when the kernel forwards them.
        look_at_boxes: returns the counters of the boxes by name, where the network is made of boxes.
        look: returns the counters of this machine.
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

    def load(self) -> MachineLoad:
        """Return the load since the previous call, or since the watch was created."""
        before, now = self._last, self._look()
        before_of_boxes, now_of_boxes = self._last_of_boxes, self._look_at_boxes()
        self._last, self._last_of_boxes = now, now_of_boxes
        boxes = {name: _load(before_of_boxes[name], counters) for name, counters in now_of_boxes.items()}
        return replace(_load(before, now), boxes=boxes)


def _load(before: LoadCounters, now: LoadCounters) -> MachineLoad:
    ticks = [after - earlier for after, earlier in zip(now.processors, before.processors, strict=True)]
    all_ticks = max(1, sum(ticks))
    seconds = now.at - before.at
    return MachineLoad(
        idle=(ticks[_IDLE] + ticks[_IOWAIT]) / all_ticks,
        steal=ticks[_STEAL] / all_ticks,
        softirq=ticks[_SOFTIRQ] / all_ticks,
        switch=_share(before.switch, now.switch, seconds),
        switch_waiting=_share(before.switch_waiting, now.switch_waiting, seconds),
        unread=_share(before.unread, now.unread, seconds),
    )


def _share(before: float | None, now: float | None, seconds: float) -> float | None:
    return None if before is None or now is None or seconds <= 0 else (now - before) / seconds


ATTEMPTS = 3
"""Attempts at a run before the result of a busy machine is accepted."""


class Measured(Protocol):
    """Result of a run.

    Attributes:
        invalid: reasons not to trust it, in words; empty for a good result.
    """

    @property
    def invalid(self) -> tuple[str, ...]: ...


_Measured = TypeVar("_Measured", bound=Measured)


def believable(run: Callable[[], _Measured], name: str, say: Callable[[str], None]) -> _Measured:
    """Return the first result of `run` from a machine that was not too busy, else that of the last attempt.

    Args:
        run: measures once.
        name: of the run, for messages.
        say: prints why the run is repeated.
    """
    for attempt in range(1, ATTEMPTS):
        result = run()
        if not result.invalid:
            return result
        say(f"{name}, attempt {attempt} of {ATTEMPTS}, is not used: {'; '.join(result.invalid)}")
    return run()


def runs_on_links_it_can_carry(
    capacities: Sequence[float], measure: Callable[[float], Iterator[Result]], say: Callable[[str], None]
) -> list[Result]:
    """Return the results for the first capacity at which all are valid, else those for the last capacity.

    Args:
        capacities: of links in Mbit/s, at least one; the next is tried when the machine was too busy for the last one.
        measure: yields the results for a capacity one by one; iteration stops at the first invalid one while another
            capacity is left.
        say: prints why everything is measured again.
    """
    for capacity, lower in pairwise(capacities):
        results = []
        for result in measure(capacity):
            if result.invalid:
                say(f"{'; '.join(result.invalid)}: everything again on links of {lower:g} Mbit/s")
                break
            results.append(result)
        else:
            return results
    return list(measure(capacities[-1]))
