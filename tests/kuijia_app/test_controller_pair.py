"""Two controllers of the same real switches: one acts, the other takes over."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia_app.framework import event_log
from kuijia_app.framework.addresses import parse_address
from kuijia_app.framework.handover_request import NoHandoverError, request_handover
from kuijia_app.tables.options import OptionWords
from te_solver.formats.plan_file import save_plan
from testbed.controllers.application_process import Listening
from testbed.controllers.controller_process import ControllerProcess, Peers
from tests.kuijia_app.dummy_switches import DummySwitches, free_port, wait_until
from tests.kuijia_app.plans import motivation_plan

pytestmark = [pytest.mark.ovs, pytest.mark.slow]

FLOWS = range(20000, 20100)
T1, T2, T3 = 16, 17, 18
PROMPT = 10.0
"""Seconds for a takeover on a busy machine; `docs/pair.md` says how long it takes on a quiet one."""


@pytest.fixture
def switches(tmp_path: Path) -> Iterator[DummySwitches]:
    with DummySwitches(motivation_plan(), tmp_path) as running:
        yield running


@pytest.fixture(params=["os-ken", "ryu"])
def pair(switches: DummySwitches, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[list[ControllerProcess]]:
    ports = [free_port() for _ in range(4)]
    addresses = [f"127.0.0.1:{port}" for port in ports[2:]]
    members = []
    for number, listening in enumerate(ports[:2]):
        directory = tmp_path / f"controller{number}"
        directory.mkdir()
        save_plan(switches.plan, directory / "plan.json")
        peers = Peers(addresses[number], (addresses[1 - number],))
        words = OptionWords()
        plan_file = directory / "plan.json"
        member = ControllerProcess(directory, plan_file, words, request.param, Listening(listening))
        member.peers = peers
        members.append(member)
    try:
        for each in members:
            each.start()
        for switch in switches.plan.topology.nodes:
            targets = [f"tcp:127.0.0.1:{port}" for port in ports[:2]]
            switches.ovs.vsctl("set-controller", switches.bridge(switch), *targets)
        wait_until(lambda: bool(acting(members)), "one of them acts")
        (first,) = acting(members)
        first.wait_until_ready(switches.plan.topology.nodes)
        wait_until(
            lambda: any(each["event"] == event_log.SUCCESSOR_READY for each in first.events()), "the other is ready"
        )
        yield members
    finally:
        for each in members:
            each.signal(signal.SIGCONT)
            each.stop()


def acting(members: list[ControllerProcess]) -> list[ControllerProcess]:
    kinds = (event_log.ROLE_TAKEN, event_log.ROLE_YIELDED)
    last = [next((e["event"] for e in reversed(each.events()) if e["event"] in kinds), None) for each in members]
    return [each for each, kind in zip(members, last, strict=True) if kind == event_log.ROLE_TAKEN]


def took_over(member: ControllerProcess, began: float) -> float:
    """Wait until a controller acts and all switches are programmed; return the seconds since then until it acted."""
    found: list[float] = []

    def has_begun() -> bool:
        found[:] = [e["time"] for e in member.events() if e["event"] == event_log.ROLE_TAKEN and e["time"] > began]
        return bool(found)

    wait_until(has_begun, "the other acts")
    return found[0] - began


def test_the_other_takes_over_when_one_is_killed_frozen_or_hands_over(
    switches: DummySwitches, pair: list[ControllerProcess]
) -> None:
    (first,) = acting(pair)
    second = pair[1 - pair.index(first)]
    before = switches.groups("s1"), switches.flows("s1")

    assert first.peers is not None
    assert second.peers is not None
    with pytest.raises(NoHandoverError, match=r"^this controller stands by: ask the one that acts$"):
        request_handover(parse_address(second.peers.listen), None)
    request_handover(parse_address(first.peers.listen), None)
    assert acting(pair) == [second]

    began = time.time()
    second.signal(signal.SIGSTOP)
    frozen = took_over(first, began)
    second.signal(signal.SIGCONT)
    wait_until(lambda: acting(pair) == [first], "only the first acts")

    began = time.time()
    first.kill()
    switches.set_port("s2", switches.wiring.port("s2", "s4"), "down")
    killed = took_over(second, began)
    wait_until(
        lambda: T1 not in {packet.label for packet in switches.send_from_host("s1", "s4", FLOWS)},
        "the ingress avoids the tunnel that died during the takeover",
    )
    switches.set_port("s2", switches.wiring.port("s2", "s4"), "up")
    wait_until(lambda: (switches.groups("s1"), switches.flows("s1")) == before, "all is as before")
    assert max(frozen, killed) < PROMPT
