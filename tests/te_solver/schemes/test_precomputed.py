"""Precomputed weights: the best placement of victims in the spare capacity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from te_solver.model.failures import Failure
from te_solver.model.plan import PairPlan, Plan
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.program import Allocation
from te_solver.programs.resolve import ThroughputResolver, maximise_throughput
from te_solver.schemes.models.precomputed import Precomputed
from te_solver.schemes.models.traffic import PlannedTraffic
from te_solver.schemes.models.transport import transported
from tests.te_solver.random_plans import failures, plans
from tests.te_solver.schemes.cases import Rates, about, cut, parallel, parallel_plan, sub_flows

pytestmark = pytest.mark.slow


def best_for_victims(plan: Plan, failure: Failure) -> float:
    """Return the most that victims of a one-class plan can send, row by row from the definition by scipy."""
    gone = {frozenset(edge) for edge in failure.edges}
    columns, left, victims = [], {link.ends: link.capacity for link in plan.topology.links}, [0.0] * len(plan.pairs)
    for row, pair in enumerate(plan.pairs):
        for tunnel in pair.tunnels:
            if gone & set(map(frozenset, tunnel.hops)) or set(tunnel.nodes) & set(failure.nodes):
                victims[row] += pair.allocated * tunnel.weight
                continue
            columns.append((row, tunnel.hops))
            for hop in tunnel.hops:
                left[hop] -= pair.allocated * tunnel.weight
    if not columns:
        return 0.0
    rows = [[float(hop in hops) for _, hops in columns] for hop in left]
    rows += [[float(row == owner) for owner, _ in columns] for row in range(len(plan.pairs))]
    bounds = [*(max(0.0, room) for room in left.values()), *victims]
    return float(-linprog([-1.0] * len(columns), A_ub=rows, b_ub=bounds).fun)


@settings(max_examples=60)
@given(plans(classes=1), st.data())
def test_victims_get_as_much_as_by_an_independent_program(plan: Plan, data: st.DataObject) -> None:
    failure = data.draw(failures(plan.topology))
    answer = Precomputed().reroute(PlannedTraffic.of(plan), failure)
    best = best_for_victims(plan, failure)
    assert answer.offered[answer.victim].sum() == pytest.approx(best, rel=1e-6, abs=1e-6)


@settings(max_examples=60)
@given(plans(), st.floats(0.1, 1), st.data())
def test_no_link_is_overloaded_that_was_not(plan: Plan, shrunk: float, data: st.DataObject) -> None:
    def checked(incidence: Incidence, capacity: Vector, demand: Vector) -> Allocation:
        assert (capacity >= 0).all()
        return maximise_throughput(incidence, capacity, demand)

    on_smaller_network = Plan(plan.topology.scaled(shrunk), plan.pairs, "any", 0.0, "none", 0.0)
    traffic = PlannedTraffic.of(on_smaller_network)
    answer = Precomputed(checked).reroute(traffic, data.draw(failures(plan.topology)))
    planned = traffic.tunnels.incidence.links @ traffic.sent
    assert (answer.link_loads <= np.maximum(traffic.capacity, planned) * (1 + 1e-6)).all()


def test_victims_that_do_not_fit_are_withheld() -> None:
    # Tunnels 2 and 3 have 100 - 30 and 100 - 60 Mbit/s left over for the 210 that tunnel 1 carried.
    traffic = PlannedTraffic.of(parallel_plan([0.7, 0.1, 0.2], allocated=300.0))
    answer = Precomputed().reroute(traffic, cut(1))
    assert sub_flows(answer) == about({(2, 2): 30, (3, 3): 60, (1, 2): 70, (1, 3): 40})
    assert answer.withheld.tolist() == pytest.approx([100])
    assert not answer.cut_off.any()
    assert not answer.demoted.any()


@pytest.mark.parametrize(
    ("failure", "after", "flows", "withheld"),
    [
        # Tunnel 1 gives up 50, which 2 and 3 take on as 30 to 20; what the solver rounds is no new traffic.
        (cut(1), (0, 60 * (1 + 4e-10), 40), {(2, 2): 30, (3, 3): 20, (1, 2): 30, (1, 3): 20}, 0),
        # A trace on the dead tunnel counts for nothing, and rounding of an unchanged rate moves nothing.
        (cut(1), (7, 30, 20 * (1 + 5e-10)), {(2, 2): 30, (3, 3): 20}, 50),
        # 50 and 10 are given up for 20 taken on: a third of each moves.
        (cut(1), (0, 20, 40), {(2, 2): 20, (3, 3): 20, (1, 3): 50 / 3, (2, 3): 10 / 3}, 40),
        # 30 and 25 are taken on for 50 given up: an eleventh of each is new.
        (
            cut(1),
            (0, 60, 45),
            {(2, 2): 30, (3, 3): 20, (1, 2): 300 / 11, (1, 3): 250 / 11, (0, 2): 30 / 11, (0, 3): 25 / 11},
            0,
        ),
        (Failure("none", ()), (60, 30, 20), {(1, 1): 50, (2, 2): 30, (3, 3): 20, (0, 1): 10}, 0),
        # Five billionths are more than rounding.
        (Failure("none", ()), (50, 30, 20 + 1e-7), {(1, 1): 50, (2, 2): 30, (3, 3): 20, (0, 3): 1e-7}, 0),
    ],
)
def test_rates_of_a_program_move_no_more_traffic_than_they_must(
    failure: Failure, after: tuple[float, ...], flows: dict[tuple[int, int], float], withheld: float
) -> None:
    traffic = parallel(0.5, 0.3, 0.2)
    answer = transported(traffic, traffic.damage(failure), np.array(after))
    assert sub_flows(answer) == pytest.approx(flows, rel=1e-8)
    assert answer.withheld.tolist() == pytest.approx([withheld], rel=1e-8, abs=1e-12)


def test_victims_of_the_first_class_are_placed_first_but_take_nothing_from_the_second() -> None:
    plan = parallel_plan([0.5, 0.5])
    (pair,) = plan.pairs
    classes = (
        PairPlan("s", "t", 60.0, 60.0, pair.tunnels, priority=1),
        PairPlan("s", "t", 120.0, 120.0, pair.tunnels, priority=0),
    )
    answer = Precomputed().reroute(PlannedTraffic.of(Plan(plan.topology, classes, "any", 180.0, "none", 0.0)), cut(1))
    # Tunnel 2 carries 30 + 60 and has 10 left over: all of it for the 60 of class 0.
    assert sub_flows(answer) == about({(2, 2): 30, (4, 4): 60, (3, 4): 10})
    assert answer.withheld.tolist() == pytest.approx([30, 50])


def test_the_solver_is_asked_only_for_victims_and_always_with_the_same_incidence() -> None:
    asked: list[tuple[Incidence, list[float], list[float]]] = []

    def noted(incidence: Incidence, capacity: Vector, demand: Vector) -> Allocation:
        asked.append((incidence, capacity.tolist(), demand.tolist()))
        return maximise_throughput(incidence, capacity, demand)

    traffic, scheme = parallel(0.5, 0.3, 0.2), Precomputed(noted)
    scheme.reroute(traffic, Failure("nothing of ours"))
    assert not asked
    scheme.reroute(traffic, cut(1))
    scheme.reroute(traffic, cut(2, 3))
    assert [capacity for _, capacity, _ in asked] == [[0, 100, 70, 70, 80, 80], [50, 50, 0, 100, 0, 100]]
    assert [demand for _, _, demand in asked] == [pytest.approx([50]), pytest.approx([50])]
    assert {id(incidence) for incidence, _, _ in asked} == {id(traffic.tunnels.incidence)}


@settings(max_examples=40)
@given(plans(classes=1), st.data())
def test_a_warm_solver_brings_victims_the_same(plan: Plan, data: st.DataObject) -> None:
    traffic = PlannedTraffic.of(plan)
    resolver = ThroughputResolver(traffic.tunnels.incidence)
    resolver.solve(traffic.capacity, traffic.demand)
    warm = Precomputed(lambda _, capacity, demand: resolver.solve(capacity, demand))
    for failure in (data.draw(failures(plan.topology)) for _ in range(3)):
        found, expected = (scheme.reroute(traffic, failure) for scheme in (warm, Precomputed()))
        assert found.lost.sum() == pytest.approx(expected.lost.sum(), rel=1e-6, abs=1e-6)


def test_what_a_solver_s_tolerance_leaves_on_a_dead_tunnel_does_not_count() -> None:
    def careless(incidence: Incidence, capacity: Vector, demand: Vector) -> Rates:
        return Rates(maximise_throughput(incidence, capacity, demand).rates + 1e-9)

    answer = Precomputed(careless).reroute(parallel(0, 0.7, 0.3), cut(1, 2))
    assert answer.tunnel_rates.tolist() == [0, 0, pytest.approx(100)]
