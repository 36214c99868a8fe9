from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from te_solver import solve as solve_module
from te_solver.demands import Demand
from te_solver.demands_file import load_demands
from te_solver.errors import InputError, SolverError, UnsoundError
from te_solver.feasibility import require_feasible
from te_solver.networks import shipped_demands, shipped_network
from te_solver.optimise import Allocation, Incidence, Vector
from te_solver.plan import Plan
from te_solver.solve import solve
from te_solver.topology import Link, Topology
from te_solver.topology_file import load_topology
from tests.te_solver.random_networks import demands_on, topologies

FIG1 = load_topology(shipped_network("fig1"))


def untimed(plan: Plan) -> Plan:
    return replace(plan, solve_seconds=0.0)


def test_the_tunnels_of_figure_1_have_equal_weights() -> None:
    plan = solve(FIG1, load_demands(shipped_demands("fig1"), FIG1))
    (pair,) = plan.pairs
    assert [tunnel.nodes for tunnel in pair.tunnels] == [("s1", "s4"), ("s1", "s2", "s4"), ("s1", "s3", "s4")]
    assert [tunnel.weight for tunnel in pair.tunnels] == pytest.approx([1 / 3] * 3, abs=1e-12)
    assert [tunnel.rate for tunnel in pair.tunnels] == pytest.approx([1000] * 3, abs=1e-9)
    assert pair.allocated == plan.objective_value == pytest.approx(3000, abs=1e-9)


def test_path_ids_count_on_from_pair_to_pair_and_leave_the_reserved_labels() -> None:
    plan = solve(FIG1, [Demand("s1", "s4", 1), Demand("s4", "s1", 1), Demand("s2", "s3", 1)], tunnels_per_pair=2)
    assert [tunnel.path_id for tunnel in plan.tunnels] == [16, 17, 18, 19, 20, 21]


def test_a_pair_that_gets_nothing_has_equal_weights() -> None:
    (pair,) = solve(FIG1, [Demand("s1", "s4", 0)]).pairs
    assert pair.allocated == 0
    assert [tunnel.weight for tunnel in pair.tunnels] == [1 / 3] * 3


@settings(max_examples=30)
@given(st.data())
def test_every_plan_is_feasible_and_the_same_again(data: st.DataObject) -> None:
    topology = data.draw(topologies(directed=data.draw(st.booleans())))
    demands = data.draw(demands_on(topology).filter(bool))
    plan = solve(topology, demands, data.draw(st.integers(1, 4)))
    require_feasible(plan)
    assert plan.objective_value == pytest.approx(sum(tunnel.rate for tunnel in plan.tunnels))
    tunnels_per_pair = max(len(pair.tunnels) for pair in plan.pairs)
    assert untimed(solve(topology, demands, tunnels_per_pair)) == untimed(plan)


@pytest.mark.parametrize(
    ("demands", "message"),
    [
        ([], "demands: there is no demand, expected at least one"),
        (
            [Demand("s1", "s4", 1, 1), Demand("s1", "s3", 1)],
            "demands: priorities 0, 1, expected the same priority for all demands",
        ),
        (
            [Demand("s1", "s4", 1), Demand("s1", "s4", 2)],
            "demands: two demands from s1 to s4, expected one for each pair",
        ),
    ],
)
def test_demands_that_make_no_plan_are_refused(demands: list[Demand], message: str) -> None:
    with pytest.raises(InputError) as raised:
        solve(FIG1, demands)
    assert str(raised.value) == message


def test_a_demand_from_outside_the_network_is_refused() -> None:
    with pytest.raises(UnsoundError) as raised:
        solve(FIG1, [Demand("s1", "s9", 1)])
    assert str(raised.value) == "target: unknown node 's9', expected a node of fig1"


def test_pairs_that_are_not_connected_are_listed() -> None:
    names = tuple(f"n{number}" for number in range(9))
    islands = Topology("islands", names, (Link("n0", "n1", 1.0),))
    with pytest.raises(InputError) as raised:
        solve(islands, [Demand("n0", name, 1) for name in names[1:]])
    assert str(raised.value) == (
        "demands: no path from n0 to n2, n0 to n3, n0 to n4, n0 to n5, n0 to n6 and 2 more, "
        "expected demands between connected nodes of islands"
    )


def test_an_answer_of_the_solver_that_breaks_a_bound_makes_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(incidence: Incidence, capacity: Vector, demand: Vector) -> Allocation:
        return Allocation(incidence.hops * 0 + demand.sum() + capacity.max(), "wishful thinking", 0.0)

    monkeypatch.setattr(solve_module, "maximise_throughput", too_much)
    with pytest.raises(SolverError) as raised:
        solve(FIG1, [Demand("s1", "s4", 1)], tunnels_per_pair=1)
    assert str(raised.value) == (
        "the answer of wishful thinking breaks a bound: pairs[0].allocated: 1001 Mbit/s allocated, "
        "expected no more than the demand, 1, and the tunnels' rates together, 1001"
    )
