"""The bounds over any paths, against flows of each demand by itself and published values."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.edge_flow import edge_flow
from te_solver.programs.registry import carries_all, find_objective, objective_names
from te_solver.solve import solve
from te_solver.tunnels.path_finders import finder_by
from tests.te_solver.programs.edge_bounds import least_utilisation, most_throughput
from tests.te_solver.random_networks import demands_on, topologies

FULL = 1e-6


@st.composite
def networks(draw: st.DrawFn, *, one_way: bool = True) -> tuple[Topology, tuple[Demand, ...]]:
    topology = draw(topologies(directed=one_way and draw(st.booleans()), max_nodes=5))
    demands = tuple(each for each in draw(demands_on(topology)) if each.rate > 0)
    assume(demands)
    return topology, demands


@pytest.mark.slow
@settings(max_examples=40)
@given(networks())
def test_the_bounds_are_those_of_a_flow_for_each_demand(drawn: tuple[Topology, tuple[Demand, ...]]) -> None:
    topology, demands = drawn
    most, least = most_throughput(topology, demands), least_utilisation(topology, demands)
    assert edge_flow(topology, demands, "throughput").value == pytest.approx(most, rel=1e-5)
    assert edge_flow(topology, demands, "utilisation").value == pytest.approx(least, rel=1e-5)


@pytest.mark.slow
@settings(max_examples=25)
@given(networks())
def test_tunnels_of_the_flow_reach_the_bounds(drawn: tuple[Topology, tuple[Demand, ...]]) -> None:
    topology, demands = drawn
    most, least = most_throughput(topology, demands), least_utilisation(topology, demands)
    for name, value in (
        ("edge-max-throughput", most),
        ("edge-min-max-utilisation", least),
        ("edge-max-concurrent", 1 / least),
    ):
        assert solve(topology, demands, objective=name).objective_value == pytest.approx(value, rel=1e-5), name


BOUNDED = tuple(name for name in objective_names() if not carries_all(name) and not find_objective(name).protects)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDED)
@settings(max_examples=12)
@given(networks(), st.integers(1, 4))
def test_no_allocation_exceeds_the_bound(name: str, drawn: tuple[Topology, tuple[Demand, ...]], tunnels: int) -> None:
    topology, demands = drawn
    assert solve(topology, demands, tunnels, name).allocated <= most_throughput(topology, demands) * (1 + FULL)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in objective_names() if carries_all(name)])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(networks(one_way=False), st.integers(1, 4))  # trees need links in both directions
def test_no_allocation_that_carries_all_uses_links_less_than_the_bound(
    name: str, drawn: tuple[Topology, tuple[Demand, ...]], tunnels: int
) -> None:
    topology, demands = drawn
    rates = [link.capacity for link in topology.links]
    assume(max(rates) <= 1000 * min(rates))
    plan = solve(topology, demands, tunnels, name)
    assert plan.objective_value >= least_utilisation(topology, demands) * (1 - 1e-5)
    assert [pair.allocated for pair in plan.pairs] == pytest.approx([each.rate for each in demands])


def ring(capacity: float) -> Topology:
    ends = [(a, b) for a, b in permutations(("1", "2", "3"), 2)]
    return Topology("3cycle", ("1", "2", "3"), tuple(Link(a, b, capacity) for a, b in ends))


def test_on_three_nodes_in_a_ring_utilisation_is_that_of_the_published_toy() -> None:
    """YATES' toy: one demand of the rate of a link between two of three nodes in a ring uses half of either way."""
    demands = [Demand("1", "2", 100.0)]
    assert solve(ring(100.0), demands, objective="edge-min-max-utilisation").objective_value == pytest.approx(0.5)
    assert solve(ring(100.0), demands, 2, "min-max-utilisation").objective_value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("objective", "paths", "value"),
    [
        ("static-splits", "ecmp", 0.5),
        ("static-splits", "ksp", 0.75),
        ("static-splits", "disjoint", 0.75),
        ("min-max-utilisation", "ksp", 0.5),
        ("min-max-utilisation", "vlb", 0.5),
        ("edge-min-max-utilisation", "disjoint", 0.5),
    ],
)
def test_all_pairs_of_a_ring_use_what_yates_says(objective: str, paths: str, value: float) -> None:
    """Published in cornell-netlab/yates, test/Test_Routing.ml: all pairs of three nodes ask for half of a link."""
    demands = [Demand(*pair, 50.0) for pair in permutations(ring(100.0).nodes, 2)]
    plan = solve(ring(100.0), demands, 2, objective, finder=finder_by(ring(100.0), paths))
    assert plan.objective_value == pytest.approx(value)


def test_ffc_sets_aside_as_much_on_both_ways_of_a_ring() -> None:
    """So all demand sent by its weights fills three quarters of each link, which is YATES' figure for FFC."""
    demands = [Demand(*pair, 50.0) for pair in permutations(ring(100.0).nodes, 2)]
    plan = solve(ring(100.0), demands, 2, "ffc", finder=finder_by(ring(100.0), "ksp"))
    assert [tunnel.weight for pair in plan.pairs for tunnel in pair.tunnels] == pytest.approx([0.5] * 12)
