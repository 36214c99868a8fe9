"""Invariants of every scheme, for any plan and any failure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from kuijia_base.errors import UnsoundError
from te_solver.model.failures import NO_FAILURE, Failure, surviving
from te_solver.model.plan import Plan
from te_solver.schemes.models.interface import Scheme
from te_solver.schemes.models.precomputed import Precomputed
from te_solver.schemes.models.recompute import Recompute
from te_solver.schemes.models.rerouting import NEW_TRAFFIC, Rerouting, failover_order
from te_solver.schemes.models.rescaling import Kuijia, RenormalisedRescaling, Rescaling
from te_solver.schemes.models.traffic import PlannedTraffic
from tests.te_solver.random_networks import digraph
from tests.te_solver.random_plans import failures, plans
from tests.te_solver.schemes.cases import parallel

pytestmark = pytest.mark.slow

GENTLE: dict[str, Scheme] = {
    "kuijia": Kuijia(),
    "kuijia-failover-order": Kuijia(failover_order),
    "rescaling": Rescaling(),
    "precomputed": Precomputed(),
}
"""Schemes that leave aboriginal traffic alone."""

ALL: dict[str, Scheme] = {
    **GENTLE,
    "rescaling-renormalised": RenormalisedRescaling(),
    "recompute": Recompute(),
    "recompute-new-tunnels": Recompute(new_tunnels=True),
}


@st.composite
def failed(draw: st.DrawFn) -> tuple[PlannedTraffic, Failure]:
    plan = draw(plans())
    return PlannedTraffic.of(plan), draw(failures(plan.topology))


def answers(traffic: PlannedTraffic, failure: Failure, schemes: dict[str, Scheme] = ALL) -> Iterator[Rerouting]:
    """Yield each scheme's answer; the last one noted is the one that fails a test."""
    for name, scheme in schemes.items():
        note(name)
        yield scheme.reroute(traffic, failure)


@settings(max_examples=40)
@given(failed())
def test_traffic_is_conserved(case: tuple[PlannedTraffic, Failure]) -> None:
    traffic, failure = case
    sent = traffic.tunnels.sums(traffic.sent)
    for answer in answers(traffic, failure):
        offered = np.bincount(answer.pair, answer.offered, minlength=sent.size)
        np.testing.assert_allclose(offered + answer.lost, sent + answer.gained, rtol=1e-8, atol=1e-8)
        assert (answer.offered >= 0).all()
        assert (answer.lost >= 0).all()
        assert not ((answer.cut_off > 0) & (answer.withheld > 0)).any()


@settings(max_examples=40)
@given(failed())
def test_no_tunnel_gives_away_more_than_it_carried_and_all_stays_within_its_pair(
    case: tuple[PlannedTraffic, Failure],
) -> None:
    traffic, failure = case
    for answer in answers(traffic, failure):
        old = answer.origin != NEW_TRAFFIC
        given_away = np.bincount(answer.origin[old], answer.offered[old], minlength=traffic.sent.size)
        assert (given_away <= traffic.sent * (1 + 1e-8) + 1e-8).all()
        np.testing.assert_array_equal(traffic.tunnels.pair[answer.origin[old]], answer.pair[old])


@settings(max_examples=40)
@given(failed())
def test_nothing_is_sent_over_what_has_failed(case: tuple[PlannedTraffic, Failure]) -> None:
    traffic, failure = case
    topology = traffic.plan.topology
    left = {link.ends for link in surviving(topology, failure).links}
    for answer in answers(traffic, failure):
        for carrier in set(answer.carrier.tolist()):
            assert left.issuperset(pairwise(answer.tunnels.paths[carrier]))
        for link, load in zip(topology.links, answer.link_loads.tolist(), strict=True):
            assert link.ends in left or load == 0


@settings(max_examples=40)
@given(failed())
def test_a_pair_is_cut_off_when_it_has_no_tunnel_left(case: tuple[PlannedTraffic, Failure]) -> None:
    traffic, failure = case
    left = digraph(surviving(traffic.plan.topology, failure))
    for answer, scheme in zip(answers(traffic, failure), ALL.values(), strict=True):
        for pair, cut_off in zip(traffic.plan.pairs, answer.cut_off.tolist(), strict=True):
            if isinstance(scheme, Recompute) and scheme.new_tunnels:
                connected = {pair.source, pair.target} <= set(left) and nx.has_path(left, pair.source, pair.target)
            else:
                connected = any(nx.is_path(left, tunnel.nodes) for tunnel in pair.tunnels)
            assert cut_off == pytest.approx(0 if connected else pair.allocated)


@settings(max_examples=40)
@given(failed())
def test_gentle_schemes_leave_tunnel_rate_and_priority_of_what_works(case: tuple[PlannedTraffic, Failure]) -> None:
    traffic, failure = case
    for answer in answers(traffic, failure, GENTLE):
        alive = np.flatnonzero(answer.damage.alive)
        aboriginal = ~answer.victim
        np.testing.assert_array_equal(answer.origin[aboriginal], alive)
        np.testing.assert_array_equal(answer.carrier[aboriginal], alive)
        np.testing.assert_array_equal(answer.offered[aboriginal], traffic.sent[alive])
        np.testing.assert_array_equal(answer.level[aboriginal], 2 * traffic.priority[traffic.tunnels.pair[alive]])


@settings(max_examples=40)
@given(plans())
def test_a_healed_network_is_back_to_the_plan_exactly(plan: Plan) -> None:
    traffic = PlannedTraffic.of(plan)
    everything = np.arange(traffic.sent.size)
    for answer in answers(traffic, NO_FAILURE):
        np.testing.assert_array_equal(answer.origin, everything)
        np.testing.assert_array_equal(answer.carrier, everything)
        np.testing.assert_array_equal(answer.offered, traffic.sent)
        assert not answer.demoted.any()
        assert not answer.lost.any()
        assert answer.tunnels is traffic.tunnels


@settings(max_examples=20)
@given(failed())
def test_the_same_failure_has_the_same_answer_however_it_is_written(case: tuple[PlannedTraffic, Failure]) -> None:
    traffic, failure = case
    turned = Failure("turned", tuple(edge[::-1] for edge in failure.edges), failure.nodes)
    again = PlannedTraffic.of(traffic.plan)
    for first, second in zip(answers(traffic, failure), answers(again, turned), strict=True):
        assert first.offered.tolist() == second.offered.tolist()
        assert first.carrier.tolist() == second.carrier.tolist()


@pytest.mark.parametrize("scheme", ALL.values(), ids=ALL)
def test_a_failure_of_another_network_is_refused(scheme: Scheme) -> None:
    with pytest.raises(UnsoundError) as raised:
        scheme.reroute(parallel(0.5, 0.5), Failure("x", (("s", "t"),)))
    assert str(raised.value) == "edges[0]: there is no link between 's' and 't', expected a link of parallel"
