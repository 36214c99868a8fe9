"""Places of nodes in pictures, and of labels so that they do not overlap."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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


_NEAR, _FAR = 0.06, (0.22, 0.38)
"""Distances from a node to the edge of its label: without a line between them, and with one."""

_DIRECTIONS = tuple(math.radians(degrees) for degrees in (90, 270, 0, 180, 45, 135, 315, 225))
"""Directions in which room is sought, the best first."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Place:
    """The middle of a label; `is_far` if a line should lead from it to its node."""

    x: float
    y: float
    is_far: bool


class TakenArea:
    """The part of a picture that labels and nodes have taken, as rectangles."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float, float, float]] = []

    def take(self, middle: Point, width: float, height: float) -> None:
        x, y = middle
        self._taken.append((x - width / 2, x + width / 2, y - height / 2, y + height / 2))

    def is_free(self, middle: Point, width: float, height: float) -> bool:
        """Return True if a rectangle meets none of those taken."""
        if not self._taken:
            return True
        x, y = middle
        left, right, low, high = self._edges()
        meets = (left < x + width / 2) & (right > x - width / 2) & (low < y + height / 2) & (high > y - height / 2)
        return not meets.any()

    def first_free(self, middles: Iterable[Point], width: float, height: float) -> Point | None:
        """Take and return the first place at which a rectangle meets none of those taken; None if there is none."""
        for middle in middles:
            if self.is_free(middle, width, height):
                self.take(middle, width, height)
                return middle
        return None

    def _edges(self) -> NDArray[np.float64]:
        edges: NDArray[np.float64] = np.array(self._taken, dtype=np.float64).T
        return edges


def fit_in_place(nodes: Sequence[Point], widths: Sequence[float], height: float) -> bool:
    """Return True if labels in the places of their nodes cover no other one."""
    room = TakenArea()
    return all(room.first_free([node], width, height) for node, width in zip(nodes, widths, strict=True))


def places_beside(
    room: TakenArea,
    nodes: Sequence[Point],
    widths: Sequence[float],
    height: float,
    *,
    order: Sequence[int],
    with_lines: bool,
) -> list[Place | None]:
    """Return a place beside each node for its label, None where there is no room; `room` then has them.

    Args:
        room: the part that is taken; nodes should be in it.
        nodes: points to be labelled.
        widths: width of each label.
        height: height of all labels.
        order: positions of the nodes, those whose labels are placed first at the front.
        with_lines: True to seek room further away too, where a line must lead to the node.
    """
    found: list[Place | None] = [None] * len(nodes)
    distances = (_NEAR, *_FAR) if with_lines else (_NEAR,)
    for number in order:
        for distance in distances:
            spot = room.first_free(_around(nodes[number], widths[number], height, distance), widths[number], height)
            if spot is not None:
                found[number] = Place(*spot, distance != _NEAR)
                break
    return found


def _around(node: Point, width: float, height: float, distance: float) -> Iterator[Point]:
    for angle in _DIRECTIONS:
        east, north = math.cos(angle), math.sin(angle)
        yield node[0] + east * (distance + width / 2), node[1] + north * (distance + height / 2)
