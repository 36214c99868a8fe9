"""Victims of attacks: a controller or scheduler as a process, with real switches whose links are cut meanwhile."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.scheduling import events as hedera_events
from kuijia_app.framework import event_log
from kuijia_app.framework.tls import TlsFiles
from kuijia_app.tables.options import OptionWords
from kuijia_base.errors import TestbedError
from te_solver.formats.plan_file import save_plan
from testbed.controllers.application_process import ApplicationProcess, Event, Framework, Listening
from testbed.controllers.controller_process import ControllerProcess, SchedulerProcess
from testbed.crosscheck.dummy_switches import DummyBridges, DummyNetwork
from testbed.machine.ovs import ControlSocket
from tests.certificates import make_certificate
from tests.kuijia_app.dummy_switches import free_port
from tests.kuijia_app.plans import both_ways, plan_of

MIDDLES = 8
_REST = 2.1
"""Seconds that a port is left alone, or the controller would damp it as one that flaps."""

_POLL_SECONDS = 0.002
_QUIET_SECONDS = 0.3
"""Without a switch that has got its tables: the scheduler gives new ones to all of them after each change."""

_SETTLED_SECONDS = 20.0
"""Seconds after which what does not come counts as missing; a machine that is busy with other work is slow."""

PROGRAMMED_WITHIN = 2.0
"""Seconds for a switch that has come back empty; a machine that is busy with other work may take `_SETTLED_SECONDS`."""


class DeadVictimError(TestbedError):
    """The process has ended, or does not do its work any more."""


@dataclass(frozen=True)
class Vitals:
    """Memory, threads and descriptors of the process."""

    resident_mb: float
    threads: int
    descriptors: int


class Victim(ABC):
    """A running application with its switches; what is opened is closed by `undo`."""

    def __init__(
        self,
        network: DummyNetwork,
        process: ApplicationProcess,
        listening: Listening,
        away: str | None,
        undo: ExitStack,
    ) -> None:
        """`away` is a switch that does not connect, and whose coming changes no tables of the others."""
        self.network = network
        self.process = process
        self.port = listening.port
        self._controller = f"{listening.protocol}:127.0.0.1:{listening.port}"
        self._away = away
        self._cut_at: dict[tuple[str, int], float] = {}
        self._next = 0
        self._tables = self.tables()
        self._reconnections = self._goings()
        self._control = undo.enter_context(ControlSocket(network.ovs.switch_control))

    @property
    def ports(self) -> dict[str, list[int]]:
        """The ports of the switches, by datapath id."""
        wiring = self.network.wiring
        return {str(wiring.datapath_id(switch)): list(wiring.ports(switch)) for switch in wiring.topology.nodes}

    @property
    def free(self) -> list[int]:
        """The datapath ids that the application waits for."""
        return [] if self._away is None else [self.network.wiring.datapath_id(self._away)]

    @abstractmethod
    def cuts(self) -> Sequence[tuple[str, int]]:
        """Return the ports, switch and number, that can be cut in turn."""

    @abstractmethod
    def reacted(self, events: Sequence[Event], cut: tuple[str, int], *, up: bool) -> float | None:
        """Return when the application had reacted to the change, None while it has not; the clock is `time.time`."""

    def _wait_until_done(self) -> None:
        """Wait while the application is still at work on the change before, which is no part of the next reaction."""
        return

    def vitals(self) -> Vitals:
        """Raises DeadVictimError when it has ended."""
        folder = Path(f"/proc/{self.process.pid}")
        if self.process.pid is None:
            raise DeadVictimError("the process has ended")
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        descriptors = sum(1 for _ in (folder / "fd").iterdir())
        return Vitals(int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"]), descriptors)

    def tables(self) -> dict[str, list[str]]:
        """Return what the switches' tables hold."""
        switches = self.network.wiring.topology.nodes
        return {switch: [*self.network.groups(switch), *self.network.flows(switch)] for switch in switches}

    def require_programmed(self) -> None:
        """Raise DeadVictimError unless all tables are, soon, as they were before the attack."""
        deadline = time.monotonic() + _SETTLED_SECONDS
        while (tables := self.tables()) != self._tables:
            if time.monotonic() > deadline:
                changed = [switch for switch, lines in tables.items() if lines != self._tables[switch]]
                raise DeadVictimError(f"the tables of {', '.join(changed)} are not as they were")
            time.sleep(0.5)

    def wipe(self) -> float:
        """Have a switch come back empty; return the seconds until it has its tables again.

        Raises:
            DeadVictimError: it does not get them.
        """
        switch = self.wiped()
        bridge, known = self.network.bridge(switch), len(self.process.events())
        self.network.ovs.vsctl("set-controller", bridge, "tcp:127.0.0.1:1")
        self.network.ovs.ofctl("del-flows", bridge)
        self.network.ovs.ofctl("del-groups", bridge)
        began = time.time()
        self.network.ovs.vsctl("set-controller", bridge, self._controller)
        deadline = time.monotonic() + _SETTLED_SECONDS
        while time.monotonic() < deadline:
            for event in self.process.events()[known:]:
                if event["event"] == event_log.SWITCH_READY and event["switch"] == switch and event["time"] > began:
                    self._reconnections += 1
                    return float(event["time"]) - began
            time.sleep(_POLL_SECONDS)
        raise DeadVictimError(f"switch {switch} came back empty, and is not programmed in {_SETTLED_SECONDS:g} s")

    @abstractmethod
    def wiped(self) -> str:
        """Return a switch that may lose its tables."""

    def reconnections(self) -> int:
        """Return how often a real switch's connection was lost since the beginning."""
        return self._goings() - self._reconnections

    def reaction_to_a_cut(self) -> float:
        """Cut the port that has rested longest, wait for the reaction, mend it; return the seconds to the reaction.

        Raises:
            DeadVictimError: there was no reaction.
        """
        cut = self.cuts()[self._next % len(self.cuts())]
        self._next += 1
        rest = self._cut_at.get(cut, 0.0) + _REST - time.monotonic()
        if rest > 0:
            time.sleep(rest)
        self._cut_at[cut] = time.monotonic()
        reaction = self._switch(cut, up=False)
        self._wait_until_done()
        self._switch(cut, up=True)
        self._wait_until_done()
        return reaction

    def _switch(self, cut: tuple[str, int], *, up: bool) -> float:
        known = len(self.process.events())
        began = time.time()
        interface = self.network.interface(*cut)
        self._control.command("netdev-dummy/set-admin-state", interface, "up" if up else "down")
        deadline = time.monotonic() + _SETTLED_SECONDS
        while True:
            try:
                events = self.process.events()[known:]
            except TestbedError as error:
                raise DeadVictimError(str(error)) from error
            at = self.reacted(events, cut, up=up)
            if at is not None:
                return at - began
            if not self.process.is_alive:
                raise DeadVictimError("the process has ended")
            if time.monotonic() > deadline:
                what = "coming up" if up else "going down"
                problem = f"no reaction to port {cut[1]} of {cut[0]} {what} in {_SETTLED_SECONDS:g} s"
                if not up:
                    with suppress(TestbedError):
                        self._control.command("netdev-dummy/set-admin-state", interface, "up")
                raise DeadVictimError(problem)
            time.sleep(_POLL_SECONDS)

    def _goings(self) -> int:
        gone = [event["switch"] for event in self.process.events() if event["event"] == event_log.SWITCH_GONE]
        return sum(switch != self._away for switch in gone)


class ControllerVictim(Victim):
    """`kuijia controller` with a plan of one pair over several switches in parallel: a-m1-b, a-m2-b and so on.

    The ingress has a liveness group for each tunnel; the links m-b are beyond its first ones. No tunnel leads over the
    switch that is away. A reaction is the event that the ingress has acknowledged the change of the group.
    """

    def cuts(self) -> Sequence[tuple[str, int]]:
        wiring = self.network.wiring
        middles = [f"m{number}" for number in range(MIDDLES)]
        return [*((m, wiring.port(m, "b")) for m in middles), *(("b", wiring.port("b", m)) for m in middles)]

    def wiped(self) -> str:
        return "m0"

    def reacted(self, events: Sequence[Event], cut: tuple[str, int], *, up: bool) -> float | None:
        switch, port = cut
        middle = switch if switch != "b" else self.network.wiring.neighbour_at("b", port)
        label = 16 + int(str(middle)[1:])
        for event in events:
            if event["event"] == event_log.TUNNEL_LIVENESS and (event["path_id"], event["alive"]) == (label, up):
                return float(event["time"])
        return None


class SchedulerVictim(Victim):
    """`kuijia scheduler` with the fat-tree of 4 ports; a reaction is the event that routes go around the cable."""

    def cuts(self) -> Sequence[tuple[str, int]]:
        wiring = self.network.wiring
        cores = [node for node in wiring.topology.nodes if node.startswith("c")]
        return [(core, port) for core in cores for port in wiring.ports(core)]

    def wiped(self) -> str:
        return next(node for node in self.network.wiring.topology.nodes if node.startswith("c"))

    def reacted(self, events: Sequence[Event], cut: tuple[str, int], *, up: bool) -> float | None:
        switch, port = cut
        cable = sorted((switch, str(self.network.wiring.neighbour_at(switch, port))))
        for event in events:
            if event["event"] == hedera_events.ROUTES_CHANGED and (cable in event["failed"]) is not up:
                return float(event["time"])
        return None

    def _wait_until_done(self) -> None:
        deadline = time.monotonic() + _SETTLED_SECONDS
        while time.monotonic() < deadline:
            time.sleep(_QUIET_SECONDS / 5)
            work = [event["time"] for event in self.process.events() if event["event"] == event_log.SWITCH_READY]
            if max(work, default=0.0) < time.time() - _QUIET_SECONDS:
                return


@contextmanager
def victim(application: str, framework: Framework, folder: Path, *, by_tls: bool = False) -> Iterator[Victim]:
    """Start an application, `controller` or `scheduler`, and its switches; stop both afterwards."""
    with ExitStack() as undo:
        tls = _tls_files(folder) if by_tls else None
        listening = Listening(free_port(), tls=tls)
        network: DummyNetwork
        process: ApplicationProcess
        kind: type[Victim]
        away: str | None
        if application == "controller":
            middles = [f"m{number}" for number in range(MIDDLES)]
            away = "away"
            edges = " ".join(f"a-{m} {m}-b" for m in (*middles, away))
            topology = both_ways("fan", " ".join(["a", "b", *middles, away]), edges)
            plan = plan_of(topology, " ".join(f"a-{m}-b" for m in middles))
            save_plan(plan, folder / "plan.json")
            network = DummyBridges(plan, folder)
            process = ControllerProcess(folder, folder / "plan.json", OptionWords(), framework, listening)
            kind = ControllerVictim
        else:
            centre = DataCentre(FatTree(4, 0.001))
            network = DummyNetwork(centre.wiring, folder)
            away = None  # any of them would say which cables others have to do without
            options = {"nic_rate": centre.fabric.nic_rate, "period": 1.0}
            process = SchedulerProcess(folder, options, framework, listening)
            kind = SchedulerVictim
        undo.enter_context(network)
        if tls is not None:
            network.ovs.vsctl("set-ssl", str(folder / "switch.key"), str(folder / "switch.pem"), str(tls.ca))
        undo.callback(process.stop)
        process.start()
        switches = [switch for switch in network.wiring.topology.nodes if switch != away]
        for switch in switches:
            network.ovs.vsctl(
                "set-controller", network.bridge(switch), f"{listening.protocol}:127.0.0.1:{listening.port}"
            )
        process.wait_until_ready(switches)
        yield kind(network, process, listening, away, undo)


def _tls_files(folder: Path) -> TlsFiles:
    """Make keys and certificates of a controller and of its switches."""
    for name in ("controller", "switch"):
        make_certificate(folder, name)
    return TlsFiles(folder / "controller.key", folder / "controller.pem", folder / "ca.pem")
