from __future__ import annotations

from itertools import permutations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_base.errors import SolverError
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.max_min import MaxMin
from te_solver.programs.program import Options
from te_solver.programs.solver import Solver
from tests.te_solver.programs.problems import (
    RHOMBUS,
    Case,
    Rows,
    cases,
    within_capacities,
    within_demands,
)

BUS = Topology("bus", ("a", "b", "c", "d"), (Link("a", "b", 10.0), Link("b", "c", 4.0), Link("c", "d", 100.0)))


def granted(case: Case) -> list[float]:
    rates: list[float] = MaxMin(case.incidence).solve(case.capacity, case.demand).granted.tolist()
    return rates


def most_without_harm(case: Case, allocated: list[float], pair: int) -> float:
    """Return the most that the pair could get without taking from a pair that has no more, by scipy."""
    rows = Rows(len(case.paths))
    within_capacities(case, rows)
    within_demands(case, rows)
    for other, rate in enumerate(allocated):
        if other != pair and rate <= allocated[pair] * (1 + 1e-7):
            rows.at_least(case.owned(other), rate * (1 - 1e-9))
    return rows.maximum(case.owned(pair))


@pytest.mark.slow
@settings(max_examples=80)
@given(cases(), st.booleans())
def test_no_pair_can_get_more_without_one_that_has_no_more_getting_less(case: Case, spread: bool) -> None:  # noqa: FBT001
    program = MaxMin(case.incidence, Options(spread=spread))
    allocation = program.solve(case.capacity, case.demand)
    allocated = allocation.granted.tolist()
    assert (case.incidence.links @ allocation.rates <= case.capacity * (1 + 1e-12)).all()
    assert (allocation.granted <= case.demand * (1 + 1e-12)).all()
    for pair, rate in enumerate(allocated):
        assert most_without_harm(case, allocated, pair) <= rate * (1 + 1e-6) + 1e-9
    assert program.solve(case.capacity, case.demand).granted.tolist() == allocated


def test_a_full_link_is_shared_alike_and_what_small_demands_leave_goes_to_the_others() -> None:
    demands = [Demand("a", "b", 1), Demand("a", "c", 50), Demand("a", "d", 50), Demand("c", "d", 50)]
    assert granted(Case.of(BUS, demands, 1)) == pytest.approx([1, 2, 2, 50])


def test_levels_may_lie_far_apart() -> None:
    topology = Topology("far", ("a", "b", "c"), (Link("a", "b", 1e-3), Link("a", "c", 1e5)))
    demands = [Demand("a", "b", 1), Demand("a", "c", 1e6)]
    assert granted(Case.of(topology, demands, 1)) == pytest.approx([1e-3, 1e5], rel=1e-6)


def test_demands_that_fit_cost_few_programs_however_many_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    demands = [Demand(a, b, 0.5 + number / 100) for number, (a, b) in enumerate(permutations("abcdef", 2))]
    links = tuple(Link(a, b, 100.0) for a, b in permutations("abcdef", 2))
    case = Case.of(Topology("mesh", tuple("abcdef"), links), demands, 3)
    runs = []
    run = Solver.run

    def counted(self: Solver, problem: cp.Problem) -> float:
        runs.append(problem)
        return run(self, problem)

    monkeypatch.setattr(Solver, "run", counted)
    assert granted(case) == pytest.approx(case.demand.tolist())
    assert len(runs) <= 4


def test_the_shorter_tunnels_are_preferred_or_all_are_used_alike() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 9)], 3)
    plain, spread = (
        MaxMin(case.incidence, Options(spread=spread)).solve(case.capacity, case.demand).rates.tolist()
        for spread in (False, True)
    )
    assert plain == pytest.approx([9, 0, 0])
    assert spread == pytest.approx([3, 3, 3])


def test_pairs_without_room_or_demand_get_nothing() -> None:
    case = Case.of(BUS, [Demand("a", "b", 5), Demand("b", "c", 5), Demand("c", "d", 0)], 1)
    allocation = MaxMin(case.incidence).solve(np.array([10.0, 0.0, 100.0]), case.demand)
    assert allocation.granted.tolist() == pytest.approx([5, 0, 0])


def test_a_solver_without_dual_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cp.constraints.Inequality, "dual_value", None)
    with pytest.raises(SolverError, match=r"^HiGHS .* reports no dual values, which max-min fairness needs$"):
        granted(Case.of(BUS, [Demand("a", "c", 50)], 1))
