from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from te_solver.model.demands import Demand
from te_solver.programs.linear import Linear, LinearOptimum
from te_solver.programs.max_concurrent import MaxConcurrent, least_utilisation
from te_solver.programs.solver import Solver
from te_solver.solve import solve
from tests.te_solver.programs.problems import RHOMBUS, Case, Rows, cases, within_capacities


@pytest.mark.slow
@settings(max_examples=60)
@given(cases())
def test_the_share_is_that_of_the_literal_program(case: Case) -> None:
    assume((case.demand > 0).any())
    rows = Rows(len(case.paths) + 1)
    within_capacities(case, rows)
    for pair, demand in enumerate(case.demands):
        rows.at_least([*case.owned(pair), -demand.rate], 0.0)
    share = rows.maximum([*[0.0] * len(case.paths), 1.0])
    allocation = MaxConcurrent(case.incidence).solve(case.capacity, case.demand)
    granted = allocation.granted[case.demand > 0] / case.demand[case.demand > 0]
    assert granted.min() == pytest.approx(min(share, 1.0), rel=1e-5)
    assert granted.max() == pytest.approx(granted.min())
    assert (case.incidence.links @ allocation.rates <= case.capacity * (1 + 1e-9)).all()
    assert solve(case.topology, case.demands, 4, "max-concurrent").objective_value >= share * (1 - 1e-5)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_unit_of_rates_changes_nothing(unit: float) -> None:
    case = Case.of(RHOMBUS.scaled(unit), [Demand("s", "t", 60 * unit), Demand("a", "t", 5 * unit)], 3)
    granted = MaxConcurrent(case.incidence).solve(case.capacity, case.demand).granted
    assert (granted / unit).tolist() == pytest.approx([60 * 6 / 13, 5 * 6 / 13])


def test_the_interior_point_method_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 60), Demand("a", "t", 5)], 3)
    monkeypatch.setattr("te_solver.programs.max_concurrent.MANY_TUNNELS", 1)
    shares, _ = least_utilisation(case.incidence, case.capacity, case.demand, np.ones(4), Solver())
    assert (case.incidence.links @ (shares * case.demand[case.incidence.pair_of_tunnel])).max() == pytest.approx(
        10 * 13 / 6, rel=1e-6
    )


@pytest.mark.parametrize("fewest_hops", [True, False])
def test_ties_are_settled_only_for_those_who_want_it(
    fewest_hops: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solve_one, solved = Linear.solve, []

    def noted(program: Linear) -> LinearOptimum:
        solved.append(program.height)
        return solve_one(program)

    monkeypatch.setattr(Linear, "solve", noted)
    case = Case.of(RHOMBUS, [Demand("s", "t", 60), Demand("a", "t", 5)], 3)
    capacity, demand, most = case.capacity, case.demand, np.ones(4)
    shares, _ = least_utilisation(case.incidence, capacity, demand, most, Solver(), fewest_hops=fewest_hops)
    assert len(solved) == 1 + fewest_hops
    assert case.incidence.pairs @ shares == pytest.approx([1, 1])


def test_a_pair_whose_tunnels_have_no_room_leaves_a_share_of_nothing() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 60), Demand("a", "t", 5)], 3)
    without = np.where([link.ends == ("a", "t") for link in RHOMBUS.links], 0.0, case.capacity)
    assert MaxConcurrent(case.incidence).solve(without, case.demand).granted.tolist() == [0, 0]


def test_with_nothing_to_send_the_share_is_one() -> None:
    assert solve(RHOMBUS, [Demand("s", "t", 0)], 2, "max-concurrent").objective_value == 1
