"""Summary of a topology, as plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median

from te_solver.connectivity import connected_parts
from te_solver.diameter import hop_diameter
from te_solver.disjoint_paths import DisjointPathCounter, DisjointPaths
from te_solver.topology import Topology


@dataclass(frozen=True)
class TopologySummary:
    """Counts and figures of a topology.

    An edge is two nodes with a link in either direction; a link is one direction of it. `capacities` maps each capacity
    in Mbit/s to its number of links, the largest first; degrees are in edges; `delays` holds the least, median and
    greatest delay in seconds, None if no link has a delay; `diameter` is in links, None if computing it takes too long;
    `parts` holds the number of nodes of each connected part, the largest first.
    """

    name: str
    nodes: int
    edges: int
    links: int
    one_way_links: int
    capacities: dict[float, int]
    total_capacity: float
    delays: tuple[float, float, float] | None
    least_degree: int
    mean_degree: float
    greatest_degree: int
    parts: list[int]
    diameter: int | None
    disjoint_paths: DisjointPaths


def summarise(topology: Topology) -> TopologySummary:
    capacities = Counter(link.capacity for link in topology.links)
    delays = [link.delay for link in topology.links]
    degrees = [len(neighbours) for neighbours in topology.neighbours.values()]
    return TopologySummary(
        name=topology.name,
        nodes=len(topology.nodes),
        edges=len(topology.edges),
        links=len(topology.links),
        one_way_links=sum(not topology.has_link(link.target, link.source) for link in topology.links),
        capacities=dict(sorted(capacities.items(), reverse=True)),
        total_capacity=sum(link.capacity for link in topology.links),
        delays=(min(delays), median(delays), max(delays)) if any(delays) else None,
        least_degree=min(degrees),
        mean_degree=sum(degrees) / len(degrees),
        greatest_degree=max(degrees),
        parts=sorted(map(len, connected_parts(topology)), reverse=True),
        diameter=hop_diameter(topology),
        disjoint_paths=DisjointPathCounter(topology).of_all_pairs(),
    )
