"""The parts of a description that follow from a topology and a plan: places of nodes, cables, tunnels; pure."""

from __future__ import annotations

from collections.abc import Collection

from kuijia_base.text import link_id
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.pictures.layout import mapped
from testbed.web.backend import Cable, NodePlace, TunnelInfo


def node_places(topology: Topology, sites: Collection[str], seed: int = 1) -> tuple[NodePlace, ...]:
    """Return each node with its place: from the topology's coordinates, else from a layout."""
    placed = mapped(topology, seed)
    left = min((float(spot[0]) for spot in placed.values()), default=0.0)
    top = max((float(spot[1]) for spot in placed.values()), default=0.0)
    sides = [
        max((abs(float(spot[axis]) - edge) for spot in placed.values()), default=0.0)
        for axis, edge in ((0, left), (1, top))
    ]
    side = max(sides) or 1.0
    return tuple(
        NodePlace(
            node,
            round((float(placed[node][0]) - left) / side, 4),
            round((top - float(placed[node][1])) / side, 4),
            node in sites,
        )
        for node in topology.nodes
    )


def cables(topology: Topology) -> tuple[Cable, ...]:
    """Return each link once, in the topology's order, with the larger of its directions' capacities."""
    return tuple(
        Cable(
            link_id(a, b),
            a,
            b,
            max(topology.link(*ends).capacity for ends in ((a, b), (b, a)) if topology.has_link(*ends)),
        )
        for a, b in topology.edges
    )


def tunnel_infos(plan: Plan) -> tuple[TunnelInfo, ...]:
    return tuple(
        TunnelInfo(tunnel.path_id, pair.source, pair.target, pair.priority, tunnel.nodes, tunnel.weight)
        for pair in plan.pairs
        for tunnel in pair.tunnels
    )
