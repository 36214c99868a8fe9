"""A plan as arrays, and the damage of failures to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from te_solver.model.failures import Failure
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.schemes.models.traffic import PlannedTraffic, TunnelColumns
from tests.te_solver.random_plans import failures, plans
from tests.te_solver.schemes.cases import parallel, parallel_plan


@given(plans())
def test_tunnels_are_columns_in_the_order_of_the_plan(plan: Plan) -> None:
    traffic = PlannedTraffic.of(plan)
    assert traffic.tunnels.paths == tuple(tunnel.nodes for tunnel in plan.tunnels)
    assert traffic.tunnels.pair.tolist() == [row for row, pair in enumerate(plan.pairs) for _ in pair.tunnels]
    np.testing.assert_allclose(traffic.sent, [tunnel.rate for tunnel in plan.tunnels], rtol=1e-12, atol=1e-12)
    loads = traffic.tunnels.incidence.links @ traffic.sent
    np.testing.assert_allclose(loads, list(plan.link_loads.values()), rtol=1e-12, atol=1e-9)
    assert list(traffic.classes) == sorted({pair.priority for pair in plan.pairs})


@given(plans())
def test_links_of_tunnels_are_in_the_order_of_the_path(plan: Plan) -> None:
    tunnels = PlannedTraffic.of(plan).tunnels
    row_of = {link.ends: row for row, link in enumerate(plan.topology.links)}
    starts, links = tunnels.links_in_order
    assert links.tolist() == [row_of[hop] for tunnel in plan.tunnels for hop in tunnel.hops]
    assert starts.tolist() == np.cumsum([0, *(len(tunnel.hops) for tunnel in plan.tunnels)]).tolist()


def test_indices_take_four_bytes_each() -> None:
    incidence = PlannedTraffic.of(parallel_plan([0.5, 0.5])).tunnels.incidence
    assert (incidence.links.indices.dtype, incidence.links.indptr.dtype) == (np.int32, np.int32)


@given(plans(), st.data())
def test_a_failure_breaks_the_links_it_names_and_the_tunnels_over_them(plan: Plan, data: st.DataObject) -> None:
    failure = data.draw(failures(plan.topology))
    damage = PlannedTraffic.of(plan).damage(failure)
    edges = {frozenset(edge) for edge in failure.edges}
    failed = {
        link.ends
        for link in plan.topology.links
        if frozenset(link.ends) in edges or set(link.ends) & set(failure.nodes)
    }
    assert damage.failed_links.tolist() == [link.ends in failed for link in plan.topology.links]
    assert damage.alive.tolist() == [failed.isdisjoint(tunnel.hops) for tunnel in plan.tunnels]


def test_what_is_sent_follows_the_weights_of_what_is_allocated_and_not_what_is_set_aside() -> None:
    tunnels = (Tunnel(16, ("s", "m1", "t"), 90.0, 0.6), Tunnel(17, ("s", "m2", "t"), 60.0, 0.4))
    pair = PairPlan("s", "t", 100.0, 50.0, tunnels)
    plan = Plan(parallel_plan([0.5, 0.5]).topology, (pair,), "ffc", 50.0, "none", 0.0)
    assert PlannedTraffic.of(plan).sent.tolist() == pytest.approx([30, 20])


def test_rounded_weights_still_add_up_to_what_is_allocated() -> None:
    plan = parallel_plan([0.333333, 0.333333, 0.333333])
    assert PlannedTraffic.of(plan).sent.sum() == pytest.approx(100, rel=1e-15)


def test_each_tunnel_is_coupled_with_all_of_its_pair() -> None:
    table = parallel(0.5, 0.3, 0.2).tunnels
    left, right = table.couples(np.array([2, 0]))
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(2, 0), (2, 1), (2, 2), (0, 0), (0, 1), (0, 2)]


def test_joined_tables_couple_old_and_new_tunnels_of_a_pair() -> None:
    plan = parallel_plan([0.5, 0.5])
    first = PlannedTraffic.of(plan).tunnels
    joined = first.joined(TunnelColumns.of(plan, [[("s", "m2", "t")]]))
    assert joined.pair.tolist() == [0, 0, 0]
    assert joined.couples(np.array([0]))[1].tolist() == [0, 1, 2]
    assert (joined.incidence.links @ np.array([1.0, 2.0, 4.0])).tolist() == [1, 1, 6, 6]
    assert joined.incidence.hops.tolist() == [2, 2, 2]


def test_a_node_without_links_can_fail() -> None:
    plan = parallel_plan([1.0])
    topology = type(plan.topology)("more", (*plan.topology.nodes, "alone"), plan.topology.links)
    traffic = PlannedTraffic.of(Plan(topology, plan.pairs, "any", 100.0, "none", 0.0))
    assert traffic.damage(Failure("site", nodes=("alone",))).alive.all()
