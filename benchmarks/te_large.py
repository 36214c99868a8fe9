"""Large programs: UsCarrier's compared with plain HiGHS, and those of all pairs of 100 to 754 nodes, in parts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations
from pathlib import Path

import highspy
import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import apart, timed
from benchmarks.networks import network, wide_area
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from kuijia_base.parallel import processors
from te_solver.model.demand_generators import gravity
from te_solver.model.topology import Topology
from te_solver.programs.column_generation import nearly_most_throughput
from te_solver.programs.highs import Vector
from te_solver.programs.incidence import Incidence
from te_solver.programs.max_throughput import MaxThroughput
from te_solver.programs.partition import Partitioning, partitioned_throughput
from te_solver.programs.resolve import ThroughputResolver
from te_solver.programs.tunnel_links import TunnelLinks
from te_solver.programs.tunnel_table import TunnelTable, find_tunnels
from te_solver.tunnels.finder import TunnelFinder

_TUNNELS = 4
_LOAD = 0.5
"""Mean load of links, as a share of capacity, if all demands took their first tunnel; about a quarter is refused."""
_REPEATS = 3
_FAILURES = 5
_CHANGE = 0.05

_SIZES = (100, 200, 400)
_KDL = "Kdl"
_PAIRS_PER_PART = 4500
_PEER_SECONDS = 60.0
"""Time limit of HiGHS for the program of one part."""

_GOAL_BUILD = 1.1
_GOAL_WARM = 4.0
_GOAL_LOSS = 0.015


@benchmark("te-large")
def te_large(setting: BenchmarkSetting) -> Iterator[Comparison]:
    yield from _beside_highs(setting)
    yield from _in_parts(setting)


def _beside_highs(setting: BenchmarkSetting) -> Iterator[Comparison]:
    topology = network("UsCarrier", setting.networks)
    pairs = list(combinations(topology.nodes, 2))
    tunnels = list(find_tunnels(TunnelFinder(topology), pairs, _TUNNELS, disjoint_only=True))
    capacity = np.array([link.capacity for link in topology.links])
    demand = _demand(topology, pairs, np.array([len(paths[0]) - 1 for paths in tunnels]))
    problem = f"{topology.name}, {len(pairs)} pairs, {sum(map(len, tunnels))} edge-disjoint tunnels"

    def anew() -> ThroughputResolver:
        resolver = ThroughputResolver(Incidence.of(topology, tunnels), fewest_hops=False)
        resolver.solve(capacity, demand)
        return resolver

    setting.progress.show("building and solving")
    ours = min(timed(anew).seconds for _ in range(_REPEATS))
    raw = [_raw_highs(topology, tunnels, capacity, demand) for _ in range(_REPEATS)]
    theirs = min(each.seconds for each in raw)
    resolver = anew()
    throughput = float(resolver.solve(capacity, demand).rates.sum())
    incidence = Incidence.of(topology, tunnels)
    links = TunnelLinks.of(incidence)
    setting.progress.show("column generation, CVXPY")
    generated = timed(lambda: nearly_most_throughput(links, capacity, demand, 0.001))
    cvxpy = timed(lambda: MaxThroughput(incidence).solve(capacity, demand))
    hops = timed(lambda: ThroughputResolver(incidence).solve(capacity, demand))
    yield Comparison(
        ours,
        theirs,
        "HiGHS through highspy, built from the same tunnels",
        "s to build and solve",
        {
            "problem": problem,
            "part of the demand that is allocated": throughput / float(demand.sum()),
            "difference in throughput": abs(throughput / raw[0].throughput - 1),
            "seconds by column generation, to 0.1 %": generated.seconds,
            "seconds with ties settled by hops": hops.seconds,
            "seconds through CVXPY, with ties settled by hops": cvxpy.seconds,
            "goals": [goal(f"at most {_GOAL_BUILD} times HiGHS's time", met=ours <= _GOAL_BUILD * theirs)],
        },
    )
    setting.progress.show("solving again")
    seconds = {
        what: float(np.mean([timed(partial(resolver.solve, *bounds)).seconds for bounds in changes]))
        for what, changes in _changes(incidence, capacity, demand).items()
    }
    warm = float(np.mean(list(seconds.values())))
    yield Comparison(
        warm,
        ours,
        "the same, built anew",
        "s to solve again",
        {
            "problem": problem,
            **{f"seconds when {what}": taken for what, taken in seconds.items()},
            "goals": [goal(f"at least {_GOAL_WARM:g} times faster than building anew", met=ours >= _GOAL_WARM * warm)],
        },
    )


def _changes(incidence: Incidence, capacity: Vector, demand: Vector) -> dict[str, list[tuple[Vector, Vector]]]:
    random = np.random.default_rng(1)
    edges = random.choice(incidence.edge_of_link.max() + 1, _FAILURES, replace=False)
    return {
        "an edge fails": [(np.where(incidence.edge_of_link == edge, 0.0, capacity), demand) for edge in edges],
        f"every demand changes by up to {_CHANGE:.0%}": [
            (capacity, demand * random.uniform(1 - _CHANGE, 1 + _CHANGE, demand.size)) for _ in range(_FAILURES)
        ],
        "all demands rise or fall together by 10 %": [(capacity, demand * 0.9), (capacity, demand * 1.1)],
    }


@dataclass(frozen=True)
class _Raw:
    seconds: float
    throughput: float
    finished: bool


def _raw_highs(
    topology: Topology,
    tunnels: Sequence[Sequence[Sequence[str]]],
    capacity: Vector,
    demand: Vector,
    limit: float = float("inf"),
) -> _Raw:
    """Solve the program written directly for HiGHS: a row for each link and pair, a column for each tunnel."""
    started = time.perf_counter()
    row_of = {link.ends: row for row, link in enumerate(topology.links)}
    starts, entries = [0], []
    for pair, paths in enumerate(tunnels):
        for path in paths:
            entries += [row_of[path[i], path[i + 1]] for i in range(len(path) - 1)]
            entries.append(len(row_of) + pair)
            starts.append(len(entries))
    program = highspy.HighsLp()
    width, height = len(starts) - 1, len(row_of) + len(tunnels)
    program.num_col_, program.num_row_ = width, height
    program.col_cost_, program.col_lower_, program.col_upper_ = -np.ones(width), np.zeros(width), np.full(width, np.inf)
    program.row_lower_, program.row_upper_ = np.full(height, -np.inf), np.concatenate([capacity, demand])
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = np.array(starts), np.array(entries)
    program.a_matrix_.value_ = np.ones(len(entries))
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("time_limit", limit)
    highs.passModel(program)
    highs.run()
    finished = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return _Raw(time.perf_counter() - started, -highs.getInfo().objective_function_value, finished)


@dataclass(frozen=True)
class _Run:
    """The figures of solving one network in parts."""

    row: dict[str, object]
    part_seconds: float
    raw: _Raw


def _in_parts(setting: BenchmarkSetting) -> Iterator[Comparison]:
    rows = []
    for size in _SIZES:
        setting.progress.show(f"all pairs of {size} nodes")
        run = apart(_solve_in_parts, _Case(size, None))
        rows.append({**run.value.row, "megabytes": run.peak_megabytes})
    setting.progress.show(f"all pairs of {_KDL}")
    run = apart(_solve_in_parts, _Case(None, setting.networks))
    rows.append({**run.value.row, "megabytes": run.peak_megabytes})
    loss = max(float(str(row["loss, at most"])) for row in rows)
    raw = run.value.raw
    yield Comparison(
        run.value.part_seconds,
        raw.seconds,
        "HiGHS through highspy" + ("" if raw.finished else f", stopped after {_PEER_SECONDS:g} s before it was done"),
        "s for one of the parts of the largest network",
        {
            "problem": f"all pairs, gravity demands, {_TUNNELS} tunnels, maximum throughput",
            "processors": processors(),
            "networks": rows,
            "bound": "the value of the dual program at the prices of the parts (weak duality)",
            "goals": [goal(f"at most {_GOAL_LOSS:.1%} below the bound", met=loss <= _GOAL_LOSS)],
        },
    )


@dataclass(frozen=True)
class _Case:
    """A generated network of `nodes` nodes, or Kdl, for which HiGHS alone also solves one part."""

    nodes: int | None
    networks: Path | None


def _solve_in_parts(case: _Case) -> _Run:
    topology = network(_KDL, case.networks) if case.nodes is None else wide_area(case.nodes)
    pairs = list(permutations(topology.nodes, 2))
    found = timed(lambda: find_tunnels(TunnelFinder(topology), pairs, _TUNNELS))
    table = found.value
    tunnels = table.links(topology)
    capacity = np.array([link.capacity for link in topology.links])
    demand = _demand(topology, pairs, tunnels.hops[tunnels.pair_starts[:-1]])
    how = Partitioning(max(1, round(len(pairs) / _PAIRS_PER_PART)))
    solved = partitioned_throughput(tunnels, capacity, demand, how)
    row: dict[str, object] = {
        "network": topology.name,
        "pairs": len(pairs),
        "tunnels": tunnels.hops.size,
        "seconds for tunnels": found.seconds,
        "parts": how.parts,
        "seconds to solve": solved.solve_seconds,
        "allocated": float(solved.rates.sum() / demand.sum()),
        "loss, at most": solved.loss,
    }
    if case.nodes is not None:
        return _Run(row, 0.0, _Raw(0.0, 0.0, finished=True))
    return _Run(row, *_one_part(topology, table, tunnels, capacity, demand, how.parts))


def _one_part(
    topology: Topology, table: TunnelTable, tunnels: TunnelLinks, capacity: Vector, demand: Vector, parts: int
) -> tuple[float, _Raw]:
    """Return our time for a part of the pairs, and the result of HiGHS for the same part."""
    chosen = np.sort(np.random.default_rng(1).permutation(demand.size)[: demand.size // parts])
    own, _ = tunnels.of_pairs(chosen)
    ours = timed(lambda: nearly_most_throughput(own, capacity / parts, demand[chosen], Partitioning(parts).gap))
    paths = [table.tunnels(pair) for pair in chosen.tolist()]
    return ours.seconds, _raw_highs(topology, paths, capacity / parts, demand[chosen], _PEER_SECONDS)


def _demand(topology: Topology, pairs: list[tuple[str, str]], hops: NDArray[np.integer]) -> Vector:
    """Return random gravity demands that load links to `_LOAD` on average over first tunnels of these hops."""
    rate = {demand.pair: demand.rate for demand in gravity(topology, np.random.default_rng(1))}
    demand = np.array([rate[pair] for pair in pairs])
    return np.asarray(demand * _LOAD * sum(link.capacity for link in topology.links) / (demand @ hops))
