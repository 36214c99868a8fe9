"""From a topology and demands to a Plan: tunnels, rates, weights, and a check of the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np

from te_solver.demands import Demand
from te_solver.errors import InputError, SolverError, UnsoundError
from te_solver.feasibility import require_feasible
from te_solver.optimise import Incidence, maximise_throughput
from te_solver.plan import FIRST_PATH_ID, PairPlan, Plan, Tunnel
from te_solver.topology import Topology
from te_solver.tunnels import TunnelFinder

MAX_THROUGHPUT = "max-throughput"
_NAMED_PAIRS = 5

Paths = tuple[tuple[str, ...], ...]


def solve(topology: Topology, demands: Sequence[Demand], tunnels_per_pair: int = 3, *, source: str = "demands") -> Plan:
    """The plan of maximum throughput, pairs in the order of `demands`.

    Path ids count from `FIRST_PATH_ID` through the tunnels of the first pair, then of the second, and so on. A
    tunnel's weight is its share of the pair's rate; a pair that gets nothing has equal weights.

    Raises:
        InputError: no demand, a pair that is not connected, demands of several priorities or two for one pair; it
            names `source` as where the demands come from.
        UnsoundError: a demand of a node outside the topology.
        SolverError: the optimiser gave up, or its answer breaks a bound.
    """
    _require_one_class(demands, source)
    for demand in demands:
        demand.require_nodes_of(topology)
    finder = TunnelFinder(topology)
    tunnels = [finder.tunnels(demand.source, demand.target, tunnels_per_pair) for demand in demands]
    _require_connected(topology, demands, tunnels, source)
    allocation = maximise_throughput(
        Incidence.of(topology, tunnels),
        capacity=np.array([link.capacity for link in topology.links]),
        demand=np.array([demand.rate for demand in demands]),
    )
    rates = iter(allocation.rates.tolist())
    path_ids = count(FIRST_PATH_ID)
    pairs = tuple(_pair_plan(demand, paths, path_ids, rates) for demand, paths in zip(demands, tunnels, strict=True))
    plan = Plan(
        topology,
        pairs,
        objective=MAX_THROUGHPUT,
        objective_value=sum(pair.allocated for pair in pairs),
        solver=allocation.solver,
        solve_seconds=allocation.solve_seconds,
    )
    try:
        require_feasible(plan)
    except UnsoundError as error:
        raise SolverError(f"the answer of {plan.solver} breaks a bound: {error}") from error
    return plan


def _pair_plan(demand: Demand, paths: Paths, path_ids: Iterator[int], rates: Iterator[float]) -> PairPlan:
    """Takes as many path ids and rates as there are paths."""
    own_rates = [next(rates) for _ in paths]
    allocated = sum(own_rates)
    tunnels = tuple(
        Tunnel(next(path_ids), path, rate, weight=rate / allocated if allocated > 0 else 1 / len(paths))
        for path, rate in zip(paths, own_rates, strict=True)
    )
    return PairPlan(demand.source, demand.target, demand.rate, allocated, tunnels)


def _require_one_class(demands: Sequence[Demand], source: str) -> None:
    if not demands:
        raise InputError(source, "", "there is no demand", "at least one")
    priorities = sorted({demand.priority for demand in demands})
    if len(priorities) > 1:
        listed = ", ".join(map(str, priorities))
        raise InputError(source, "", f"priorities {listed}", "the same priority for all demands")
    pairs: set[tuple[str, str]] = set()
    for demand in demands:
        if demand.pair in pairs:
            raise InputError(source, "", f"two demands from {demand.source} to {demand.target}", "one for each pair")
        pairs.add(demand.pair)


def _require_connected(topology: Topology, demands: Sequence[Demand], tunnels: Sequence[Paths], source: str) -> None:
    apart = [demand.pair for demand, paths in zip(demands, tunnels, strict=True) if not paths]
    if apart:
        named = ", ".join(f"{start} to {end}" for start, end in apart[:_NAMED_PAIRS])
        more = f" and {len(apart) - _NAMED_PAIRS} more" if len(apart) > _NAMED_PAIRS else ""
        raise InputError(
            source, "", f"no path from {named}{more}", f"demands between connected nodes of {topology.name}"
        )
