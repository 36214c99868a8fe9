"""Generators of demands for a topology: common traffic-matrix models, seeded, scaled to a total or a utilisation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import numpy.typing as npt

from kuijia_base.errors import UnsoundError
from te_solver.model.connectivity import Reachability
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology

Progress = Callable[[int, int], None]
"""Callback of progress, called with the sources done and in total."""

Rates = npt.NDArray[np.float64]

MOST_NODES = 1000
"""Of a network whose pairs all get a demand: a million of them are made in seconds and 500 MB."""

SPREAD_AROUND_MEAN = 0.1
"""Standard deviation of each of the two humps of `bimodal`, as a share of its mean."""


def connected_pairs(topology: Topology) -> list[tuple[str, str]]:
    """Return the ordered pairs of nodes with a path between them, in the order of the topology.

    Raises:
        UnsoundError: there are more than `MOST_NODES`.
    """
    if len(topology.nodes) > MOST_NODES:
        raise UnsoundError((), f"{topology.name} has {len(topology.nodes)} nodes", f"at most {MOST_NODES}")
    reachability = Reachability(topology)
    return [pair for pair in permutations(topology.nodes, 2) if reachability.connects(*pair)]


def gravity(topology: Topology, random: np.random.Generator | None = None) -> tuple[Demand, ...]:
    """Return demands proportional to the product of their ends' masses (Zhang et al., SIGMETRICS 2003).

    A node's mass is the capacity of its links in Mbit/s, both directions together, or with `random` a number drawn
    uniformly from (0, 1]. Only the proportions of the rates are meaningful: scale them. All connected pairs, in the
    order of the topology.
    """
    if random is None:
        masses = dict.fromkeys(topology.nodes, 0.0)
        for link in topology.links:
            masses[link.source] += link.capacity
            masses[link.target] += link.capacity
    else:
        masses = dict(zip(topology.nodes, _above_zero(random, len(topology.nodes)).tolist(), strict=True))
    largest = max(masses.values())
    # Divided one by one: the product of two capacities may overflow.
    return tuple(
        Demand(source, target, (masses[source] / largest) * (masses[target] / largest))
        for source, target in connected_pairs(topology)
    )


def uniform(topology: Topology, random: np.random.Generator) -> tuple[Demand, ...]:
    """Return rates drawn uniformly from (0, 1], to be scaled: all connected pairs, in the order of the topology."""
    pairs = connected_pairs(topology)
    return _demands(pairs, _above_zero(random, len(pairs)))


def bimodal(
    topology: Topology, random: np.random.Generator, large_share: float = 0.2, large_to_small: float = 4.0
) -> tuple[Demand, ...]:
    """Return a mixture of small demands of mean 1 and large ones (Medina et al., SIGCOMM 2002), to be scaled.

    A pair is large with the probability `large_share`; its mean is then `large_to_small`. Both kinds are normally
    distributed with a standard deviation of `SPREAD_AROUND_MEAN` of their mean. All connected pairs, in the order of
    the topology.

    Raises:
        ValueError: the share is outside [0, 1], or the ratio is not positive and finite.
    """
    if not 0 <= large_share <= 1:
        raise ValueError(f"a share {large_share} of large demands")
    if not (np.isfinite(large_to_small) and large_to_small > 0):
        raise ValueError(f"large demands {large_to_small} times the small ones")
    pairs = connected_pairs(topology)
    means = np.where(random.random(len(pairs)) < large_share, large_to_small, 1.0)
    # Zero is ten standard deviations away; the absolute value makes even such a draw a valid demand.
    return _demands(pairs, np.abs(means * (1 + SPREAD_AROUND_MEAN * random.standard_normal(len(pairs)))))


def random_pairs(topology: Topology, random: np.random.Generator, count: int, rate: float) -> tuple[Demand, ...]:
    """Return `count` different connected pairs, each with a demand of `rate` Mbit/s, in the order of the topology.

    Raises:
        UnsoundError: there are fewer connected pairs; its `where` is empty.
        ValueError: the count is negative.
    """
    pairs = connected_pairs(topology)
    if count > len(pairs):
        raise UnsoundError((), f"{count} pairs are asked for", f"at most {len(pairs)}, the connected pairs")
    chosen = np.sort(random.choice(len(pairs), size=count, replace=False))
    return tuple(Demand(source, target, rate) for source, target in (pairs[number] for number in chosen.tolist()))


def scaled_to_total(demands: Sequence[Demand], total: float) -> tuple[Demand, ...]:
    """Return the demands with rates scaled to a sum of `total` Mbit/s.

    Raises:
        UnsoundError: all demands are zero.
    """
    present = sum(demand.rate for demand in demands)
    return _multiplied(demands, total, present)


def _no_progress(_done: int, _of: int) -> None:
    """Ignore progress."""


def scaled_to_utilisation(
    topology: Topology, demands: Sequence[Demand], utilisation: float, progress: Progress = _no_progress
) -> tuple[Demand, ...]:
    """Return the demands with rates scaled to load the busiest link to `utilisation` on shortest paths.

    Raises:
        UnsoundError: all demands are zero, or one has no path.
    """
    return _multiplied(demands, utilisation, shortest_path_utilisation(topology, demands, progress))


def shortest_path_utilisation(
    topology: Topology, demands: Sequence[Demand], progress: Progress = _no_progress
) -> float:
    """Return the utilisation of the busiest link if every demand takes its shortest path.

    The shortest path has the fewest links; of several it is the first that a breadth-first search from the source
    finds, which visits neighbours in the order of the topology.

    Raises:
        UnsoundError: a demand has no path.
    """
    by_source: dict[str, dict[str, float]] = {}
    for demand in demands:
        targets = by_source.setdefault(demand.source, {})
        targets[demand.target] = targets.get(demand.target, 0.0) + demand.rate
    loads = {link.ends: 0.0 for link in topology.links}
    heads = {
        node: [other for other in others if topology.has_link(node, other)]
        for node, others in topology.neighbours.items()
    }
    for done, (source, targets) in enumerate(by_source.items()):
        progress(done, len(by_source))
        before = _shortest_path_tree(heads, source)
        if unreached := targets.keys() - before.keys():
            raise UnsoundError((), f"no path from {source} to {min(unreached)}", "demands between connected nodes")
        through = dict.fromkeys(before, 0.0) | targets
        # From the leaves to the root: traffic through a node also passes its predecessor.
        for node in reversed(before):
            if node != source:
                loads[before[node], node] += through[node]
                through[before[node]] += through[node]
    return max((load / topology.link(*ends).capacity for ends, load in loads.items()), default=0.0)


def _shortest_path_tree(heads: Mapping[str, Sequence[str]], source: str) -> dict[str, str]:
    """Return every reachable node with its predecessor, nearer ones first; `heads` has the next nodes of each."""
    before = {source: source}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for head in heads[node]:
            if head not in before:
                before[head] = node
                queue.append(head)
    return before


def _multiplied(demands: Sequence[Demand], wanted: float, present: float) -> tuple[Demand, ...]:
    if not present > 0:
        raise UnsoundError((), "all demands are zero", "one above zero to scale")
    return tuple(replace(demand, rate=demand.rate / present * wanted) for demand in demands)


def _demands(pairs: Sequence[tuple[str, str]], rates: Rates) -> tuple[Demand, ...]:
    return tuple(Demand(*pair, rate) for pair, rate in zip(pairs, rates.tolist(), strict=True))


def _above_zero(random: np.random.Generator, count: int) -> Rates:
    """Draw numbers from (0, 1]."""
    drawn: Rates = 1.0 - random.random(count)
    return drawn
