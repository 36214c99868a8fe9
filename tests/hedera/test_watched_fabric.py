"""The scheduler on an emulated fat-tree: what carries nothing is named and avoided, and tables are put right."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from experiments.hedera.lab import HederaLab, hedera_lab
from hedera.scheduling import events
from kuijia_app.framework import event_log
from testbed.controllers.application_process import Event
from testbed.network.bridges import NetworkOptions

pytestmark = [pytest.mark.emulation, pytest.mark.slow]

PATIENCE = 15.0
"""Seconds within which all happens; an idle machine needs a third of that."""

TWO_LOOKS = 6.5
"""Seconds in which a switch is asked twice for the entries of others."""

NEAR, FAR = "p0a0", "c0"
"""Two neighbours in the middle of paths; others join the same hosts."""

CABLE = sorted((NEAR, FAR))

LONG = ("time", "monotonic", "what_to_do")
"""What accounts of events leave out."""


@pytest.fixture(scope="module")
def lab() -> Iterator[HederaLab]:
    options = NetworkOptions()
    with hedera_lab(4, 5.0, "simulated-annealing", 1.0, options, lambda _: None, probes=True) as running:
        yield running


@contextmanager
def expecting(lab: HederaLab, *conditions: Callable[[list[Event]], bool]) -> Iterator[None]:
    """Wait after the block for what the scheduler logs from then on."""
    known = len(lab.scheduler.events())
    yield
    met = lab.scheduler.wait_for(lambda seen: all(condition(seen[known:]) for condition in conditions), PATIENCE)
    assert met, account(lab, known)


def account(lab: HederaLab, known: int) -> str:
    """Return a line for each event, the first ones of which were known, but for rounds: these do not name links."""
    seen = lab.scheduler.events()
    begin = seen[known - 1]["monotonic"]
    lines = (
        (f"{each['monotonic'] - begin:.2f}", *(str(value) for name, value in each.items() if name not in LONG))
        for each in seen
        if each["event"] != events.ROUND
    )
    return "\n".join(map(" ".join, lines))


def found(kind: str, switch: str, port: int | None) -> Callable[[list[Event]], bool]:
    """Return the condition that a problem is named with its switch and port, and what to do about it."""

    def holds(seen: list[Event]) -> bool:
        problems = [each for each in seen if each["event"] == event_log.PROBLEM_FOUND and each["kind"] == kind]
        return any((each["switch"], each.get("port")) == (switch, port) and each["what_to_do"] for each in problems)

    return holds


def avoids(cables: list[list[str]]) -> Callable[[list[Event]], bool]:
    def holds(seen: list[Event]) -> bool:
        changed = [each["failed"] for each in seen if each["event"] == events.ROUTES_CHANGED]
        return bool(changed) and changed[-1] == cables

    return holds


def put_right(switch: str) -> Callable[[list[Event]], bool]:
    """Return the condition that the switch has its tables again after they were found wrong."""

    def holds(seen: list[Event]) -> bool:
        states = (event_log.TABLES_WRONG, event_log.SWITCH_READY)
        told = [each["event"] for each in seen if each["event"] in states and each["switch"] == switch]
        return event_log.TABLES_WRONG in told and told[-1] == event_log.SWITCH_READY

    return holds


def all_answer(lab: HederaLab) -> bool:
    """Return True if a host reaches those of all other pods by each of some flows."""
    sender = lab.network.host("h0")
    targets = [str(lab.network.host(f"h{number}").address) for number in (5, 9, 13)]
    return all(sender.run(["ping", "-c", "2", "-i", "0.2", "-W", "1", target]).returncode == 0 for target in targets)


def wait_until_all_answer(lab: HederaLab) -> None:
    known, deadline = len(lab.scheduler.events()), time.monotonic() + PATIENCE
    while not all_answer(lab):
        assert time.monotonic() < deadline, account(lab, known)


def test_a_port_at_which_an_entry_drops_everything_is_avoided_and_named(lab: HederaLab) -> None:
    port = lab.network.wiring.port(NEAR, FAR)
    bridge, ovs = lab.network.bridge(NEAR), lab.network.ovs
    lost = found("link-lost", FAR, lab.network.wiring.port(FAR, NEAR))
    with expecting(lab, lost, found("foreign-entry", NEAR, port), avoids([CABLE])):
        ovs.ofctl("add-flow", bridge, f"priority=65535,in_port={port},actions=drop")
    wait_until_all_answer(lab)
    with expecting(lab, avoids([])):
        ovs.ofctl("del-flows", bridge, "cookie=0/-1")


def test_a_switch_at_which_an_entry_drops_packets_of_all_ports_is_avoided_and_named(lab: HederaLab) -> None:
    bridge, ovs = lab.network.bridge(NEAR), lab.network.ovs
    cables = sorted(sorted((NEAR, other)) for other in lab.network.wiring.topology.neighbours[NEAR])
    with expecting(lab, found("foreign-entry", NEAR, None), avoids(cables)):
        ovs.ofctl("add-flow", bridge, "table=1,priority=200,ip,nw_dst=10.1.0.0/16,actions=drop")
    known = len(lab.scheduler.events())
    wait_until_all_answer(lab)
    time.sleep(TWO_LOOKS)  # the switch, avoided, has no entry for these packets any more
    assert not [each for each in lab.scheduler.events()[known:] if each["event"] == events.ROUTES_CHANGED]
    with expecting(lab, avoids([])):
        ovs.ofctl("del-flows", bridge, "cookie=0/-1")


def test_a_port_that_is_not_to_forward_is_avoided_and_named(lab: HederaLab) -> None:
    port = lab.network.wiring.port(NEAR, FAR)
    bridge, ovs = lab.network.bridge(NEAR), lab.network.ovs
    with expecting(lab, found("port-disabled", NEAR, port), avoids([CABLE])):
        ovs.ofctl("mod-port", bridge, str(port), "no-forward")
    wait_until_all_answer(lab)
    with expecting(lab, avoids([])):
        ovs.ofctl("mod-port", bridge, str(port), "forward")


@pytest.mark.parametrize("switch", ["p0e0", NEAR, FAR])
def test_deleted_tables_are_back_and_hosts_answer_again(lab: HederaLab, switch: str) -> None:
    bridge, ovs = lab.network.bridge(switch), lab.network.ovs
    with expecting(lab, put_right(switch)):
        ovs.ofctl("del-flows", bridge)
        ovs.ofctl("del-groups", bridge)
    wait_until_all_answer(lab)


def test_one_deleted_entry_is_back(lab: HederaLab) -> None:
    bridge, ovs = lab.network.bridge(FAR), lab.network.ovs
    with expecting(lab, put_right(FAR)):
        ovs.ofctl("del-flows", bridge, "table=1,ip,nw_dst=10.0.0.0/24")
    wait_until_all_answer(lab)


def test_exchanged_port_numbers_are_named_and_their_links_avoided(lab: HederaLab) -> None:
    network = lab.network
    a, b = (network.wiring.port(NEAR, other) for other in ("c0", "c1"))
    names = network.interface(NEAR, a), network.interface(NEAR, b)

    def renumber(first: int, second: int) -> None:
        for name, number in zip(names, (60, 61), strict=True):
            network.ovs.vsctl("set", "Interface", name, f"ofport_request={number}")
        for name, number in zip(names, (first, second), strict=True):
            network.ovs.vsctl("set", "Interface", name, f"ofport_request={number}")

    with expecting(lab, found("link-miswired", NEAR, a), avoids([["c0", NEAR], ["c1", NEAR]])):
        renumber(b, a)
    with expecting(lab, avoids([])):
        renumber(a, b)
    wait_until_all_answer(lab)


def test_a_host_port_with_another_number_is_named(lab: HederaLab) -> None:
    """The last test of this lab: queues of the port are gone afterwards."""
    network = lab.network
    port = network.wiring.ports("p0e0")[-1]
    with expecting(lab, found("port-missing", "p0e0", port)):
        network.ovs.vsctl("set", "Interface", network.interface("p0e0", port), "ofport_request=77")
