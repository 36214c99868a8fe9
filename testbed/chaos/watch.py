"""Notes taken during the faults: what the controllers report, and when this machine itself fell behind."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kuijia_app.control.findings import FindingKind
from kuijia_app.framework import event_log
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import TestbedError
from testbed.chaos.controller_verdicts import Alarm, OwnEnd
from testbed.chaos.controllers import members_of
from testbed.chaos.faults import (
    CONNECTION_KINDS,
    CONTROLLER_FROZEN,
    CONTROLLER_KILLED,
    FOREVER,
    STANDSTILL_KINDS,
    SWITCH_WIPED,
    SWITCHES_KILLED,
    FaultSpan,
    away_spans,
)
from testbed.chaos.leaks import SizeWatch
from testbed.controllers.application_process import Event
from testbed.lab.lab import Lab
from testbed.links.load_counters import count_unread_frames
from testbed.machine.processes import PROC

LOOK_SECONDS = 0.25
"""Time between two looks."""

_BUSY_SHARE = 0.7
_WAITED_SECONDS = 0.01
"""Work of the process that forwards, and waiting for a processor, from which on lost frames are the machine's fault."""


_SUCCESSION = 3.0
"""Seconds after the end of a controller within which another acts in its place."""


@dataclass(frozen=True)
class UnreadFrames:
    """A span in which frames were lost; `was_busy` if the process that reads them had no time, or was not run."""

    start: float
    end: float
    was_busy: bool


@dataclass(frozen=True)
class _Forwarding:
    """The process that forwards: frames lost, and seconds in which it ran and in which it waited for a processor."""

    pid: int
    at: float
    lost: int
    used: float
    waited: float


@dataclass
class ChaosWatch:
    """Observations of a run, in seconds of the monotonic clock, which controllers share even if a wall clock is set.

    Attributes:
        ready: a controller has confirmed all tables of a switch.
        gone: a controller has lost a switch.
        taken: a controller has begun to act.
        alarms: statements of controllers that packets vanish.
        own_ends: controllers that have ended without having been killed.
        unread: spans in which this machine lost frames that its switches did not read.
        sizes: of the lab's processes and this one.
        stopped: True once a signal has asked for the end.
    """

    ready: list[tuple[float, str]] = field(default_factory=list)
    gone: list[tuple[float, str]] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)
    own_ends: list[OwnEnd] = field(default_factory=list)
    unread: list[UnreadFrames] = field(default_factory=list)
    sizes: SizeWatch = field(default_factory=SizeWatch)
    stopped: bool = False
    _read: int = 0
    _reasons: dict[int, list[str]] = field(default_factory=dict)
    _before: _Forwarding | None = None

    def look(self, lab: Lab) -> None:
        """Read the controllers' new events, and count the frames that were lost since the last look."""
        events = lab.controller.events()
        if len(events) < self._read:  # another process has begun its own file
            self._read = 0
        for event in events[self._read :]:
            self._hear(event, lab.emulated_network.wiring)
        self._read = len(events)
        for number, member in enumerate(members_of(lab.controller), 1):
            ended = member.own_ends
            known = sum(each.number == number for each in self.own_ends)
            reasons = self._reasons.get(number, ())
            for place in range(known, len(ended)):
                reason = reasons[place] if place < len(reasons) else f"with status {ended[place]}"
                self.own_ends.append(OwnEnd(time.monotonic(), number, reason))
        self._look_at_frames(lab)
        self.sizes.look(lambda: _processes(lab), time.monotonic(), len(lab.sessions))  # each has a port and its sockets

    def _hear(self, event: Event, wiring: Wiring) -> None:
        at = event["monotonic"]
        match event["event"]:
            case event_log.ROLE_TAKEN:
                self.taken.append(at)
            case event_log.SWITCH_READY:
                self.ready.append((at, event["switch"]))
            case event_log.SWITCH_GONE:
                self.gone.append((at, event["switch"]))
            case event_log.PROBLEM_FOUND if event["kind"] == FindingKind.PACKETS_VANISH.value:
                receiver = event["switch"]
                sender = wiring.neighbour_at(receiver, event["port"])
                self.alarms.append(Alarm(at, str(sender), receiver, event["problem"]))
            case event_log.FAILURE if event["given_up"] == "process":
                self._reasons.setdefault(event.get("controller", 1), []).append(f"{event['part']} {event['error']}")

    def _look_at_frames(self, lab: Lab) -> None:
        try:
            seen = _forwarding(lab)
        except (TestbedError, OSError):
            return  # the daemon is being killed
        before, self._before = self._before, seen
        if before is not None and seen is not None and before.pid == seen.pid and seen.lost > before.lost:
            share = (seen.used - before.used) / (seen.at - before.at)
            was_busy = share >= _BUSY_SHARE or seen.waited - before.waited >= _WAITED_SECONDS
            self.unread.append(UnreadFrames(before.at, seen.at, was_busy))


def overloaded(
    unread: Iterable[UnreadFrames], spans: Iterable[FaultSpan], stalled: Sequence[tuple[float, float]]
) -> tuple[tuple[float, float], ...]:
    """Return the spans in which frames were lost because this machine was too slow, and not because of a fault."""
    standing = [span for span in spans if span.kind in STANDSTILL_KINDS]
    return tuple(
        (each.start, each.end)
        for each in unread
        if (each.was_busy or any(start <= each.end and each.start <= end for start, end in stalled))
        and not any(span.overlaps(each.start, each.end) for span in standing)
    )


def _forwarding(lab: Lab) -> _Forwarding | None:
    """Return what the process that forwards has done so far, None if the kernel forwards."""
    pid = lab.network.forwarding_process
    if pid is None:
        return None
    used, waited, _ = map(int, (PROC / str(pid) / "schedstat").read_text().split())
    return _Forwarding(pid, time.monotonic(), count_unread_frames(pid), used / 1e9, waited / 1e9)


def _processes(lab: Lab) -> dict[str, int | None]:
    """Return the processes whose sizes are watched, by their names in the report."""
    found: dict[str, int | None] = {"this process": os.getpid()}
    found |= {f"controller {number}": each.pid for number, each in enumerate(members_of(lab.controller), 1)}
    ovs = lab.emulated_network.ovs
    for name, pid in (("ovs-vswitchd", ovs.switch_pid), ("ovsdb-server", ovs.database_pid)):
        with suppress(TestbedError):  # it is being killed
            found[name] = pid()
    return found


def away(
    switches: Sequence[str], spans: Sequence[FaultSpan], watch: ChaosWatch, ended: float
) -> dict[str, tuple[tuple[float, float], ...]]:
    """Return when no controller could program each switch: until the end of a fault, or until another one took over.

    A controller that ends by itself is no fault that excuses anything.
    """
    all_switches = (CONTROLLER_KILLED, CONTROLLER_FROZEN, *STANDSTILL_KINDS)
    begins = list(watch.gone)
    for kind in (CONTROLLER_KILLED, SWITCHES_KILLED):
        begins += [(span.start, switch) for span in spans if span.kind == kind for switch in switches]
    begins += [(span.start, span.subject[0]) for span in spans if span.kind == SWITCH_WIPED]
    for at in watch.taken:
        if not any(at - _SUCCESSION <= each.at - LOOK_SECONDS <= at for each in watch.own_ends):
            begins += [(at, switch) for switch in switches]
    found = {switch: list(times) for switch, times in away_spans(begins, watch.ready, ended).items()}
    for span in spans:
        touched = switches if span.kind in all_switches else span.subject if span.kind in CONNECTION_KINDS else ()
        another = FOREVER
        if span.kind not in STANDSTILL_KINDS:
            another = min((at for at in watch.taken if at > span.start), default=FOREVER)
        for switch in touched:
            found.setdefault(switch, []).append((span.start, min(span.end, another, ended)))
    return {switch: tuple(sorted(times)) for switch, times in found.items()}
