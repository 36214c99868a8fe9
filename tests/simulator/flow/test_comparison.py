"""Figures over all failures, computed by hand from made-up outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from simulator.flow.availability import _served_with, availability
from simulator.flow.failure_impact import Role, RoleTraffic
from simulator.flow.what_if import Contender, FailureOutcome, compare, ranked, recovery
from te_solver.model.failures import FailureProbabilities
from te_solver.model.plan import PairPlan, Plan
from te_solver.schemes.models.rescaling import Kuijia
from te_solver.schemes.models.traffic import PlannedTraffic
from tests.te_solver.schemes.cases import parallel_plan

Sums = Mapping[tuple[int, Role], RoleTraffic]
NOTHING = RoleTraffic(0.0, 0.0, 0.0, 0.0)


def two_classes() -> Contender:
    """Two pairs of 100 and 50 Mbit/s, of which 80 and 50 are sent, in classes 0 and 1; links of 100 Mbit/s."""
    plan = parallel_plan([0.5, 0.5])
    (first,) = plan.pairs
    halves = tuple(replace(tunnel, path_id=tunnel.path_id + 8) for tunnel in first.tunnels)
    pairs = (
        replace(first, demand=100.0, allocated=80.0),
        PairPlan("s", "t", 50.0, 50.0, halves, priority=1),
    )
    return Contender(Kuijia(), PlannedTraffic.of(Plan(plan.topology, pairs, "any", 0.0, "none", 0.0)))


def outcome(name: str, sums: Sums, *, moved: float = 0.0, links: int = 0, hurt: tuple[int, ...] = ()) -> FailureOutcome:
    full = {(priority, role): NOTHING for priority in (0, 1) for role in Role}
    return FailureOutcome("kuijia", name, {**full, **sums}, (("s", "t"),) * links, moved, hurt)


FIRST = outcome(
    "first",
    {
        (0, Role.VICTIM): RoleTraffic(40.0, 10.0, 5.0, 25.0),
        (0, Role.DIRECT): RoleTraffic(40.0, 0.0, 4.0, 36.0),
        (1, Role.INDIRECT): RoleTraffic(20.0, 0.0, 2.0, 18.0),
        (1, Role.UNTOUCHED): RoleTraffic(30.0, 0.0, 0.0, 30.0),
        (1, Role.NEW): RoleTraffic(7.0, 0.0, 1.0, 6.0),
    },
    moved=26.0,
    links=3,
    hurt=(0, 1),
)
SECOND = outcome(
    "second",
    {
        (0, Role.UNTOUCHED): RoleTraffic(80.0, 0.0, 0.0, 80.0),
        (1, Role.VICTIM): RoleTraffic(50.0, 25.0, 5.0, 20.0),
    },
    moved=13.0,
    links=0,
    hurt=(1,),
)


def test_figures_of_all_traffic_leave_new_traffic_out_of_losses_but_not_out_of_goodput() -> None:
    found = compare(two_classes(), [FIRST, SECOND])
    assert (found.demand, found.sent) == (150, 130)
    assert (found.goodput_mean, found.goodput_least) == pytest.approx((107.5, 100))
    assert (found.lost, found.failure_loss, found.congestion_loss) == pytest.approx(
        ((21 + 30) / 2 / 130, (10 + 25) / 2 / 130, (11 + 5) / 2 / 130)
    )
    assert found.lost_worst == pytest.approx(30 / 130)
    assert found.of_role == pytest.approx(
        {Role.VICTIM: 45 / 90, Role.DIRECT: 4 / 40, Role.INDIRECT: 2 / 20, Role.UNTOUCHED: 0}
    )
    assert found.aboriginal_worst == pytest.approx(6 / 90)


def test_figures_of_one_class_are_of_that_class() -> None:
    found = compare(two_classes(), [FIRST, SECOND], 1)
    assert (found.priority, found.demand, found.sent) == (1, 50, 50)
    assert (found.goodput_mean, found.goodput_least) == pytest.approx((37, 20))
    assert found.lost == pytest.approx((2 + 30) / 2 / 50)
    assert found.lost_worst == pytest.approx(30 / 50)
    assert found.aboriginal_worst == pytest.approx(2 / 50)


def test_a_class_that_sends_nothing_loses_nothing() -> None:
    found = compare(two_classes(), [FIRST, SECOND], 2)
    assert (found.sent, found.lost, found.lost_worst, found.aboriginal_worst) == (0, 0, 0, 0)


def test_the_cost_of_recoveries_is_a_share_of_what_is_sent() -> None:
    found = recovery(two_classes(), [FIRST, SECOND])
    # 260 of 400 Mbit/s of four links are used: 130 in each of two ways of two links.
    assert found.vacant == pytest.approx(1 - 260 / 400)
    assert (found.moved_mean, found.moved_most) == pytest.approx((19.5 / 130, 26 / 130))
    assert (found.overloaded_mean, found.overloaded_most) == (1.5, 3)


def test_outcomes_are_ranked_by_their_losses_and_ties_keep_their_order() -> None:
    names = [each.failure for each in ranked([FIRST, SECOND, replace(FIRST, failure="third")])]
    assert names == ["second", "first", "third"]


def test_sums_are_of_the_roles_and_classes_that_are_asked_for() -> None:
    assert FIRST.total() == RoleTraffic(130, 10, 11, 109)
    assert FIRST.total((Role.NEW, Role.VICTIM)) == RoleTraffic(47, 10, 6, 31)
    assert FIRST.total(tuple(Role), 1) == RoleTraffic(57, 0, 3, 54)
    assert FIRST.total().lost == 21


def test_availability_weighs_each_outcome_by_its_probability() -> None:
    found = availability(two_classes(), [FIRST, SECOND], FailureProbabilities(0.9, (0.06, 0.03)))
    served = 0.9 * 130 / 150 + 0.06 * 115 / 150 + 0.03 * 100 / 150
    assert (found.throughput.low, found.throughput.high) == pytest.approx((served, served + 0.01 * 130 / 150))
    # 84 and 77 % arrive of what is sent.
    assert [each.low for each in found.kept] == pytest.approx([0.9, 0.9, 0.9, 0.9])
    assert [each.high for each in found.kept] == pytest.approx([0.91, 0.91, 0.91, 0.91])
    assert [each.low for each in found.guaranteed] == pytest.approx([130 / 150, 100 / 150, 0, 0])
    assert [each.high for each in found.guaranteed] == pytest.approx([130 / 150, 100 / 150, 100 / 150, 100 / 150])
    # The first pair is hurt by one failure, the second by both.
    assert (found.pair_mean.low, found.pair_worst.low) == pytest.approx(((0.93 + 0.9) / 2, 0.9))
    assert (found.pair_mean.high, found.pair_worst.high) == pytest.approx(((0.94 + 0.91) / 2, 0.91))
    assert found.worst_pair == ("s", "t")


def test_availability_of_a_class_is_of_its_pairs() -> None:
    found = availability(two_classes(), [FIRST, SECOND], FailureProbabilities(0.9, (0.06, 0.03)), 0)
    assert found.pair_mean.low == found.pair_worst.low == pytest.approx(0.93)
    assert found.throughput.low == pytest.approx(0.9 * 0.8 + 0.06 * 0.61 + 0.03 * 0.8)
    nothing = availability(two_classes(), [FIRST, SECOND], FailureProbabilities(0.9, (0.06, 0.03)), 2)
    assert (nothing.throughput.low, nothing.throughput.high) == pytest.approx((0.99, 1))
    assert (nothing.pair_mean.low, nothing.pair_worst.high) == pytest.approx((0.99, 1))
    assert nothing.worst_pair == ()


@pytest.mark.parametrize(
    ("probability", "then", "share"),
    [
        (0.5, 0.0, 1.0),
        (0.5 + 0.9e-9, 0.0, 1.0),
        (0.51, 0.0, 0.75),
        (0.8, 0.0, 0.75),
        (0.81, 0.0, 0.25),
        (0.95, 0.0, 0),
        (0.95, 0.5, 0.25),
        (0.81, 0.5, 0.5),
    ],
)
def test_a_share_is_guaranteed_with_the_probability_of_all_states_that_reach_it(
    probability: float, then: float, share: float
) -> None:
    of, served = np.array([0.3, 0.5, 0.1]), np.array([0.75, 1.0, 0.25])
    assert _served_with(of, served, 0.1, then, probability) == share
