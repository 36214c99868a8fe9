"""Has one of two controllers take over from the other, again and again, and counts lost packets."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from experiments.experiment import Outcome
from experiments.grid import Execution
from experiments.measuring.emulation import describe_run
from experiments.measuring.load import LoadWatch, believable, overload
from experiments.takeover.report import (
    CUT_AFTER,
    CUT_LOCAL,
    CUT_REMOTE,
    CUT_SECONDS,
    FROZEN,
    HANDOVER,
    IDLE_SECONDS,
    KILLED,
    LOCAL_LINK,
    LONGEST_REACTION,
    NETWORK,
    PAIRS,
    PROBE_SECONDS,
    REMOTE_LINK,
    REST_SECONDS,
    TUNNELS,
    TakeoverOptions,
    TakeoverPhase,
    write_outcome,
)
from kuijia_app.framework import event_log
from kuijia_base.errors import TestbedError
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.networks import shipped_network
from te_solver.programs.program import Options
from te_solver.solve import solve
from testbed.chaos.faults import CUT, FaultSpan, FaultTimeline
from testbed.chaos.oracle import LossWindows, PlanInForce, findings
from testbed.chaos.probes import Probe, ProbeRun, choose_probes
from testbed.controllers.controller_process import ControllerProcess
from testbed.controllers.controller_set import ControllerSet
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.links.port_status import set_devices
from testbed.machine.machine import require_emulation

_SUCCESSOR_SECONDS = 30.0
"""Time that a controller may take until it could take over; a switch tries every 8 s to reach one that was dead."""

_TAKEOVER_SECONDS = 10.0
_WINDOWS = LossWindows(remote=LONGEST_REACTION, again=0.0)


def takeover_plan(capacity: float) -> Plan:
    """Return the plan for `PAIRS` on links of `capacity` Mbit/s, with traffic by all tunnels."""
    topology = load_topology(shipped_network(NETWORK)).with_capacity(capacity)
    demands = [Demand(*ends, share * capacity) for ends, share in PAIRS.items()]
    return solve(topology, demands, TUNNELS, options=Options(spread=True))


def run_takeover(run: Execution, options: TakeoverOptions) -> Outcome:
    """Measure all phases, and write the results.

    Raises:
        InputError: the machine cannot run an emulation.
        TestbedError: the lab failed, or nobody took over.
    """
    plan = takeover_plan(run.settings.capacity)
    machine = require_emulation()
    lab_options = LabOptions(slot_count=run.settings.slots, framework=run.settings.framework, controllers=2)
    with Lab(plan, lab_options, run.show) as lab:
        pair = _Pair(lab)
        probes = choose_probes(lab.network, plan, lab.network.layout)
        phases: dict[str, Sequence[Callable[[], None]]] = {
            "idle": [lambda: time.sleep(IDLE_SECONDS)],
            HANDOVER: [pair.hand_over] * options.handovers,
            KILLED: [pair.kill] * options.failures,
            FROZEN: [pair.freeze] * options.failures,
            CUT_REMOTE: [partial(pair.kill_and_cut, REMOTE_LINK)] * options.failures,
            CUT_LOCAL: [partial(pair.kill_and_cut, LOCAL_LINK)] * options.failures,
        }
        results = [
            believable(partial(_phase, pair, probes, name, each, run.show), f"phase {name}", run.progress.say)
            for name, each in phases.items()
        ]
        manifest = describe_run(machine, lab.network, (), run.began, time.time() - run.began)
    return write_outcome(run, results, run.said(manifest, options))


class _Pair:
    """The lab's controllers, and what happened to them in a phase.

    Attributes:
        took, told: as in `TakeoverPhase`.
        spans: times in which a link was cut, in seconds of the monotonic clock.
        without: times in which no controller acted.
    """

    def __init__(self, lab: Lab) -> None:
        assert isinstance(lab.controller, ControllerSet)
        self.lab = lab
        self.controllers = lab.controller
        self.begin()

    def begin(self) -> None:
        """Begin a phase: wait until the standby controller could take over."""
        self.took: list[float] = []
        self.told: list[float] = []
        self.spans: list[FaultSpan] = []
        self.without: list[tuple[float, float]] = []
        self._wait_for_successor()

    def hand_over(self) -> None:
        self.took.append(self.controllers.hand_over().seconds)
        self._wait_for_successor()

    def kill(self) -> None:
        self._fail(ControllerProcess.kill)
        self.controllers.start()
        self._wait_for_successor()

    def freeze(self) -> None:
        """Stop the active process; continue it once the other is active."""
        frozen = self.controllers.acting
        try:
            self._fail(lambda each: each.signal(signal.SIGSTOP))
        finally:
            frozen.signal(signal.SIGCONT)
        self._wait_for_successor()

    def kill_and_cut(self, link: tuple[str, str]) -> None:
        """Kill the active controller, cut a link before the other is active, and mend both."""
        network, known = self.lab.emulated_network, len(self.controllers.events())
        wiring = network.wiring
        ends = [network.interface(a, wiring.port(a, b)) for a, b in (link, link[::-1])]
        cut_at = 0.0

        def cut() -> None:
            nonlocal cut_at
            time.sleep(CUT_AFTER)
            cut_at = time.monotonic()
            set_devices(ends, up=False)

        try:
            taken_at = self._fail(ControllerProcess.kill, meanwhile=cut)
            time.sleep(max(0.0, cut_at + CUT_SECONDS - time.monotonic()))
        finally:
            set_devices(ends, up=True)
            self.spans.append(FaultSpan(CUT, link, cut_at, time.monotonic()))
        told = [
            event["time"]
            for event in self.controllers.events()[known:]
            if event["event"] == event_log.TUNNEL_LIVENESS and not event["alive"]
        ]
        if told:
            self.told.append(max(told) - taken_at)
        self.controllers.start()
        self._wait_for_successor()

    def _fail(
        self, break_it: Callable[[ControllerProcess], None], meanwhile: Callable[[], None] | None = None
    ) -> float:
        """Break the active controller; return the Unix time at which the other has taken over."""
        known, broken = len(self.controllers.events()), self.controllers.acting
        asked_at, began = time.time(), time.monotonic()
        break_it(broken)
        if meanwhile is not None:
            meanwhile()
        taken: list[float] = []

        def has_taken(events: list[dict[str, object]]) -> bool:
            taken[:] = [float(str(each["time"])) for each in events[known:] if each["event"] == event_log.ROLE_TAKEN]
            return bool(taken)

        if not self.controllers.wait_for(has_taken, _TAKEOVER_SECONDS):
            raise TestbedError(f"the other controller does not act after {_TAKEOVER_SECONDS:g} s")
        self.controllers.wait_until_ready(self.lab.plan.topology.nodes)
        self.took.append(taken[0] - asked_at)
        self.without.append((began, began + taken[0] - asked_at))
        return taken[0]

    def _wait_for_successor(self) -> None:
        """Wait until the standby controller could take over from the active one."""
        if not self.controllers.wait_for_successor(_SUCCESSOR_SECONDS):
            raise TestbedError(f"no controller is ready to take over after {_SUCCESSOR_SECONDS:g} s")


def _phase(
    pair: _Pair, probes: Sequence[Probe], name: str, events: Sequence[Callable[[], None]], show: Callable[[str], None]
) -> TakeoverPhase:
    lab = pair.lab
    pair.begin()
    with ProbeRun(lab.network, probes, PROBE_SECONDS) as run:
        run.start()
        watch = LoadWatch(lab.network.forwarding_process)
        began = time.monotonic()
        time.sleep(REST_SECONDS)
        for number, event in enumerate(events, start=1):
            show(f"{name} {number} of {len(events)}")
            event()
        time.sleep(REST_SECONDS)
        load, seconds = watch.load(), time.monotonic() - began
        result = run.stop()
    lost = sum(loss.packets for loss in result.losses)
    away = {switch: tuple(pair.without) for switch in lab.plan.topology.nodes}
    judged = findings(
        [probe.flow for probe in probes],
        result.losses,
        [PlanInForce(began, lab.plan)],
        FaultTimeline(tuple(pair.spans), away),
        _WINDOWS,
    )
    return TakeoverPhase(
        name=name,
        seconds=seconds,
        took=tuple(pair.took),
        told=tuple(pair.told),
        sent=sum(count.sent for count in result.counts),
        lost=lost,
        lost_without_excuse=sum(each.loss.packets for each in judged),
        invalid=tuple(_invalid(name, lost, overload(load))),
    )


def _invalid(name: str, lost: int, overloaded: Sequence[str]) -> Iterator[str]:
    yield from overloaded
    if name == "idle" and lost:
        yield f"{lost} packets were lost although nothing was changed"
