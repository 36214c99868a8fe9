"""Full queues excuse those who may wait in them and nobody above them: cases worked out on a square with two pairs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import PLAIN_LAYOUT, QueueLayout
from kuijia_base.errors import TestbedError
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from te_solver.schemes.shipped.rescaling import RESCALING
from testbed.chaos.faults import CUT, FLAP_DOWN, SLOW, SWITCH_WIPED, FaultSpan, FaultTimeline
from testbed.chaos.full_queues import HELD_SECONDS, FullQueueLoad, busiest_share, full_queue_excuses
from testbed.chaos.load import load_of, paces_of
from testbed.chaos.oracle import Loss, LossWindows, PlanInForce, ProbeFlow, findings
from testbed.chaos.probes import Probe

UPPER, LOWER = ("a", "b", "d"), ("a", "c", "d")
TOPOLOGY = Topology(
    "square",
    tuple("abcd"),
    tuple(Link(x, y, 10.0) for x, y in ("ab", "ba", "bd", "db", "ac", "ca", "cd", "dc")),
)
WINDOWS = LossWindows(before=0.01, local=0.03, remote=0.2, again=1.0)
TICK = 0.01


def plan_with(*rates: tuple[float, float]) -> Plan:
    """Return a plan for the pair a, d: for each class the rates of the upper and of the lower tunnel."""
    pairs = [
        PairPlan("a", "d", up + low, up + low, (Tunnel(16, UPPER, up, 0.5), Tunnel(17, LOWER, low, 0.5)), priority)
        for priority, (up, low) in enumerate(rates)
    ]
    return Plan(TOPOLOGY, tuple(pairs), "none", 0, "none", 0)


ONE_CLASS = plan_with((10.0, 10.0))
TWO_CLASSES = plan_with((3.0, 3.0), (7.0, 7.0))


def flow(tunnel: tuple[str, ...], priority: int = 0, number: int = 0) -> ProbeFlow:
    return ProbeFlow(number, "a", "d", priority, tunnel)


def probes_of(plan: Plan) -> list[Probe]:
    flows = [flow(tunnel.nodes, pair.priority) for pair in plan.pairs for tunnel in pair.tunnels]
    return [Probe(replace(each, number=number), f"10.0.0.{number}", 1, 0) for number, each in enumerate(flows)]


def load(plan: Plan, layout: QueueLayout = PLAIN_LAYOUT, options: PipelineOptions | None = None) -> FullQueueLoad:
    probes = probes_of(plan)
    options = options or PipelineOptions(layout=layout)
    return load_of(plan, probes, paces_of(plan, 0.9, probes), TICK, options, 100)


def may_lose(of: FullQueueLoad, plan: Plan, timeline: FaultTimeline, flow: ProbeFlow, *times: float) -> list[bool]:
    plans = [PlanInForce(0.0, plan)]
    others = full_queue_excuses(of, plans, timeline, WINDOWS)
    return [not findings([flow], [Loss(flow.number, at, at, 1)], plans, timeline, WINDOWS, others) for at in times]


def cut(a: str, b: str, start: float = 10.0, end: float = 20.0) -> FaultSpan:
    return FaultSpan(CUT, (a, b), start, end)


def test_full_links_excuse_nothing_while_nothing_is_broken() -> None:
    assert busiest_share(load(ONE_CLASS), ONE_CLASS) == pytest.approx(0.9, abs=0.02)
    assert may_lose(load(ONE_CLASS), ONE_CLASS, FaultTimeline(()), flow(UPPER), 5.0, 50.0) == [False, False]


def test_victims_may_lose_packets_in_the_queue_of_others_and_the_others_may_not() -> None:
    timeline = FaultTimeline((cut("b", "d"),))
    assert may_lose(load(ONE_CLASS), ONE_CLASS, timeline, flow(UPPER), 9.0, 15.0, 23.0) == [False, True, False]
    assert may_lose(load(ONE_CLASS), ONE_CLASS, timeline, flow(LOWER), 10.1, 15.0, 20.1) == [False] * 3


def test_victims_that_are_not_demoted_cost_the_others_packets() -> None:
    rescaled = load(ONE_CLASS, options=PipelineOptions(scheme=RESCALING))
    timeline = FaultTimeline((cut("b", "d"),))
    assert may_lose(rescaled, ONE_CLASS, timeline, flow(LOWER), 9.0, 15.0, 23.0) == [False, True, False]


def test_victims_that_find_room_may_lose_nothing() -> None:
    plan = plan_with((4.0, 4.0))
    assert may_lose(load(plan), plan, FaultTimeline((cut("b", "d"),)), flow(UPPER), 15.0) == [False]


def test_victims_of_a_high_class_cost_lower_classes_packets_and_lose_none_themselves() -> None:
    of = load(TWO_CLASSES, LAYOUTS["four"])
    timeline = FaultTimeline((cut("b", "d"),))
    assert may_lose(of, TWO_CLASSES, timeline, flow(UPPER, 0), 15.0) == [False]
    assert may_lose(of, TWO_CLASSES, timeline, flow(LOWER, 0), 15.0) == [False]
    assert may_lose(of, TWO_CLASSES, timeline, flow(UPPER, 1), 15.0) == [True]
    assert may_lose(of, TWO_CLASSES, timeline, flow(LOWER, 1), 9.0, 15.0, 23.0) == [False, True, False]


def test_a_slow_link_costs_those_who_use_it() -> None:
    timeline = FaultTimeline((FaultSpan(SLOW, ("a", "b"), 10.0, 20.0),))
    assert may_lose(load(ONE_CLASS), ONE_CLASS, timeline, flow(UPPER), 9.5, 15.0, 22.0) == [False, True, False]
    assert may_lose(load(ONE_CLASS), ONE_CLASS, timeline, flow(LOWER), 15.0) == [False]
    light = plan_with((2.0, 2.0))
    assert may_lose(load(light), light, timeline, flow(UPPER), 15.0) == [False]


def test_a_slow_link_may_end_bfd_sessions_whose_packets_wait_with_others() -> None:
    slow = FaultTimeline((FaultSpan(SLOW, ("a", "b"), 10.0, 20.0),))
    of, plans = load(TWO_CLASSES, LAYOUTS["four"]), [PlanInForce(0.0, TWO_CLASSES)]
    by_bfd = replace(WINDOWS, by_bfd=True)
    assert not full_queue_excuses(of, plans, slow, WINDOWS)(flow(LOWER, 1))
    assert full_queue_excuses(of, plans, slow, by_bfd)(flow(LOWER, 1))
    assert not full_queue_excuses(of, plans, slow, by_bfd)(flow(LOWER, 0))


def test_a_victim_stays_one_until_the_controller_has_told_its_ingress_and_trusts_the_port() -> None:
    timeline = FaultTimeline((cut("b", "d"),), away={"d": ((19.0, 30.0),)})
    assert may_lose(load(ONE_CLASS), ONE_CLASS, timeline, flow(UPPER), 30.5, 33.0) == [True, False]
    flapping = tuple(FaultSpan(FLAP_DOWN, ("b", "d"), 10 + 0.15 * number, 10.07 + 0.15 * number) for number in range(6))
    held_until = 10.9 + HELD_SECONDS
    assert may_lose(load(ONE_CLASS), ONE_CLASS, FaultTimeline(flapping), flow(UPPER), held_until, 18.0) == [True, False]


def test_a_wiped_switch_makes_victims_of_those_who_cross_it() -> None:
    timeline = FaultTimeline((FaultSpan(SWITCH_WIPED, ("b",), 10.0, 10.0),), {"b": ((10.0, 12.0),)})
    of = load(TWO_CLASSES, LAYOUTS["four"])
    assert may_lose(of, TWO_CLASSES, timeline, flow(LOWER, 1), 11.0, 16.0) == [True, False]
    assert not full_queue_excuses(of, [PlanInForce(0.0, TWO_CLASSES)], timeline, WINDOWS)(flow(LOWER, 0))


def test_another_plan_may_put_every_flow_elsewhere() -> None:
    plans = [PlanInForce(0.0, TWO_CLASSES), PlanInForce(5.0, TWO_CLASSES)]
    others = full_queue_excuses(load(TWO_CLASSES, LAYOUTS["four"]), plans, FaultTimeline(()), WINDOWS)
    for priority, is_finding in ((0, True), (1, False)):
        loss = Loss(0, 8.0, 8.0, 1)
        found = findings([flow(UPPER, priority)], [loss], plans, FaultTimeline(()), WINDOWS, others)
        assert bool(found) is is_finding


def test_a_load_that_does_not_fit_is_refused() -> None:
    probes = probes_of(ONE_CLASS)
    with pytest.raises(TestbedError, match=r"105% of its rate"):
        load_of(ONE_CLASS, probes, paces_of(ONE_CLASS, 1.04, probes), TICK, PipelineOptions(), 100)


def test_tunnels_without_a_rate_get_no_load() -> None:
    plan = plan_with((10.0, 0.0))
    assert [each.flow.tunnel for each in paces_of(plan, 0.5, probes_of(plan))] == [UPPER]
