"""A run of faults on a lab of its own: probes all the while, faults as drawn, and what nothing excuses."""

from __future__ import annotations

import heapq
import itertools
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType

from kuijia_app.framework import event_log
from te_solver.plan import Plan
from testbed.chaos.faults import (
    CONNECTION_KINDS,
    CONTROLLER_FROZEN,
    CONTROLLER_KILLED,
    SWITCH_WIPED,
    SWITCHES_FROZEN,
    SWITCHES_KILLED,
    Fault,
)
from testbed.chaos.injection import Injector
from testbed.chaos.leaks import ProcessSize, growth_of_all, left_behind, namespaces_of, size_of, take_inventory
from testbed.chaos.oracle import Finding, Loss, ProbeFlow, Windows, findings
from testbed.chaos.probes import Probe, ProbeCount, ProbeRun, choose_probes
from testbed.chaos.relay import Relay
from testbed.chaos.switch_tables import faults_of_tables
from testbed.chaos.timeline import Span, Timeline, away_spans
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.links.unread_frames import count_unread_frames
from testbed.machine.errors import TestbedError

INTERRUPTED = "interrupted before the last fault"

TICK_SECONDS = 0.002
"""Time between two probes of a flow."""

_LOOK_SECONDS = 0.25
"""Time between two looks at the controller's events and at the frames that the machine lost."""

_QUIET_SECONDS = 3.0
"""Seconds without a fault at the beginning and at the end."""

_SETTLE_SECONDS = 60.0
"""Seconds that the lab may take after the last fault until every switch has its tables."""

Report = Callable[[str], None]


@dataclass(frozen=True)
class ChaosResult:
    """Findings of a run.

    Attributes:
        faults: as they were drawn.
        flows: the flows of probes.
        counts: their packets.
        losses: all gaps of arrivals.
        timeline: what was broken when, in seconds of the monotonic clock.
        began: the time of the first probe on it.
        seconds: length of the run.
        lost_without_excuse: losses that no fault explains.
        tables: differences of the switches' tables from the plan's, after the last fault.
        leaks: what was left behind or has grown.
        errors: what the lab itself could not do.
    """

    faults: tuple[Fault, ...]
    flows: tuple[ProbeFlow, ...]
    counts: tuple[ProbeCount, ...]
    losses: tuple[Loss, ...]
    timeline: Timeline
    began: float
    seconds: float
    lost_without_excuse: tuple[Finding, ...]
    tables: tuple[str, ...]
    leaks: tuple[str, ...]
    errors: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not (self.lost_without_excuse or self.tables or self.leaks or self.errors or self.twice)

    @property
    def twice(self) -> int:
        """Packets that arrived twice."""
        return sum(count.twice for count in self.counts)


@dataclass
class _Watch:
    """Notes taken beside the faults, while they were made."""

    ready: list[tuple[float, str]] = field(default_factory=list)
    gone: list[tuple[float, str]] = field(default_factory=list)
    overloaded: list[tuple[float, float]] = field(default_factory=list)
    stopped: bool = False
    _read: int = 0
    _unread_frames: tuple[int, int] = (0, 0)
    _looked_at: float = 0.0

    def look(self, lab: Lab) -> None:
        """Read the controller's new events, and whether the machine lost frames since the last look."""
        events = lab.controller.events()
        if len(events) < self._read:  # another process has begun its own file
            self._read = 0
        offset = time.monotonic() - time.time()
        for event in events[self._read :]:
            seen = {event_log.SWITCH_READY: self.ready, event_log.SWITCH_GONE: self.gone}.get(event["event"])
            if seen is not None:
                seen.append((event["time"] + offset, event["switch"]))
        self._read = len(events)
        self._look_at_frames(lab)

    def _look_at_frames(self, lab: Lab) -> None:
        now = time.monotonic()
        pid = lab.network.forwarding_process
        try:
            seen = (pid, count_unread_frames(pid)) if pid is not None else (0, 0)
        except TestbedError:
            return  # the daemon is being killed
        if seen[0] == self._unread_frames[0] and seen[1] > self._unread_frames[1]:
            self.overloaded.append((self._looked_at, now))
        self._unread_frames, self._looked_at = seen, now


@dataclass(frozen=True)
class ChaosRun:
    """A run to be made.

    Attributes:
        plans: the lab's plan, and the one that replaces it in turn.
        options: of the lab.
        faults: in seconds from the end of the quiet time at the beginning.
        windows: what a failure may cost.
        report: receives a line about each fault and each slow step.
        tick: seconds between two probes of a flow.
    """

    plans: tuple[Plan, Plan]
    options: LabOptions
    faults: tuple[Fault, ...]
    windows: Windows
    report: Report
    tick: float = TICK_SECONDS


class _StoppedError(Exception):
    """A signal has asked for the end of the faults."""


@contextmanager
def _stopping(watch: _Watch) -> Iterator[None]:
    """Note the first SIGINT or SIGTERM of a block, for the next wait: no fault is ever half made or half mended."""

    def stop(number: int, _: FrameType | None) -> None:
        watch.stopped = True
        signal.signal(number, former[signal.Signals(number)])

    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in former:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def run_chaos(run: ChaosRun) -> ChaosResult:
    """Run a lab under faults and judge every packet that was lost.

    Raises:
        InputError: this machine cannot run a lab.
        TestbedError: the lab could not be brought up, or its probes failed.
    """
    before = take_inventory()
    plan = run.plans[0]
    with Lab(plan, run.options, run.report) as lab, Relay(plan.topology.nodes, lab.listening_port) as relay:
        lab_id, namespaces = lab.directory.name, namespaces_of(lab.directory.name)
        lab.emulated_network.connect_each(relay.ports)
        lab.controller.wait_until_ready(plan.topology.nodes)
        run.report("looking for flows that are hashed to each tunnel")
        probes = choose_probes(lab.network, plan, lab.network.layout)
        result = _watched(run, lab, relay, probes)
    deadline = time.monotonic() + _QUIET_SECONDS
    while (left := left_behind(before, take_inventory(), lab_id, namespaces)) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)  # the kernel may take a moment to end what the lab held
    return replace(result, leaks=(*result.leaks, *left))


def _watched(run: ChaosRun, lab: Lab, relay: Relay, probes: Sequence[Probe]) -> ChaosResult:
    watch = _Watch()
    errors: list[str] = []
    sizes = _sizes(lab)
    with Injector(lab, relay, run.plans[1], run.report) as injector, ProbeRun(lab.network, probes, run.tick) as sent:
        sent.start()
        began = time.monotonic()
        try:
            with _stopping(watch):
                _wait(lab, watch, began + _QUIET_SECONDS)
                _make(run, lab, injector, watch, errors)
        except _StoppedError:
            run.report("interrupted: mending what is broken, and judging what was seen until now")
            errors.append(INTERRUPTED)
            errors += injector.mend_all()
            watch.stopped = False
        tables = _settled_tables(lab, injector, watch, errors)
        _wait(lab, watch, time.monotonic() + _QUIET_SECONDS)
        result = sent.stop()
        ended = time.monotonic()
        leaks = growth_of_all(sizes, _sizes(lab))
        spans, in_force = tuple(injector.spans), tuple(injector.plans)
    timeline = Timeline(spans, _away(lab, spans, watch, ended), tuple(watch.overloaded))
    flows = tuple(probe.flow for probe in probes)
    judged = findings(flows, result.losses, in_force, timeline, run.windows)
    return ChaosResult(
        faults=run.faults,
        flows=flows,
        counts=result.counts,
        losses=result.losses,
        timeline=timeline,
        began=began,
        seconds=ended - began,
        lost_without_excuse=judged,
        tables=tables,
        leaks=leaks,
        errors=tuple(errors),
    )


def _make(run: ChaosRun, lab: Lab, injector: Injector, watch: _Watch, errors: list[str]) -> None:
    """Break and mend everything at its time, as far as the machine keeps up."""
    order = itertools.count()
    start = time.monotonic()
    due = [(start + fault.at, next(order), fault, True) for fault in run.faults]
    heapq.heapify(due)
    while due:
        at, _, fault, breaks = heapq.heappop(due)
        _wait(lab, watch, at)
        try:
            if breaks:
                run.report(f"{time.monotonic() - start:.1f} s: {fault.title}")
                injector.begin(fault)
                heapq.heappush(due, (time.monotonic() + fault.seconds, next(order), fault, False))
            else:
                watch.look(lab)
                injector.mend(fault)
        except TestbedError as error:
            errors.append(f"{fault.title}: {error}")


def _wait(lab: Lab, watch: _Watch, until: float) -> None:
    while True:
        if watch.stopped:
            raise _StoppedError
        watch.look(lab)
        left = until - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, _LOOK_SECONDS))


def _settled_tables(lab: Lab, injector: Injector, watch: _Watch, errors: list[str]) -> tuple[str, ...]:
    """Return what is wrong in the switches' tables once nothing is broken any more, as soon as nothing is."""
    try:
        injector.settle()
    except TestbedError as error:
        errors.append(str(error))
    deadline = time.monotonic() + _SETTLE_SECONDS
    while True:
        watch.look(lab)
        away = sorted(set(lab.plan.topology.nodes) - set(lab.controller.programmed_switches()))
        wrong = faults_of_tables(lab) if not away else tuple(f"{switch} is not programmed" for switch in away)
        if not wrong or time.monotonic() > deadline:
            return wrong
        time.sleep(_LOOK_SECONDS)


def _away(lab: Lab, spans: Sequence[Span], watch: _Watch, ended: float) -> dict[str, tuple[tuple[float, float], ...]]:
    """Return when no controller could program each switch."""
    switches = lab.plan.topology.nodes
    all_switches = (CONTROLLER_KILLED, CONTROLLER_FROZEN, SWITCHES_FROZEN, SWITCHES_KILLED)
    begins = list(watch.gone)
    begins += [(span.start, switch) for span in spans if span.kind == CONTROLLER_KILLED for switch in switches]
    begins += [(span.start, switch) for span in spans if span.kind == SWITCHES_KILLED for switch in switches]
    begins += [(span.start, span.subject[0]) for span in spans if span.kind == SWITCH_WIPED]
    found = {switch: list(times) for switch, times in away_spans(begins, watch.ready, ended).items()}
    for span in spans:
        touched = switches if span.kind in all_switches else span.subject if span.kind in CONNECTION_KINDS else ()
        for switch in touched:
            found.setdefault(switch, []).append((span.start, min(span.end, ended)))
    return {switch: tuple(sorted(times)) for switch, times in found.items()}


def _sizes(lab: Lab) -> dict[str, tuple[int, ProcessSize]]:
    network = lab.emulated_network
    pids = {
        "the controller": lab.controller.pid,
        "ovs-vswitchd": network.ovs.switch_pid(),
        "ovsdb-server": network.ovs.database_pid(),
    }
    return {name: (pid, size) for name, pid in pids.items() if pid is not None and (size := size_of(pid)) is not None}
