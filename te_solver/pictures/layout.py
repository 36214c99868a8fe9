"""Positions of nodes in pictures: from the network's file, or laid out so that distances match hops."""

from __future__ import annotations

import math
from collections import defaultdict

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from te_solver.model.topology import Topology

_STRESS_NODES = 300
"""Most nodes for which the layout with distances that match hops is fast enough."""

_FLATTEST = 0.5
"""Ratio of height to width below which a network is stretched."""

_BESIDE = 0.012
"""Distance by which nodes on one spot are moved apart, as a share of the longer side."""

Positions = dict[str, NDArray[np.float64]]


def mapped(topology: Topology, seed: int) -> Positions:
    """Return the topology's positions if it has half of them, the rest between their neighbours; else `laid_out`.

    Positions that can be longitudes and latitudes are drawn as an equirectangular map; the longer side is one.
    """
    known = {node: topology.positions[node] for node in topology.nodes if node in topology.positions}
    if 2 * len(known) < len(topology.nodes) or len(set(known.values())) < 2:
        return laid_out(topology, seed)
    spots = np.array(list(known.values()))
    if (np.abs(spots) <= (180, 90)).all():
        spots = spots * (math.cos(math.radians(spots[:, 1].mean())), 1)
    spots = (spots - spots.min(axis=0)) / np.ptp(spots, axis=0).max()
    placed = _apart(dict(zip(known, spots, strict=True)))
    while missing := [node for node in topology.nodes if node not in placed]:
        found = {}
        for node in missing:
            around = [placed[other] for other in topology.neighbours[node] if other in placed]
            if around:
                found[node] = np.mean(around, axis=0) + _BESIDE
        placed |= found or {node: spots.mean(axis=0) for node in missing}
    return _apart({node: placed[node] for node in topology.nodes})


def _apart(positions: Positions) -> Positions:
    """Return the positions with nodes on one spot moved to a small circle around it."""
    together: defaultdict[tuple[float, ...], list[str]] = defaultdict(list)
    for node, spot in positions.items():
        together[tuple(spot.round(6).tolist())].append(node)
    moved = {}
    for nodes in together.values():
        for number, node in enumerate(nodes):
            angle = 2 * math.pi * number / len(nodes)
            radius = _BESIDE if len(nodes) > 1 else 0.0
            moved[node] = positions[node] + radius * np.array([math.cos(angle), math.sin(angle)])
    return {node: moved[node] for node in positions}


def laid_out(topology: Topology, seed: int) -> Positions:
    """Return a position for every node; the network lies along the horizontal, with a width of one and less height."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(topology.nodes)
    graph.add_edges_from(topology.edges)
    if len(graph) <= _STRESS_NODES and nx.is_connected(graph):
        is_planar, _ = nx.check_planarity(graph)
        # A start without crossings leaves few of them.
        placed = nx.kamada_kawai_layout(graph, pos=nx.planar_layout(graph) if is_planar else None)
    else:
        placed = nx.spring_layout(graph, seed=seed, iterations=200)
    places = np.array([placed[node] for node in topology.nodes])
    places = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(places, full_matrices=False)
    turned = places @ axes.T
    # The direction of a main axis is arbitrary: the first node is put to the left and up.
    turned = turned * np.where(turned[0] * (1, -1) > 0, -1, 1)
    wide, high = np.ptp(turned, axis=0)
    stretched = turned / (wide, high / np.clip(high / wide, _FLATTEST, 1) if high > 0 else 1)
    return dict(zip(topology.nodes, stretched, strict=True))
