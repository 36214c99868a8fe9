"""Repeated solutions with new capacities and demands: Gscale, three tunnels for each of its 66 pairs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import combinations, permutations

import numpy as np

from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from te_solver.formats.topology_file import load_topology
from te_solver.model.demand_generators import gravity, scaled_to_utilisation
from te_solver.model.topology import Topology
from te_solver.networks import shipped_network
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.max_throughput import MaxThroughput
from te_solver.programs.program import Allocation
from te_solver.programs.resolve import ThroughputResolver
from te_solver.tunnels.finder import TunnelFinder

Bounds = tuple[Vector, Vector]

_TUNNELS = 3
_UTILISATION = 2.0
"""Utilisation of the busiest link if all demands took their shortest path; part of the demand is refused."""
_CHANGE = 0.2
_CHANGES = 300
_CHANGES_OF_PEERS = 40
_PROGRAMS = 2
"""Linear programs per solution: the greatest throughput, and its fewest hops."""

_GOAL_MS = 0.4


@benchmark("te-resolve")
def te_resolve(setting: BenchmarkSetting) -> Iterator[Comparison]:
    topology = load_topology(shipped_network("gscale"))
    pairs = list(combinations(topology.nodes, 2))
    incidence, changes = _problem(topology, pairs)
    setting.progress.show("ours")
    resolver = ThroughputResolver(incidence)
    ours = _milliseconds(resolver.solve, changes)
    everyone, all_changes = _problem(topology, list(permutations(topology.nodes, 2)))
    of_all_pairs = _milliseconds(ThroughputResolver(everyone).solve, all_changes)
    setting.progress.show("CVXPY, compiled once")
    program = MaxThroughput(incidence)
    compiled_once = _milliseconds(program.solve, changes[:_CHANGES_OF_PEERS])
    setting.progress.show("CVXPY, built anew")
    built_anew = _milliseconds(lambda *bounds: MaxThroughput(incidence).solve(*bounds), changes[:_CHANGES_OF_PEERS])
    detail = {
        "problem": f"Gscale, {len(pairs)} pairs, {incidence.hops.size} tunnels; one link fails, or all capacities and "
        f"demands change by up to {_CHANGE:.0%}",
        "programs per solution": _PROGRAMS,
        "median ms per program, all 132 ordered pairs": of_all_pairs,
        "largest difference in throughput from CVXPY": _difference(resolver, program, changes[:_CHANGES_OF_PEERS]),
        "goals": [goal(f"at most {_GOAL_MS} ms per program", met=ours <= _GOAL_MS)],
    }
    for name, peer in (("CVXPY compiled once", compiled_once), ("CVXPY built anew", built_anew)):
        yield Comparison(ours, peer, name, "ms per program (median)", detail)


def _problem(topology: Topology, pairs: list[tuple[str, str]]) -> tuple[Incidence, list[Bounds]]:
    finder = TunnelFinder(topology)
    incidence = Incidence.of(topology, [finder.tunnels(*pair, _TUNNELS) for pair in pairs])
    random = np.random.default_rng(1)
    wanted = [demand for demand in gravity(topology, random) if demand.pair in set(pairs)]
    demand = np.array([each.rate for each in scaled_to_utilisation(topology, wanted, _UTILISATION)])
    capacity = np.array([link.capacity for link in topology.links])
    changes = [(capacity, demand)]
    for number in range(_CHANGES):
        if number % 2:
            failed = incidence.edge_of_link == random.integers(len(topology.edges))
            changes.append((np.where(failed, 0.0, capacity), demand))
        else:
            changes.append((_changed(capacity, random), _changed(demand, random)))
    return incidence, changes


def _changed(values: Vector, random: np.random.Generator) -> Vector:
    return np.asarray(values * random.uniform(1 - _CHANGE, 1 + _CHANGE, values.size))


def _milliseconds(solve: Callable[[Vector, Vector], Allocation], changes: list[Bounds]) -> float:
    """Return the median time of one program, without the first solution, from which a solver may start."""
    solve(*changes[0])
    taken = []
    for bounds in changes[1:]:
        started = time.perf_counter()
        solve(*bounds)
        taken.append(time.perf_counter() - started)
    return float(np.median(taken)) / _PROGRAMS * 1e3


def _difference(resolver: ThroughputResolver, program: MaxThroughput, changes: list[Bounds]) -> float:
    throughputs = [(resolver.solve(*each).rates.sum(), program.solve(*each).rates.sum()) for each in changes]
    return max(float(abs(ours / theirs - 1)) for ours, theirs in throughputs)
