"""Breaks and mends a running lab, fault by fault; its own disk can be filled."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kuijia_app.preparation.queues import ROOT_CLASS, burst_bytes
from kuijia_app.tables.wiring import Wiring
from kuijia_base.commands import run_batch, run_command
from kuijia_base.errors import KuijiaError, TestbedError
from te_solver.model.plan import Plan
from testbed.chaos import faults
from testbed.chaos.controllers import CLOCK_JUMP, ControllerBreaker, Mend, freeze, nothing
from testbed.chaos.faults import FOREVER, ChaosFault, FaultSpan
from testbed.chaos.oracle import PlanInForce
from testbed.chaos.relay import Rule
from testbed.lab.lab import Emulation, Lab
from testbed.links.port_status import set_devices
from testbed.machine.ovs import Datapath, PrivateOvs
from testbed.machine.run_directory import RunDirectory
from testbed.network.bridges import NetworkOptions
from testbed.network.lab_network import LabNetwork

_MOUNTS = Path("/proc/thread-self/ns/mnt")
_CLONE_NEWNS = 0x00020000  # sched.h; os.unshare and os.setns exist from Python 3.12 on
_SIZE_MB = 128
_ATTEMPTS = 20
_libc = ctypes.CDLL(None, use_errno=True)


class SmallDisk(Emulation):
    """Ground of a lab whose storage is a file system in memory that nobody else sees; it takes only what is written.

    The mount belongs to a namespace of the calling thread, so it vanishes with the lab's processes, however they end.
    """

    def __init__(self) -> None:
        self._path: Path | None = None

    @contextmanager
    def network(
        self, wiring: Wiring, run: RunDirectory, options: NetworkOptions, report: Callable[[str], None]
    ) -> Iterator[LabNetwork]:
        run.storage = self._path = run.path / "disk"
        with _private_mounts(), _mounted(self._path), super().network(wiring, run, options, report) as network:
            yield network

    def fill(self) -> None:
        """Leave no room for anything new: the file system shrinks to what it holds. Raises TestbedError on failure."""
        for attempt in range(_ATTEMPTS):
            held = os.statvfs(self._mounted_path)
            used = (held.f_blocks - held.f_bfree) * held.f_frsize
            try:
                self._resize(used)
            except TestbedError:  # something has been written in between
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return

    def empty(self) -> None:
        """Give back the room that `fill` has taken."""
        self._resize(_SIZE_MB << 20)

    @property
    def _mounted_path(self) -> Path:
        if self._path is None:
            raise TestbedError("the lab has no disk yet")
        return self._path

    def _resize(self, size: int) -> None:
        run_command(["mount", "-o", f"remount,size={size}", str(self._mounted_path)])


@contextmanager
def _mounted(path: Path) -> Iterator[None]:
    path.mkdir(mode=0o700)
    run_command(["mount", "-t", "tmpfs", "-o", f"size={_SIZE_MB}m,mode=700", "kuijia-chaos", str(path)])
    try:
        yield
    finally:
        # A file that is still open keeps it: then it ends with the process that has it open.
        run_command(["umount", "--lazy", str(path)])


@contextmanager
def _private_mounts() -> Iterator[None]:
    """Give the calling thread its own mounts for a block; others see none of its new ones."""
    own = os.open(_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
    folder = os.open(".", os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        if _libc.unshare(_CLONE_NEWNS) != 0:
            raise TestbedError(f"mounts of its own cannot be made: {os.strerror(ctypes.get_errno())}")
        try:
            run_command(["mount", "--make-rprivate", "/"])
            yield
        finally:
            if _libc.setns(own, _CLONE_NEWNS) != 0:
                raise TestbedError(f"the former mounts cannot be entered: {os.strerror(ctypes.get_errno())}")
            with suppress(OSError):  # somebody has removed the folder meanwhile
                os.fchdir(folder)
    finally:
        os.close(own)
        os.close(folder)


LATE_SECONDS = 0.2
"""Delay of a late connection, in each direction."""

LOSS = 0.1
"""Share of pieces that come late on a lossy connection."""

_FLAP_SECONDS = 0.15
_RETRY_SECONDS = 0.1
_PATIENCE = 120.0


class Injector:
    """Breaks a lab by faults and mends it again; used as a context manager, which mends what is broken.

    Changes that wait for the controller are made one after the other in a thread of their own, so that other faults
    come while they wait.

    Args:
        lab: a running lab on an emulated network.
        controllers: of the lab, behind a relay.
        disk: that the lab stands on.
        other_plan: what the plan is replaced by, and the first plan the next time.
        report: receives a line about each change of the plan.
    """

    def __init__(
        self,
        lab: Lab,
        controllers: ControllerBreaker,
        disk: SmallDisk,
        other_plan: Plan,
        report: Callable[[str], None],
    ) -> None:
        self.plans = [PlanInForce(time.monotonic(), lab.plan)]
        self._spans: list[FaultSpan] = []
        self._flaps: list[FaultSpan] = []
        self._lab = lab
        self._network = lab.emulated_network
        self._controllers = controllers
        self._disk = disk
        self._next_plans = [other_plan, lab.plan]
        self._report = report
        self._mends: dict[ChaosFault, tuple[int, Mend]] = {}
        self._changes = ThreadPoolExecutor(1, thread_name_prefix="changes")
        self._side = ThreadPoolExecutor(thread_name_prefix="flapping")
        self._pending: list[Future[object]] = []

    def __enter__(self) -> Injector:
        return self

    def __exit__(self, *_: object) -> None:
        self.mend_all()
        self._changes.shutdown()
        self._side.shutdown()

    @property
    def spans(self) -> tuple[FaultSpan, ...]:
        """What was broken, so far, each until it was mended."""
        return (*self._spans, *self._flaps)

    def begin(self, fault: ChaosFault) -> None:
        """Break something; raises TestbedError if that fails."""
        place = len(self._spans)
        self._spans.append(FaultSpan(fault.kind, fault.subject, time.monotonic()))
        self._mends[fault] = place, self._break(fault)

    def mend(self, fault: ChaosFault) -> None:
        """Mend what a fault broke; raises TestbedError if that fails."""
        place, mend = self._mends.pop(fault)
        mend()
        self._end(place)

    def _end(self, place: int) -> None:
        span = self._spans[place]
        self._spans[place] = FaultSpan(span.kind, span.subject, span.start, time.monotonic())

    def mend_all(self) -> tuple[str, ...]:
        """Mend whatever is broken; return in words what could not be."""
        failures = []
        for fault in list(self._mends):
            try:
                self.mend(fault)
            except KuijiaError as error:
                failures.append(f"{fault.title}: {error}")
        return tuple(failures)

    def settle(self) -> None:
        """Wait until the changes under way have ended; raises the error of one that failed."""
        pending, self._pending = self._pending, []
        _require_ended(pending)
        for change in pending:
            change.result()

    def follow_undisturbed(self) -> tuple[str, ...]:
        """Have the lab follow the next plan, while nothing is broken; return in words why it has not."""
        change = self._changes.submit(self._follow)
        _require_ended([change])
        problem = change.result()
        return () if problem is None else (f"after the last fault the plan cannot be replaced: {problem}",)

    def _break(self, fault: ChaosFault) -> Mend:
        controllers = self._controllers

        def treated(rule: Rule) -> Callable[[ChaosFault], Mend]:
            return lambda fault: controllers.treat(fault.subject[0], rule)

        kinds: Mapping[str, Callable[[ChaosFault], Mend]] = {
            faults.CUT: self._cut,
            faults.CUT_END: self._cut,
            faults.FLAP: self._flap,
            faults.SLOW: self._slow,
            faults.SWITCH_WIPED: self._wipe,
            faults.SWITCHES_FROZEN: lambda _: freeze(self._network.ovs.switch_pid()),
            faults.SWITCHES_KILLED: self._kill_switches,
            faults.DATABASE_FROZEN: lambda _: freeze(self._network.ovs.database_pid()),
            faults.DATABASE_KILLED: self._kill_database,
            faults.DISK_FULL: self._fill_disk,
            faults.CONTROLLER_KILLED: lambda _: controllers.kill(),
            faults.CONTROLLER_FROZEN: lambda _: controllers.freeze(),
            faults.CLOCK_FORWARD: lambda _: controllers.set_clock(CLOCK_JUMP),
            faults.CLOCK_BACK: lambda _: controllers.set_clock(-CLOCK_JUMP),
            faults.STANDBY_KILLED: lambda _: controllers.kill_standby(),
            faults.HANDOVER: lambda _: controllers.hand_over(),
            faults.PEERS_CUT: lambda _: controllers.treat_peers(Rule(hold_from_near=True, hold_to_near=True)),
            faults.PEERS_LATE: lambda _: controllers.treat_peers(Rule(delay=LATE_SECONDS)),
            faults.PEERS_LOSSY: lambda _: controllers.treat_peers(Rule(loss=LOSS)),
            faults.FROM_ACTING_CUT: lambda _: controllers.cut_from_acting(),
            faults.TO_ACTING_CUT: lambda _: controllers.cut_to_acting(),
            faults.CONNECTION_RESET: lambda fault: controllers.reset(fault.subject[0]),
            faults.CONNECTION_LATE: treated(Rule(delay=LATE_SECONDS)),
            faults.CONNECTION_LOSSY: treated(Rule(loss=LOSS)),
            faults.FROM_SWITCH_CUT: treated(Rule(hold_from_near=True)),
            faults.TO_SWITCH_CUT: treated(Rule(hold_to_near=True)),
            faults.PLAN_REPLACED: self._replace_plan,
            faults.PLAN_REFUSED: self._refuse_plan,
            faults.PLAN_WITHDRAWN: self._withdraw_plan,
        }
        return kinds[fault.kind](fault)

    def _ends(self, fault: ChaosFault) -> list[str]:
        a, b = fault.subject
        wiring = self._network.wiring
        return [self._network.interface(a, wiring.port(a, b)), self._network.interface(b, wiring.port(b, a))]

    def _cut(self, fault: ChaosFault) -> Mend:
        ends = self._ends(fault)
        cut = ends[:1] if fault.kind == faults.CUT_END else ends
        set_devices(cut, up=False)
        return lambda: set_devices(cut, up=True)

    def _flap(self, fault: ChaosFault) -> Mend:
        """Take a link down and up again in quick succession; every time that it is down is a span of its own."""
        ends = self._ends(fault)
        end = time.monotonic() + fault.seconds - _FLAP_SECONDS

        def flap() -> None:
            down_at = time.monotonic()
            while True:
                set_devices(ends, up=False)
                time.sleep(_FLAP_SECONDS / 2)
                set_devices(ends, up=True)
                self._flaps.append(FaultSpan(faults.FLAP_DOWN, fault.subject, down_at, time.monotonic()))
                if time.monotonic() > end:
                    return
                time.sleep(_FLAP_SECONDS / 2)
                down_at = time.monotonic()

        flapping = self._side.submit(flap)
        return lambda: flapping.result(_PATIENCE)

    def _slow(self, fault: ChaosFault) -> Mend:
        a, b = fault.subject
        capacity = self._lab.plan.topology.link(a, b).capacity

        def limit(rate: float) -> None:
            bits, burst = round(rate * 1000), burst_bytes(rate)
            words = f"rate {bits}kbit ceil {bits}kbit burst {burst} cburst {burst}"
            run_batch(
                "tc",
                [f"class change dev {end} classid {ROOT_CLASS} htb {words}".split() for end in self._ends(fault)],
            )

        limit(capacity * faults.SLOW_SHARE)
        return lambda: limit(capacity)

    def _wipe(self, fault: ChaosFault) -> Mend:
        """Empty a switch's tables and end its connection, which is what its restart looks like to the controller."""
        (switch,) = fault.subject
        self._network.ofctl(switch, "del-flows")
        self._network.ofctl(switch, "del-groups")
        return self._controllers.reset(switch, all_controllers=True)

    def _kill_switches(self, _: ChaosFault) -> Mend:
        ovs = self._private_ovs()
        ovs.kill_switches()

        def restart() -> None:
            ovs.start_switches()
            if ovs.datapath is Datapath.USERSPACE:
                self._network.enlarge_send_buffer()

        return restart

    def _kill_database(self, _: ChaosFault) -> Mend:
        ovs = self._private_ovs()
        ovs.kill_database()
        place = len(self._spans) - 1

        def until_followed() -> None:
            # ovs-vsctl returns once the switches have read this, so they are connected again.
            self._set("set", "Open_vSwitch", ".", f"external_ids:kuijia-chaos={time.monotonic_ns()}")
            self._end(place)

        def restart() -> None:
            ovs.start_database()
            self._pending.append(self._side.submit(until_followed))

        return restart

    def _private_ovs(self) -> PrivateOvs:
        ovs = self._network.ovs
        if not isinstance(ovs, PrivateOvs):
            raise TestbedError("the machine's own Open vSwitch is not the lab's to kill")
        return ovs

    def _fill_disk(self, _: ChaosFault) -> Mend:
        self._disk.fill()
        return self._disk.empty

    def _replace_plan(self, _: ChaosFault) -> Mend:
        self._pending.append(self._changes.submit(self._follow))
        return nothing

    def _withdraw_plan(self, _: ChaosFault) -> Mend:
        """Ask for another plan, and no longer when it is mended, however far the update has come by then."""
        self._pending.append(self._changes.submit(self._follow))
        return self._lab.withdraw_update

    def _follow(self) -> str | None:
        """Have the lab follow the next plan; return why it has not, which is no fault of a lab that is broken."""
        plan = self._next_plans[0]
        asked = time.monotonic()
        # Traffic may follow the new plan from now on, and the one before until it is gone.
        self.plans.append(PlanInForce(asked, plan, FOREVER))
        try:
            self._lab.update(plan)
        except KuijiaError as error:
            self.plans[-1] = PlanInForce(asked, plan, time.monotonic())
            self.plans.append(PlanInForce(time.monotonic(), self._lab.plan))
            self._report(f"plan not replaced: {error}")
            return str(error)
        self.plans[-1] = PlanInForce(asked, plan, time.monotonic())
        self._next_plans.reverse()
        self._report(f"plan replaced after {time.monotonic() - asked:.1f} s")
        return None

    def _refuse_plan(self, fault: ChaosFault) -> Mend:
        """Ask for another plan while one switch takes no more entries; it must be given up."""
        (switch,) = fault.subject
        bridge = self._network.bridge(switch)
        self._pending.append(self._changes.submit(self._refused, bridge))
        return nothing

    def _refused(self, bridge: str) -> None:
        ovs = self._network.ovs
        # Another change may have kept this one waiting until the switches are killed.
        entries = _as_soon_as_possible(lambda: ovs.ofctl("dump-flows", bridge)).count("actions=")
        limit = f"flow_limit={entries} overflow_policy=refuse".split()
        self._set("--id=@full", "create", "Flow_Table", *limit, "--", "set", "Bridge", bridge, "flow_tables:0=@full")
        try:
            self._follow()
        finally:
            self._set("clear", "Bridge", bridge, "flow_tables")

    def _set(self, *arguments: str) -> None:
        """Set something in the switches' database, as soon as it takes that: its disk may be full, its server dead."""
        _as_soon_as_possible(lambda: self._network.ovs.vsctl(*arguments))


def _as_soon_as_possible(command: Callable[[], str]) -> str:
    """Run a command until it succeeds and return its output; raises its TestbedError if it does not for long."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return command()
        except TestbedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)  # nothing tells when a server that was killed answers again


def _require_ended(changes: Sequence[Future[Any]]) -> None:
    """Wait until changes have ended; raises TestbedError if one has not for long."""
    if wait(changes, _PATIENCE).not_done:
        raise TestbedError(f"a change is still under way after {_PATIENCE:g} s")
