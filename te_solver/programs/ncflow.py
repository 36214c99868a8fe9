"""NCFlow: flows between clusters of nodes first, then within each cluster, then what both agree on, several times."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, sqrt
from typing import ClassVar

import networkx as nx
import numpy as np
import scipy.sparse as sp

from kuijia_base.errors import UnsoundError
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from te_solver.programs.highs import TITLE
from te_solver.programs.incidence import Vector, within_bounds
from te_solver.programs.linear import Linear
from te_solver.programs.program import Allocation, Objective, Options, Pair, Program, total
from te_solver.programs.settings import NumberSetting, Settings
from te_solver.programs.solver import Solver
from te_solver.tunnels.finder import Paths, TunnelFinder

_CLUSTERS_PER_ROOT = 3
"""Clusters as a multiple of the square root of the number of nodes, where users name no number."""

_DUST = 1e-9
"""Share of a link's capacity, or of the largest demand, below which a rate is rounding."""

_TIES = 1e-6
"""Share of its rate that traffic within a cluster costs on a link: of equally good flows those on fewer links win."""

_LITTLE = 1e-6
"""Share of all demand that an iteration must add, or it is the last one."""

Nodes = tuple[str, ...]
Flows = list[dict[Nodes, float]]
"""Mbit/s of each path of each pair."""


@dataclass(frozen=True)
class Contraction:
    """Parameters of the algorithm.

    Attributes:
        clusters: number of clusters; 0 for three times the square root of the number of nodes.
        iterations: times that flows are sought in what links and demands have left.
        paths: paths between two nodes of a cluster.
    """

    clusters: int = 0
    iterations: int = 6
    paths: int = 4


@dataclass(frozen=True)
class _Way:
    """A path within a cluster; of one node and no link where traffic leaves a cluster as it has entered it."""

    nodes: Nodes
    links: tuple[int, ...]


@dataclass(frozen=True)
class _Bundle:
    """The demands from one cluster to another, on one path of clusters in an iteration.

    Attributes:
        clusters: those on its path, at least two.
        links: the link from each of them to the next.
        pairs: numbers of its demands.
        most: Mbit/s that links between clusters leave for it.
    """

    clusters: tuple[int, ...]
    links: tuple[int, ...]
    pairs: tuple[int, ...]
    most: float = 0.0


@dataclass
class _Commodity:
    """Traffic between two nodes of a cluster: of a pair, or a part of a bundle's.

    Attributes:
        source, target: its nodes.
        most: Mbit/s of it at most.
        bundle: number of its bundle; None for a pair within the cluster.
        role: the place on the bundle's path where its cluster stands; with `bundle` it names all that add up.
        flows: the paths that it takes and their Mbit/s, once found.
    """

    source: str
    target: str
    most: float
    bundle: int | None = None
    role: int = 0
    flows: list[tuple[_Way, float]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return sum(rate for _, rate in self.flows)


class ContractedNetwork:
    """A network in clusters, whose capacities and demands are filled by the iterations of NCFlow.

    Args:
        topology: the network.
        capacity: Mbit/s of each link, shape (L,).
        pairs: the pairs.
        demand: Mbit/s of each, shape (P,).
        how: parameters of the algorithm.
        solver: HiGHS, with its `watch`.
    """

    def __init__(
        self,
        topology: Topology,
        capacity: Vector,
        pairs: Sequence[Pair],
        demand: Vector,
        how: Contraction,
        solver: Solver | None = None,
    ) -> None:
        self._topology, self._pairs, self._how = topology, pairs, how
        self._solver = solver or Solver()
        self._left, self._missing = capacity.astype(np.float64), demand.astype(np.float64)
        self._dust, self._unit = capacity * _DUST, float(demand.max(initial=0.0)) or 1.0
        self._enough = float(demand.sum()) * _LITTLE
        self._crossed = np.zeros(capacity.size, dtype=np.int64)
        self._number = {link.ends: number for number, link in enumerate(topology.links)}
        self.cluster = clusters_of(topology, how.clusters)
        self._between: dict[tuple[int, int], list[int]] = defaultdict(list)
        inside: dict[int, list[int]] = defaultdict(list)
        for number, link in enumerate(topology.links):
            tail, head = self.cluster[link.source], self.cluster[link.target]
            (inside[tail] if tail == head else self._between[tail, head]).append(number)
        self._finders: dict[int, TunnelFinder] = {}
        for cluster, links in inside.items():
            nodes = tuple(node for node in topology.nodes if self.cluster[node] == cluster)
            part = Topology(topology.name, nodes, tuple(topology.links[link] for link in links))
            self._finders[cluster] = TunnelFinder(part)
        self._known: dict[Pair, tuple[_Way, ...]] = {}
        self.flows: Flows = [defaultdict(float) for _ in pairs]

    def fill(self) -> None:
        """Find flows again and again in what is left, until an iteration adds little.

        Raises:
            SolverError: HiGHS did not reach an optimum.
        """
        for _ in range(self._how.iterations):
            before = self._missing.sum()
            self._iterate()
            if before - self._missing.sum() <= self._enough:
                return

    def _iterate(self) -> None:
        bundles = self._between_clusters(self._bundles())
        within: dict[int, list[_Commodity]] = defaultdict(list)
        own: dict[int, _Commodity] = {}
        for pair, (source, target) in enumerate(self._pairs):
            if self.cluster[source] == self.cluster[target] and self._missing[pair] > _DUST * self._unit:
                own[pair] = _Commodity(source, target, float(self._missing[pair]))
                within[self.cluster[source]].append(own[pair])
        parts = [self._parts(number, bundle) for number, bundle in enumerate(bundles)]
        for bundle, roles in zip(bundles, parts, strict=True):
            for cluster, commodities in zip(bundle.clusters, roles, strict=True):
                within[cluster] += commodities.values()
        for of_cluster in within.values():
            self._within(of_cluster, bundles)
        for pair, commodity in own.items():
            for way, rate in commodity.flows:
                self._send(pair, way.nodes, rate)
        agreed = self._agreed(bundles, parts)
        for bundle, roles in zip(bundles, parts, strict=True):
            self._joined(bundle, roles, agreed)

    def _bundles(self) -> list[_Bundle]:
        """Return the demands between clusters, by the paths with most room of the links that were crossed least."""
        graph: nx.DiGraph[int] = nx.DiGraph()
        for ends, links in self._between.items():
            free = [link for link in links if self._left[link] > self._dust[link]]
            if free:
                link = max(free, key=lambda each: (-self._crossed[each], self._left[each], -each))
                graph.add_edge(*ends, weight=1 / self._left[link], link=link)
        members: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, pair in enumerate(self._pairs):
            tail, head = (self.cluster[node] for node in pair)
            if tail != head and self._missing[number] > _DUST * self._unit:
                members[tail, head].append(number)
        paths: dict[int, Mapping[int, list[int]]] = {}
        found = []
        for (source, target), numbers in members.items():
            if source not in paths:
                paths[source] = nx.single_source_dijkstra_path(graph, source) if source in graph else {}
            path = paths[source].get(target)
            if path:
                crossed = tuple(graph.edges[hop]["link"] for hop in pairwise(path))
                found.append(_Bundle(tuple(path), crossed, tuple(numbers)))
        self._crossed[list({link for bundle in found for link in bundle.links})] += 1
        return found

    def _between_clusters(self, bundles: Sequence[_Bundle]) -> list[_Bundle]:
        """Return the bundles that get something in the most throughput between clusters, with what they get."""
        if not bundles:
            return []
        used = sorted({link for bundle in bundles for link in bundle.links})
        place = {link: number for number, link in enumerate(used)}
        program = Linear(self._solver)
        asked = np.array([self._missing[list(bundle.pairs)].sum() for bundle in bundles])
        flows = program.variables(asked.size, cost=-1.0, caps=asked / self._unit)
        cells = [(place[link], number) for number, bundle in enumerate(bundles) for link in bundle.links]
        program.rows((flows, _ones(cells, (len(used), asked.size))), at_most=self._left[used] / self._unit)
        rates = flows.of(program.solve().values) * self._unit
        return [
            _Bundle(bundle.clusters, bundle.links, bundle.pairs, rate)
            for bundle, rate in zip(bundles, rates.tolist(), strict=True)
            if rate > _DUST * self._unit
        ]

    def _parts(self, number: int, bundle: _Bundle) -> list[dict[str, _Commodity]]:
        """Return what each cluster on a bundle's path carries: by sources, in transit (one each), and by targets."""
        sources: dict[str, float] = defaultdict(float)
        targets: dict[str, float] = defaultdict(float)
        for pair in bundle.pairs:
            source, target = self._pairs[pair]
            sources[source] += float(self._missing[pair])
            targets[target] += float(self._missing[pair])
        ends = [self._topology.links[link].ends for link in bundle.links]
        last = len(bundle.clusters) - 1
        first = {node: _Commodity(node, ends[0][0], rate, number, 0) for node, rate in sources.items()}
        transit = [
            {"": _Commodity(before[1], after[0], bundle.most, number, role)}
            for role, (before, after) in enumerate(pairwise(ends), start=1)
        ]
        final = {node: _Commodity(ends[-1][1], node, rate, number, last) for node, rate in targets.items()}
        return [first, *transit, final]

    def _within(self, commodities: Sequence[_Commodity], bundles: Sequence[_Bundle]) -> None:
        """Give the commodities of one cluster their flows: the most together, each bundle at most what it has."""
        ways = [(place, way) for place, each in enumerate(commodities) for way in self._ways(each.source, each.target)]
        if not ways:
            return
        program = Linear(self._solver)
        most = np.array([each.most for each in commodities])
        cost = _TIES * np.array([len(way.links) for _, way in ways]) - 1
        flows = program.variables(len(ways), cost=cost, caps=most[[place for place, _ in ways]] / self._unit)
        width = len(ways)
        cells = [(place, column) for column, (place, _) in enumerate(ways)]
        program.rows((flows, _ones(cells, (most.size, width))), at_most=most / self._unit)
        crossed = sorted({link for _, way in ways for link in way.links})
        if crossed:
            number = {link: at for at, link in enumerate(crossed)}
            cells = [(number[link], column) for column, (_, way) in enumerate(ways) for link in way.links]
            room = np.maximum(self._left[crossed], 0.0)
            program.rows((flows, _ones(cells, (len(crossed), width))), at_most=room / self._unit)
        together: dict[tuple[int, int], int] = {}
        cells, bounds = [], []
        for column, (place, _) in enumerate(ways):
            bundle = commodities[place].bundle
            if bundle is None:
                continue
            key = bundle, commodities[place].role
            if key not in together:
                together[key] = len(together)
                bounds.append(bundles[bundle].most)
            cells.append((together[key], column))
        if bounds:
            program.rows((flows, _ones(cells, (len(bounds), width))), at_most=np.array(bounds) / self._unit)
        for (place, way), rate in zip(ways, flows.of(program.solve().values).tolist(), strict=True):
            if rate > _DUST:
                commodities[place].flows.append((way, rate * self._unit))

    def _ways(self, source: str, target: str) -> tuple[_Way, ...]:
        """Return the paths between two nodes of a cluster."""
        if source == target:
            return (_Way((source,), ()),)
        if (source, target) not in self._known:
            finder = self._finders.get(self.cluster[source])
            paths = finder.tunnels(source, target, self._how.paths) if finder else ()
            self._known[source, target] = tuple(
                _Way(path, tuple(self._number[hop] for hop in pairwise(path))) for path in paths
            )
        return self._known[source, target]

    def _agreed(self, bundles: Sequence[_Bundle], parts: Sequence[list[dict[str, _Commodity]]]) -> dict[int, float]:
        """Return the Mbit/s of each pair between clusters: the most that all clusters on their paths agree on."""
        pairs = [pair for bundle in bundles for pair in bundle.pairs]
        if not pairs:
            return {}
        cells: list[tuple[int, int]] = []
        bounds: list[float] = []
        column = 0
        for bundle, roles in zip(bundles, parts, strict=True):
            own: dict[tuple[int, str], int] = {}
            passed = min([bundle.most, *(each.rate for role in roles[1:-1] for each in role.values())])
            whole = len(bounds)
            bounds.append(passed)
            for pair in bundle.pairs:
                for end, node in zip((0, -1), self._pairs[pair], strict=True):
                    if (end, node) not in own:
                        own[end, node] = len(bounds)
                        bounds.append(roles[end][node].rate)
                    cells.append((own[end, node], column))
                cells.append((whole, column))
                column += 1
        program = Linear(self._solver)
        flows = program.variables(len(pairs), cost=-1.0, caps=self._missing[pairs] / self._unit)
        program.rows((flows, _ones(cells, (len(bounds), len(pairs)))), at_most=np.array(bounds) / self._unit)
        return dict(zip(pairs, (flows.of(program.solve().values) * self._unit).tolist(), strict=True))

    def _joined(self, bundle: _Bundle, roles: Sequence[dict[str, _Commodity]], agreed: Mapping[int, float]) -> None:
        """Send what was agreed on paths put together of those in each cluster, in the order of pairs and paths."""
        queues = [{key: list(each.flows) for key, each in role.items()} for role in roles]
        for pair in bundle.pairs:
            source, target = self._pairs[pair]
            keys = [source, *[""] * (len(roles) - 2), target]
            own = [queue[key] for queue, key in zip(queues, keys, strict=True)]
            wanted = agreed[pair]
            while wanted > _DUST * self._unit and all(own):
                taken = min(wanted, *(queue[0][1] for queue in own))
                self._send(pair, tuple(node for queue in own for node in queue[0][0].nodes), taken)
                wanted -= taken
                for queue in own:
                    way, rate = queue[0]
                    rest = rate - taken
                    queue[:1] = [(way, rest)] if rest > _DUST * self._unit else []

    def _send(self, pair: int, nodes: Nodes, rate: float) -> None:
        self.flows[pair][nodes] += rate
        self._missing[pair] -= rate
        for hop in pairwise(nodes):
            self._left[self._number[hop]] -= rate


def clusters_of(topology: Topology, count: int) -> dict[str, int]:
    """Return the cluster of each node: neighbours that greedy modularity joins until `count` clusters are left.

    Clauset, Newman and Moore, Finding community structure in very large networks, Physical Review E 70, 2004. Nodes
    that no links connect are in different clusters.
    """
    count = count or ceil(_CLUSTERS_PER_ROOT * sqrt(len(topology.nodes)))
    graph: nx.Graph[int] = nx.Graph()
    place = {node: number for number, node in enumerate(topology.nodes)}
    graph.add_nodes_from(place.values())
    graph.add_edges_from((place[a], place[b]) for a, b in topology.edges)
    count = max(count, nx.number_connected_components(graph))
    if count >= len(topology.nodes):
        return place
    joined = nx.community.greedy_modularity_communities(graph, cutoff=count, best_n=count)
    ordered = sorted(map(sorted, joined))
    return {topology.nodes[node]: number for number, nodes in enumerate(ordered) for node in nodes}


def _ones(cells: Iterable[tuple[int, int]], shape: tuple[int, int]) -> sp.csc_array:
    where = np.array(list(cells), dtype=np.int64).reshape(-1, 2)
    return sp.csc_array((np.ones(len(where)), (where[:, 0], where[:, 1])), shape=shape)


def contracted_tunnels(topology: Topology, demands: Sequence[Demand], options: Options) -> dict[Pair, Paths]:
    """Return the paths that NCFlow uses for each pair, those of fewest hops first; the shortest for one without flow.

    Raises:
        UnsoundError: there are several classes of traffic; its `where` is `objective`.
        SolverError: HiGHS did not reach an optimum.
    """
    classes = len({each.priority for each in demands})
    if classes > 1:
        raise UnsoundError(("objective",), f"ncflow for demands of {classes} priorities", "those of one")
    capacity = np.array([link.capacity for link in topology.links])
    pairs = [each.pair for each in demands]
    flows = _filled(topology, capacity, pairs, np.array([each.rate for each in demands]), options)
    shortest = TunnelFinder(topology)
    return {
        pair: tuple(sorted(own, key=lambda path: (len(path), path))) or shortest.tunnels(*pair, 1)
        for pair, own in zip(pairs, flows, strict=True)
    }


class Ncflow(Program):
    """Abuzaid et al., Contracting wide-area network topologies to solve flow problems quickly, NSDI 2021.

    Nodes are joined to clusters. An iteration finds the most throughput of the demands between clusters, all from one
    cluster to another as one bundle, on one path of clusters and one link from each to the next; then, for each cluster
    by itself, the most of its own pairs and of all bundles' parts in it; then the most of each pair that all clusters
    on its path agree on. The next one does the same with what links and demands have left.

    The paths are its own. For capacities or demands other than those that the tunnels were found for, what it would
    send on other paths is left out.
    """

    settings: ClassVar[Settings] = {
        "clusters": NumberSetting(0, 0, 100_000, whole=True),
        "iterations": NumberSetting(6, 1, 1000, whole=True),
        "paths": NumberSetting(4, 1, 64, whole=True),
    }

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        incidence = self.incidence
        started = time.perf_counter()
        pairs = [incidence.pair_ends(int(own[0])) for own in incidence.tunnels_of_pair]
        flows = _filled(incidence.topology, room, pairs, demand, self.options)
        seconds = time.perf_counter() - started
        by_hops = [{frozenset(pairwise(path)): rate for path, rate in own.items()} for own in flows]
        owners = incidence.pair_of_tunnel.tolist()
        rates = [by_hops[owner].get(incidence.hops_of_tunnel(tunnel), 0.0) for tunnel, owner in enumerate(owners)]
        kept = within_bounds(incidence, room, demand, np.array(rates))
        return Allocation(kept, np.minimum(incidence.pairs @ kept, demand), TITLE, seconds)


def _filled(topology: Topology, capacity: Vector, pairs: Sequence[Pair], demand: Vector, options: Options) -> Flows:
    values = {name: int(options.settings.get(name, each.default)) for name, each in Ncflow.settings.items()}
    network = ContractedNetwork(topology, capacity, pairs, demand, Contraction(**values), options.solver)
    network.fill()
    return network.flows


OBJECTIVE = Objective("ncflow", Ncflow, total, settings=Ncflow.settings, compiled=False, tunnels=contracted_tunnels)
