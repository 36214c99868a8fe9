"""The oracle excuses what a fault may cost and nothing else: cases worked out by hand on the square a, b, c, d."""

from __future__ import annotations

from dataclasses import replace

import pytest

from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from testbed.chaos.faults import (
    CLOCK_BACK,
    CONTROLLER_KILLED,
    CUT,
    DATABASE_FROZEN,
    DATABASE_KILLED,
    DISK_FULL,
    FLAP_DOWN,
    FOREVER,
    HANDOVER,
    PEER_KINDS,
    PLAN_REPLACED,
    SWITCH_WIPED,
    SWITCHES_FROZEN,
    SWITCHES_KILLED,
    FaultSpan,
    FaultTimeline,
    away_spans,
)
from testbed.chaos.oracle import (
    OVERLOAD,
    Loss,
    LossWindows,
    PlanInForce,
    ProbeFlow,
    excuses,
    findings,
    owed_to_the_machine,
)

UPPER, LOWER = ("a", "b", "d"), ("a", "c", "d")
CABLES = (("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"))
TOPOLOGY = Topology(
    "square", tuple("abcd"), tuple(Link(*ends, 10.0) for cable in CABLES for ends in (cable, cable[::-1]))
)
PLAN = Plan(
    TOPOLOGY,
    (PairPlan("a", "d", 4, 4, (Tunnel(16, UPPER, 2.0, 0.5), Tunnel(17, LOWER, 2.0, 0.5))),),
    "none",
    0,
    "none",
    0,
)
PLANS = (PlanInForce(0.0, PLAN),)
FLOW = ProbeFlow(0, "a", "d", 0, UPPER)
WINDOWS = LossWindows(before=0.01, local=0.03, remote=0.2, again=1.0)


def may_lose(at: float, timeline: FaultTimeline, flow: ProbeFlow = FLOW, windows: LossWindows = WINDOWS) -> bool:
    loss = Loss(flow.number, at, at, 1)
    return not findings([flow], [loss], PLANS, timeline, windows)


def cut(a: str, b: str, start: float = 10.0, end: float = 20.0) -> FaultSpan:
    return FaultSpan(CUT, (a, b), start, end)


def test_a_loss_while_nothing_is_broken_is_a_finding() -> None:
    assert not may_lose(10.0, FaultTimeline(()))


def test_the_cut_of_a_first_link_may_cost_what_a_switch_needs_to_notice() -> None:
    timeline = FaultTimeline((cut("a", "b"),))
    assert [may_lose(at, timeline) for at in (9.98, 9.995, 10.029, 10.031)] == [False, True, True, False]


def test_the_cut_of_a_link_further_on_may_cost_what_the_controller_needs_to_tell() -> None:
    timeline = FaultTimeline((cut("b", "d"),))
    assert [may_lose(at, timeline) for at in (10.19, 10.21)] == [True, False]


def test_aboriginal_flows_on_other_tunnels_may_lose_nothing() -> None:
    timeline = FaultTimeline((cut("c", "d"), cut("a", "c")))
    assert not any(may_lose(at, timeline) for at in (10.0, 10.1, 20.0, 20.1))


def test_a_victim_may_lose_packets_when_its_backup_is_cut_too() -> None:
    timeline = FaultTimeline((cut("a", "b"), cut("a", "c", 15.0, 15.5)))
    assert not may_lose(14.0, timeline)
    assert may_lose(15.01, timeline)


def test_without_a_tunnel_or_another_path_everything_may_be_lost_until_one_is_back() -> None:
    timeline = FaultTimeline((cut("a", "b", 10, 20), cut("c", "d", 12, 18)))
    assert may_lose(17.0, timeline)
    assert may_lose(18.1, timeline)
    assert not may_lose(19.5, timeline)


DIAGONAL = replace(TOPOLOGY, links=(*TOPOLOGY.links, Link("b", "c", 10.0), Link("c", "b", 10.0)))
CARRIED = (PlanInForce(0.0, replace(PLAN, topology=DIAGONAL)),)
"""The same tunnels where b and c are connected: a-c-b-d lives while a-b and c-d are cut."""

BOTH_CUT = (cut("a", "b"), cut("c", "d"))
BY_BFD = replace(WINDOWS, remote=0.13, by_bfd=True, again=3.0, ends_sessions=0.06)


def may_lose_carried(at: float, timeline: FaultTimeline, windows: LossWindows = WINDOWS) -> bool:
    return not findings([FLOW], [Loss(0, at, at, 1)], CARRIED, timeline, windows)


@pytest.mark.parametrize("windows", [WINDOWS, BY_BFD])
def test_a_pair_without_a_tunnel_is_carried_soon_while_a_path_lives(windows: LossWindows) -> None:
    timeline = FaultTimeline(BOTH_CUT)
    assert [may_lose_carried(at, timeline, windows) for at in (10.9, 11.1, 19.0)] == [True, False, False]


def test_a_carried_pair_may_lose_packets_when_its_path_fails_too() -> None:
    path_cut = FaultTimeline((*BOTH_CUT, cut("b", "c", 14.0, 15.0)))
    assert [may_lose_carried(at, path_cut) for at in (13.9, 14.1, 15.9, 16.1)] == [False, True, True, False]
    wiped = FaultTimeline((*BOTH_CUT, FaultSpan(SWITCH_WIPED, ("c",), 14.0, 14.0)), {"c": ((14.0, 16.0),)})
    assert [may_lose_carried(at, wiped) for at in (13.9, 16.9, 17.1)] == [False, True, False]


def test_nobody_carries_a_pair_while_no_controller_reaches_the_switches() -> None:
    killed = FaultTimeline(BOTH_CUT, dict.fromkeys("abcd", ((9.0, 13.0),)))
    assert [may_lose_carried(at, killed) for at in (13.9, 14.3)] == [True, False]
    killed_meanwhile = FaultTimeline(BOTH_CUT, {"b": ((10.3, 13.0),)})
    assert [may_lose_carried(at, killed_meanwhile) for at in (13.9, 14.3)] == [True, False]
    killed_later = FaultTimeline(BOTH_CUT, {"b": ((12.0, 15.0),)})
    assert not may_lose_carried(12.5, killed_later)


def test_a_plan_without_a_whole_tunnel_may_cost_what_carrying_takes() -> None:
    one_tunnel = replace(PLAN, topology=DIAGONAL, pairs=(replace(PLAN.pairs[0], tunnels=PLAN.pairs[0].tunnels[1:]),))
    plans = (*CARRIED, PlanInForce(12.0, one_tunnel, 13.0))
    timeline = FaultTimeline((cut("c", "d"),))
    lost = [not findings([FLOW], [Loss(0, at, at, 1)], plans, timeline, WINDOWS) for at in (12.5, 13.9, 14.1)]
    assert lost == [True, True, False]


def test_a_link_that_has_flapped_is_not_trusted_until_no_other_tunnel_is_left() -> None:
    flapped = [FaultSpan(FLAP_DOWN, ("b", "d"), 8.0 + 0.2 * number, 8.1 + 0.2 * number) for number in range(6)]
    other_cut = FaultTimeline((*flapped, cut("a", "c")))
    assert [may_lose(at, other_cut) for at in (10.1, 10.19, 10.21)] == [True, True, False]
    out_of_reach = replace(other_cut, away={"a": ((9.5, 11.0),)})
    assert [may_lose(at, out_of_reach) for at in (12.1, 12.3)] == [True, False]
    assert not may_lose(13.25, FaultTimeline((*flapped, cut("a", "c", 13.2))))
    assert not may_lose(10.1, FaultTimeline((*flapped[:3], cut("a", "c"))))
    with_bfd = replace(WINDOWS, by_bfd=True, again=0.1)
    assert not may_lose(10.1, other_cut, windows=with_bfd)


def test_the_other_tunnel_is_of_no_use_until_its_bfd_sessions_are_up_again() -> None:
    windows = replace(WINDOWS, remote=0.13, by_bfd=True, again=3.0)
    just_healed = FaultTimeline((cut("c", "d", 5.0, 9.5), cut("b", "d")))
    assert [may_lose(at, just_healed, windows=windows) for at in (10.2, 12.6, 12.7)] == [True, True, False]
    long_healed = FaultTimeline((cut("c", "d", 5.0, 6.5), cut("b", "d")))
    assert [may_lose(at, long_healed, windows=windows) for at in (10.1, 10.2)] == [True, False]


def test_a_controller_that_is_away_prolongs_the_loss_of_links_further_on_only() -> None:
    away = dict.fromkeys("abcd", ((9.0, 13.0),))
    killed = FaultSpan(CONTROLLER_KILLED, (), 9.0, 12.0)
    assert may_lose(13.5, FaultTimeline((killed, cut("b", "d")), away))
    assert not may_lose(10.1, FaultTimeline((killed, cut("a", "b")), away))
    assert not may_lose(11.0, FaultTimeline((killed,), away))


def test_bfd_needs_no_controller() -> None:
    away = dict.fromkeys("abcd", ((9.0, 13.0),))
    timeline = FaultTimeline((FaultSpan(CONTROLLER_KILLED, (), 9.0, 12.0), cut("b", "d")), away)
    windows = LossWindows(remote=0.13, by_bfd=True)
    assert [may_lose(at, timeline, windows=windows) for at in (10.12, 10.14)] == [True, False]


@pytest.mark.parametrize(
    "kind", [CONTROLLER_KILLED, DATABASE_FROZEN, DISK_FULL, CLOCK_BACK, HANDOVER, *PEER_KINDS, PLAN_REPLACED]
)
def test_what_forwards_nothing_may_cost_nothing(kind: str) -> None:
    assert not may_lose(11.0, FaultTimeline((FaultSpan(kind, (), 10.0, 15.0),)))


def test_a_wiped_switch_costs_what_crosses_it_until_it_is_programmed_again() -> None:
    timeline = FaultTimeline((FaultSpan(SWITCH_WIPED, ("b",), 10.0, 10.0),), {"b": ((10.0, 12.0),)})
    other = FaultTimeline((FaultSpan(SWITCH_WIPED, ("z",), 10.0, 10.0),), {"z": ((10.0, 12.0),)})
    assert may_lose(11.9, timeline)
    assert not may_lose(13.1, timeline)
    assert not may_lose(11.0, other)


@pytest.mark.parametrize(("kind", "until"), [(SWITCHES_FROZEN, 12.0), (SWITCHES_KILLED, 14.0), (DATABASE_KILLED, 12.0)])
def test_switches_that_stand_still_cost_everything_until_they_are_programmed(kind: str, until: float) -> None:
    timeline = FaultTimeline((FaultSpan(kind, (), 10.0, 11.0),), {"c": ((10.0, 13.0),)})
    assert may_lose(until - 0.1, timeline)
    assert not may_lose(until + 0.1, timeline)


def test_after_a_new_plan_a_flow_may_be_on_any_tunnel_of_its_pair() -> None:
    plans = (*PLANS, PlanInForce(5.0, PLAN))
    timeline = FaultTimeline((cut("a", "c"),))
    (down, up) = excuses(FLOW, plans, timeline, WINDOWS)
    assert (down.start, down.end) == pytest.approx((9.99, 10.03))
    assert (up.start, up.end) == pytest.approx((19.99, 20.03))


def test_a_gap_longer_than_its_excuse_is_a_finding_with_what_was_broken() -> None:
    (finding,) = findings([FLOW], [Loss(0, 10.0, 10.1, 50)], PLANS, FaultTimeline((cut("a", "b"),)), WINDOWS)
    assert [span.title for span in finding.near] == ["cut a-b"]


def test_losses_of_an_overloaded_machine_are_not_judged() -> None:
    timeline = FaultTimeline((), overloaded=((10.0, 10.25),))
    assert may_lose(10.1, timeline)
    assert [excuse.why for excuse in excuses(FLOW, PLANS, timeline, WINDOWS)] == [OVERLOAD]


def test_time_in_which_the_machine_ran_no_switch_does_not_count() -> None:
    broken = cut("a", "b")
    assert not may_lose(10.05, FaultTimeline((broken,)))
    assert may_lose(10.05, FaultTimeline((broken,), stalled=((10.01, 10.04),)))
    assert not may_lose(10.065, FaultTimeline((broken,), stalled=((10.01, 10.04),)))
    assert may_lose(10.075, FaultTimeline((broken,), stalled=((10.01, 10.04), (10.05, 10.07))))


def test_a_stall_alone_excuses_nothing() -> None:
    assert not may_lose(10.05, FaultTimeline((), stalled=((10.0, 10.1),), starved=((10.0, 10.1),)))


def test_time_in_which_it_ran_no_controller_counts_for_what_switches_do_alone() -> None:
    starved = ((10.01, 10.11),)
    assert not may_lose(10.05, FaultTimeline((cut("a", "b"),), starved=starved))
    assert may_lose(10.25, FaultTimeline((cut("b", "d"),), starved=starved))


def test_what_only_the_machine_excuses_is_told() -> None:
    losses = [Loss(0, 10.0, 10.0, 1), Loss(0, 10.05, 10.05, 1), Loss(0, 30.0, 30.0, 1), Loss(0, 40.0, 40.0, 1)]
    timeline = FaultTimeline((cut("a", "b"),), stalled=((10.01, 10.04),), overloaded=((29.9, 30.1),))
    owed = owed_to_the_machine([FLOW], losses, PLANS, timeline, WINDOWS)
    assert [each.loss.first for each in owed] == [10.05, 30.0]
    assert [each.loss.first for each in findings([FLOW], losses, PLANS, timeline, WINDOWS)] == [40.0]


def test_a_stall_that_ends_bfd_sessions_costs_nothing_unless_a_link_is_broken_too() -> None:
    stalls = ((10.0, 10.07), (20.0, 20.05))
    assert not may_lose(10.5, FaultTimeline((), stalled=stalls), windows=BY_BFD)
    broken = (cut("c", "d", 8.0, 9.0), cut("c", "d", 18.0, 19.0))
    timeline = FaultTimeline(broken, stalled=stalls)
    assert [may_lose(at, timeline, windows=BY_BFD) for at in (10.5, 13.0, 13.2, 20.5)] == [True, True, False, False]
    assert not may_lose(10.5, timeline)
    close = tuple((10.0 + 0.025 * number, 10.019 + 0.025 * number) for number in range(4))
    assert may_lose(10.5, FaultTimeline(broken, stalled=close), windows=BY_BFD)
    apart = tuple((10.0 + 0.1 * number, 10.019 + 0.1 * number) for number in range(4))
    assert not may_lose(10.5, FaultTimeline(broken, stalled=apart), windows=BY_BFD)


def test_sessions_that_end_with_a_standstill_cost_nothing_after_it_unless_a_link_is_broken_too() -> None:
    frozen = FaultSpan(SWITCHES_FROZEN, (), 10.0, 11.0)
    assert [may_lose(at, FaultTimeline((frozen,)), windows=BY_BFD) for at in (11.9, 12.1)] == [True, False]
    broken = FaultTimeline((frozen, cut("c", "d", 8.5, 9.0)))
    assert [may_lose(at, broken, windows=BY_BFD) for at in (13.9, 14.1)] == [True, False]


def test_traffic_may_follow_the_plan_before_until_an_update_has_ended() -> None:
    one_tunnel = replace(PLAN, pairs=(replace(PLAN.pairs[0], tunnels=PLAN.pairs[0].tunnels[1:]),))
    timeline = FaultTimeline((cut("b", "d", 12.0, 12.1),))
    loss = Loss(0, 12.0, 12.1, 50)
    quick = (PlanInForce(0.0, PLAN), PlanInForce(5.0, one_tunnel, 6.0))
    slow = (PlanInForce(0.0, PLAN), PlanInForce(5.0, one_tunnel, 13.0))
    assert findings([FLOW], [loss], quick, timeline, WINDOWS)
    assert not findings([FLOW], [loss], slow, timeline, WINDOWS)


def test_a_switch_is_away_from_its_loss_until_it_is_next_ready() -> None:
    away = away_spans([(1.0, "a"), (5.0, "a"), (2.0, "b")], [(0.5, "a"), (3.0, "a"), (9.0, "a")], FOREVER)
    assert away == {"a": ((1.0, 3.0), (5.0, 9.0)), "b": ((2.0, FOREVER),)}
    timeline = FaultTimeline((), {"a": ((1.0, 3.0), (2.5, 4.0))})
    assert timeline.in_reach_from(["a"], 2.0) == 4.0
    assert timeline.in_reach_from(["b"], 2.0) == 2.0
