"""Packets that vanish inside the network, with real packets: the hop is named, and traffic leaves the tunnel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.machine.commands import run_command
from testbed.traffic.ticks import TickFlow, TickRecord
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.own_switches import OwnSwitches, problems

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.slow]

PROMISED = 3.0
"""Seconds after which a flow is clean; a busy machine may take twice as long."""

DROP_A_TENTH = "4,32 0 0 4294963256,37 0 1 429496729,6 0 0 0,6 0 0 2"
"""Classic BPF: a random number of 32 bits decides whether a frame passes (0) or is dropped (2)."""


@pytest.fixture
def network(tmp_path: Path) -> Iterator[OwnSwitches]:
    with OwnSwitches(tmp_path) as running:
        running.set_mtu(1508)
        running.make_queues()
        yield running


def flow(network: OwnSwitches) -> TickFlow:
    """Return a packet every millisecond from paris to london, most of them over one of two tunnels."""
    paris, london = network.hosts["paris"], network.hosts["london"]
    return TickFlow(paris, london, str(paris.address), 20000, 5000, 0.001, 200)


def used_entry(network: OwnSwitches) -> tuple[str, str]:
    """Return the neighbour from which the flow's packets reach london, and the match of the entry that counts them."""
    best = (0, "", "")
    for neighbour in ("paris", "rome"):
        port = network.port("london", neighbour)
        for line in network.ovs.ofctl("dump-flows", "br-london", f"in_port={port},mpls").splitlines():
            words = dict(word.split("=", 1) for word in line.replace(",", " ").split() if "=" in word)
            if "n_packets" in words:
                match = f"mpls,in_port={port},mpls_label={words.get('mpls_label')},mpls_tc={words.get('mpls_tc')}"
                best = max(best, (int(words["n_packets"]), neighbour, match))
    return best[1:]


def lost_after(record: TickRecord, time_: float) -> int:
    arrived = {number for number, _ in record.arrivals}
    return sum(sent >= time_ and number not in arrived for number, sent in enumerate(record.sent_at[:-100]))


@pytest.mark.parametrize("fault", ["black hole", "a tenth"])
def test_a_flow_leaves_a_tunnel_whose_packets_vanish(network: OwnSwitches, fault: str) -> None:
    with network.controller() as controller, flow(network) as ticks:
        controller.wait_until_ready(network.plan.topology.nodes)
        ticks.start()
        wait_until(
            lambda: "mpls_label=None" not in used_entry(network)[1] and bool(used_entry(network)[0]),
            "no packet arrives",
        )
        time.sleep(3)  # for counters to have been compared
        neighbour, match = used_entry(network)
        begun = time.monotonic()
        if fault == "black hole":
            network.ovs.ofctl("add-flow", "br-london", f"cookie=0x99,priority=999,{match},actions=drop")
        else:
            device = network.interface(neighbour, "london")
            run_command(["tc", "qdisc", "add", "dev", device, "clsact"])
            words = ["egress", "bpf", "da", "bytecode", DROP_A_TENTH]
            run_command(["tc", "filter", "add", "dev", device, *words])
        place = ("packets-vanish", "london", network.port("london", neighbour))

        def is_named() -> bool:
            return any(
                (each["kind"], each["switch"], each.get("port")) == place for each in problems(controller.events())
            )

        wait_until(is_named, "the hop is not named")
        time.sleep(max(0.0, begun + 2 * PROMISED + 1 - time.monotonic()))
        record = ticks.stop()
    assert lost_after(record, begun) > 0
    assert lost_after(record, begun + 2 * PROMISED) == 0
