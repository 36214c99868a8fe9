"""A run of faults on its own lab: probes throughout, faults as drawn, and the losses that nothing excuses."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType

from kuijia_app.tables.options import pipeline_options
from kuijia_base.errors import KuijiaError
from te_solver.model.plan import Plan
from testbed.chaos.controller_verdicts import Alarm, OwnEnd, Takeover, false_alarms, takeovers
from testbed.chaos.controllers import ControllerBreaker, channels_of
from testbed.chaos.faults import Agenda, ChaosFault, FaultTimeline
from testbed.chaos.full_queues import FullQueueLoad, full_queue_excuses
from testbed.chaos.injection import Injector, SmallDisk
from testbed.chaos.leaks import ProcessSize, contents_of, left_behind, namespaces_of, surplus, take_inventory
from testbed.chaos.load import LoadCount, LoadRun, Stream, StreamRun, load_of, paces_of, streams_of
from testbed.chaos.oracle import (
    Excuse,
    Loss,
    LossWindows,
    PlanInForce,
    ProbeFlow,
    UnexcusedLoss,
    findings,
    nothing_else,
    owed_to_the_machine,
)
from testbed.chaos.probes import LOAD_PORT, Probe, ProbeCount, ProbeRun, choose_probes, without_probe
from testbed.chaos.relay import Relay
from testbed.chaos.settled_state import faults_of_files, faults_of_roles, faults_of_tables
from testbed.chaos.watch import LOOK_SECONDS, ChaosWatch, away, overloaded
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.machine.ovs import SWITCH_NICENESS
from testbed.network.lab_network import LabNetwork
from testbed.traffic.ticks import Recorders

INTERRUPTED = "interrupted before the last fault"

TICK_SECONDS = 0.002
"""Time between two probes of a flow."""

QUIET_SECONDS = 3.0
"""Seconds without a fault at the beginning and at the end."""

_SETTLE_SECONDS = 60.0
"""Seconds that the lab may take after the last fault until every switch has its tables."""

Report = Callable[[str], None]


@dataclass(frozen=True)
class ChaosResult:
    """Findings of a run.

    Attributes:
        streams: flows of iperf3 beside them.
        load: packets that filled the links.
        losses: all gaps of arrivals.
        timeline: what was broken when, in seconds of the monotonic clock.
        began: the time of the first probe on it.
        lost_without_excuse: losses that no fault explains.
        owed_to_the_machine: losses that only this machine's own failings excuse.
        takeovers: of one controller from another, in a lab with several.
        false_alarms: statements that packets vanish where no fault can have cost any.
        own_ends: controllers that ended without having been killed.
        tables: differences of the switches' tables from the plan's, after the last fault.
        leaks: what was left behind or has grown.
        sizes: of processes by name, at first and at most.
        errors: what the lab itself could not do.
    """

    faults: tuple[ChaosFault, ...]
    flows: tuple[ProbeFlow, ...]
    counts: tuple[ProbeCount, ...]
    streams: tuple[Stream, ...]
    load: tuple[LoadCount, ...]
    losses: tuple[Loss, ...]
    timeline: FaultTimeline
    began: float
    seconds: float
    lost_without_excuse: tuple[UnexcusedLoss, ...]
    owed_to_the_machine: tuple[UnexcusedLoss, ...]
    takeovers: tuple[Takeover, ...]
    false_alarms: tuple[Alarm, ...]
    own_ends: tuple[OwnEnd, ...]
    tables: tuple[str, ...]
    leaks: tuple[str, ...]
    sizes: Mapping[str, tuple[ProcessSize, ProcessSize]]
    errors: tuple[str, ...]

    @property
    def passed(self) -> bool:
        of_controllers = self.late_takeovers, self.false_alarms, self.own_ends
        wrong = (self.lost_without_excuse, *of_controllers, self.tables, self.leaks, self.errors)
        return not (any(wrong) or self.twice)

    @property
    def late_takeovers(self) -> tuple[Takeover, ...]:
        return tuple(takeover for takeover in self.takeovers if takeover.is_late)

    @property
    def twice(self) -> int:
        """Packets that arrived twice."""
        return sum(count.twice for count in self.counts)


@dataclass(frozen=True)
class ChaosRun:
    """A run to be made.

    Attributes:
        plans: the lab's plan, and the one that replaces it in turn.
        faults: in seconds from the end of the quiet time at the beginning.
        windows: what a failure may cost.
        report: receives a line about each fault and each slow step.
        tick: seconds between two probes of a flow.
        has_streams: True for flows of iperf3 beside the probes.
        load: share of its rate to which each tunnel is filled beside the probes; there are no flows of iperf3 then.
    """

    plans: tuple[Plan, Plan]
    options: LabOptions
    faults: tuple[ChaosFault, ...]
    windows: LossWindows
    report: Report
    tick: float = TICK_SECONDS
    has_streams: bool = True
    load: float = 0.0


class _StoppedError(Exception):
    """A signal has asked for the end of the faults."""


@contextmanager
def _stopping(watch: ChaosWatch) -> Iterator[None]:
    """Note the first SIGINT or SIGTERM of a block for the next wait, so that no fault is half made or half mended."""

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
    disk = SmallDisk()
    channels = channels_of(plan.topology.nodes, run.options, disk.listening)
    with Lab(plan, run.options, run.report, disk) as lab, Relay(channels) as relay:
        lab_id, namespaces = lab.directory.name, namespaces_of(lab.directory.name)
        interfaces = contents_of(lab.directory).interfaces
        controllers = ControllerBreaker(lab, relay)
        controllers.take_over()
        run.report("looking for flows that are hashed to each tunnel")
        probes = choose_probes(lab.network, plan, lab.network.layout)
        for title in without_probe(plan, probes):
            run.report(f"no flow was found for the tunnel {title}: it has no probes")
        paces = _paces(run, lab, probes)
        result = _watched(run, lab, Injector(lab, controllers, disk, run.plans[1], run.report), probes, paces)
    deadline = time.monotonic() + QUIET_SECONDS
    of_lab = lab_id, namespaces, interfaces
    while (left := left_behind(before, take_inventory(), *of_lab)) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)  # the kernel may take a moment to end what the lab held
    return replace(result, leaks=(*result.leaks, *left))


def _paces(run: ChaosRun, lab: Lab, probes: Sequence[Probe]) -> dict[Probe, float]:
    """Return the flows that fill the tunnels of the probes, with their rates; none without a load."""
    if not run.load:
        return {}
    probed = {_tunnel(probe.flow) for probe in probes}
    senders = choose_probes(lab.network, lab.plan, lab.network.layout, LOAD_PORT)
    return paces_of(lab.plan, run.load, (each for each in senders if _tunnel(each.flow) in probed))


def _load(run: ChaosRun, lab: Lab, probes: Sequence[Probe], paces: Mapping[Probe, float]) -> FullQueueLoad | None:
    """Return what the links have to carry, None without a load."""
    if not paces:
        return None
    tables, buffer_packets = pipeline_options(run.options.words), run.options.network.buffer_packets
    return load_of(lab.plan, probes, paces, run.tick, tables, buffer_packets)


def _tunnel(flow: ProbeFlow) -> tuple[object, ...]:
    return flow.source, flow.target, flow.priority, flow.tunnel


def _watched(
    run: ChaosRun, lab: Lab, injector: Injector, probes: Sequence[Probe], paces: Mapping[Probe, float]
) -> ChaosResult:
    load = _load(run, lab, probes, paces)
    watch = ChaosWatch()
    errors: list[str] = []
    contents = contents_of(lab.directory)
    streams = streams_of(lab.plan, lab.network.layout) if run.has_streams and load is None else ()
    with (
        injector,
        StallWatch(lab.network) as stalls,
        StreamRun(lab.network, streams) as beside,
        LoadRun(lab.network, paces) as filled,
        ProbeRun(lab.network, probes, run.tick) as sent,
    ):
        stalls.start()
        sent.start()
        beside.start()
        filled.start()
        began = time.monotonic()
        try:
            with _stopping(watch):
                _wait(lab, watch, began + QUIET_SECONDS)
                _make(run, lab, injector, watch, errors)
        except _StoppedError:
            run.report("interrupted: mending what is broken, and judging what was seen until now")
            errors.append(INTERRUPTED)
            errors += injector.mend_all()
            watch.stopped = False
        tables = _settled(lab, injector, watch, errors, faults_of_tables, faults_of_roles)
        if not tables and INTERRUPTED not in errors:
            errors += _followed(injector)
            tables = _settled(lab, injector, watch, errors, faults_of_tables, faults_of_roles, faults_of_files)
        _wait(lab, watch, time.monotonic() + QUIET_SECONDS)
        beside.stop()
        result = sent.stop()
        load_counts = filled.stop()
        ended = time.monotonic()
        stalled, starved = stalls.stop()
        spans, in_force = injector.spans, tuple(injector.plans)
    leaks = (*watch.sizes.growth(), *surplus(contents, contents_of(lab.directory)))
    reach = away(lab.plan.topology.nodes, spans, watch, ended)
    timeline = FaultTimeline(spans, reach, overloaded(watch.unread, spans, stalled), stalled, starved)
    flows = tuple(probe.flow for probe in probes)
    evidence = flows, result.losses, in_force, timeline, run.windows
    full = partial(_full, load, in_force, run.windows)
    return ChaosResult(
        faults=run.faults,
        flows=flows,
        counts=result.counts,
        streams=streams,
        load=load_counts,
        losses=result.losses,
        timeline=timeline,
        began=began,
        seconds=ended - began,
        lost_without_excuse=findings(*evidence, full(timeline)),
        owed_to_the_machine=owed_to_the_machine(*evidence, full),
        takeovers=takeovers(timeline, watch.taken) if run.options.controllers > 1 else (),
        false_alarms=false_alarms(watch.alarms, spans),
        own_ends=tuple(watch.own_ends),
        tables=tables,
        leaks=leaks,
        sizes=watch.sizes.largest(),
        errors=tuple(errors),
    )


def _full(
    load: FullQueueLoad | None, plans: Sequence[PlanInForce], windows: LossWindows, timeline: FaultTimeline
) -> Callable[[ProbeFlow], Iterable[Excuse]]:
    return nothing_else if load is None else full_queue_excuses(load, plans, timeline, windows)


def _make(run: ChaosRun, lab: Lab, injector: Injector, watch: ChaosWatch, errors: list[str]) -> None:
    """Break and mend everything at its time, as far as the machine keeps up."""
    start = time.monotonic()
    agenda = Agenda(run.faults, start)
    while step := agenda.next_step():
        fault = step.fault
        _wait(lab, watch, step.at)
        try:
            if step.begins:
                run.report(f"{time.monotonic() - start:.1f} s: {fault.title}")
                injector.begin(fault)
                agenda.began(fault, time.monotonic())
            else:
                watch.look(lab)
                injector.mend(fault)
                agenda.mended(fault, time.monotonic())
        except KuijiaError as error:
            errors.append(f"{fault.title}: {error}")


def _wait(lab: Lab, watch: ChaosWatch, until: float) -> None:
    while True:
        if watch.stopped:
            raise _StoppedError
        watch.look(lab)
        left = until - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, LOOK_SECONDS))


def _followed(injector: Injector) -> tuple[str, ...]:
    """Replace the plan while nothing is broken; return in words why that failed."""
    try:
        return injector.follow_undisturbed()
    except KuijiaError as error:
        return (str(error),)


def _settled(
    lab: Lab, injector: Injector, watch: ChaosWatch, errors: list[str], *looks: Callable[[Lab], tuple[str, ...]]
) -> tuple[str, ...]:
    """Check tables and controllers once nothing is broken; return the faults left, as soon as there are none."""
    try:
        injector.settle()
    except KuijiaError as error:
        errors.append(str(error))
    deadline = time.monotonic() + _SETTLE_SECONDS
    while True:
        watch.look(lab)
        away = sorted(set(lab.plan.topology.nodes) - set(lab.controller.programmed_switches()))
        wrong = tuple(f"{switch} is not programmed" for switch in away) or tuple(
            fault for look in looks for fault in look(lab)
        )
        if not wrong or time.monotonic() > deadline:
            return wrong
        time.sleep(LOOK_SECONDS)


Spans = tuple[tuple[float, float], ...]


class StallWatch(Recorders):
    """One watching program of the switches' priority and one of the controllers', from `start` to `stop`."""

    def __init__(self, network: LabNetwork) -> None:
        super().__init__("the program that watches this machine")
        self._host = network.host(network.wiring.sites[0].name)

    def start(self) -> None:
        """Start to watch; raises TestbedError if a program failed."""
        for niceness in (SWITCH_NICENESS, os.getpriority(os.PRIO_PROCESS, 0)):  # controllers inherit ours
            self._launch(self._host, "watch-stalls", str(niceness))

    def stop(self) -> tuple[Spans, Spans]:
        """Return the spans in which a process like the switches was not run, and one like the controllers."""
        of_switches, of_controllers = (
            tuple((start / 1e9, end / 1e9) for start, end in each["stalls"]) for each in self._records("watch-stalls")
        )
        return of_switches, of_controllers
