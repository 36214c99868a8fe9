"""Networks of benchmarks: those of the Internet Topology Zoo from files, or generated ones like them."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
from scipy.spatial import Delaunay

from te_solver.formats.topology_file import load_topology
from te_solver.model.topology import Link, Topology

CAPACITY = 1000.0

NODES = {"Kdl": 754, "UsCarrier": 158}
"""Nodes of large networks of the Internet Topology Zoo that papers on traffic engineering use."""

# Shares of Kdl's 754 nodes and 895 edges.
_MESHED = 0.27
_LEAVES = 0.056
_MESH_EDGES = 0.456


def network(name: str, folder: Path | None) -> Topology:
    """Return the network of this name from `folder` or, without one, a generated network with as many nodes.

    Raises:
        InputError: the file does not exist, or cannot be used.
    """
    if folder is None:
        return wide_area(NODES[name])
    return load_topology(folder / f"{name}.graphml", "graphml", CAPACITY, lambda _: None)


def wide_area(nodes: int, seed: int = 1) -> Topology:
    """Return a network shaped like Kdl: a sparse mesh without bridges whose edges are long chains, and some leaves.

    The mesh is the Delaunay triangulation of random points after edges are removed, long ones sooner than short ones,
    unless that leaves a bridge. Nodes are put on its edges in proportion to their lengths.
    """
    random = np.random.default_rng(seed)
    meshed, leaves = round(_MESHED * nodes), round(_LEAVES * nodes)
    mesh = _mesh(random.random((meshed, 2)), round(_MESH_EDGES * nodes), random)
    edges = sorted(mesh.edges)
    lengths = np.array([mesh.edges[edge]["length"] for edge in edges])
    joined: nx.Graph[int] = nx.Graph()
    used = meshed
    for (a, b), count in zip(edges, random.multinomial(nodes - meshed - leaves, lengths / lengths.sum()), strict=True):
        nx.add_path(joined, [a, *range(used, used + count), b])
        used += int(count)
    joined.add_edges_from((leaf, int(random.integers(used))) for leaf in range(used, nodes))
    links = [Link(f"n{a}", f"n{b}", CAPACITY) for edge in sorted(joined.edges) for a, b in (edge, edge[::-1])]
    return Topology(f"made-{nodes}", tuple(f"n{number}" for number in range(nodes)), tuple(links))


def dense(nodes: int, links: int, seed: int = 1) -> Topology:
    """Return a network of random places, with coordinates: the shortest links that join all, and then the next ones."""
    places = np.random.default_rng(seed).random((nodes, 2))
    pairs = sorted((float(np.hypot(*(places[a] - places[b]))), a, b) for a in range(nodes) for b in range(a + 1, nodes))
    joining: nx.Graph[int] = nx.Graph()
    joining.add_weighted_edges_from((a, b, length) for length, a, b in pairs)
    tree = {(min(ends), max(ends)) for ends in nx.minimum_spanning_edges(joining, data=False)}
    others = [(a, b) for _, a, b in pairs if (a, b) not in tree][: links - len(tree)]
    both = [Link(f"n{a}", f"n{b}", CAPACITY) for edge in sorted({*tree, *others}) for a, b in (edge, edge[::-1])]
    positions = {f"n{number}": (float(x), float(y)) for number, (x, y) in enumerate(places)}
    return Topology(f"dense-{nodes}", tuple(positions), tuple(both), positions)


def _mesh(
    points: np.ndarray[tuple[int, int], np.dtype[np.float64]], edges: int, random: np.random.Generator
) -> nx.Graph[int]:
    mesh: nx.Graph[int] = nx.Graph()
    for corners in Delaunay(points).simplices.tolist():
        for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
            mesh.add_edge(a, b, length=float(np.hypot(*(points[a] - points[b]))))
    listed = sorted(mesh.edges)
    lengths = np.array([mesh.edges[edge]["length"] for edge in listed])
    for position in np.argsort(-lengths * random.random(lengths.size)):
        if mesh.number_of_edges() <= edges:
            break
        a, b = listed[position]
        length = mesh.edges[a, b]["length"]
        mesh.remove_edge(a, b)
        if not nx.is_connected(mesh) or nx.has_bridges(mesh):
            mesh.add_edge(a, b, length=length)
    return mesh
