"""The controller or the scheduler as a process, under either framework, with imitated switches of its whole network."""

from __future__ import annotations

import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from types import TracebackType

from hedera.scheduling.options import SchedulerOptions, build
from kuijia_app.framework import event_log
from kuijia_app.framework.tls import TlsFiles
from kuijia_app.tables.options import OptionWords
from kuijia_app.tables.wiring import Wiring
from te_solver.formats.plan_file import save_plan
from testbed.controllers.application_process import ApplicationProcess, Event, Framework, Listening
from testbed.controllers.controller_process import ControllerProcess, SchedulerProcess
from tests.kuijia_app.dummy_switches import free_port, wait_until
from tests.kuijia_app.gate.imitated_switch import FLOW_MOD, PATIENCE, ImitatedSwitch, message, port_status
from tests.kuijia_app.plans import motivation_plan

_TRIED = 3
"""Switches that are tried at a time."""

FRAMEWORKS: tuple[Framework, ...] = ("os-ken", "ryu")


@dataclass(frozen=True)
class Footprint:
    """Resources that a process holds; memory is in MB."""

    memory: float
    threads: int
    descriptors: int


class Rig(ABC):
    """An application with all its switches connected."""

    wiring: Wiring

    def __init__(self, folder: Path, framework: Framework, tls: TlsFiles | None = None) -> None:
        self.framework = framework
        self.port = free_port()
        self.switches: dict[str, ImitatedSwitch] = {}
        self.folder = folder
        self._changes: dict[str, Iterator[tuple[int, bool]]] = {}
        self._tried: Iterator[str] = iter(())
        self.process = self._process(folder, framework, Listening(self.port, tls=tls))

    @abstractmethod
    def _process(self, folder: Path, framework: Framework, listening: Listening) -> ApplicationProcess: ...

    def __enter__(self) -> Rig:
        self.process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.stop()
        for switch in self.switches.values():
            switch.close()

    def connect(self, name: str, tls: ssl.SSLContext | None = None) -> ImitatedSwitch:
        """Connect a switch of the network, in the place of the one that was."""
        datapath_id = self.wiring.datapath_id(name)
        self.switches[name] = ImitatedSwitch(self.port, datapath_id, self.wiring.ports(name), tls=tls)
        return self.switches[name]

    def reconnect(self, name: str) -> None:
        """Connect a switch in the place of the one that was, and wait until this one is programmed."""
        times = self.ready(name)
        switch = self.connect(name)
        # Other routes may program the one that was once more, so that the events alone do not say which one is ready.
        assert switch.wait_for(lambda: switch.was_sent(FLOW_MOD)), self.log()[-2000:]
        wait_until(lambda: self.ready(name) > times, f"{name} is programmed")

    def connect_all(self, tls: ssl.SSLContext | None = None) -> None:
        for name in self.wiring.topology.nodes:
            self.connect(name, tls)
        self.process.wait_until_ready(self.switches)
        self._tried = cycle(list(self.switches))

    def claim(self, name: str) -> ImitatedSwitch:
        """Connect another switch with the datapath id of one of the network."""
        return ImitatedSwitch(self.port, self.wiring.datapath_id(name), self.wiring.ports(name))

    def ready(self, name: str) -> int:
        """Return how often a switch has been programmed."""
        return len(self.events(event_log.SWITCH_READY, switch=name))

    def events(self, kind: str, **details: object) -> list[Event]:
        return [
            event
            for event in self.process.events()
            if event["event"] == kind and all(event.get(name) == value for name, value in details.items())
        ]

    def reaction(self, name: str) -> float:
        """Return the seconds that the application takes to hear of a port that goes or comes, another one each time."""
        seen = len(self.events(event_log.PORT_STATUS, switch=name))
        every = [(port, live) for live in (False, True) for port in self.wiring.ports(name)]
        port, live = next(self._changes.setdefault(name, cycle(every)))
        began = time.monotonic()
        self.switches[name].send(port_status(port, live=live))

        def is_heard_of() -> bool:
            assert self.process.pid is not None, f"the process has ended: {self.log()[-2000:]}"
            return len(self.events(event_log.PORT_STATUS, switch=name)) > seen

        wait_until(is_heard_of, f"the port of {name} is heard of")
        return time.monotonic() - began

    def assert_well(self) -> None:
        """All switches are connected, and those that are tried are heard, others each time lest their ports flap."""
        for name, switch in self.switches.items():
            assert not switch.has_ended, f"{name} has been dropped: {self.log()[-2000:]}"
        for name in islice(self._tried, _TRIED):
            self.reaction(name)

    def footprint(self) -> Footprint:
        pid = self.process.pid
        assert pid is not None
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        memory = int(status["VmRSS"].split()[0]) / 1024
        return Footprint(memory, int(status["Threads"]), len(list(Path(f"/proc/{pid}/fd").iterdir())))

    def log(self) -> str:
        return (self.folder / "controller.log").read_text(errors="replace")


class ControllerRig(Rig):
    """`kuijia_app.controller` with the four switches of the paper's example."""

    def _process(self, folder: Path, framework: Framework, listening: Listening) -> ApplicationProcess:
        plan = motivation_plan()
        self.wiring = Wiring(plan.topology)
        save_plan(plan, folder / "plan.json")
        return ControllerProcess(folder, folder / "plan.json", OptionWords(), framework, listening)


class BoundRig(ControllerRig):
    """The same by TLS, with a file that binds certificates to datapath ids."""

    def __init__(self, folder: Path, framework: Framework, tls: TlsFiles, binding: Path) -> None:
        self._binding = binding
        super().__init__(folder, framework, tls)

    def _process(self, folder: Path, framework: Framework, listening: Listening) -> ApplicationProcess:
        process = super()._process(folder, framework, listening)
        command = process._command

        def bound() -> list[str]:
            words = command()
            if framework == "os-ken":
                return [*words, f"--tls-bind={self._binding}"]
            with (folder / "ryu.conf").open("a") as configuration:
                configuration.write(f"tls_bind = {self._binding}\n")  # its last section is that of the application
            return words

        process._command = bound  # type: ignore[method-assign]  # no option of its own, as labs need none
        return process


class SchedulerRig(Rig):
    """`hedera.scheduler` with the twenty switches of a fat-tree."""

    def _process(self, folder: Path, framework: Framework, listening: Listening) -> ApplicationProcess:
        self.wiring = build(SchedulerOptions(fat_tree=4))[0].wiring
        return SchedulerProcess(folder, {"fat_tree": 4}, framework, listening)


def hostile(port: int, data: bytes = b"", *, greets: bool = True) -> socket.socket:
    """Return a connection that has sent something, as much of it as was taken."""
    connected = socket.create_connection(("127.0.0.1", port), PATIENCE)
    with suppress(OSError):  # it may be refused before all is sent
        connected.sendall((message(0) if greets else b"") + data)
    return connected


def was_ended(connected: socket.socket, timeout: float = PATIENCE) -> bool:
    """Return True once the other side has ended a connection."""
    connected.settimeout(timeout)
    try:
        while connected.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def many(port: int, number: int, data: bytes = b"", *, greets: bool = True) -> Iterator[list[socket.socket]]:
    """So many connections that stay as long as they may; some may not come about at all."""
    connections = []
    try:
        for _ in range(number):
            try:
                connections.append(hostile(port, data, greets=greets))
            except OSError:
                continue
        yield connections
    finally:
        for each in connections:
            each.close()
