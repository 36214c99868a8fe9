"""Search for tunnels: four for each pair of a network of 754 nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice, permutations
from pathlib import Path
from random import Random

import networkx as nx

from benchmarks.measure import apart, timed
from benchmarks.networks import network
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark
from kuijia_base.parallel import processors
from te_solver.model.topology import Topology
from te_solver.programs.tunnel_table import find_tunnels
from te_solver.tunnels.finder import TunnelFinder

_NETWORK = "Kdl"
_TUNNELS = 4
_SAMPLE = 40
"""Pairs for which networkx finds paths; all would take too long."""
_OWN_SAMPLE = 2000
_SECONDS_PER_HOUR = 3600


@benchmark("te-paths")
def te_paths(setting: BenchmarkSetting) -> Iterator[Comparison]:
    topology = network(_NETWORK, setting.networks)
    pairs = Random(1).sample(list(permutations(topology.nodes, 2)), _OWN_SAMPLE)
    graph: nx.Graph[str] = nx.Graph(topology.edges)
    setting.progress.show("our sample")
    # The preparation for a network counts too.
    sample = timed(lambda: find_tunnels(TunnelFinder(topology), pairs, _TUNNELS, processes=1))
    setting.progress.show("networkx, disjoint paths")
    disjoint = timed(lambda: [list(nx.edge_disjoint_paths(graph, *pair)) for pair in pairs[:_SAMPLE]])
    setting.progress.show("networkx, cheapest disjoint paths")
    cheapest = timed(lambda: [_cheapest_disjoint(graph, *pair) for pair in pairs[:_SAMPLE]])
    setting.progress.show("networkx, shortest paths")
    shortest = timed(
        lambda: [list(islice(nx.shortest_simple_paths(graph, *pair), _TUNNELS)) for pair in pairs[:_SAMPLE]]
    )
    setting.progress.show(f"all pairs on {processors()} processors")
    everything = apart(partial(_all_pairs, setting.networks), _NETWORK)
    count = len(topology.nodes) * (len(topology.nodes) - 1)
    for name, taken in (
        ("networkx.max_flow_min_cost, the disjoint tunnels alone", cheapest.seconds),
        ("networkx.edge_disjoint_paths, as many disjoint ones, not the cheapest", disjoint.seconds),
        (f"networkx.shortest_simple_paths, the first {_TUNNELS}", shortest.seconds),
    ):
        per_pair = taken / _SAMPLE
        detail = {
            "problem": f"{topology.name}, {len(topology.nodes)} nodes, {len(topology.edges)} edges, {_TUNNELS} tunnels "
            "for each pair, one process",
            "pairs of the sample": f"{_OWN_SAMPLE} of ours, of which {_SAMPLE} of the peer's",
            "all pairs": count,
            "tunnels of all pairs": everything.value[1],
            "processors": processors(),
            "seconds for all pairs": everything.value[0],
            "megabytes for all pairs": everything.peak_megabytes,
            "hours that the peer would take for all pairs in one process": per_pair * count / _SECONDS_PER_HOUR,
        }
        yield Comparison(sample.seconds / _OWN_SAMPLE * 1e3, per_pair * 1e3, name, "ms per pair", detail)


def _cheapest_disjoint(graph: nx.Graph[str], source: str, target: str) -> object:
    """Return the flow of disjoint paths with the fewest hops."""
    network: nx.DiGraph[str] = nx.DiGraph()
    network.add_edges_from(graph.to_directed().edges, capacity=1, weight=1)
    network.add_edge("before the source", source, capacity=_TUNNELS, weight=0)
    return nx.max_flow_min_cost(network, "before the source", target)


def _all_pairs(folder: Path | None, name: str) -> tuple[float, int]:
    """Return the seconds for the tunnels of all pairs, and their number."""
    topology: Topology = network(name, folder)
    found = timed(lambda: find_tunnels(TunnelFinder(topology), list(permutations(topology.nodes, 2)), _TUNNELS))
    return found.seconds, found.value.starts.size - 1
