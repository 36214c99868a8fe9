"""Switches that fail, and ports that flap, in runs of a plan."""

from __future__ import annotations

import numpy as np
import pytest

from kuijia_app.control.flap_damping import CEILING, HALF_LIFE, REUSE, SUPPRESS
from kuijia_app.tables.options import PipelineOptions
from kuijia_base.errors import UnsoundError
from simulator.packet.transports import ConstantRate
from simulator.planned.events import Cut, CutNode, Event, Heal, HealNode, Replace, Timing
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from te_solver.schemes.shipped.kuijia import KUIJIA
from tests.simulator.planned.plans import diamond

BOTH = PipelineOptions(KUIJIA)
TICKS = ConstantRate(rate=8.0, packet=1000)
"""A packet every millisecond."""


def test_a_failed_switch_is_avoided_until_it_works_again() -> None:
    traffic = [SiteFlows.of([("a", "d")], TICKS, size=3_000_000, tunnel=0)]
    events: list[Event] = [CutNode(1.0005, "b"), HealNode(2.0005, "b")]
    results = PlanRun(diamond(), BOTH, traffic, timing=Timing(port=0.01), events=events).run(4.0, window=1.0)
    by_b, by_c = (results.windows.queue_sent[:, results.output("a", way)] // 1000 for way in "bc")
    assert by_c[1].tolist() == [0, 0, pytest.approx(990, abs=2)]
    assert by_b[2].sum() == pytest.approx(990, abs=2)
    assert int(results.flows.dropped[0]) == pytest.approx(11, abs=2)


def test_nothing_leaves_or_reaches_hosts_of_a_failed_switch() -> None:
    traffic = [SiteFlows.of([("a", "d")], TICKS, size=3_000_000)]
    for end in "ad":
        events: list[Event] = [CutNode(1.0005, end), HealNode(2.0005, end)]
        results = PlanRun(diamond(), BOTH, traffic, events=events).run(4.0, window=1.0)
        assert results.windows.arrived[:, 0].tolist() == pytest.approx([998, 0, 1000, 0], abs=5)


def test_a_cable_cut_meanwhile_stays_cut_when_the_switch_works_again() -> None:
    traffic = [SiteFlows.of([("a", "d")], TICKS, size=5_000_000, tunnel=0)]
    events: list[Event] = [CutNode(1.0, "b"), Cut(1.5, ("b", "d")), HealNode(2.0, "b"), Heal(3.0, ("b", "d"))]
    results = PlanRun(diamond(), BOTH, traffic, timing=Timing(port=0.01), events=events).run(5.0, window=1.0)
    by_b = results.windows.queue_sent[:, results.output("a", "b")].sum(axis=1) // 1000
    assert by_b[1] < 15
    assert by_b[2] < 15
    assert by_b[4] == pytest.approx(1000, abs=5)


def test_a_plan_comes_into_force_when_a_failed_switch_that_it_needs_works_again() -> None:
    traffic = [SiteFlows.of([("a", "d")] * 2, ConstantRate(1.0, 1000), size=500_000, slot=[0, 32])]
    events: list[Event] = [CutNode(1.0, "e"), Replace(1.5, diamond((0.0, 0.5, 0.5))), HealNode(3.0, "e")]
    timing = Timing(controller=0.01, drain=0.5)
    results = PlanRun(diamond((1.0,)), BOTH, traffic, timing=timing, events=events).run(6.0)
    assert results.flows.dropped.sum() == 0
    states = {state: time for time, _, state in results.progress}
    assert states["live"] == pytest.approx(3.03, abs=0.02)
    assert states["done"] > states["live"] + 0.5


def test_a_port_that_flaps_is_held_down_until_it_has_calmed_down() -> None:
    traffic = [SiteFlows.of([("a", "d")], TICKS, size=9_000_000, tunnel=0)]
    flaps = [Change(1.0 + 0.1 * number + 0.05 * late, ("b", "d")) for number in range(5) for late, Change in FLAPS]
    timing = Timing(port=0.001, controller=0.002)
    results = PlanRun(diamond(), BOTH, traffic, timing=timing, events=flaps).run(9.0, window=0.05)
    assert {(switch, port) for _, switch, port in results.damped} == {("b", 2), ("d", 1)}
    held = results.damped[0][0]
    assert held == pytest.approx(1.0 + 0.1 * np.floor(SUPPRESS) + 0.003)
    after = np.flatnonzero(results.windows.queue_sent[:, results.output("b", "d")].sum(axis=1))
    again = float(results.windows.edges[after[after > 30][0]])
    # The cable works from 1.45 s on; the fifth failure came at 1.4 s.
    penalty = sum(0.5 ** (0.1 * earlier / HALF_LIFE) for earlier in range(5))
    assert again == pytest.approx(1.4 + HALF_LIFE * np.log2(min(penalty, CEILING) / REUSE), abs=0.12)


def test_a_tunnel_over_a_port_that_flaps_is_used_as_soon_as_its_pair_has_no_other() -> None:
    traffic = [SiteFlows.of([("a", "d")], TICKS, size=9_000_000, tunnel=0)]
    flaps = [Change(1.0 + 0.1 * number + 0.05 * late, ("b", "d")) for number in range(5) for late, Change in FLAPS]
    events: list[Event] = [*flaps, Cut(2.0, ("a", "c"))]
    timing = Timing(port=0.001, controller=0.002)
    results = PlanRun(diamond(), BOTH, traffic, timing=timing, events=events).run(4.0, window=0.05)
    after = np.flatnonzero(results.windows.queue_sent[:, results.output("b", "d")].sum(axis=1))
    again = float(results.windows.edges[after[after > 30][0]])
    assert again == pytest.approx(2.0, abs=0.06)


FLAPS = ((0, Cut), (1, Heal))


def test_a_switch_that_is_unknown_is_refused() -> None:
    with pytest.raises(UnsoundError, match="there is no node"):
        PlanRun(diamond(), BOTH, [], events=[CutNode(1.0, "x")])
