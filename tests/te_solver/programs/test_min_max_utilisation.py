from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from te_solver.model.demands import Demand
from te_solver.programs.incidence import Vector
from te_solver.programs.min_max_utilisation import MinMaxUtilisation
from te_solver.programs.program import Options
from te_solver.solve import solve
from te_solver.tunnels.path_finders import finder_by
from tests.te_solver.programs.problems import RHOMBUS, Case, Rows, cases


def rows_of(case: Case, carried: Vector, utilisation: list[float], bound: float) -> Rows:
    """Rows that carry all demand with loads of at most `bound` plus `utilisation` times the capacity."""
    rows = Rows(len(case.paths) + 1)
    for link, other in zip(case.topology.links, carried, strict=True):
        rows.at_most(
            [*case.uses(link), *(-link.capacity * each for each in utilisation)], bound * link.capacity - other
        )
    for pair, demand in enumerate(case.demands):
        rows.at_least(case.owned(pair), demand.rate)
    return rows


@pytest.mark.slow
@settings(max_examples=60)
@given(cases(), st.data())
def test_the_utilisation_is_that_of_an_independent_program_by_the_fewest_hops(case: Case, data: st.DataObject) -> None:
    carried = data.draw(st.just(0.0) | st.floats(0, 2)) * case.capacity
    allocation = MinMaxUtilisation(case.incidence).solve(case.capacity, case.demand, carried)
    assert allocation.granted.tolist() == pytest.approx(case.demand.tolist())
    utilisation = ((case.incidence.links @ allocation.rates + carried) / case.capacity).max()
    least = rows_of(case, carried, [1.0], 0.0).minimum([*[0.0] * len(case.paths), 1.0])
    assert utilisation == pytest.approx(least, rel=1e-6)
    hops = rows_of(case, carried, [], utilisation).minimum(case.hops)
    assert allocation.rates @ case.hops == pytest.approx(hops, rel=1e-5)


@pytest.mark.slow
@settings(max_examples=20)
@given(cases(directed=False, max_nodes=5), st.integers(1, 4))
def test_smore_is_the_independent_program_over_paths_of_random_trees(case: Case, count: int) -> None:
    assume((case.demand > 0).all())
    finder = finder_by(case.topology, "raeke", seed=1)
    tunnels = tuple(finder.tunnels_of_pairs([demand.pair for demand in case.demands], count))
    over_trees = Case(case.topology, case.demands, tunnels)
    least = rows_of(over_trees, np.zeros(case.capacity.size), [1.0], 0.0).minimum([*[0.0] * len(over_trees.paths), 1.0])
    plan = solve(case.topology, case.demands, count, "smore")
    assert plan.objective_value == pytest.approx(least, rel=1e-5)
    assert [tunnel.nodes for tunnel in plan.tunnels] == over_trees.paths


def test_more_than_the_network_holds_is_carried_all_the_same() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 90)], 3)
    allocation = MinMaxUtilisation(case.incidence).solve(case.capacity, case.demand)
    assert allocation.rates.tolist() == pytest.approx([30, 30, 30])


def test_links_that_are_fuller_already_are_avoided() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 6)], 2)
    allocation = MinMaxUtilisation(case.incidence).solve(case.capacity, case.demand, np.array([8.0, 0, 0, 0, 0]))
    assert allocation.rates.tolist() == pytest.approx([0, 6])


def test_spread_keeps_the_utilisation() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 6), Demand("s", "a", 8)], 3)
    program = MinMaxUtilisation(case.incidence, Options(spread=True))
    rates = program.solve(case.capacity, case.demand).rates
    assert (case.incidence.links @ rates).max() == pytest.approx(8)
    assert rates[:3].tolist() == pytest.approx([3, 0, 3])


def test_nothing_to_send_fills_nothing() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 0)], 2)
    assert MinMaxUtilisation(case.incidence).solve(case.capacity, case.demand).rates.tolist() == [0, 0]
