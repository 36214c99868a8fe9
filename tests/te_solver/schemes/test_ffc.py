"""Forward fault correction: failures that a plan protects against overload no link and lose nothing."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.failures import Failure, link_pairs, single_links
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from te_solver.networks import shipped_demands, shipped_network
from te_solver.programs.program import Options
from te_solver.programs.registry import FFC
from te_solver.schemes.models.rescaling import FfcModel, Kuijia
from te_solver.schemes.models.traffic import PlannedTraffic
from te_solver.solve import solve
from te_solver.tunnels.finder import TunnelFinder
from tests.te_solver.random_networks import demands_on, topologies
from tests.te_solver.schemes.cases import cut, parallel_plan


def protected_plan(topology: Topology, demands: tuple[Demand, ...], count: int, protect: int) -> Plan:
    """Solve FFC by enumeration, row by row: after any `protect` cuts alive tunnels have room for their pair."""
    paths = [TunnelFinder(topology).tunnels(*demand.pair, count) for demand in demands]
    columns = [(owner, path) for owner, of_pair in enumerate(paths) for path in of_pair]
    # Variables: the reserved rate of each tunnel, then the allocation of each pair.
    rows = [
        [float(link.ends in pairwise(path)) for _, path in columns] + [0.0] * len(demands) for link in topology.links
    ]
    bounds = [link.capacity for link in topology.links]
    for cuts in combinations(topology.edges, min(protect, len(topology.edges))):
        down = set(map(frozenset, cuts))
        alive = [down.isdisjoint(map(frozenset, pairwise(path))) for _, path in columns]
        for pair in range(len(demands)):
            room = [-float(up and owner == pair) for up, (owner, _) in zip(alive, columns, strict=True)]
            rows.append(room + [float(other == pair) for other in range(len(demands))])
            bounds.append(0.0)
    limits = [(0.0, None)] * len(columns) + [(0.0, demand.rate) for demand in demands]
    found = linprog([0.0] * len(columns) + [-1.0] * len(demands), A_ub=rows, b_ub=bounds, bounds=limits).x
    allocated = found[len(columns) :].tolist()
    pairs = []
    for owner, demand in enumerate(demands):
        rates = [rate for rate, (pair, _) in zip(found.tolist(), columns, strict=False) if pair == owner]
        shares = [rate / sum(rates) if sum(rates) > 0 else 1 / len(rates) for rate in rates]
        tunnels = tuple(
            Tunnel(16, path, rate, share) for path, rate, share in zip(paths[owner], rates, shares, strict=True)
        )
        pairs.append(PairPlan(*demand.pair, demand.rate, allocated[owner], tunnels))
    return Plan(topology, tuple(pairs), "ffc", sum(allocated), "scipy", 0.0, protect)


@settings(max_examples=40)
@given(st.data(), st.integers(1, 2))
def test_up_to_the_protected_number_of_cuts_no_link_is_overloaded_and_nothing_is_lost(
    data: st.DataObject, protect: int
) -> None:
    topology = data.draw(topologies(max_nodes=5))
    demands = data.draw(demands_on(topology).filter(bool))
    traffic = PlannedTraffic.of(protected_plan(topology, demands, data.draw(st.integers(1, 4)), protect))
    cuts = data.draw(st.lists(st.sampled_from(topology.edges), max_size=protect, unique=True))
    answer = FfcModel().reroute(traffic, Failure("cuts", tuple(cuts)))
    assert (answer.link_loads <= traffic.capacity * (1 + 1e-6) + 1e-6).all()
    assert answer.lost.sum() <= 1e-6
    assert not answer.demoted.any()


def test_no_single_cut_of_gscale_overloads_or_loses_anything() -> None:
    topology = load_topology(shipped_network("gscale"))
    plan = solve(topology, load_demands(shipped_demands("gscale"), topology), objective=FFC)
    traffic = PlannedTraffic.of(plan)
    assert traffic.sent.sum() == pytest.approx(plan.objective_value)
    for failure in single_links(topology):
        answer = FfcModel().reroute(traffic, failure)
        assert (answer.link_loads <= traffic.capacity * (1 + 1e-6)).all()
        assert not answer.lost.any()


def test_no_two_cuts_of_a_full_mesh_overload_or_lose_anything_with_twofold_protection() -> None:
    names = tuple("abcde")
    topology = Topology("mesh", names, tuple(Link(a, b, 100.0) for a, b in permutations(names, 2)))
    demands = [Demand(a, b, 60.0) for a, b in combinations(names, 2)]
    plan = solve(topology, demands, tunnels_per_pair=4, objective=FFC, options=Options(protect=2))
    traffic = PlannedTraffic.of(plan)
    assert traffic.sent.sum() > 0
    for failure in link_pairs(topology):
        answer = FfcModel().reroute(traffic, failure)
        assert (answer.link_loads <= traffic.capacity * (1 + 1e-6)).all()
        assert not answer.lost.any()


def test_two_tunnels_that_protect_each_other_send_half_of_what_is_set_aside() -> None:
    (pair,) = parallel_plan([0.5, 0.5], allocated=200.0).pairs
    plan = parallel_plan([0.5, 0.5])
    protected = Plan(plan.topology, (PairPlan("s", "t", 200.0, 100.0, pair.tunnels),), "ffc", 100.0, "none", 0.0, 1)
    traffic = PlannedTraffic.of(protected)
    assert [tunnel.rate for tunnel in pair.tunnels] == [100, 100]
    assert traffic.sent.tolist() == [50, 50]
    assert FfcModel().reroute(traffic, cut(2)).tunnel_rates.tolist() == [100, 0]


def test_a_plan_of_another_objective_is_refused() -> None:
    with pytest.raises(ValueError, match="a plan of the objective any, which protects against no failure"):
        FfcModel().reroute(PlannedTraffic.of(parallel_plan([0.5, 0.5])), cut(1))


def test_rates_after_a_failure_are_those_of_rescaling() -> None:
    plan = parallel_plan([0.5, 0.3, 0.2])
    traffic = PlannedTraffic.of(Plan(plan.topology, plan.pairs, "ffc", 100.0, "none", 0.0, 1))
    answer = FfcModel().reroute(traffic, cut(1))
    np.testing.assert_array_equal(answer.tunnel_rates, Kuijia().reroute(traffic, cut(1)).tunnel_rates)
