"""Small emulated networks with their own flow entries, for tests that send real packets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.wiring import Wiring
from te_solver.model.topology import Link, Topology
from testbed.links.label_observer import EgressFlowKey, IngressMark, LabelObserver
from testbed.machine.network_namespace import private_network
from testbed.machine.run_directory import RunDirectory
from testbed.network.bridges import NetworkOptions
from testbed.network.lab_network import SiteHost
from testbed.network.network import EmulatedNetwork
from testbed.traffic.hash_probe import PROBE_TIMEOUT, probe_marks_seen_by

CAPACITY = 20.0
NORMAL_PORT, VICTIM_PORT = 5001, 5002
"""UDP ports that `program_path` maps to the label of a class; other packets become control traffic."""

DEFAULTS = NetworkOptions()
TRIANGLE = (("a", "b"), ("b", "c"), ("a", "c"))


def topology(cables: Sequence[tuple[str, str]]) -> Topology:
    nodes = tuple(dict.fromkeys(node for cable in cables for node in cable))
    links = tuple(Link(*ends, CAPACITY) for a, b in cables for ends in ((a, b), (b, a)))
    return Topology("test network", nodes, links)


@contextmanager
def running_network(
    root: Path,
    cables: Sequence[tuple[str, str]] = TRIANGLE,
    options: NetworkOptions = DEFAULTS,
    controller_port: int | None = None,
) -> Iterator[EmulatedNetwork]:
    network_topology = topology(cables)
    with (
        RunDirectory.create(root) as run,
        private_network(),
        EmulatedNetwork(network_topology, Wiring(network_topology), run, options) as network,
    ):
        network.start()
        if controller_port is not None:
            network.connect(controller_port)
        yield network


def program_path(network: EmulatedNetwork, path: Sequence[str], label: int) -> None:
    """Add entries that carry labelled packets from the first switch's host to the last one's, in their queues."""
    wiring = network.wiring
    egress_prefix = wiring.prefix(path[-1])
    first_port = wiring.port(path[0], path[1])
    queue_of = {
        f"udp,tp_dst={NORMAL_PORT}": PLAIN_LAYOUT.classes[0].normal,
        f"udp,tp_dst={VICTIM_PORT}": PLAIN_LAYOUT.classes[0].victim,
        "ip": PLAIN_LAYOUT.control,
    }
    for match, queue in queue_of.items():
        priority = 10 if match == "ip" else 20
        network.ovs.ofctl(
            "add-flow",
            network.bridge(path[0]),
            f"priority={priority},in_port={wiring.host_port(path[0])},{match},nw_dst={egress_prefix},"
            f"actions=push_mpls:0x8847,set_field:{label}->mpls_label,set_field:{queue.traffic_class}->mpls_tc,"
            f"set_queue:{queue.queue_id},output:{first_port}",
        )
        for before, switch, after in zip(path, path[1:], path[2:], strict=False):
            network.ovs.ofctl(
                "add-flow",
                network.bridge(switch),
                f"in_port={wiring.port(switch, before)},mpls,mpls_label={label},mpls_tc={queue.traffic_class},"
                f"actions=set_queue:{queue.queue_id},output:{wiring.port(switch, after)}",
            )
    network.ovs.ofctl(
        "add-flow",
        network.bridge(path[-1]),
        f"in_port={wiring.port(path[-1], path[-2])},mpls,mpls_label={label},"
        f"actions=pop_mpls:0x0800,output:{wiring.host_port(path[-1])}",
    )


def probe_marks(
    host: SiteHost,
    address: str,
    interfaces: Sequence[str],
    flows: Iterable[EgressFlowKey],
    timeout: float = PROBE_TIMEOUT,
) -> dict[EgressFlowKey, IngressMark]:
    """Run `probe_marks_seen_by` on the ingress switch's core ports, in the calling thread's network namespace."""
    return probe_marks_seen_by(lambda: LabelObserver(interfaces), host, address, flows, timeout)
