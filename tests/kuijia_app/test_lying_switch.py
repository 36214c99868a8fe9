"""A switch of the plan lies about roles: cuts at real switches have their reaction, and nobody stands down."""

from __future__ import annotations

import random
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kuijia_app.framework import event_log
from kuijia_app.tables.options import OptionWords
from te_solver.formats.plan_file import save_plan
from testbed.controllers.application_process import Event, Listening
from testbed.controllers.controller_process import ControllerProcess, Peers
from tests.kuijia_app.dummy_switches import DummySwitches, free_port, wait_until
from tests.kuijia_app.imitated_switch import ROLE_REPLY, ROLE_REQUEST, ImitatedSwitch
from tests.kuijia_app.plans import motivation_plan

pytestmark = [pytest.mark.ovs, pytest.mark.slow]

LIAR = "s3"
T1 = 16
FLOW_MOD, GROUP_MOD, BUNDLE = 14, 15, 4
IS_SLAVE, STALE = (1, 10), (11, 0)
PARTS = (event_log.ROLE_TAKEN, event_log.ROLE_YIELDED, event_log.ROLE_LOST)
CUTS = 5
LATE, PROGRAMMED_WITHIN = 1.0, 6.0
"""Seconds on a busy machine; `docs/pair.md` says what a quiet one takes."""


class LyingSwitch(ImitatedSwitch):
    """Refuses claims and changes by role errors with their ids, or tells later generation ids."""

    def _answer(self, kind: int, body: bytes, xid: int) -> None:
        lie = random.randrange(3)
        if kind == ROLE_REQUEST:
            role, generation = struct.unpack("!I4xQ", body)
            if lie == 0 and role:
                self.send_error(*STALE, xid)
            else:
                later = generation + random.choice((0, 1, 1 << 48, 1 << 62, (1 << 63) - 1))
                self.send(ROLE_REPLY, struct.pack("!I4xQ", role, later % (1 << 64)), xid)
        elif kind in (FLOW_MOD, GROUP_MOD, BUNDLE) and lie < 2:
            self.send_error(*IS_SLAVE, xid)
        else:
            super()._answer(kind, body, xid)


class Liar:
    """Threads in which a lying switch connects to controllers again and again, each time for a few seconds."""

    def __init__(self, ports: Sequence[int], datapath_id: int, numbers: Sequence[int]) -> None:
        self._ends = threading.Event()
        self._arguments = datapath_id, numbers
        self._threads = [threading.Thread(target=self._lie, args=(port,), daemon=True) for port in ports]

    def __enter__(self) -> Liar:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _lie(self, port: int) -> None:
        while not self._ends.is_set():
            with LyingSwitch(port, *self._arguments) as switch:
                switch.has_ended.wait(random.uniform(0.2, 3.0))
            self._ends.wait(0.05)


class Attacked:
    """One controller or a pair, whose other switches are real; the liar connects to the `lied_to` ones."""

    def __init__(self, switches: DummySwitches, members: Sequence[ControllerProcess], ports: Sequence[int]) -> None:
        self.switches, self.members, self.ports = switches, members, ports
        self.honest = [each for each in switches.plan.topology.nodes if each != LIAR]
        self._targets = [f"tcp:127.0.0.1:{port}" for port in ports]
        for switch in self.honest:
            self.connect(switch)
        wait_until(lambda: set(self.honest) <= set(self.ready()), "all are programmed")

    def connect(self, switch: str) -> None:
        self.switches.ovs.vsctl("set-controller", self.switches.bridge(switch), *self._targets)

    def events(self) -> list[Event]:
        return sorted((event for each in self.members for event in each.events()), key=lambda event: event["time"])

    def ready(self, since: float = 0.0) -> dict[str, float]:
        """Return when each switch was programmed first, since a time."""
        found: dict[str, float] = {}
        for event in self.events():
            if event["event"] == event_log.SWITCH_READY and event["time"] >= since:
                found.setdefault(event["switch"], event["time"])
        return found

    def parts(self) -> list[str]:
        return [event["event"] for event in self.events() if event["event"] in PARTS]

    def liar(self, ports: Sequence[int]) -> Liar:
        wiring = self.switches.wiring
        return Liar(ports, wiring.datapath_id(LIAR), sorted(wiring.ports(LIAR)))

    def reaction_to_a_cut(self) -> float:
        """Cut a link beyond the first of a tunnel and mend it; return the seconds to the reaction."""
        began = self._goes("down", alive=False)
        told = self._told(began, alive=False)
        self._goes("up", alive=True)
        assert told is not None
        return told - began

    def _goes(self, state: str, *, alive: bool) -> float:
        """Take the link down or up, and wait until the tunnel's ingress knows; return when that began."""
        began = time.time()
        self.switches.set_port("s2", self.switches.wiring.port("s2", "s4"), state)
        wait_until(lambda: self._told(began, alive=alive) is not None, f"the ingress knows that it is {state}")
        return began

    def _told(self, since: float, *, alive: bool) -> float | None:
        for event in self.events():
            is_told = event["event"] == event_log.TUNNEL_LIVENESS and event["time"] >= since
            if is_told and (event["path_id"], event["alive"]) == (T1, alive):
                return float(event["time"])
        return None

    def wipe(self, switch: str) -> float:
        """Have a switch come back empty; return the seconds until it has its tables."""
        bridge = self.switches.bridge(switch)
        self.switches.disconnect(switch)
        self.switches.ovs.ofctl("del-flows", bridge)
        self.switches.ovs.ofctl("del-groups", bridge)
        began = time.time()
        self.connect(switch)
        wait_until(lambda: switch in self.ready(began), f"{switch} is programmed")
        return self.ready(began)[switch] - began


@contextmanager
def attacked(folder: Path, controllers: int) -> Iterator[Attacked]:
    ports = [free_port() for _ in range(2 * controllers)]
    addresses = [f"127.0.0.1:{port}" for port in ports[controllers:]]
    with DummySwitches(motivation_plan(), folder) as switches, ExitStack() as undo:
        members = []
        for number, port in enumerate(ports[:controllers]):
            directory = folder / f"controller{number}"
            directory.mkdir()
            save_plan(switches.plan, directory / "plan.json")
            member = ControllerProcess(directory, directory / "plan.json", OptionWords(), "os-ken", Listening(port))
            if controllers > 1:
                member.peers = Peers(addresses[number], tuple(each for each in addresses if each != addresses[number]))
            undo.callback(member.stop)
            member.start()
            members.append(member)
        yield Attacked(switches, members, ports[:controllers])


@pytest.mark.parametrize("controllers", [1, 2])
def test_beside_a_switch_that_lies_cuts_have_their_reaction_and_nobody_stands_down(
    tmp_path: Path, controllers: int
) -> None:
    with attacked(tmp_path, controllers) as network:
        before = network.parts()
        with network.liar(network.ports):
            wait_until(
                lambda: any(event["event"] == event_log.ROLE_DENIED for event in network.events()), "the liar is heard"
            )
            reactions = [network.reaction_to_a_cut() for _ in range(CUTS)]
            programmed = network.wipe("s2")
        assert network.parts() == before
    assert sorted(reactions)[CUTS // 2] <= LATE
    assert programmed <= PROGRAMMED_WITHIN
