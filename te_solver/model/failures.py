"""Failures as plain data: cables and nodes that fail together, and the sets of failures that studies use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.suggestion import meant
from te_solver.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Failure:
    """Edges and nodes that are down at the same time.

    An edge is a cable, named by its two nodes in either order: both of its directions fail. A node takes all its edges
    down. Without edges and nodes nothing fails.
    """

    name: str
    edges: tuple[tuple[str, str], ...] = ()
    nodes: tuple[str, ...] = ()

    def require_part_of(self, topology: Topology) -> None:
        """Raise UnsoundError if the topology lacks an edge or node of the failure."""
        for position, node in enumerate(self.nodes):
            if not topology.has_node(node):
                problem = f"unknown node {quoted(node)}{meant(node, topology.nodes)}"
                raise UnsoundError(("nodes", position), problem, f"a node of {topology.name}")
        for position, (a, b) in enumerate(self.edges):
            if not (topology.has_link(a, b) or topology.has_link(b, a)):
                raise UnsoundError(
                    ("edges", position),
                    f"there is no link between {quoted(a)} and {quoted(b)}",
                    f"a link of {topology.name}",
                )


NO_FAILURE = Failure("none")


def single_links(topology: Topology) -> Iterator[Failure]:
    """Yield the failure of every single edge, in the topology's order."""
    return (_of_edges((edge,)) for edge in topology.edges)


def link_pairs(topology: Topology) -> Iterator[Failure]:
    """Yield the failure of every two edges, in the topology's order of the first, then of the second."""
    return (_of_edges(edges) for edges in combinations(topology.edges, 2))


def single_nodes(topology: Topology) -> Iterator[Failure]:
    """Yield the failure of every single node, in the topology's order."""
    return (Failure(node, nodes=(node,)) for node in topology.nodes)


def named(text: str, topology: Topology) -> tuple[Failure, ...]:
    """Return the failures that a text may mean: of a node, and of each edge `A-B`, as names may contain dashes."""
    nodes = (Failure(text, nodes=(text,)),) if topology.has_node(text) else ()
    splits = [(text[:place], text[place + 1 :]) for place, letter in enumerate(text) if letter == "-"]
    return nodes + tuple(
        Failure(text, (ends,)) for ends in splits if topology.has_link(*ends) or topology.has_link(*ends[::-1])
    )


def surviving(topology: Topology, failure: Failure) -> Topology:
    """Return the topology without what the failure takes down, in the same order.

    Raises:
        UnsoundError: the topology lacks an edge or node of the failure.
    """
    failure.require_part_of(topology)
    lost_nodes = frozenset(failure.nodes)
    lost_edges = {frozenset(edge) for edge in failure.edges}
    return replace(
        topology,
        nodes=tuple(node for node in topology.nodes if node not in lost_nodes),
        links=tuple(
            link
            for link in topology.links
            if lost_nodes.isdisjoint(link.ends) and frozenset(link.ends) not in lost_edges
        ),
    )


def _of_edges(edges: tuple[tuple[str, str], ...]) -> Failure:
    return Failure(" + ".join(f"{a}-{b}" for a, b in edges), edges)
