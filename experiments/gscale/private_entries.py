"""Flow entries for single aggregates, changed by a controller when a link fails, as in the paper (5.1).

For switches without groups. No flow is hashed, so there is no need to look for suitable flows; the experiment acts as
the controller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from experiments.measuring.emulation import MeasuredFlow
from experiments.measuring.flow_search import FIRST_SERVER_PORT, SOURCE_PORTS, code_point_of
from experiments.measuring.wanted_flow import WantedFlow
from kuijia_app.tables.queues import Queue, TrafficClass
from kuijia_app.tables.wiring import Wiring
from te_solver.plan import Tunnel
from testbed.lab.lab import Lab
from testbed.traffic.hash_probe import EgressFlowKey, Protocol

PRIORITY = 1000
"""Priority above all entries of a plan (`kuijia_app.tables.identifiers`)."""

COOKIE = 0x6B70
"""Cookie that marks these entries."""

REACT_SECONDS = 6.0
"""Seconds that moving the victims may take: twice what twelve boxes over SSH took beside two compilers."""

Way = tuple[EgressFlowKey, Tunnel, Queue]


def any_flows(lab: Lab, flows: Iterable[WantedFlow], protocol: Protocol) -> list[MeasuredFlow]:
    """Return a source for each flow, each with its own port: any will do."""
    found = []
    for number, flow in enumerate(flows):
        address = str(lab.network.host(flow.source).address)
        code_point = code_point_of(lab.network.layout, flow)
        key = EgressFlowKey(protocol, address, SOURCE_PORTS[number], FIRST_SERVER_PORT + number, code_point)
        found.append(MeasuredFlow(flow, key))
    return found


class PrivateEntries:
    """Entries for each flow at its ingress and, for the way back, at its egress; removed at the end of the block.

    Args:
        lab: tagging by MPLS labels.
        flows: flows that get entries.
        demotes: True if victims go to the victims' queue, as under Kuijia.
    """

    def __init__(self, lab: Lab, flows: Sequence[MeasuredFlow], *, demotes: bool) -> None:
        self._lab = lab
        self._flows = flows
        self._demotes = demotes

    def __enter__(self) -> PrivateEntries:
        self._put((flow.key, flow.wanted.tunnel, self._served(flow).normal) for flow in self._flows)
        return self

    def __exit__(self, *_: object) -> None:
        for switch in sorted({end for flow in self._flows for end in (flow.wanted.source, flow.wanted.target)}):
            self._lab.network.ofctl(switch, "del-flows", f"cookie={COOKIE:#x}/-1")

    def move_victims(self) -> None:
        """Send the flows whose tunnel broke over their backup; the entries of all others stay as they are."""
        victims = [flow for flow in self._flows if flow.wanted.backup != flow.wanted.tunnel]
        self._put(
            (flow.key, flow.wanted.backup, self._served(flow).victim if self._demotes else self._served(flow).normal)
            for flow in victims
        )

    def _served(self, flow: MeasuredFlow) -> TrafficClass:
        classes = self._lab.network.layout.classes
        return next(each for each in classes if each.priority == flow.wanted.priority)

    def _put(self, ways: Iterable[Way]) -> None:
        """Add entries, replacing those with the same match, all of a switch at once, and the switches side by side."""
        lines = defaultdict[str, list[str]](list)
        for way in ways:
            for switch, line in entries_of(self._lab.wiring, *way):
                lines[switch].append(line)

        def add(switch: str) -> None:
            self._lab.network.ofctl(switch, "add-flows", "-", stdin="\n".join(lines[switch]) + "\n")

        with ThreadPoolExecutor(max(len(lines), 1)) as pool:
            list(pool.map(add, lines))  # raises what one of them raised


def entries_of(wiring: Wiring, key: EgressFlowKey, tunnel: Tunnel, queue: Queue) -> tuple[tuple[str, str], ...]:
    """Return (switch, entry in the syntax of ovs-ofctl) for each direction of a flow over a tunnel."""
    there, back = tunnel.nodes, tunnel.nodes[::-1]
    target = wiring.host_address(there[-1])
    out = f"nw_src={key.source_address},nw_dst={target},tp_src={key.source_port},tp_dst={key.server_port}"
    home = f"nw_src={target},nw_dst={key.source_address},tp_src={key.server_port},tp_dst={key.source_port}"
    mark = f"push_mpls:0x8847,set_field:{tunnel.path_id}->mpls_label,set_field:{queue.traffic_class}->mpls_tc"
    entries = []
    for nodes, fields in ((there, out), (back, home)):
        match = f"cookie={COOKIE:#x},priority={PRIORITY},in_port={wiring.host_port(nodes[0])},{key.protocol},{fields}"
        actions = f"{mark},set_queue:{queue.queue_id},output:{wiring.port(nodes[0], nodes[1])}"
        entries.append((nodes[0], f"{match},actions={actions}"))
    return tuple(entries)
