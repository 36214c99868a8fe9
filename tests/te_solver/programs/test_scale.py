"""Units of programs, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from te_solver.model.demands import Demand
from te_solver.programs.incidence import Incidence, Vector, least, scaled, within_bounds, within_capacity
from te_solver.programs.scale import Scale, could_carry
from te_solver.programs.tunnel_rates import TunnelRates
from tests.te_solver.programs.problems import RHOMBUS, Case

INCIDENCE = Incidence.of(RHOMBUS, [[("s", "t"), ("s", "a", "t")], [("s", "b")]])
"""Links s-t, s-a, a-t, s-b and b-t; tunnels of 1 and 2 hops for one pair, of 1 for the other."""


def numbers(*values: float) -> Vector:
    return np.array(values, dtype=np.float64)


def test_a_unit_is_what_a_tunnel_could_carry_alone_and_zeros_count_as_the_largest() -> None:
    scale = Scale.of(INCIDENCE, numbers(10, 4, 0, 6, 10), numbers(8, 0))
    assert scale.unit == 8
    assert scale.capacity.tolist() == [10, 4, 10, 6, 10]
    # The pairs could be carried at 14 and 6; the first asks for 8 / 14 of that, and so the second counts.
    assert scale.demand.tolist() == pytest.approx([8, 6 * 8 / 14])
    assert scale.alone.tolist() == pytest.approx([8, 4, 6 * 8 / 14])
    assert scale.most.tolist() == pytest.approx([8, 6 * 8 / 14])


def test_a_tunnel_that_a_zero_stops_is_no_larger_than_the_others() -> None:
    """The second pair's link is down: its tunnel counts no more than the 2 that the first one's could carry."""
    scale = Scale.of(INCIDENCE, numbers(2, 1, 1, 0, 50), numbers(5, 40))
    assert scale.unit == 2
    assert scale.capacity.tolist() == [2, 1, 1, 50, 50]
    assert scale.alone.tolist() == [2, 1, 2]
    assert scale.most.tolist() == [3, 2]


def test_without_anything_all_units_are_one_or_what_there_is() -> None:
    nothing = Scale.of(INCIDENCE, np.zeros(5), np.zeros(2))
    assert (nothing.unit, nothing.capacity.tolist(), nothing.demand.tolist()) == (1, [1] * 5, [2, 1])
    idle = Scale.of(INCIDENCE, numbers(10, 4, 4, 6, 10), np.zeros(2))
    assert (idle.unit, idle.demand.tolist(), idle.alone.tolist()) == (10, [14, 6], [10, 4, 6])


def test_a_pair_without_tunnels_has_the_unit_one() -> None:
    incidence = Incidence.of(RHOMBUS, [[("s", "t")], []])
    assert Scale.of(incidence, np.full(5, 10.0), numbers(8, 3)).most.tolist() == [8, 1]
    incidence = Incidence.of(RHOMBUS, [[("s", "t")], [], [("s", "b")]])
    # The second asks for more than it could ever get, which makes the third, which asks for nothing, no larger.
    assert Scale.of(incidence, np.full(5, 10.0), numbers(8, 3, 0)).most.tolist() == [8, 1, 8]


@pytest.mark.parametrize(
    ("factor", "suits"), [(1.0, True), (99.0, True), (101.0, False), (1 / 99, True), (1 / 101, False), (0.0, True)]
)
@pytest.mark.parametrize("changed", ["capacity", "demand"])
def test_a_scale_suits_numbers_within_a_factor_of_a_hundred_and_zeros(
    factor: float, changed: str, *, suits: bool
) -> None:
    capacity, demand = np.full(5, 10.0), numbers(8, 3)
    scale = Scale.of(INCIDENCE, capacity, demand)
    one = np.array([factor, 1.0])
    other = np.array([factor, 1, 1, 1, 1])
    assert (
        scale.suits(capacity * (other if changed == "capacity" else 1), demand * (one if changed == "demand" else 1))
        is suits
    )


def test_rates_are_shares_of_their_units() -> None:
    capacity, demand = numbers(10, 4, 5, 6, 10), numbers(8, 3)
    tunnels = TunnelRates(INCIDENCE, Scale.of(INCIDENCE, capacity, demand))
    assert tunnels.scale.alone.tolist() == [8, 4, 3]
    assert tunnels.scale.most.tolist() == [8, 3]
    tunnels.put(numbers(5, 4, 5, 1.5, 0), numbers(4, 6))
    assert tunnels.capacity.value.tolist() == [0.5, 1, 1, 0.25, 0]
    assert tunnels._reach.value.tolist() == [0.5, 1, 0.5]
    assert tunnels.demand.value.tolist() == [0.5, 2]
    tunnels.share.value = numbers(0.5, 1.1e-9, 0.9e-9)
    assert tunnels.rates().tolist() == [4, 4.4e-9, 0]
    tunnels.share.value = numbers(0.5, 0.25, 1)
    assert tunnels.load.value.tolist() == pytest.approx([0.4, 0.25, 0.2, 0.5, 0])
    assert tunnels.sent.value.tolist() == pytest.approx([5 / 8, 1])
    assert float(tunnels.throughput.value) == pytest.approx(8 / 8)
    assert float(tunnels.hops.value) == pytest.approx((4 + 2 * 1 + 3) / 8)


def test_a_demand_of_a_billion_times_what_fits_counts_as_that() -> None:
    tunnels = TunnelRates(INCIDENCE, Scale.of(INCIDENCE, np.full(5, 10.0), numbers(8, 3)))
    assert tunnels.of_most(numbers(7.2e9, 3e300)).tolist() == [0.9e9, 1e9]


def test_what_a_tunnel_could_carry_is_the_least_of_its_links_and_its_demand() -> None:
    capacity = numbers(10, 4, 5, 6, 10)
    assert least(INCIDENCE.links, capacity).tolist() == [10, 4, 6]
    assert could_carry(INCIDENCE, capacity, numbers(8, 7)).tolist() == [8, 4, 6]


def test_an_entry_is_multiplied_by_its_column_and_divided_by_its_row() -> None:
    matrix = sp.csc_array(np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert scaled(matrix, numbers(6, 8), numbers(2, 4)).toarray().tolist() == [[3, 4], [0, 2]]


def test_rates_shrink_by_their_worst_excess_alone() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 12)], 3)
    rates = numbers(20, 12, 4)
    capacity = numbers(10, 12, 8, 10, 10)
    assert within_capacity(case.incidence, capacity, rates).tolist() == pytest.approx([10, 8, 4])
    # The sum of 36 is three times the demand, which is worse than either link.
    assert within_bounds(case.incidence, capacity, numbers(12), rates).tolist() == pytest.approx([20 / 3, 4, 4 / 3])
    assert within_bounds(case.incidence, capacity, numbers(27), rates).tolist() == pytest.approx([10, 8, 3])
    assert within_bounds(case.incidence, capacity, numbers(99), numbers(1, 2, 3)).tolist() == [1, 2, 3]
