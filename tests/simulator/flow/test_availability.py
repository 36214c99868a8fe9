"""Availability figures compared with figures computed by hand."""

from __future__ import annotations

import pytest

from simulator.flow.availability import Availability, Bounds, availability
from simulator.flow.what_if import Contender
from te_solver.model.failures import from_links, link_pairs, single_links
from te_solver.schemes.models.precomputed import Precomputed
from te_solver.schemes.models.rescaling import Kuijia
from te_solver.schemes.models.traffic import PlannedTraffic
from tests.simulator.flow.outcomes import what_if
from tests.simulator.flow.test_failure_impact import figure_1

UP = 0.99


def both(bounds: Bounds) -> tuple[float, float]:
    return bounds.low, bounds.high


def figures(rate: float, *, pairs_of_links: bool = False, priority: int | None = None) -> Availability:
    """Figure 1's network, each link down with probability 0.01; three tunnels with `rate` each, links of 1000."""
    traffic: PlannedTraffic = figure_1(rate)
    topology = traffic.plan.topology
    failures = (*single_links(topology), *(link_pairs(topology) if pairs_of_links else ()))
    contender = Contender(Kuijia(), traffic)
    down = {frozenset(edge): 1 - UP for edge in topology.edges}
    return availability(contender, list(what_if([contender], failures)), from_links(topology, failures, down), priority)


def test_every_single_failure_costs_a_third_of_full_links() -> None:
    found = figures(1000)
    none, one = UP**5, 5 * (1 - UP) * UP**4
    unlisted = 1 - none - one
    third_lost = none + one * 2 / 3
    assert both(found.throughput) == pytest.approx((third_lost, third_lost + unlisted))
    assert both(found.kept[0]) == both(found.kept[-1]) == pytest.approx((none, none + unlisted))
    # .951 of the time all, .999 of the time two thirds; the other .001 is unlisted.
    assert [both(each) for each in found.guaranteed] == [
        (1, 1),
        pytest.approx((2 / 3, 2 / 3)),
        pytest.approx((2 / 3, 2 / 3)),
        pytest.approx((0, 2 / 3)),
    ]
    assert both(found.pair_mean) == both(found.pair_worst) == pytest.approx((none, none + unlisted))
    assert found.worst_pair == ("s1", "s4")


@pytest.mark.parametrize(("lost", "exceeded"), [(0.005, 1), (0.03, 2), (0.07, 3), (0.2, 4)])
def test_all_99_95_and_90_percent_are_kept_while_no_more_is_lost(lost: float, exceeded: int) -> None:
    found = figures(2000 / 3 / (1 - lost))  # a failure leaves 2000
    none, one = UP**5, 5 * (1 - UP) * UP**4
    assert [each.low for each in found.kept] == pytest.approx([none] * exceeded + [none + one] * (4 - exceeded))


def test_a_class_without_traffic_has_all_of_it_whatever_fails() -> None:
    found = figures(1000, priority=7)
    listed = UP**5 + 5 * (1 - UP) * UP**4
    shares = (found.throughput, *found.kept, found.pair_mean, found.pair_worst)
    assert [both(each) for each in shares] == [pytest.approx((listed, 1))] * 7
    assert [both(each) for each in found.guaranteed] == [(1, 1), (1, 1), (1, 1), (0, 1)]


def test_two_failures_count_when_they_are_listed() -> None:
    # 500 on each tunnel: one failure leaves 1000 + 1000 for 1500. Two failures leave 1000 if they hit different tunnels
    # (8 of 10 cases), and cost no more than one if they hit the same.
    found = figures(500, pairs_of_links=True)
    none, one, two = UP**5, 5 * (1 - UP) * UP**4, (1 - UP) ** 2 * UP**3
    everything = none + one + 2 * two
    assert found.kept[0].low == pytest.approx(everything)
    assert found.throughput.low == pytest.approx(everything + 8 * two * 2 / 3)
    assert found.pair_worst.low == pytest.approx(everything)


def test_schemes_that_withhold_are_not_better_for_it() -> None:
    traffic = figure_1(1000)
    failures = tuple(single_links(traffic.plan.topology))
    down = {frozenset(edge): 1 - UP for edge in traffic.plan.topology.edges}
    contender = Contender(Precomputed(), traffic)
    found = availability(
        contender, list(what_if([contender], failures)), from_links(traffic.plan.topology, failures, down)
    )
    assert found.throughput.low == pytest.approx(figures(1000).throughput.low)
    assert found.pair_mean.low == pytest.approx(figures(1000).pair_mean.low)
