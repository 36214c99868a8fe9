"""When rounds of counters begin, and when one is complete."""

from __future__ import annotations

import pytest

from kuijia_app.control.hop_losses import HopLoss
from kuijia_app.control.loss_watch import LossWatch
from kuijia_app.control.sliced_work import at_once
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.control.tunnel_counters import TunnelCounters
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from tests.kuijia_app.plans import both_ways, plan_of

PERIOD = 1.0


def snapshot(switch: str, asked_at: float) -> Snapshot:
    return Snapshot(switch, asked_at, asked_at + 0.01, {}, {}, {}, {}, {}, None, None, 0)


def began_at(now: float, *, suspects: bool = False) -> LossWatch:
    """A watch whose round at this time has ended."""
    watch = LossWatch(0.01)
    list(watch.begin(now, [], frozenset()))
    watch._losses.suspects = suspects
    return watch


def test_nothing_is_due_where_nothing_is_compared() -> None:
    assert not LossWatch(None).is_due(0.0, 1.0)
    assert LossWatch(0.01).is_due(0.0, 1.0)


@pytest.mark.parametrize(
    ("suspects", "period", "after"), [(False, 2.0, 2.0), (True, 2.0, 0.3), (True, 0.2, 0.2), (False, 0.2, 0.2)]
)
def test_a_round_follows_after_its_period_or_soon_where_a_loss_is_to_be_confirmed(
    period: float, after: float, *, suspects: bool
) -> None:
    watch = began_at(10.0, suspects=suspects)
    assert not watch.is_due(10 + after - 0.01, period)
    assert watch.is_due(10 + after, period)


def test_ten_rounds_follow_soon_and_as_many_others_earn_them_again() -> None:
    watch, now = began_at(10.0, suspects=True), 10.0

    def round_after(seconds: float) -> None:
        nonlocal now
        now += seconds
        list(watch.begin(now, [], frozenset()))
        watch._losses.suspects = True

    for _ in range(10):
        assert watch.is_due(now + 0.31, PERIOD)
        round_after(0.31)
    assert not watch.is_due(now + 0.31, PERIOD)
    round_after(PERIOD)
    assert watch.is_due(now + 0.31, PERIOD)
    round_after(0.31)
    assert not watch.is_due(now + 0.31, PERIOD)
    for _ in range(12):  # no more than ten are earned
        round_after(PERIOD)
    for _ in range(10):
        assert watch.is_due(now + 0.31, PERIOD)
        round_after(0.31)
    assert not watch.is_due(now + 0.31, PERIOD)


def test_a_round_is_judged_once_all_have_answered_and_the_next_waits_for_that() -> None:
    watch = LossWatch(0.01)
    assert watch.taken(snapshot("s1", 9.0), 9.0, frozenset()) is None  # no round has begun
    list(watch.begin(10.0, ["s1", "s2"], frozenset()))
    assert watch.taken(snapshot("s1", 10.0), 10.1, frozenset()) is None
    assert watch.taken(snapshot("s1", 10.2), 10.2, frozenset()) is None  # it has answered
    assert watch.taken(snapshot("s2", 9.9), 10.2, frozenset()) is None  # asked before the round
    assert watch.taken(snapshot("s3", 10.2), 10.2, frozenset()) is None  # not of the round
    judging = watch.taken(snapshot("s2", 10.2), 10.3, frozenset())
    assert judging is not None
    assert not watch.is_due(99.0, 2.0)
    list(judging)
    assert watch.is_due(99.0, 2.0)


def test_a_round_that_is_not_complete_is_judged_when_the_next_begins() -> None:
    watch = LossWatch(0.01)
    list(watch.begin(10.0, ["s1"], frozenset()))
    judging = watch.begin(12.0, ["s1"], frozenset())
    assert not watch.is_due(99.0, 2.0)
    list(judging)
    assert watch.is_due(99.0, 2.0)


@pytest.mark.parametrize(("spares", "hit"), [(True, {16}), (False, {16, 18})])
def test_a_loss_hits_all_tunnels_over_its_link_unless_others_cross_it_unharmed(hit: set[int], *, spares: bool) -> None:
    plan, counters = plan_of(both_ways("row", "a b c d", "a-b b-c c-d"), "a-b-c", "c-d", "b-c-d"), TunnelCounters()
    at_once(counters.adding(plan, PipelineOptions(), build_tables(plan)))
    watch = LossWatch(0.01)
    watch.follow(counters)
    stream = next(each for each in counters.streams if each.tunnel == ("a", 16))
    loss = HopLoss(stream, stream.hops[1], 100, 10, reaches_port=None, spares=spares)
    assert {path_id for _, path_id in watch._hit_by(loss)} == hit
