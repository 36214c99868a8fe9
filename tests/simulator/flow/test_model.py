"""The model: hand-computed examples, invariants, and the compiled core compared with the slow reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from simulator.flow.model import FluidFlows, Shares, share
from tests.simulator import reference
from tests.simulator.flow.cases import ROUNDING, Case, cases
from tests.simulator.flow.compare import greatest_difference

pytestmark = pytest.mark.slow

thoroughly = settings(max_examples=300)


def goodput(capacity: list[float], flows: FluidFlows) -> list[float]:
    return [round(rate, 9) for rate in share(capacity, flows).goodput.tolist()]


class TestElasticFlows:
    def test_equal_flows_share_a_link_equally(self) -> None:
        assert goodput([30], FluidFlows.of([[0]] * 3, np.inf)) == [10, 10, 10]

    def test_what_a_small_flow_leaves_goes_to_the_others(self) -> None:
        assert goodput([30], FluidFlows.of([[0]] * 3, [4, 20, 20])) == [4, 13, 13]

    def test_the_parking_lot(self) -> None:
        # The long flow has half of the narrow link; the short flow that shares the wide link has the rest of it.
        assert goodput([10, 20], FluidFlows.of([[0, 1], [0], [1]], np.inf)) == [5, 5, 15]

    def test_a_flow_counts_as_often_as_its_weight_says(self) -> None:
        assert goodput([30], FluidFlows.of([[0]] * 2, np.inf, weight=[2, 1])) == [20, 10]
        assert goodput([30], FluidFlows.of([[0]] * 2, [12, np.inf], weight=[2, 1])) == [12, 18]

    def test_a_lower_class_gets_what_is_left(self) -> None:
        assert goodput([10, 10], FluidFlows.of([[0], [0, 1], [1]], [7, 9, 9], level=[0, 1, 2])) == [7, 3, 7]

    def test_a_full_higher_class_leaves_nothing(self) -> None:
        assert goodput([10], FluidFlows.of([[0], [0]], [10, 5], level=[0, 1])) == [10, 0]

    def test_nothing_crosses_a_failed_link(self) -> None:
        assert goodput([0, 10], FluidFlows.of([[1, 0], [1]], [5, 50])) == [0, 10]

    def test_a_flow_without_links_gets_what_it_offers(self) -> None:
        assert goodput([10], FluidFlows.of([[], []], 5, elastic=[True, False])) == [5, 5]

    def test_weights_of_all_sizes_leave_nothing_unused(self) -> None:
        weight = [1e9, 1e-9, 1.0]
        offered = [4, np.inf, 4]
        assert goodput([10], FluidFlows.of([[0]] * 3, offered, weight=weight)) == [4, 2, 4]

    def test_a_weight_that_was_lost_beside_a_great_one_counts_once_that_flow_is_satisfied(self) -> None:
        # Beside 1e17 the sum of weights is a multiple of 16. The narrow link leaves 9 to the second flow and the third.
        flows = FluidFlows.of([[0], [0], [0, 1], [1]], [1, np.inf, np.inf, np.inf], weight=[1e17, 1, 1, 1])
        assert goodput([10, 20], flows) == [1, 4.5, 4.5, 15.5]
        # Here 9 + 7 + 7 have become 16: by these, the first link would give more for each weight than the second.
        flows = FluidFlows.of([[0], [0], [0], [0, 1], [1]], [1, *[np.inf] * 4], weight=[1e17, 9, 7, 7, 1])
        assert goodput([24, 9.6], flows) == [1, 9, 7, 7, 2.6]


class TestInelasticFlows:
    def test_an_overloaded_link_takes_the_same_share_off_all(self) -> None:
        shares = share([60], FluidFlows.of([[0], [0]], [30, 90], elastic=False))
        assert shares.goodput.tolist() == [15, 45]
        assert shares.dropped.tolist() == [60]

    def test_what_is_lost_before_does_not_load_the_links_behind(self) -> None:
        # Half of 20 passes the first link; downstream 10 and 10 meet on 15: three quarters pass.
        flows = FluidFlows.of([[0, 1], [1]], [20, 10], elastic=False)
        shares = share([10, 15], flows)
        assert shares.goodput.tolist() == [7.5, 7.5]
        assert shares.dropped.tolist() == [10, 5]
        assert shares.load.tolist() == [10, 15]

    def test_losses_in_a_circle_settle_at_the_golden_ratio(self) -> None:
        # Each link passes the share p of 1 + p, and carries 1.
        flows = FluidFlows.of([[0, 1], [1, 2], [2, 0]], 1, elastic=False)
        expected = ((np.sqrt(5) - 1) / 2) ** 2
        assert_allclose(share([1, 1, 1], flows).goodput, expected, rtol=1e-12)

    def test_losses_in_a_circle_settle_however_many_links_are_between_and_whatever_their_order(self) -> None:
        # The same, but over 99 other links to the next full one. The first flow has links taken against the others'
        # way: a loss gets on by one link in each sweep, and to the next full one 29 times before it is negligible.
        full = [0, 100, 200]
        paths = [[(start + step) % 300 for step in range(101)] for start in full]
        capacity = np.where(np.isin(np.arange(300), full), 1.0, 2.0)
        flows = FluidFlows.of([range(299, -1, -1), *paths], [1e-12, 1, 1, 1], elastic=False)
        expected = ((np.sqrt(5) - 1) / 2) ** 2
        assert_allclose(share(capacity, flows).goodput[1:], expected, rtol=1e-9)

    def test_a_failed_link_drops_all(self) -> None:
        shares = share([0, 10], FluidFlows.of([[1, 0]], 5, elastic=False))
        assert (shares.goodput.tolist(), shares.dropped.tolist(), shares.load.tolist()) == ([0], [5, 0], [0, 5])

    def test_a_lower_class_loses_alone(self) -> None:
        flows = FluidFlows.of([[0], [0], [0]], [6, 6, 2], level=[0, 1, 1], elastic=False)
        assert goodput([10], flows) == [6, 3, 1]

    def test_losses_settle_along_a_path_of_any_length(self) -> None:
        # Links are taken in the order of the path: the other way, a loss would get on by one link in each sweep.
        links = 20_000
        capacity = np.full(links, 1.5)
        capacity[0] = 1.0
        shares = share(capacity, FluidFlows.of([range(links)], 2, elastic=False))
        assert shares.goodput.tolist() == [1.0]
        assert shares.dropped[:2].tolist() == [1.0, 0.0]

    def test_elastic_flows_of_the_same_class_yield(self) -> None:
        assert goodput([10], FluidFlows.of([[0], [0], [0]], [6, 9, 9], elastic=[False, True, True])) == [6, 2, 2]

    def test_elastic_flows_of_a_higher_class_do_not_yield(self) -> None:
        assert goodput([10], FluidFlows.of([[0], [0]], [9, 6], level=[0, 1], elastic=[True, False])) == [9, 1]


@thoroughly
@given(cases())
def test_the_core_is_the_reference(case: Case) -> None:
    fast, slow = share(case.capacity, case.flows), reference.share(case.capacity, case.flows)
    for name in ("goodput", "load", "dropped"):
        assert_allclose(getattr(fast, name), getattr(slow, name), rtol=0, atol=ROUNDING, err_msg=name)


@given(cases(max_links=10, max_flows=15, levels=1), st.data())
def test_losses_settle_at_the_same_point_wherever_the_search_starts(case: Case, data: st.DataObject) -> None:
    flows = replace(case.flows, elastic=np.zeros(case.flows.size, np.bool_)).offering(
        np.minimum(case.flows.offered, 1000.0)
    )
    links = case.capacity.size
    passed = np.array(data.draw(st.lists(st.floats(0.01, 1.0), min_size=links, max_size=links)))
    goodput = flows.offered.copy()
    for _ in range(500):
        arriving, goodput = np.zeros(links), flows.offered.copy()
        for flow in range(flows.size):
            for link in flows.path(flow).tolist():
                arriving[link] += goodput[flow]
                goodput[flow] *= passed[link]
        passed += (np.divide(case.capacity, arriving, out=np.ones(links), where=arriving > case.capacity) - passed) / 2
    assert_allclose(goodput, share(case.capacity, flows).goodput, rtol=0, atol=1e-6)


@thoroughly
@given(cases())
def test_no_link_carries_more_than_its_capacity_and_no_flow_gets_more_than_it_offers(case: Case) -> None:
    shares = share(case.capacity, case.flows)
    assert (shares.load <= case.capacity).all()
    assert (shares.goodput <= case.flows.offered).all()
    assert (shares.goodput >= 0).all()
    assert (delivered(case, shares) <= shares.load + ROUNDING).all()


@thoroughly
@given(cases())
def test_what_is_offered_arrives_or_was_dropped_somewhere(case: Case) -> None:
    shares = share(case.capacity, case.flows)
    inelastic = ~case.flows.elastic
    lost = case.flows.offered[inelastic].sum() - shares.goodput[inelastic].sum()
    assert lost == pytest.approx(shares.dropped.sum(), abs=ROUNDING * 10)


@thoroughly
@given(cases())
def test_a_link_that_drops_is_full(case: Case) -> None:
    shares = share(case.capacity, case.flows)
    dropping = shares.dropped > ROUNDING
    assert_allclose(shares.load[dropping], case.capacity[dropping], rtol=0, atol=ROUNDING)


@thoroughly
@given(cases())
def test_an_elastic_flow_short_of_its_offer_has_a_full_link_where_nobody_of_its_class_gets_more(case: Case) -> None:
    """Condition of max-min fair rates (Bertsekas and Gallager, Data Networks, section 6.5.2), here per weight."""
    flows = case.flows
    for level in np.unique(flows.level):
        served = flows.level <= level
        shares = share(case.capacity, only(flows, served))
        full = shares.load >= case.capacity - ROUNDING
        mine = flows.level[served] == level
        kept = only(flows, served)
        ratio = shares.goodput / kept.weight
        for flow in np.flatnonzero(mine & kept.elastic & (shares.goodput < kept.offered - ROUNDING)).tolist():
            rivals = [
                [other for other in np.flatnonzero(mine & kept.elastic).tolist() if link in kept.path(other)]
                for link in kept.path(flow)
                if full[link]
            ]
            assert any((shares.goodput[of] <= (ratio[flow] * kept.weight[of]) + ROUNDING).all() for of in rivals)


@thoroughly
@given(cases())
def test_lower_classes_change_nothing_for_higher_ones(case: Case) -> None:
    shares = share(case.capacity, case.flows)
    for level in np.unique(case.flows.level):
        served = case.flows.level <= level
        alone = share(case.capacity, only(case.flows, served))
        assert (alone.goodput == shares.goodput[served]).all()


@thoroughly
@given(cases())
def test_elastic_flows_change_nothing_for_inelastic_ones_of_their_class_and_above(case: Case) -> None:
    level = 1
    kept = (case.flows.level < level) | ((case.flows.level == level) & ~case.flows.elastic)
    shares = share(case.capacity, case.flows)
    assert (share(case.capacity, only(case.flows, kept)).goodput == shares.goodput[kept]).all()


@given(cases())
def test_the_unit_of_rates_does_not_matter(case: Case) -> None:
    scaled = share(case.capacity * 1024, case.flows.offering(case.flows.offered * 1024))
    assert_allclose(scaled.goodput / 1024, share(case.capacity, case.flows).goodput, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offered": np.array([1.0, -1.0])}, "offered[1]: is not a rate"),
        ({"offered": np.array([1.0, np.nan])}, "offered[1]: is not a rate"),
        ({"offered": np.array([np.inf, 1.0]), "elastic": np.array([False, True])}, "offered[0]: is infinite"),
        ({"weight": np.array([0.0, 1.0])}, "weight[0]: is not a weight"),
        ({"weight": np.array([1.0])}, "arrays of different lengths"),
        ({"links": np.array([0, 1, 2], np.int32)}, "flows[1]: crosses a link that does not exist"),
        ({"links": np.array([0, 0, 1], np.int32)}, "flows[0]: crosses a link twice"),
        ({"first": np.array([0, 4, 3])}, "first[1]: is not the end of a path"),
        ({"first": np.array([0, 1, 2])}, "first: does not span links"),
    ],
)
def test_impossible_flows_are_refused(change: dict[str, Any], message: str) -> None:
    flows = FluidFlows.of([[0, 1], [1]], [1.0, 1.0])
    with pytest.raises(ValueError) as refusal:  # noqa: PT011  # the message is checked below
        share([1.0, 1.0], replace(flows, **change))
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize("capacity", [-1.0, np.inf, np.nan])
def test_impossible_capacities_are_refused(capacity: float) -> None:
    with pytest.raises(ValueError, match="capacity"):
        share([1.0, capacity], FluidFlows.of([[0]], 1.0))


def only(flows: FluidFlows, kept: NDArray[np.bool_]) -> FluidFlows:
    paths = [flows.path(flow).tolist() for flow in np.flatnonzero(kept).tolist()]
    return FluidFlows.of(
        paths, flows.offered[kept], level=flows.level[kept], elastic=flows.elastic[kept], weight=flows.weight[kept]
    )


def delivered(case: Case, shares: Shares) -> NDArray[np.float64]:
    """Return the goodput that crosses each link."""
    crossing = np.repeat(shares.goodput, np.diff(case.flows.first))
    return np.bincount(case.flows.links, crossing, minlength=case.capacity.size).astype(np.float64)


def test_the_core_is_the_reference_on_larger_networks() -> None:
    assert greatest_difference(200, seed=2) <= ROUNDING
