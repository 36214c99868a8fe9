"""Diameter of a network in links."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from te_solver.topology import Topology


def hop_diameter(topology: Topology, most_steps: int = 20_000_000) -> int | None:
    """Return the most links on a shortest path between connected nodes; None if that takes too many steps."""
    if len(topology.nodes) * len(topology.links) > most_steps:
        return None
    position = {node: number for number, node in enumerate(topology.nodes)}
    tails = [position[link.source] for link in topology.links]
    heads = [position[link.target] for link in topology.links]
    size = len(topology.nodes)
    links = sp.csr_array((np.ones(len(tails)), (tails, heads)), shape=(size, size))
    return max(_eccentricity(links, start) for start in range(size))


def _eccentricity(links: sp.csr_array, start: int) -> int:
    """Return the links on the way to the node that a breadth-first search reaches last."""
    order, predecessors = breadth_first_order(links, start)
    before: list[int] = predecessors.tolist()
    hops, node = 0, int(order[-1])
    while node != start:
        node = before[node]
        hops += 1
    return hops
