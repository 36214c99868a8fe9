"""One failure under one scheme in the packet simulator, beside the same flows without it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from io import StringIO
from typing import Any

import pytest

from kuijia_base.errors import UnsoundError
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import Workers
from simulator.flow_sizes.published import FlowSizes
from simulator.studies.whatif_packets.run import (
    ABORIGINAL,
    LARGE,
    SMALL,
    VICTIM,
    Conditions,
    PacketQuestions,
    Play,
    TunnelFlows,
    central_site,
    results_of,
    switch_options,
    traffic_of,
)
from te_solver.model.failures import Failure
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from te_solver.schemes.shipped.kuijia import KUIJIA
from te_solver.schemes.shipped.rescaling import RESCALING

UPPER = Failure("b-d", edges=(("b", "d"),))
HOW = Conditions(FlowSizes.of_one(20_000), seconds=0.5, link_delay=0.001, buffer=50_000)


def plan(priority: int = 0) -> Plan:
    """Return two tunnels from a to d, 10 Mbit/s each, and a cable between a and e that nothing uses."""
    edges = [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("a", "e")]
    links = tuple(Link(*ends, 10.0) for edge in edges for ends in (edge, edge[::-1]))
    tunnels = Tunnel(16, ("a", "b", "d"), 10.0, 0.5), Tunnel(17, ("a", "c", "d"), 10.0, 0.5)
    pair = PairPlan("a", "d", 20.0, 20.0, tunnels, priority)
    return Plan(Topology("square", tuple("abcde"), links), (pair,), "none", 0, "none", 0)


@cache
def play(scheme: str = "kuijia", detection: float = 0.01) -> Play:
    schemes = {each.name: each for each in (KUIJIA, RESCALING)}
    return Play(plan(), schemes[scheme], replace(HOW, detection=detection))


def missing(of_role: dict[str, Any]) -> float:
    return 1 - float(of_role["delivered_bytes"] / of_role["delivered_bytes_without_failure"])


def long_traffic(scale: float = 1.0) -> TunnelFlows:
    how = replace(HOW, seconds=30.0, scale=scale)
    scaled = how.scaled_plan(plan())
    return traffic_of(scaled, switch_options(scaled, KUIJIA), how)


def test_under_kuijia_the_victims_lose_and_under_rescaling_all_do() -> None:
    # Both tunnels carry 7 Mbit/s of payload; after the cut one has to carry 14 on 10 Mbit/s.
    kuijia, rescaling = play("kuijia").result(UPPER), play("rescaling").result(UPPER)
    assert missing(kuijia[ABORIGINAL]) == pytest.approx(0.0, abs=0.02)
    assert missing(rescaling[ABORIGINAL]) > 0.15
    assert missing(kuijia[VICTIM]) > missing(rescaling[VICTIM]) > 0.1
    slower = [
        each[ABORIGINAL]["completion"][SMALL]["with_failure"]["mean"]
        / each[ABORIGINAL]["completion"][SMALL]["without_failure"]["mean"]
        for each in (kuijia, rescaling)
    ]
    assert slower[0] < 1.05
    assert slower[1] > 1.5


def test_a_failure_that_no_tunnel_crosses_costs_nothing() -> None:
    found = play().result(Failure("a-e", edges=(("e", "a"),)))
    aboriginal = found[ABORIGINAL]
    assert aboriginal["delivered_bytes"] == aboriginal["delivered_bytes_without_failure"] > 0
    assert aboriginal["dropped_packets"] == aboriginal["dropped_packets_without_failure"]
    times = aboriginal["completion"][SMALL]
    assert times["with_failure"] == times["without_failure"]
    assert aboriginal["completion"][LARGE] is None
    assert found[VICTIM]["flows"] == 0


def test_a_failed_node_takes_its_cables_down() -> None:
    assert play().result(Failure("b", nodes=("b",)))[VICTIM]["flows"] == play().result(UPPER)[VICTIM]["flows"] > 0


def test_late_notice_costs_victims_more() -> None:
    early, late = play().result(UPPER)[VICTIM], play(detection=0.4).result(UPPER)[VICTIM]
    assert late["flows"] == early["flows"]
    assert missing(late) > missing(early) + 0.2


def test_flows_of_a_pair_that_is_cut_off_are_lost_not_slow() -> None:
    victims = play().result(Failure("d", nodes=("d",)))[VICTIM]
    assert victims["cut_off_flows"] == victims["flows"] > 0
    assert victims["completion"] == {SMALL: None, LARGE: None}
    assert missing(victims) > 0.95
    assert play().result(UPPER)[VICTIM]["cut_off_flows"] == 0


def test_flows_that_do_not_end_count_until_the_end_of_the_run() -> None:
    times = play(detection=60.0).result(UPPER)[VICTIM]["completion"][SMALL]
    assert times["with_failure"]["unfinished"] == times["flows"] > 0
    assert times["without_failure"]["unfinished"] == 0
    assert times["with_failure"]["mean"] > 20


def test_flows_offer_the_load_and_use_tunnels_by_weight() -> None:
    flows = long_traffic()
    offered = flows.payload * 8e-6 / 31
    assert offered == pytest.approx(0.7 * 20, rel=0.05)
    assert (flows.tunnel == 0).mean() == pytest.approx(0.5, abs=0.05)
    assert flows.flows.start.min() < 0.1
    assert 30.9 < flows.flows.start.max() < 31


def test_a_scale_of_rates_leaves_sizes_and_reduces_flows() -> None:
    whole, tenth = long_traffic(), long_traffic(0.1)
    assert tenth.count == pytest.approx(whole.count / 10, rel=0.15)
    assert set(tenth.flows.size) == {20_000}
    scaled = replace(HOW, scale=0.1).scaled_plan(plan())
    assert {link.capacity for link in scaled.topology.links} == {1.0}
    assert {link.delay for link in scaled.topology.links} == {0.001}
    # 20,000 bytes are 14 segments, and a part of another.
    assert HOW.packets(plan()) == pytest.approx(0.7 * 20e6 / 8 * 1.5 / 20_000 * (20_000 / HOW.tcp.payload + 1))


@pytest.mark.parametrize("processes", [1, 2])
def test_a_sweep_returns_the_results_of_each_scheme(processes: int) -> None:
    questions = PacketQuestions([(plan(), KUIJIA), (plan(), RESCALING)], [UPPER], HOW)
    with results_of(questions, Workers(processes), None, Progress(StringIO())) as results:
        assert results == [[play("kuijia").result(UPPER)], [play("rescaling").result(UPPER)]]


@pytest.mark.slow
def test_a_cluster_returns_the_results_of_each_scheme() -> None:
    from distributed import LocalCluster  # noqa: PLC0415  # optional, and slow to import

    questions = PacketQuestions([(plan(), KUIJIA), (plan(), RESCALING)], [UPPER], HOW)
    here = [[play("kuijia").result(UPPER)], [play("rescaling").result(UPPER)]]
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        results_of(questions, Workers(1, cluster.scheduler_address), None, Progress(StringIO())) as there,
    ):
        assert there == here


def test_the_controller_is_in_the_middle() -> None:
    topology = HOW.scaled_plan(plan()).topology
    assert central_site(topology) == "a"
    assert play().controller_delays == {"a": 0.0, "b": 0.001, "c": 0.001, "d": 0.002, "e": 0.001}


def test_several_classes_get_queues_and_unknown_ones_are_refused() -> None:
    assert switch_options(plan(0), KUIJIA).layout.name == "plain"
    assert switch_options(plan(1), KUIJIA).layout.name == "four"
    assert switch_options(plan(4), KUIJIA).layout.name == "eight"
    with pytest.raises(UnsoundError, match="class 5"):
        switch_options(plan(5), KUIJIA)
