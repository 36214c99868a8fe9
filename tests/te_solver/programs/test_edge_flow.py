"""The bounds over any paths, against flows of each demand by itself and published values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from te_solver.programs.edge_flow import edge_flow
from te_solver.programs.ffc import ForwardFaultCorrection
from te_solver.programs.program import Options
from te_solver.programs.registry import carries_all, find_objective, objective_names
from te_solver.solve import solve
from tests.te_solver.programs.edge_bounds import least_utilisation, most_throughput
from tests.te_solver.programs.problems import Case
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
@settings(max_examples=25)
@given(networks(), st.integers(1, 4), st.integers(1, 2))
def test_ffc_grants_no_more_than_the_bound_of_each_network_that_failures_leave(
    drawn: tuple[Topology, tuple[Demand, ...]], tunnels: int, protect: int
) -> None:
    topology, demands = drawn
    case = Case.of(topology, demands, tunnels)
    granted = ForwardFaultCorrection(case.incidence, Options(protect=protect)).solve(case.capacity, case.demand).granted
    for failed in case.failures(protect):
        lost = {way for a, b in failed for way in ((a, b), (b, a))}
        left = replace(topology, links=tuple(link for link in topology.links if link.ends not in lost))
        reached = most_throughput(left, demands) if left.links else 0.0
        assert granted.sum() <= reached * (1 + FULL) + FULL


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
