"""Packets that vanish inside the network, with real packets: the hop is named, and traffic leaves the tunnel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_app.control.loss_watch import GRAY_LOSS
from kuijia_app.tables.options import OptionWords
from kuijia_base.commands import run_command
from te_solver.model.plan import Plan
from testbed.controllers.application_process import Event
from testbed.controllers.controller_process import ControllerProcess
from testbed.machine.processes import LISTENING
from testbed.traffic.ticks import TickFlow, TickRecord
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.own_switches import OwnSwitches, problems, triangle_plan

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.slow]

FULL_SECONDS = 10
PROMISED = 3.0
"""Seconds after which a flow is clean; a busy machine may take twice as long."""

DROP_A_TENTH = "4,32 0 0 4294963256,37 0 1 429496729,6 0 0 0,6 0 0 2"
"""Classic BPF: a random number of 32 bits decides whether a frame passes (0) or is dropped (2)."""

DIRECT, ROUND = "paris-london", "paris-rome-london"


def plan_over(path: str) -> Plan:
    """Return the triangle's plan, in which all packets from paris to london use one of their two tunnels."""
    plan = triangle_plan()
    pairs = [
        replace(pair, tunnels=tuple(replace(each, weight=float("-".join(each.nodes) == path)) for each in pair.tunnels))
        if (pair.source, pair.target) == ("paris", "london")
        else pair
        for pair in plan.pairs
    ]
    return replace(plan, pairs=tuple(pairs))


@contextmanager
def network_over(
    folder: Path, path: str, liveness: str, gray_loss: str = GRAY_LOSS
) -> Iterator[tuple[OwnSwitches, ControllerProcess]]:
    """Run prepared switches and their controller, with all packets from paris to london over this path."""
    with OwnSwitches(folder, plan_over(path)) as network:
        options = ["--wiring", str(network.wiring_file), "--liveness", liveness, "--ovsdb", network.ovs.database]
        assert main(["switches", "prepare", str(network.plan_file), *options]) == 0
        words = OptionWords(wiring=str(network.wiring_file), liveness=liveness)
        with network.controller(words=words, missing="refuse", gray_loss=gray_loss) as controller:
            controller.wait_until_ready(network.plan.topology.nodes)
            if liveness == "bfd":
                wait_until(lambda: "state: down" not in network.ovs.appctl("bfd/show").lower(), "sessions are up")
            yield network, controller


def steady(network: OwnSwitches) -> TickFlow:
    """Return a packet every millisecond from paris to london."""
    paris, london = network.hosts["paris"], network.hosts["london"]
    return TickFlow(paris, london, str(paris.address), 20000, 5000, 0.001, 200)


def lose_a_tenth(network: OwnSwitches, sender: str, receiver: str) -> None:
    """Drop a tenth of the frames of a link in one direction, though both ports stay up."""
    device = network.interface(sender, receiver)
    run_command(["tc", "qdisc", "replace", "dev", device, "clsact"])
    run_command(["tc", "filter", "add", "dev", device, "egress", "bpf", "da", "bytecode", DROP_A_TENTH])


def slow_sessions_down(network: OwnSwitches, site: str) -> None:
    """Let the sessions of a switch notice failures after three times two seconds only (RFC 5880, 6.8.4)."""
    for port in network.ovs.vsctl("list-ports", network.bridge(site)).split():
        if "enable=true" in network.ovs.vsctl("get", "Interface", port, "bfd").replace('"', ""):
            network.ovs.vsctl("set", "Interface", port, "bfd:min_rx=2000")


def last_entry(network: OwnSwitches, neighbour: str) -> str:
    """Return the match of london's entry that has counted the most packets from a neighbour."""
    best = (0, "")
    port = network.port("london", neighbour)
    for line in network.ovs.ofctl("dump-flows", "br-london", f"in_port={port},mpls").splitlines():
        words = dict(word.split("=", 1) for word in line.replace(",", " ").split() if "=" in word)
        if {"n_packets", "mpls_label", "mpls_tc"} <= words.keys() and words["mpls_label"] != "8":
            match = f"mpls,in_port={port},mpls_label={words['mpls_label']},mpls_tc={words['mpls_tc']}"
            best = max(best, (int(words["n_packets"]), match))
    return best[1]


def black_hole(network: OwnSwitches) -> None:
    """Drop the tunnel's packets at the egress by an entry of somebody else."""
    match = last_entry(network, "paris")
    network.ovs.ofctl("add-flow", "br-london", f"cookie=0x99,priority=999,{match},actions=drop")


def tenth_at_the_first_link(network: OwnSwitches) -> None:
    lose_a_tenth(network, "paris", "london")


def tenth_in_the_middle(network: OwnSwitches) -> None:
    lose_a_tenth(network, "rome", "london")


def one_way_at_a_port(network: OwnSwitches) -> None:
    """Drop everything that comes in at one port, probes too, though both ports are up."""
    entry = f"cookie=0x99,priority=65535,in_port={network.port('london', 'paris')},actions=drop"
    network.ovs.ofctl("add-flow", "br-london", entry)


Fault = Callable[[OwnSwitches], None]

FAULTS: list[tuple[Fault, str, str]] = [
    (black_hole, DIRECT, "controller"),
    (black_hole, DIRECT, "bfd"),
    (tenth_at_the_first_link, DIRECT, "controller"),
    (tenth_in_the_middle, ROUND, "controller"),
    (tenth_in_the_middle, ROUND, "bfd"),
    (one_way_at_a_port, DIRECT, "controller"),
]


def lossy_ends(network: OwnSwitches, events: list[Event]) -> set[tuple[str, int]]:
    """Return switch and port of the receiving end of each link at which packets vanish, as counters or probes say."""
    found = {(each["switch"], each["port"]) for each in problems(events) if each["kind"] == "packets-vanish"}
    for each in problems(events):
        if each["kind"] == "link-lost":
            neighbour = network.wiring.neighbour_at(each["switch"], each["port"])
            assert neighbour is not None
            found.add((neighbour, network.port(neighbour, each["switch"])))
    return found


def lost_after(record: TickRecord, time_: float) -> int:
    arrived = {number for number, _ in record.arrivals}
    return sum(sent >= time_ and number not in arrived for number, sent in enumerate(record.sent_at[:-100]))


@pytest.mark.parametrize(("fault", "path", "liveness"), FAULTS, ids=[f"{f.__name__}-{w}" for f, _, w in FAULTS])
def test_a_flow_leaves_a_tunnel_whose_packets_vanish(tmp_path: Path, fault: Fault, path: str, liveness: str) -> None:
    with network_over(tmp_path, path, liveness) as (network, controller), steady(network) as ticks:
        ticks.start()
        neighbour = path.split("-")[-2]
        wait_until(lambda: bool(last_entry(network, neighbour)), "no packet arrives")
        time.sleep(3)  # for counters to have been compared
        begun = time.monotonic()
        fault(network)
        place = "london", network.port("london", neighbour)
        is_named = controller.wait_for(lambda events: place in lossy_ends(network, events), 2 * PROMISED)
        time.sleep(max(0.0, begun + 2 * PROMISED + 1 - time.monotonic()))
        record = ticks.stop()
    assert is_named
    assert lost_after(record, begun) > 0
    assert lost_after(record, begun + 2 * PROMISED) == 0


def test_traffic_leaves_a_tunnel_cut_further_on_before_its_session_notices_also_without_counters(
    tmp_path: Path,
) -> None:
    with network_over(tmp_path, ROUND, "bfd", gray_loss="off") as (network, _), steady(network) as ticks:
        slow_sessions_down(network, "paris")
        ticks.start()
        wait_until(lambda: bool(last_entry(network, "rome")), "no packet arrives")
        time.sleep(3)  # for sessions to have agreed on their intervals
        begun = time.monotonic()
        network.cut("rome", "london")
        time.sleep(3)
        record = ticks.stop()
    assert 0 < lost_after(record, begun) < 1000


@pytest.mark.parametrize("liveness", ["controller", "bfd"])
def test_full_queues_raise_no_alarm(tmp_path: Path, liveness: str) -> None:
    with network_over(tmp_path, ROUND, liveness) as (network, controller):
        paris, london = network.hosts["paris"], network.hosts["london"]
        clients = []
        for port, options in enumerate((["-u", "-b", "15M"], ["-P", "4"], ["-u", "-b", "15M", "-l", "200"]), 5201):
            server = london.launch(["iperf3", "-s", "-1", "-B", str(london.address), "-p", str(port)])
            wait_until(partial(server.owns_socket, LISTENING, port), "iperf3 listens")
            words = ["iperf3", "-c", str(london.address), "-p", str(port), "-t", str(FULL_SECONDS), *options]
            clients.append(paris.launch(words))
        for client in clients:
            client.wait(FULL_SECONDS + 30)
        assert not [each for each in controller.events() if each.get("kind") == "packets-vanish"]
