"""Probabilities of failures: from those of links, or from the number of links that fail at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb, prod

from kuijia_base.errors import UnsoundError, quoted
from te_solver.model.failures import Failure
from te_solver.model.topology import Topology

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
