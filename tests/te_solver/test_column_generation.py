from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from te_solver.column_generation import nearly_most_throughput, upper_bound
from te_solver.demands import Demand
from te_solver.tunnel_links import TunnelLinks
from tests.te_solver.programs.problems import RHOMBUS, Case, Rows, cases, within_capacities, within_demands

GAP = 1e-3


def most(case: Case) -> float:
    """Return the greatest throughput, row by row from the definition by scipy."""
    rows = Rows(len(case.paths))
    within_capacities(case, rows)
    within_demands(case, rows)
    return rows.maximum([1.0] * len(case.paths))


@settings(max_examples=60)
@given(cases())
def test_the_rates_are_as_near_to_the_best_as_was_asked_and_the_bound_is_above_it(case: Case) -> None:
    answer = nearly_most_throughput(TunnelLinks.of(case.incidence), case.capacity, case.demand, GAP)
    best = most(case)
    assert best * (1 - GAP) * (1 - 1e-6) <= answer.rates.sum() <= best * (1 + 1e-6)
    assert best <= answer.bound * (1 + 1e-6)
    assert answer.rates.sum() >= answer.bound * (1 - GAP) * (1 - 1e-6)


@settings(max_examples=60)
@given(cases())
def test_no_bound_is_exceeded_and_the_same_problem_has_the_same_answer(case: Case) -> None:
    tunnels = TunnelLinks.of(case.incidence)
    answer = nearly_most_throughput(tunnels, case.capacity, case.demand, GAP)
    assert (answer.rates >= 0).all()
    assert (case.incidence.links @ answer.rates <= case.capacity * (1 + 1e-12)).all()
    assert (case.incidence.pairs @ answer.rates <= case.demand * (1 + 1e-12)).all()
    again = nearly_most_throughput(tunnels, case.capacity, case.demand, GAP)
    assert again.rates.tolist() == answer.rates.tolist()
    assert again.bound == answer.bound


@given(cases(), st.data())
def test_whatever_the_prices_no_throughput_is_above_their_bound(case: Case, data: st.DataObject) -> None:
    links = case.capacity.size
    prices = np.array(data.draw(st.lists(st.floats(0, 2), min_size=links, max_size=links)))
    bound = upper_bound(TunnelLinks.of(case.incidence), case.capacity, case.demand, prices)
    assert most(case) <= bound * (1 + 1e-9)


def test_the_prices_of_the_answer_give_its_bound() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 50), Demand("s", "a", 50)], 3)
    tunnels = TunnelLinks.of(case.incidence)
    answer = nearly_most_throughput(tunnels, case.capacity, case.demand, GAP)
    assert upper_bound(tunnels, case.capacity, case.demand, answer.prices) == pytest.approx(answer.bound)
    assert 30 <= answer.bound <= 30 * (1 + GAP)


def test_ties_go_to_the_shorter_tunnel() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 8)], 3)
    answer = nearly_most_throughput(TunnelLinks.of(case.incidence), case.capacity, case.demand, GAP)
    assert answer.rates.tolist() == pytest.approx([8, 0, 0])


@pytest.mark.parametrize("lacking", ["capacity", "demand"])
def test_nothing_is_carried_without_capacity_or_demand(lacking: str) -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 8)], 3)
    capacity = case.capacity * (lacking != "capacity")
    demand = case.demand * (lacking != "demand")
    tunnels = TunnelLinks.of(case.incidence)
    answer = nearly_most_throughput(tunnels, capacity, demand, GAP)
    assert answer.rates.tolist() == [0, 0, 0]
    assert answer.bound == upper_bound(tunnels, capacity, demand, answer.prices) == 0


def test_tunnels_over_a_link_without_capacity_do_not_keep_the_others_from_use() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 50)], 3)
    capacity = np.where([link.ends == ("s", "t") for link in RHOMBUS.links], 0.0, case.capacity)
    answer = nearly_most_throughput(TunnelLinks.of(case.incidence), capacity, case.demand, GAP)
    assert answer.rates.tolist() == pytest.approx([0, 10, 10])
