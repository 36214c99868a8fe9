"""Wirings for tests: the numbers of a topology's switches, permuted."""

from __future__ import annotations

from random import Random

from kuijia_app.tables.stated_wiring import HostEnd, StatedWiring, SwitchEnds
from kuijia_app.tables.wiring import Neighbours, Wiring
from te_solver.topology import Topology


def permuted(
    topology: Topology, seed: int, last_port: int = 999, neighbours: Neighbours = Neighbours.STATIC
) -> StatedWiring:
    """Return a wiring with drawn datapath ids and port numbers, and the sites' usual prefixes."""
    random = Random(seed)
    usual = Wiring(topology, neighbours=neighbours)
    ids = random.sample(range(1, 1 << 48), len(topology.nodes))
    switches = {}
    for node, datapath_id in zip(topology.nodes, ids, strict=True):
        others = topology.neighbours[node]
        *ports, host_port = random.sample(range(1, last_port + 1), len(others) + 1)
        host = HostEnd(host_port, usual.host_address(node), usual.prefixes(node), gateways=usual.gateways(node))
        switches[node] = SwitchEnds(datapath_id, dict(zip(others, ports, strict=True)), host)
    return StatedWiring("permuted", switches)
