"""Makes parts of a description from a topology and a plan, and a topology from a drawing; pure."""

from __future__ import annotations

from collections.abc import Collection

from kuijia_base.errors import InputError, UnsoundError, key_path
from kuijia_base.text import link_id
from te_solver.model.plan import Plan
from te_solver.model.topology import Link, Topology
from te_solver.pictures.layout import mapped
from testbed.web.backend import Cable, NodePlace, SetNetwork, TunnelInfo


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


def drawn_topology(drawing: SetNetwork, source: str) -> Topology:
    """Return the network of a drawing; raises InputError, which names the source, if it is none."""
    if not drawing.links:
        raise InputError(source, "links", "there is no link", "one between two nodes")
    links = [Link(a, b, each.capacity) for each in drawing.links for a, b in ((each.a, each.b), (each.b, each.a))]
    places = {node.name: (node.x, -node.y) for node in drawing.nodes}
    try:
        return Topology(drawing.name, tuple(node.name for node in drawing.nodes), tuple(links), places)
    except UnsoundError as error:
        part, *rest = error.where
        place = key_path((part, int(rest[0]) // 2)) if part == "links" else key_path(error.where)
        raise InputError(source, place, error.problem, error.expected) from error
