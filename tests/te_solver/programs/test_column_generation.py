from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs import column_generation
from te_solver.programs.column_generation import _Program, most_throughput, nearly_most_throughput, upper_bound
from te_solver.programs.highs import HighsProgram, Vector
from te_solver.programs.tunnel_links import TunnelLinks
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


PATIENT = Topology(
    "patient", ("a", "b", "c", "d"), (Link("a", "b", 1000), Link("c", "d", 1), Link("c", "b", 4), Link("b", "d", 4))
)


@pytest.mark.parametrize(("gap", "carried"), [(1e-3, 1005), (1e-2, 1001)])
def test_no_more_tunnels_are_added_than_the_gap_asks_for(gap: float, carried: float) -> None:
    """The first tunnels carry 1001 of 1005 Mbit/s, of which 0.4 % are missing."""
    case = Case.of(PATIENT, [Demand("a", "b", 1000), Demand("c", "d", 5)], 2)
    answer = nearly_most_throughput(TunnelLinks.of(case.incidence), case.capacity, case.demand, gap)
    assert answer.rates.sum() == pytest.approx(carried)


def test_the_gain_of_a_tunnel_is_what_it_keeps_beyond_the_best_that_its_pair_has() -> None:
    """Link prices are .2, .5 and .3; a pair earns nothing less for tunnels that cost more than they earn."""
    # Pair 0 has tunnels at costs .2 and .5, pair 1 at .5, .2 and .3, pair 2 at 1.0 (two links) and .3.
    links = np.array([0, 1, 1, 0, 2, 0, 1, 2, 2], np.int32)
    starts = np.array([0, 1, 2, 3, 4, 5, 8, 9])
    tunnels = TunnelLinks(links, starts, np.array([0, 2, 5, 7]))
    program = _Program(tunnels, np.ones(7), np.full(3, 10.0), np.array([1.0, 2.0, 4.0]))
    cost = tunnels.sums(np.array([0.2, 0.5, 0.3]))
    assert cost.tolist() == pytest.approx([0.2, 0.5, 0.5, 0.2, 0.3, 1.0, 0.3])
    program.add(np.array([0, 2, 5]))
    assert program._row_of_pair.tolist() == [-1, -1, -1]  # a demand caps its only tunnel
    # Gains: none for pair 0; .3 and .2 for pair 1, times 2; .7 for pair 2, times 4. The largest is 82 % of their sum.
    assert program.missing(cost).tolist() == [6]
    # A tunnel that costs more than it earns leaves its pair at nothing, not at less: gains are .3 x 2 and .1 x 4.
    assert program.missing(cost + np.array([0, 0, 0, 0, 0, 0.9, 0.6])).tolist() == [3, 6]
    program.add(np.array([6]))
    assert program._row_of_pair.tolist() == [-1, -1, 3]
    assert program.missing(cost).tolist() == [3]
    program.add(np.array([3]))
    assert program._row_of_pair.tolist() == [-1, 4, 3]
    assert program.missing(cost).tolist() == []


def test_a_tunnel_is_worth_less_by_its_hops(monkeypatch: pytest.MonkeyPatch) -> None:
    worth: list[float] = []

    class Noted(HighsProgram):
        def add_columns(self, columns: sp.csc_array, cost: Vector, caps: Vector) -> None:
            worth.extend(-cost)
            super().add_columns(columns, cost, caps)

    monkeypatch.setattr(column_generation, "HighsProgram", Noted)
    case = Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)
    nearly_most_throughput(TunnelLinks.of(case.incidence), case.capacity, case.demand, GAP)
    assert worth == pytest.approx([1 - 0.5e-4, 1 - 1e-4, 1 - 1e-4], abs=1e-9)


def test_a_rate_too_small_for_its_tunnel_is_rounding_and_a_larger_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)
    shares = iter([[1.0], [1.0, 0.9e-9, 1.1e-9]])
    monkeypatch.setattr(HighsProgram, "solve", lambda *_, **__: np.array(next(shares)))
    monkeypatch.setattr(HighsProgram, "prices", np.array([0.5, 0, 0, 0, 0]))
    answer = nearly_most_throughput(TunnelLinks.of(case.incidence), case.capacity, case.demand, 1e-12)
    assert answer.rates.tolist() == [10.0, 0.0, pytest.approx(1.1e-8)]


@settings(max_examples=60)
@given(cases())
def test_the_exact_search_ends_at_the_most_and_its_bound_proves_it(case: Case) -> None:
    answer = most_throughput(TunnelLinks.of(case.incidence), case.capacity, case.demand)
    assert answer.rates.sum() == pytest.approx(most(case), rel=1e-6, abs=1e-9)
    assert answer.bound == pytest.approx(answer.rates.sum(), rel=1e-6, abs=1e-9)
