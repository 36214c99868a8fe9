"""Tunnels that lose packets: left unused, tried again ever later, and forgotten once they are clean."""

from __future__ import annotations

from dataclasses import replace

from kuijia_app.control.hop_losses import HopLoss
from kuijia_app.control.lossy_tunnels import LossyTunnels
from kuijia_app.control.sliced_work import at_once
from kuijia_app.control.tunnel_counters import TunnelCounters
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from tests.kuijia_app.plans import motivation_plan

CLEAN, CLOSE_LOOK, FIRST_PAUSE, LONGEST_PAUSE = 60.0, 3.0, 20.0, 640.0

T1, T2 = ("s1", 16), ("s1", 17)


def a_loss(lost: int = 10, hop: int = 1) -> HopLoss:
    plan, counters = motivation_plan(), TunnelCounters()
    at_once(counters.adding(plan, PipelineOptions(), build_tables(plan)))
    stream = next(each for each in counters.streams if each.tunnel == T1)
    return HopLoss(stream, stream.hops[hop], 100, lost, reaches_port=None, spares=True)


def test_a_lossy_tunnel_is_tried_again_ever_later() -> None:
    lossy, now = LossyTunnels(), 100.0
    for pause in (FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE):
        lossy.lost(a_loss(), frozenset({T2}), now)
        assert lossy.shares == {T1: 0.1, T2: 0.1}
        assert not lossy.passed(now + pause - 0.1)
        now += pause
        assert lossy.passed(now) == {T1, T2}
        assert not lossy.shares
        assert lossy.looks_closely(now)
    for _ in range(20):
        lossy.lost(a_loss(), frozenset(), now)
        now += LONGEST_PAUSE
        assert lossy.passed(now)


def test_a_tunnel_that_is_clean_for_a_while_is_history() -> None:
    lossy = LossyTunnels()
    lossy.lost(a_loss(), frozenset(), 0.0)
    lossy.passed(FIRST_PAUSE)
    assert [loss.tunnel for loss in lossy.losses] == [T1]
    lossy.passed(FIRST_PAUSE + CLEAN)
    assert [loss.tunnel for loss in lossy.losses] == []
    lossy.lost(a_loss(), frozenset(), 1000.0)
    assert lossy.passed(1000.0 + FIRST_PAUSE) == {T1}


def test_another_loss_of_a_tunnel_that_is_unused_does_not_postpone_its_trial() -> None:
    lossy = LossyTunnels()
    lossy.lost(a_loss(10), frozenset(), 0.0)
    lossy.lost(a_loss(40), frozenset(), FIRST_PAUSE - 1)
    assert lossy.shares == {T1: 0.4}
    assert lossy.passed(FIRST_PAUSE) == {T1}


def test_forgets_tunnels_that_no_plan_has() -> None:
    lossy = LossyTunnels()
    lossy.lost(a_loss(), frozenset({T2}), 0.0)
    lossy.keep(frozenset({T1}))
    assert lossy.shares.keys() == {T1}
    lossy.keep(frozenset({T2}))
    assert not lossy.shares


def test_a_loss_whose_own_tunnel_no_plan_has_is_over_for_all_that_it_hit() -> None:
    lossy = LossyTunnels()
    lossy.lost(a_loss(), frozenset({T2}), 0.0)
    lossy.keep(frozenset({T2}))
    assert (dict(lossy.shares), lossy.losses) == ({}, ())


def test_a_lossy_tunnel_is_tried_as_soon_as_a_switch_at_the_loss_is_put_right_but_no_trial_is_cut_short() -> None:
    lossy = LossyTunnels()
    loss = a_loss()
    lossy.lost(loss, frozenset(), 0.0)
    lossy.mended("elsewhere", 1.0)
    assert not lossy.passed(1.0)
    lossy.mended(loss.hop.receiver, 2.0)
    assert lossy.passed(2.0) == {T1}
    lossy.mended(loss.hop.receiver, 3.0)
    lossy.passed(3.0)
    assert [each.tunnel for each in lossy.losses] == [T1]


def test_one_trial_at_its_beginning_is_looked_at_closely_whatever_else_is_lossy() -> None:
    lossy = LossyTunnels()
    other = a_loss()
    lossy.lost(a_loss(), frozenset(), 0.0)
    lossy.lost(replace(other, stream=replace(other.stream, tunnel=T2)), frozenset(), 1.0)
    assert not lossy.looks_closely(1.0)
    assert lossy.passed(FIRST_PAUSE) == {T1}
    assert lossy.looks_closely(FIRST_PAUSE + CLOSE_LOOK - 0.1)
    assert not lossy.looks_closely(FIRST_PAUSE + CLOSE_LOOK)


def test_no_more_than_so_many_losses_are_remembered() -> None:
    lossy, loss = LossyTunnels(), a_loss()
    for number in range(300):
        lossy.lost(replace(loss, stream=replace(loss.stream, tunnel=("s1", number))), frozenset(), 0.0)
    assert [each.tunnel[1] for each in lossy.losses] == list(range(256))
