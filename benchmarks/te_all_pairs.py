"""Maximum concurrent flow of all pairs over any paths, certified to 1 %, up to a network of 1,739 nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np

from benchmarks.measure import apart, timed
from benchmarks.networks import CAPACITY, network
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from te_solver.model.connectivity import largest_part
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.all_pairs import nearly_concurrent
from te_solver.programs.edge_flow import edge_flow

_GAP = 0.01

_SYSTEMS = 1739
"""Nodes of ASN2k, a network of autonomous systems that Teal was measured on (Xu et al., SIGCOMM 2023)."""

_SHARE_OF_THREE = 0.46
"""Share of nodes that join with three links, the others with two: together about ASN2k's 8,558 links."""

_MOST_SECONDS = {"UsCarrier": 60.0, "Kdl": 60.0, "systems": 900.0}
_MOST_MEGABYTES = 8000


@dataclass(frozen=True)
class _Certified:
    """Figures of one search; it ran in a process of its own."""

    problem: str
    value: float
    gap: float
    seconds: float


@benchmark("te-all-pairs")
def te_all_pairs(setting: BenchmarkSetting) -> Iterator[Comparison]:
    for name, most_seconds in _MOST_SECONDS.items():
        setting.progress.show(name)
        measured = apart(_searched, (name, setting.networks))
        found = measured.value
        detail: dict[str, object] = {
            "problem": found.problem,
            "share of every demand": found.value,
            "below the bound, at most": f"{found.gap:.2%}",
            "megabytes": measured.peak_megabytes,
        }
        goals = [
            goal(
                f"certified to {_GAP:.0%} in {most_seconds:g} s",
                met=found.gap <= _GAP and found.seconds <= most_seconds,
            ),
            goal(f"at most {_MOST_MEGABYTES} MB", met=measured.peak_megabytes <= _MOST_MEGABYTES),
        ]
        peer, seconds = "the time it may take", most_seconds
        if name == "UsCarrier":
            topology, demands = _problem(name, setting.networks)
            exact = timed(lambda: edge_flow(topology, demands, "utilisation"))  # noqa: B023  # called at once
            peer, seconds = "HiGHS's interior point method on the exact program by sources", exact.seconds
            detail["below the optimum"] = f"{1 - found.value * exact.value.value:.2%}"
        yield Comparison(found.seconds, seconds, peer, "s", {**detail, "goals": goals})


def _searched(what: tuple[str, Path | None]) -> _Certified:
    topology, demands = _problem(*what)
    found = nearly_concurrent(topology, demands, _GAP, most_seconds=_MOST_SECONDS[what[0]])
    problem = f"{topology.name}, {len(topology.nodes)} nodes, {len(topology.links)} links, {len(demands)} pairs"
    return _Certified(problem, found.value, found.gap, found.seconds)


def _problem(name: str, networks: Path | None) -> tuple[Topology, list[Demand]]:
    topology = _systems() if name == "systems" else largest_part(network(name, networks)).with_capacity(CAPACITY)
    nodes = topology.nodes
    rates = np.random.default_rng(1).random((len(nodes), len(nodes))).tolist()
    return topology, [
        Demand(a, b, rate)
        for a, row in zip(nodes, rates, strict=True)
        for b, rate in zip(nodes, row, strict=True)
        if a != b
    ]


def _systems() -> Topology:
    """Return a network whose nodes have as unequal numbers of links as autonomous systems (Barabási and Albert)."""
    graph = nx.dual_barabasi_albert_graph(_SYSTEMS, 3, 2, _SHARE_OF_THREE, seed=1)
    links = [Link(f"n{a}", f"n{b}", CAPACITY) for edge in sorted(graph.edges) for a, b in (edge, edge[::-1])]
    return Topology(f"made-{_SYSTEMS}", tuple(f"n{number}" for number in range(_SYSTEMS)), tuple(links))
