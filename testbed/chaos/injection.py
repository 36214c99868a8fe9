"""Breaks and mends parts of a running lab, and records when it did so."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from te_solver.plan import Plan
from testbed.chaos import faults
from testbed.chaos.faults import Fault
from testbed.chaos.oracle import PlanInForce
from testbed.chaos.relay import Relay, Rule
from testbed.chaos.timeline import Span
from testbed.lab.lab import Lab
from testbed.links.link_state import set_devices
from testbed.machine.commands import run_batch
from testbed.machine.errors import TestbedError
from testbed.machine.ovs import Datapath, PrivateOvs
from testbed.network.queues import MAX_FRAME, ROOT_CLASS

SLOW_SHARE = 0.25
"""Rate of a slow link, as a share of its own."""

LATE_SECONDS = 0.2
"""Delay of a late connection, in each direction."""

_FLAP_SECONDS = 0.15
_DATABASE = "ovsdb-server"
_PATIENCE = 60.0

Mend = Callable[[], None]


class Injector:
    """Breaks a lab by faults and mends it again; used as a context manager, which mends what is broken.

    Changes that wait for the controller are made one after the other in a thread of their own, so that other faults
    come while they wait.

    Args:
        lab: a running lab on an emulated network, whose switches are connected to `relay`.
        relay: between its switches and its controller.
        other_plan: what the plan is replaced by, and the first plan the next time.
        report: receives a line about each change of the plan.
    """

    def __init__(self, lab: Lab, relay: Relay, other_plan: Plan, report: Callable[[str], None]) -> None:
        self.plans = [PlanInForce(time.monotonic(), lab.plan)]
        self.spans: list[Span] = []
        self._lab = lab
        self._network = lab.emulated_network
        self._relay = relay
        self._next_plans = [other_plan, lab.plan]
        self._report = report
        self._mends: dict[Fault, tuple[int, Mend]] = {}
        self._changes = ThreadPoolExecutor(1, thread_name_prefix="changes")
        self._side = ThreadPoolExecutor(thread_name_prefix="flapping")
        self._pending: list[Future[None]] = []
        self._rules: dict[str, Rule] = {}

    def __enter__(self) -> Injector:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.mend_all()
        self._changes.shutdown()
        self._side.shutdown()

    def begin(self, fault: Fault) -> None:
        """Break something; raises TestbedError if that fails."""
        place = len(self.spans)
        self.spans.append(Span(fault.kind, fault.subject, time.monotonic()))
        self._mends[fault] = place, self._break(fault)

    def mend(self, fault: Fault) -> None:
        """Mend what a fault broke; raises TestbedError if that fails."""
        place, mend = self._mends.pop(fault)
        mend()
        span = self.spans[place]
        self.spans[place] = Span(span.kind, span.subject, span.start, time.monotonic())

    def mend_all(self) -> tuple[str, ...]:
        """Mend whatever is broken; return in words what could not be."""
        failures = []
        for fault in list(self._mends):
            try:
                self.mend(fault)
            except TestbedError as error:
                failures.append(f"{fault.title}: {error}")
        return tuple(failures)

    def settle(self) -> None:
        """Wait until the changes under way have ended; raises the error of one that failed."""
        for change in self._pending:
            change.result(_PATIENCE)
        self._pending.clear()

    def _break(self, fault: Fault) -> Mend:
        kinds: Mapping[str, Callable[[Fault], Mend]] = {
            faults.CUT: self._cut,
            faults.CUT_END: self._cut,
            faults.FLAP: self._flap,
            faults.SLOW: self._slow,
            faults.SWITCH_WIPED: self._wipe,
            faults.SWITCHES_FROZEN: lambda _: self._freeze(self._network.ovs.switch_pid()),
            faults.SWITCHES_KILLED: self._kill_switches,
            faults.DATABASE_FROZEN: lambda _: self._freeze(self._database_pid()),
            faults.CONTROLLER_KILLED: self._kill_controller,
            faults.CONTROLLER_FROZEN: lambda _: self._freeze(self._lab.controller.pid),
            faults.CONNECTION_RESET: self._reset,
            faults.CONNECTION_LATE: lambda fault: self._treat(fault, Rule(delay=LATE_SECONDS)),
            faults.FROM_SWITCH_CUT: lambda fault: self._treat(fault, Rule(hold_from_switch=True)),
            faults.TO_SWITCH_CUT: lambda fault: self._treat(fault, Rule(hold_to_switch=True)),
            faults.PLAN_REPLACED: self._replace_plan,
            faults.PLAN_REFUSED: self._refuse_plan,
        }
        return kinds[fault.kind](fault)

    def _ends(self, fault: Fault) -> list[str]:
        a, b = fault.subject
        wiring = self._network.wiring
        return [self._network.interface(a, wiring.port(a, b)), self._network.interface(b, wiring.port(b, a))]

    def _cut(self, fault: Fault) -> Mend:
        ends = self._ends(fault)
        cut = ends[:1] if fault.kind == faults.CUT_END else ends
        set_devices(cut, up=False)
        return lambda: set_devices(cut, up=True)

    def _flap(self, fault: Fault) -> Mend:
        """Take a link down and up again in quick succession; every time that it is down is a span of its own."""
        ends = self._ends(fault)
        end = time.monotonic() + fault.seconds - _FLAP_SECONDS

        def flap() -> None:
            down_at = time.monotonic()
            while True:
                set_devices(ends, up=False)
                time.sleep(_FLAP_SECONDS / 2)
                set_devices(ends, up=True)
                self.spans.append(Span(faults.FLAP_DOWN, fault.subject, down_at, time.monotonic()))
                if time.monotonic() > end:
                    return
                time.sleep(_FLAP_SECONDS / 2)
                down_at = time.monotonic()

        flapping = self._side.submit(flap)
        return lambda: flapping.result(_PATIENCE)

    def _slow(self, fault: Fault) -> Mend:
        a, b = fault.subject
        capacity = self._lab.plan.topology.link(a, b).capacity

        def limit(rate: float) -> None:
            words = f"rate {round(rate * 1000)}kbit ceil {round(rate * 1000)}kbit burst {4 * MAX_FRAME}"
            run_batch(
                "tc",
                [
                    f"class change dev {end} classid {ROOT_CLASS} htb {words} cburst {4 * MAX_FRAME}".split()
                    for end in self._ends(fault)
                ],
            )

        limit(capacity * SLOW_SHARE)
        return lambda: limit(capacity)

    def _wipe(self, fault: Fault) -> Mend:
        """Empty a switch's tables and end its connection, which is what its restart looks like to the controller."""
        (switch,) = fault.subject
        self._network.ofctl(switch, "del-flows")
        self._network.ofctl(switch, "del-groups")
        self._relay.reset(switch)
        return _nothing

    def _kill_switches(self, fault: Fault) -> Mend:
        ovs = self._network.ovs
        if not isinstance(ovs, PrivateOvs):
            raise TestbedError(f"{fault.kind}: the machine's own Open vSwitch is not the lab's to kill")
        ovs.kill_switches()

        def restart() -> None:
            ovs.start_switches()
            if ovs.datapath is Datapath.USERSPACE:
                self._network.enlarge_send_buffer()

        return restart

    def _database_pid(self) -> int:
        return self._network.ovs.database_pid()

    def _kill_controller(self, _: Fault) -> Mend:
        self._lab.kill_controller()
        return self._lab.controller.start

    def _freeze(self, pid: int | None) -> Mend:
        if pid is None:
            return _nothing
        os.kill(pid, signal.SIGSTOP)

        def thaw() -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

        return thaw

    def _reset(self, fault: Fault) -> Mend:
        (switch,) = fault.subject
        self._relay.reset(switch)
        return _nothing

    def _treat(self, fault: Fault, rule: Rule) -> Mend:
        (switch,) = fault.subject
        self._relay.rule(switch, rule)
        return lambda: self._relay.rule(switch, Rule())

    def _replace_plan(self, _: Fault) -> Mend:
        self._pending.append(self._changes.submit(self._follow))
        return _nothing

    def _follow(self) -> None:
        """Have the lab follow the next plan; that it is given up while the lab is broken is no fault of its."""
        plan = self._next_plans[0]
        asked = time.monotonic()
        # Traffic may follow the new plan from now on, and the one before until it is gone.
        self.plans.append(PlanInForce(asked, plan))
        try:
            self._lab.update(plan)
        except TestbedError as error:
            self.plans.append(PlanInForce(time.monotonic(), self._lab.plan))
            self._report(f"plan not replaced: {error}")
            return
        self._next_plans.reverse()
        self._report(f"plan replaced after {time.monotonic() - asked:.1f} s")

    def _refuse_plan(self, fault: Fault) -> Mend:
        """Ask for another plan while one switch takes no more entries; it must be given up."""
        (switch,) = fault.subject
        bridge = self._network.bridge(switch)
        self._pending.append(self._changes.submit(self._refused, bridge))
        return _nothing

    def _refused(self, bridge: str) -> None:
        ovs = self._network.ovs
        entries = ovs.ofctl("dump-flows", bridge).count("actions=")
        limit = f"flow_limit={entries} overflow_policy=refuse".split()
        ovs.vsctl("--id=@full", "create", "Flow_Table", *limit, "--", "set", "Bridge", bridge, "flow_tables:0=@full")
        try:
            self._follow()
        finally:
            ovs.vsctl("clear", "Bridge", bridge, "flow_tables")


def _nothing() -> None:
    """Mend a fault that is over at once."""
