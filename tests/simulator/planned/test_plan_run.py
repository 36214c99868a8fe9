"""Plans in the packet model: their tables over time, failures, who notices them when, and changes of plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_app.proof.model.network import End, ModelNetwork
from kuijia_app.proof.model.packet import Packet
from kuijia_app.tables.classifiers import Classifier, Classifiers
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.rules import TCP, UDP, Output
from kuijia_app.tables.stated_wiring import stated
from kuijia_app.tables.wiring import HostEnd, Wiring
from kuijia_base.errors import InputError, UnsoundError
from simulator.packet.queues import Fifo
from simulator.packet.simulation import Simulation
from simulator.packet.transports import ConstantRate, Packets, Tcp
from simulator.planned.events import Bfd, Cut, Event, Heal, Replace, Timing, controller_at
from simulator.planned.network import Physical
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from te_solver.model.failures import Failure
from te_solver.schemes.all_schemes import failure_scheme
from te_solver.schemes.failure_scheme import FailureScheme
from te_solver.schemes.shipped.kuijia import KUIJIA
from te_solver.schemes.shipped.rescaling import RESCALING
from testbed.crosscheck.random_cases import random_failure, random_plan
from tests.kuijia_app.plans import motivation_plan
from tests.simulator.planned.plans import diamond

PACKET = 1000
BOTH = PipelineOptions(scheme=KUIJIA)
MILLISECOND_TICKS = ConstantRate(rate=8.0, packet=1000)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_packets_take_the_ways_and_queues_of_the_model_before_and_after_failures(seed: int) -> None:
    random = Random(seed)
    case = random_plan(random)
    plan, options = case.plan, replace(case.options, wiring=None)  # all sites have IPv4, which its hosts send
    if not options.scheme.is_precut:  # the simulated controller changes no ranges
        options = replace(options, scheme=RESCALING)
    failure = random_failure(plan, random)
    failure = Failure(failure.name, failure.edges)
    times = np.array([1.0, 10.0])
    traffic = []
    for pair in plan.pairs:
        slots = [random.randrange(options.slot_count) for _ in range(4)]
        sent = Packets(times, np.array([PACKET, PACKET]))
        traffic.append(SiteFlows.of([(pair.source, pair.target)] * 4, sent, slot=slots, priority=pair.priority))
    run = PlanRun(plan, options, traffic, events=[Cut(5.0, edge) for edge in failure.edges])
    results = run.run(12.0, window=6.0)

    model = ModelNetwork(plan, build_tables(plan, options), options.liveness)
    for window, state in enumerate((Failure("none"), failure)):
        model.fail(state)
        expected: Counter[tuple[str, str, int]] = Counter()
        delivered = []
        for group in traffic:
            for (source, target), priority, slot in zip(group.pairs, group.priority, group.slot, strict=True):
                walk = model.walk(source, entering(model, options, source, target, int(priority), int(slot)))
                # A packet of the last resort may reach a dead link, which sends nothing.
                for hop in walk.hops[:-1] if walk.end is End.LOST else walk.hops:
                    if hop.out_port is None or hop.sent is None:
                        continue
                    place = next(k for k, queue in enumerate(options.layout.queues) if queue.queue_id == hop.sent.queue)
                    towards = model.wiring.neighbour_at(hop.switch, hop.out_port) or hop.switch
                    expected[hop.switch, towards, place] += 1
                delivered.append(walk.delivered_to == (target, model.wiring.host_port(target)))
        sent_packets = results.windows.queue_sent[window] // PACKET
        found = {(*results.outputs[k], q): n for (k, q), n in np.ndenumerate(sent_packets) if n}
        assert found == dict(expected)
        assert results.windows.arrived[window].tolist() == list(map(int, delivered))


def entering(
    model: ModelNetwork, options: PipelineOptions, source: str, target: str, priority: int, slot: int
) -> Packet:
    marks = next(each.code_points for each in options.layout.classes if each.priority == priority)
    ends = model.wiring.host_address(source), model.wiring.host_address(target)
    return Packet(model.wiring.host_port(source), *ends, marks[0] if marks else 0, slot=slot)


def test_a_fault_in_a_table_shows_as_lost_packets() -> None:
    plan = diamond()
    tables = build_tables(plan, BOTH)
    entries = tuple(
        replace(entry, actions=tuple(Output(1) if isinstance(each, Output) else each for each in entry.actions))
        for entry in tables["b"].flows
    )
    wrong = {**tables, "b": replace(tables["b"], flows=entries)}
    traffic = [SiteFlows.of([("a", "d")] * 2, ConstantRate(1.0), size=15_000, tunnel=[0, 1])]
    results = PlanRun(plan, BOTH, traffic, tables=wrong).run(1.0)
    assert results.flows.dropped.tolist() == [10, 0]
    assert results.totals.unroutable == 10


def test_hashed_flows_spread_over_tunnels_by_weight() -> None:
    plan = diamond((0.75, 0.25, 0.0))
    count = 2000
    sent = Packets(np.array([0.0]), np.array([PACKET]))
    results = PlanRun(plan, BOTH, [SiteFlows.of([("a", "d")] * count, sent)]).run(2.0)
    by_b = results.windows.queue_sent[0, results.output("a", "b")].sum() / PACKET / count
    assert abs(by_b - 0.75) < 4 * np.sqrt(0.75 * 0.25 / count)


def test_acknowledgements_take_the_tunnel_of_their_flow() -> None:
    plan = diamond()
    traffic = [SiteFlows.of([("a", "d")], Tcp(), size=100_000, tunnel=1)]
    results = PlanRun(plan, BOTH, traffic).run(5.0)
    sent = results.windows.queue_sent[0].sum(axis=1)
    used = {ends for ends, count in zip(results.outputs, sent, strict=True) if count}
    assert used == {("a", "c"), ("c", "d"), ("d", "d"), ("d", "c"), ("c", "a"), ("a", "a")}
    assert results.flows.goodput.tolist() == [100_000]


@pytest.mark.parametrize("scheme", [KUIJIA, RESCALING])
def test_victims_yield_to_the_flows_that_were_there_under_kuijia_only(scheme: FailureScheme) -> None:
    plan = diamond()
    options = replace(BOTH, scheme=scheme)
    traffic = [SiteFlows.of([("a", "d")] * 2, ConstantRate(95.0), tunnel=[0, 1])]
    run = PlanRun(plan, options, traffic, Physical(queue=Fifo(limit=50_000)), events=[Cut(0.5, ("a", "b"))])
    rates = run.run(1.5, window=0.25).windows.goodput_rates
    moved, stayed = rates[-1]
    assert abs(rates[1] - 95).max() < 3
    if scheme is KUIJIA:
        assert stayed > 94
        assert moved < 6
    else:
        assert abs(stayed - moved) < 20
        assert stayed < 65


@pytest.mark.parametrize("edge", [("a", "b"), ("b", "d")])
def test_packets_are_lost_until_the_ingress_knows(edge: tuple[str, str]) -> None:
    delays = {"a": 0.010, "b": 0.020, "c": 0.0, "d": 0.030, "e": 0.0}
    timing = Timing(port=0.005, controller=delays, reaction=0.002)
    traffic = [SiteFlows.of([("a", "d")], MILLISECOND_TICKS, size=2_000_000, tunnel=0)]
    events: list[Event] = [Cut(0.5003, edge), Heal(1.2003, edge)]
    results = PlanRun(diamond(), BOTH, traffic, timing=timing, events=events).run(3.0)
    # b reports the cut of its link to d before d does. Packets under way at the cut are lost as well.
    noticed = 5 if edge == ("a", "b") else 5 + 20 + 2 + 10
    under_way = 1 if edge == ("a", "b") else 0
    before = 1 if edge == ("b", "d") else 0
    assert abs(int(results.flows.dropped[0]) - (noticed + under_way + before)) <= 1
    # On its way back traffic waits for the slower of the two ends.
    back = results.windows.queue_sent[0, results.output("b", "d"), 0:2].sum()
    assert back > 0


def test_a_cut_that_heals_before_it_is_seen_moves_nothing() -> None:
    timing = Timing(port=0.010)
    traffic = [SiteFlows.of([("a", "d")], MILLISECOND_TICKS, size=1_000_000, tunnel=0)]
    events: list[Event] = [Cut(0.5003, ("a", "b")), Heal(0.5063, ("a", "b"))]
    results = PlanRun(diamond(), BOTH, traffic, timing=timing, events=events).run(2.0)
    assert results.windows.queue_sent[0, results.output("a", "c")].sum() == 0
    assert 6 <= results.flows.dropped[0] <= 8


@pytest.mark.parametrize("seed", range(1, 6))
def test_bfd_notices_within_two_to_three_intervals_and_comes_back_within_three_seconds(seed: int) -> None:
    options = replace(BOTH, liveness=Liveness.BFD)
    timing = Timing(bfd=Bfd(interval=0.1), controller=100.0)
    traffic = [SiteFlows.of([("a", "d")], MILLISECOND_TICKS, size=10_000_000, tunnel=0)]
    events: list[Event] = [Cut(0.5, ("b", "d")), Heal(2.0, ("b", "d"))]
    run = PlanRun(diamond(), options, traffic, timing=timing, events=events, seed=seed)
    results = run.run(8.0, window=0.01)
    lost = int(results.flows.dropped[0])
    assert 195 <= lost <= 306
    sent = results.windows.queue_sent[:, results.output("b", "d")].sum(axis=1)
    again = float(results.windows.edges[np.flatnonzero(sent)[np.flatnonzero(sent) > 200][0]])
    assert 2.0 < again <= 5.05


def test_a_plan_is_replaced_without_losing_a_packet() -> None:
    timing = Timing(controller={"a": 0.01, "b": 0.02, "c": 0.03, "d": 0.0, "e": 0.05}, drain=0.5)
    traffic = [SiteFlows.of([("a", "d")] * 8, ConstantRate(1.0, 1000), size=2_000_000, slot=range(0, 64, 8))]
    run = PlanRun(diamond((1.0,)), BOTH, traffic, timing=timing, events=[Replace(1.0, diamond((0.0, 0.5, 0.5)))])
    results = run.run(20.0, window=0.1)
    assert results.flows.dropped.sum() == 0
    assert results.flows.arrived.sum() == 8 * 2000
    states = {state: time for time, _, state in results.progress}
    # The farthest switch prepares in a round trip, then the ingress changes in one.
    assert states["live"] == pytest.approx(1.0 + 2 * 0.05 + 2 * 0.01)
    assert states["live"] + 0.5 <= states["done"] < 3.0
    by_b = results.windows.queue_sent[:, results.output("a", "b")].sum(axis=1)
    by_e = results.windows.queue_sent[:, results.output("c", "e")].sum(axis=1)
    assert (by_b[:10] > 0).all()
    assert (by_b[16:] == 0).all()
    assert (by_e[16:100] > 0).all()


def test_a_plan_comes_into_force_when_its_bfd_sessions_are_up() -> None:
    options = replace(BOTH, liveness=Liveness.BFD)
    traffic = [SiteFlows.of([("a", "d")] * 4, ConstantRate(0.1, 1000), size=100_000, slot=range(0, 64, 16))]
    events = [Replace(1.0, diamond((0.0, 0.5, 0.5)))]
    results = PlanRun(diamond((1.0,)), options, traffic, events=events).run(10.0, window=0.5)
    assert results.flows.dropped.sum() == 0
    by_c = results.windows.queue_sent[:, results.output("a", "c")].sum(axis=1)
    assert (by_c[:9] == 0).all()
    assert (by_c[10:15] > 0).all()


def test_a_plan_of_another_network_is_refused() -> None:
    other = replace(diamond(), topology=replace(diamond().topology, nodes=tuple("bacde")))
    run = PlanRun(diamond(), BOTH, [], events=[Replace(1.0, other)])
    with pytest.raises(UnsoundError, match="not those of the plan in force"):
        run.run(2.0)


def test_hosts_of_a_site_share_its_port() -> None:
    traffic = [SiteFlows.of([("a", "d")] * 6, Tcp(), size=50_000)]
    run = PlanRun(diamond(), BOTH, traffic, Physical(hosts=3))
    results = run.run(5.0)
    assert results.flows.goodput.tolist() == [50_000] * 6
    assert len(run.network.hosts["a"]) == 3
    assert results.windows.queue_sent[0, results.output("d", "d")].sum() >= 300_000


def test_a_controller_is_as_far_as_the_least_delay() -> None:
    delays = controller_at(diamond(delay=0.002).topology, "d")
    assert delays == pytest.approx({"a": 0.004, "b": 0.002, "c": 0.002, "d": 0.0, "e": 0.002})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"events": [Cut(1.0, ("a", "d"))]}, "there is no link a-d"),
        ({"physical": Physical(delay={("a", "d"): 1.0})}, "there is no link a-d"),
        ({"physical": Physical(hosts=0)}, "0 hosts at a site"),
        ({"physical": Physical(queue=[Fifo()])}, "1 rules"),
        ({"timing": Timing(controller={"a": 1.0})}, "has no delay"),
        ({"timing": Timing(port=-1.0)}, "-1 seconds"),
        ({"traffic": [SiteFlows.of([("a", "x")], Tcp())]}, "unknown site"),
        ({"traffic": [SiteFlows.of([("a", "d")], Tcp(), priority=3)]}, "priority 3"),
        ({"traffic": [SiteFlows.of([("a", "d")], Tcp(), slot=64)]}, "slot 64"),
        ({"traffic": [SiteFlows.of([("a", "d")], Tcp(), slot=0, tunnel=0)]}, "slot 0 and tunnel 0"),
        ({"traffic": [SiteFlows.of([("a", "d")], Tcp(), tunnel=2)]}, "owns no slot"),
        ({"traffic": [SiteFlows.of([("a", "b")], Tcp(), tunnel=0)]}, "tunnel 0 of a-b"),
    ],
)
def test_what_does_not_fit_the_plan_is_refused(change: dict[str, object], problem: str) -> None:
    parts = {"traffic": [], **change}
    with pytest.raises(UnsoundError, match=problem):
        PlanRun(diamond(), BOTH, **parts)  # type: ignore[arg-type]


def test_switches_have_the_ports_and_addresses_of_a_wiring_file() -> None:
    plan = diamond()
    usual = stated(Wiring(plan.topology))
    moved = {
        name: replace(
            ends,
            links={other: port + 100 for other, port in ends.links.items()},
            host=HostEnd(7, IPv4Address(f"192.0.2.{16 * n + 9}"), (IPv4Network(f"192.0.2.{16 * n}/28"),)),
        )
        for n, (name, ends) in enumerate(usual.switches.items())
    }
    options = replace(BOTH, wiring=replace(usual, switches=moved))
    traffic = [SiteFlows.of([("a", "d")] * 4, Tcp(), size=100_000)]
    events = [Cut(0.005, ("b", "d"))]
    results = [PlanRun(plan, each, traffic, Physical(hosts=2), events=events).run(5.0) for each in (BOTH, options)]
    assert results[0].flows.finished.tolist() == results[1].flows.finished.tolist()
    assert results[1].flows.goodput.tolist() == [100_000] * 4
    with pytest.raises(UnsoundError, match=r"20 hosts, expected as many as 192\.0\.2\.0/28 has addresses"):
        PlanRun(plan, options, [], Physical(hosts=20))


def test_a_guaranteed_share_is_refused() -> None:
    queues = tuple(replace(queue, guaranteed=0.1) for queue in PLAIN_LAYOUT.queues)
    one = PLAIN_LAYOUT.classes[0]
    layout = replace(
        PLAIN_LAYOUT, queues=queues, control=queues[0], classes=(replace(one, normal=queues[1], victim=queues[2]),)
    )
    with pytest.raises(UnsoundError, match="guaranteed share"):
        PlanRun(diamond(), replace(BOTH, layout=layout), [])


def test_a_shaped_flow_is_back_soon_after_a_cut_however_long_it_has_been_sending() -> None:
    """Its window has grown for seconds; retransmissions must not wait behind it at the host."""
    traffic = [SiteFlows.of([("a", "d")], Tcp(), tunnel=0, limit=10.0, catch_up=0.1)]
    results = PlanRun(diamond(), BOTH, traffic, events=[Cut(6.0, ("a", "b"))]).run(8.0, window=1.0)
    assert results.windows.goodput_rates[:, 0] == pytest.approx([10 * 1460 / 1500] * 8, rel=0.1)


def test_a_host_shapes_its_flow_to_its_limit() -> None:
    limits = [30.0, 10.0, 0.0]
    tcp = SiteFlows.of([("a", "d")] * 3, Tcp(), tunnel=[0, 0, 1], limit=limits)
    rates = PlanRun(diamond(), BOTH, [tcp]).run(4.0, window=2.0).windows.goodput_rates[1] * 1500 / 1460
    assert rates[:2].tolist() == pytest.approx(limits[:2], rel=0.01)
    assert rates[2] > 90  # as much as its tunnel carries
    with pytest.raises(UnsoundError, match="limit"):
        SiteFlows.of([("a", "d")], Tcp(), limit=-1.0)


def test_an_interrupted_run_of_a_plan_gives_no_results_of_a_part_of_its_time() -> None:
    def interrupt(_: Simulation) -> None:
        raise KeyboardInterrupt

    run = PlanRun(diamond(), BOTH, [SiteFlows.of([("a", "d")], Tcp(), tunnel=0)])
    with pytest.raises(KeyboardInterrupt):
        run.run(1000.0, progress=interrupt)


def test_a_scheme_whose_ranges_the_controller_changes_is_refused() -> None:
    options = PipelineOptions(failure_scheme("rescaling-renormalised"))
    with pytest.raises(InputError, match="is not simulated packet by packet"):
        PlanRun(diamond(), options, ())


def test_classifiers_play_no_part_as_flows_have_their_classes() -> None:
    plan = motivation_plan((0.5, 0.3, 0.2))
    (high,) = plan.pairs
    plan = replace(plan, pairs=(high, replace(high, priority=1)))
    layout = LAYOUTS["four"]
    rules = Classifiers((Classifier(1, protocol=TCP), Classifier(1, protocol=UDP)), 1)
    sent = Packets(np.array([1.0]), np.array([PACKET]))
    found = []
    for each in (layout, replace(layout, classifiers=rules)):
        traffic = [SiteFlows.of([("s1", "s4")], sent, slot=[0], priority=priority) for priority in (0, 1)]
        results = PlanRun(plan, PipelineOptions(layout=each), traffic).run(12.0)
        found.append(results.windows.queue_sent[0].sum(axis=0))
    assert np.array_equal(*found)
    assert np.count_nonzero(found[0]) == 2
