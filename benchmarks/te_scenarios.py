"""TEAVAR against its printed program on Gscale, and on 158 nodes with ten thousand failure scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from benchmarks.measure import apart, processor_timed
from benchmarks.networks import CAPACITY, network
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from te_solver.formats.topology_file import load_topology
from te_solver.model.connectivity import largest_part
from te_solver.model.topology import Topology
from te_solver.networks import shipped_network
from te_solver.programs.failure_scenarios import Scenarios, drawn
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.program import Options
from te_solver.programs.teavar import Teavar
from te_solver.tunnels.finder import TunnelFinder

_BETA = 0.99
_LARGE_BETA = 0.9
"""Availabilities. The large network has many cables that are some pair's only ones: one is down 1 % of the time."""

_TUNNELS = 4
_SEED = 1

_ALL_PAIRS_OF_CABLES = 5e-7
_LARGE_CUTOFF = 1.8e-7
"""Least probabilities of scenarios: of one and two failed cables on Gscale, and of ten thousand scenarios."""

_PRINTED_SECONDS = 10.0
_LARGE_SECONDS = 600.0


@dataclass(frozen=True)
class _Solved:
    """Figures of one solution of the large problem, which ran in a process of its own."""

    scenarios: int
    value: float
    seconds: float


@benchmark("te-scenarios")
def te_scenarios(setting: BenchmarkSetting) -> Iterator[Comparison]:
    setting.progress.show("Gscale")
    topology = load_topology(shipped_network("gscale"))
    down = np.full(len(topology.edges), 0.001)
    incidence, demand = _problem(topology, 4.0)
    scenarios = drawn(incidence, down, _ALL_PAIRS_OF_CABLES)
    ours = processor_timed(lambda: _least_risk(incidence, demand, probability=0.001, cutoff=_ALL_PAIRS_OF_CABLES))
    printed = processor_timed(lambda: _as_printed(incidence, demand, scenarios))
    difference, count = abs(ours.value - printed.value), scenarios.probability.size
    yield Comparison(
        ours.seconds,
        printed.seconds,
        "HiGHS on the program as printed: a loss for each pair in each scenario",
        "s",
        {
            "problem": f"Gscale, {demand.size} pairs, {incidence.hops.size} tunnels, {count} scenarios",
            "value at risk": ours.value,
            "goals": [
                goal("the same value within 1e-6", met=difference <= 1e-6),
                goal(f"at most {_PRINTED_SECONDS:g} s", met=ours.seconds <= _PRINTED_SECONDS),
            ],
        },
    )
    setting.progress.show("158 nodes")
    measured = apart(_large, setting.networks)
    found = measured.value
    yield Comparison(
        found.seconds,
        _LARGE_SECONDS,
        "the time it may take",
        "s",
        {
            "problem": f"158 nodes, all pairs, {found.scenarios} scenarios",
            "value at risk": found.value,
            "megabytes": measured.peak_megabytes,
            "goals": [goal(f"at most {_LARGE_SECONDS:g} s", met=found.seconds <= _LARGE_SECONDS)],
        },
    )


def _large(networks: Path | None) -> _Solved:
    """Solve for all pairs of UsCarrier; its cables fail as often as TEAVAR's paper draws it (Weibull)."""
    topology = largest_part(network("UsCarrier", networks)).with_capacity(CAPACITY)
    often = 0.001 * np.random.default_rng(_SEED).weibull(0.8, len(topology.edges))
    down = {frozenset(edge): share for edge, share in zip(topology.edges, often.tolist(), strict=True)}
    incidence, demand = _problem(replace(topology, down=down), 0.25)
    solved = processor_timed(lambda: _least_risk(incidence, demand, beta=_LARGE_BETA, cutoff=_LARGE_CUTOFF))
    return _Solved(drawn(incidence, often, _LARGE_CUTOFF).probability.size, solved.value, solved.seconds)


def _problem(topology: Topology, load: float) -> tuple[Incidence, Vector]:
    """Return tunnels of all pairs, and demands of which a link could carry one part in `load`."""
    random = np.random.default_rng(_SEED)
    pairs = list(permutations(topology.nodes, 2))
    weight = dict(zip(topology.nodes, random.lognormal(size=len(topology.nodes)), strict=True))
    demand = np.array([weight[a] * weight[b] for a, b in pairs])
    tunnels = TunnelFinder(topology).tunnels_of_pairs(pairs, _TUNNELS)
    return Incidence.of(topology, list(tunnels)), demand / demand.sum() * load * topology.links[0].capacity


def _least_risk(incidence: Incidence, demand: Vector, **settings: float) -> float:
    program = Teavar(incidence, Options(settings={"beta": _BETA, **settings}))
    value = program.solve(_capacity(incidence.topology), demand).value
    assert value is not None, "TEAVAR's plans have one"
    return value


def _as_printed(incidence: Incidence, demand: Vector, scenarios: Scenarios) -> float:
    """Return the value at risk of the paper's program, whose variables are rates, v, u of scenarios, and all losses."""
    tunnels, pairs, count = incidence.hops.size, demand.size, scenarios.probability.size
    tail = 1 - _BETA
    up = 1.0 - scenarios.down.toarray()
    identity = sp.identity(pairs * count)
    sent = sp.vstack([sp.diags_array(1 / demand) @ incidence.pairs @ sp.diags_array(up[q]) for q in range(count)])
    of_scenario = sp.kron(sp.identity(count), np.ones((pairs, 1)))
    # Each pair gets what it does not lose, v and u allow each loss, and no link has more than its capacity.
    rows = sp.block_array(
        [
            [-sent, None, None, -identity],
            [None, -np.ones((pairs * count, 1)), -of_scenario, identity],
            [incidence.links, None, None, None],
        ],
        format="csr",
    )
    bounds = np.concatenate([-np.ones(pairs * count), np.zeros(pairs * count), _capacity(incidence.topology)])
    left_out = scenarios.left_out / tail
    cost = np.concatenate([np.zeros(tunnels), [1 - left_out], scenarios.probability / tail, np.zeros(pairs * count)])
    found = linprog(cost, A_ub=rows, b_ub=bounds, method="highs")
    return float(found.fun) + left_out


def _capacity(topology: Topology) -> Vector:
    return np.array([link.capacity for link in topology.links])
