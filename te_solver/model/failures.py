"""Failures of links and nodes, what they leave of a network, and how probable they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb, prod

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
            if not topology.has_node(node) and frozenset((node,)) not in topology.lost:
                problem = f"unknown node {quoted(node)}{meant(node, topology.nodes)}"
                raise UnsoundError(("nodes", position), problem, f"a node of {topology.name}")
        for position, (a, b) in enumerate(self.edges):
            if not topology.has_cable(a, b):
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
    return topology.without({frozenset(edge) for edge in failure.edges}, frozenset(failure.nodes))


def _of_edges(edges: tuple[tuple[str, str], ...]) -> Failure:
    return Failure(" + ".join(f"{a}-{b}" for a, b in edges), edges)


PUBLISHED: Mapping[str, tuple[float, ...]] = {
    "table1-2min": (0.106, 0.0014, 0.0014),
    "table1-5min": (0.215, 0.011, 0.007),
    "table1-10min": (0.312, 0.042, 0.014),
}
"""P[at least 1, 2, 3 links fail] within 2, 5 and 10 minutes in Microsoft's data-center WAN (Zhang et al., Kuijia,
table 1, after Liu et al., SIGCOMM 2014)."""


@dataclass(frozen=True)
class FailureProbabilities:
    """The probability that nothing fails, and for each listed failure the probability that exactly it happens.

    A listed failure of nothing has none of its own: it is counted in `none`. The remainder to one, `unlisted`, is the
    probability of failures outside the list.
    """

    none: float
    of: tuple[float, ...]

    @property
    def unlisted(self) -> float:
        return max(0.0, 1 - self.none - sum(self.of))


def from_links(
    topology: Topology, failures: Sequence[Failure], down: Mapping[frozenset[str], float]
) -> FailureProbabilities:
    """Return probabilities for links that fail independently: a failure's links are down and all others up.

    Args:
        topology: the network.
        failures: sets of links, each once.
        down: the probability that an edge is down, at least 0 and below 1, by its two nodes; others never fail.

    Raises:
        UnsoundError: a failure includes nodes, two failures have the same links, or an edge is always down.
    """
    certain = next((sorted(edge) for edge, share in down.items() if share >= 1), None)
    if certain is not None:
        raise UnsoundError((), f"link {'-'.join(certain)} has probability 1", "probabilities below 1")
    edges = [frozenset(edge) for edge in topology.edges]
    all_up = prod(1 - down.get(edge, 0.0) for edge in edges)
    odds = {edge: down.get(edge, 0.0) / (1 - down.get(edge, 0.0)) for edge in edges}
    return FailureProbabilities(
        all_up,
        tuple(all_up * prod(odds[edge] for edge in links) if links else 0.0 for links in _link_sets(failures)),
    )


def from_counts(topology: Topology, failures: Sequence[Failure], at_least: Sequence[float]) -> FailureProbabilities:
    """Return probabilities by the number of failed links; all sets of k links are equally likely.

    Exactly k links are down with probability `at_least[k-1] - at_least[k]`, divided evenly among all sets of k links of
    the network. The last number is the probability that `len(at_least)` or more links are down; as the exact number is
    unknown, such failures have no probability of their own and are unlisted.

    Args:
        topology: the network.
        failures: sets of links, each once.
        at_least: the probability that at least 1, 2, ... links are down, not rising.

    Raises:
        UnsoundError: a failure includes nodes, or two failures have the same links.
    """
    exactly = {size: more - less for size, (more, less) in enumerate(pairwise(at_least), start=1)}
    edges = len(topology.edges)
    return FailureProbabilities(
        1 - at_least[0],
        tuple(exactly.get(len(links), 0.0) / comb(edges, len(links)) for links in _link_sets(failures)),
    )


def from_names(failures: Sequence[Failure], named: Mapping[str, float], none: float) -> FailureProbabilities:
    """Return probabilities given by the failures' names; a failure without one never happens.

    Raises:
        UnsoundError: no failure, or more than one, has one of the names; its `where` is the name.
    """
    known = Counter(failure.name for failure in failures)
    for name in named:
        if not known[name]:
            raise UnsoundError((name,), f"unknown failure {quoted(name)}", "one of the examined failures")
        if known[name] > 1:
            problem = f"{known[name]} of the examined failures have the name {quoted(name)}"
            raise UnsoundError((name,), problem, "a name of one of them, as a file of failures can give them")
    return FailureProbabilities(none, tuple(named.get(failure.name, 0.0) for failure in failures))


def _link_sets(failures: Iterable[Failure]) -> Iterable[frozenset[frozenset[str]]]:
    seen: dict[frozenset[frozenset[str]], str] = {}
    for failure in failures:
        if failure.nodes:
            problem = f"failure {quoted(failure.name)} takes a node down: links give it no probability"
            raise UnsoundError((), problem, "failures of links, or probabilities of failures by name")
        links = frozenset(map(frozenset, failure.edges))
        if links in seen:
            problem = f"failures {quoted(seen[links])} and {quoted(failure.name)} are of the same links"
            raise UnsoundError((), problem, "each set of links once")
        seen[links] = failure.name
    return seen
