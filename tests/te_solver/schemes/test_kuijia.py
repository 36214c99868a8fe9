"""Kuijia: victims split by original weights into the victims' queue, all other traffic untouched."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from te_solver.model.failures import Failure, single_links
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from te_solver.schemes.models.rescaling import Kuijia
from te_solver.schemes.models.traffic import PlannedTraffic
from te_solver.tunnels.finder import TunnelFinder
from tests.te_solver.random_plans import failures, plans
from tests.te_solver.schemes.cases import about, cut, parallel, parallel_plan, sub_flows


def test_the_papers_example_splits_the_failed_half_into_three_and_two_tenths_of_low_priority() -> None:
    answer = Kuijia().reroute(parallel(0.5, 0.3, 0.2), cut(1))
    assert sub_flows(answer) == about({(2, 2): 30, (3, 3): 20, (1, 2): 30, (1, 3): 20})
    assert answer.victim.tolist() == answer.demoted.tolist() == [False, False, True, True]
    assert answer.level.tolist() == [0, 0, 1, 1]


def test_several_failed_tunnels_of_a_pair_are_each_split_by_the_original_weights_of_the_alive_ones() -> None:
    answer = Kuijia().reroute(parallel(0.4, 0.3, 0.2, 0.1), cut(1, 2))
    assert sub_flows(answer) == about(
        {(3, 3): 20, (4, 4): 10, (1, 3): 40 * 2 / 3, (1, 4): 40 / 3, (2, 3): 20, (2, 4): 10}
    )


def test_alive_tunnels_without_weight_share_equally() -> None:
    assert sub_flows(Kuijia().reroute(parallel(1, 0, 0), cut(1))) == about(
        {(2, 2): 0, (3, 3): 0, (1, 2): 50, (1, 3): 50}
    )


def test_a_pair_without_a_tunnel_is_cut_off() -> None:
    answer = Kuijia().reroute(parallel(0.5, 0.5), Failure("egress", nodes=("t",)))
    assert answer.cut_off.tolist() == answer.lost.tolist() == [100]
    assert answer.offered.size == 0


def test_victims_of_a_class_come_before_all_of_the_next() -> None:
    plan = parallel_plan([0.5, 0.5])
    (high,) = plan.pairs
    low = PairPlan("s", "t", 10.0, 10.0, high.tunnels, priority=1)
    traffic = PlannedTraffic.of(Plan(plan.topology, (high, low), "any", 110.0, "none", 0.0))
    answer = Kuijia().reroute(traffic, cut(1))
    found = sorted(zip(answer.level.tolist(), answer.origin.tolist(), answer.offered.tolist(), strict=True))
    assert found == [(0, 1, 50), (1, 0, 50), (2, 3, 5), (3, 2, 5)]


@pytest.mark.slow
@given(plans(), st.data())
def test_every_tunnel_is_offered_its_renormalised_weight_of_what_its_pair_sends(
    plan: Plan, data: st.DataObject
) -> None:
    failure = data.draw(failures(plan.topology))
    rates = iter(Kuijia().reroute(PlannedTraffic.of(plan), failure).tunnel_rates.tolist())
    edges = {frozenset(edge) for edge in failure.edges}
    for pair in plan.pairs:
        alive = [
            set(failure.nodes).isdisjoint(tunnel.nodes) and edges.isdisjoint(map(frozenset, tunnel.hops))
            for tunnel in pair.tunnels
        ]
        total = sum(tunnel.weight for tunnel, up in zip(pair.tunnels, alive, strict=True) if up)
        for tunnel, up in zip(pair.tunnels, alive, strict=True):
            share = 0.0 if not up else tunnel.weight / total if total else 1 / sum(alive)
            assert next(rates) == pytest.approx(pair.allocated * share, rel=1e-9, abs=1e-9)


@given(plans(), st.data())
def test_the_victims_queue_is_for_victims_and_all_of_them(plan: Plan, data: st.DataObject) -> None:
    answer = Kuijia().reroute(PlannedTraffic.of(plan), data.draw(failures(plan.topology)))
    assert answer.demoted.tolist() == answer.victim.tolist()
    classes = [plan.pairs[row].priority for row in answer.pair]
    assert answer.level.tolist() == [2 * c + low for c, low in zip(classes, answer.demoted.tolist(), strict=True)]


def test_two_hundred_failures_of_forty_pairs_take_well_under_a_second() -> None:
    names = tuple(f"n{number}" for number in range(100))
    edges = [(names[number], names[(number + step) % 100]) for step in (1, 7) for number in range(100)]
    topology = Topology("ring", names, tuple(Link(*ends, 1.0) for a, b in edges for ends in ((a, b), (b, a))))
    finder = TunnelFinder(topology)
    pairs = []
    for number in range(40):
        source, target = names[number], names[(3 * number + 10) % 100]
        tunnels = tuple(
            Tunnel(16 + 3 * number + position, path, 1.0, 1 / 3)
            for position, path in enumerate(finder.tunnels(source, target, 3))
        )
        pairs.append(PairPlan(source, target, 3.0, 3.0, tunnels))
    traffic = PlannedTraffic.of(Plan(topology, tuple(pairs), "any", 120.0, "none", 0.0))

    def seconds() -> float:
        begin = time.process_time()
        offered = [Kuijia().reroute(traffic, failure).offered.sum() for failure in single_links(topology)]
        spent = time.process_time() - begin
        assert offered == pytest.approx([120.0] * 200)
        return spent

    assert any(seconds() < 0.5 for _ in range(3))  # the collector of garbage may run within one
