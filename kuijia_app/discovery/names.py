"""Finds which switch is which node of a topology, by the cables between them; pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from kuijia_app.tables.stated_wiring import datapath_text
from kuijia_base.errors import UnsoundError, quoted, shown
from te_solver.topology import Topology

if TYPE_CHECKING:
    import networkx as nx

PortOfSwitch = tuple[int, int]
"""Datapath id and port number."""

Cable = frozenset[PortOfSwitch]

Node = TypeVar("Node", bound=Hashable)

_SWITCHES = ("switches",)


def match_names(
    topology: Topology, switches: Collection[int], cables: Iterable[Cable], given: Mapping[str, int]
) -> dict[str, int]:
    """Return the datapath id of each node.

    Raises:
        UnsoundError: there is no such assignment, or more than one.
    """
    import networkx as nx  # noqa: PLC0415  # slow to import

    found: nx.Graph[int] = nx.Graph()
    found.add_nodes_from(switches)
    for cable in cables:
        (one, _), (other, _) = cable
        found.add_edge(one, other)
    wanted: nx.Graph[str] = nx.Graph()
    wanted.add_nodes_from(topology.nodes)
    wanted.add_edges_from(topology.edges)
    _require_counts(topology, wanted, found)
    for name, number in given.items():
        if not topology.has_node(name):
            raise UnsoundError(_SWITCHES, f"unknown node {quoted(name)}", f"a node of {shown(topology.name)}")
        if number not in found:
            raise UnsoundError((*_SWITCHES, name), f"no switch {datapath_text(number)} connected", "one that did")
        wanted.nodes[name]["given"] = found.nodes[number]["given"] = name
    ways = list(islice(_assignments(wanted, found), 2))
    if not ways:
        problem = f"the cables between the {len(found)} switches are not those of {shown(topology.name)}"
        raise UnsoundError(_SWITCHES, problem, "the same network, and right --switch options if any")
    if len(ways) > 1:
        node = next(node for node in topology.nodes if ways[0][node] != ways[1][node])
        either = f"{datapath_text(ways[0][node])} or {datapath_text(ways[1][node])}"
        problem = f"{node} could be {either}, by the cables alone"
        raise UnsoundError((*_SWITCHES, node), problem, f"--switch {node}=DATAPATH-ID")
    return ways[0]


def _assignments(wanted: nx.Graph[str], found: nx.Graph[int]) -> Iterator[dict[str, int]]:
    from networkx.algorithms.isomorphism import GraphMatcher  # noqa: PLC0415  # slow to import

    def alike(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
        return one.get("given") == other.get("given") and one["distances"] == other["distances"]

    _note_distances(wanted)
    _note_distances(found)
    matcher = GraphMatcher(wanted, found, node_match=alike)
    yield from map(dict, matcher.isomorphisms_iter())


def _note_distances(graph: nx.Graph[Node]) -> None:
    """Note at each node how many nodes are how far away, by which most nodes of a network differ.

    The search for an assignment compares no others: without it, networks whose nodes all have as many links take hours.
    """
    from networkx import all_pairs_shortest_path_length  # noqa: PLC0415  # slow to import

    for node, lengths in all_pairs_shortest_path_length(graph):
        graph.nodes[node]["distances"] = sorted(lengths.values())


def _require_counts(topology: Topology, wanted: nx.Graph[str], found: nx.Graph[int]) -> None:
    for what, expected, count in (
        ("switches", len(wanted), len(found)),
        ("links", wanted.number_of_edges(), found.number_of_edges()),
    ):
        if count != expected:
            problem = f"{count} {what} were found"
            raise UnsoundError(_SWITCHES, problem, f"{expected}, as {shown(topology.name)} has")
