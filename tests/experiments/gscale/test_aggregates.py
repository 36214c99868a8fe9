from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from experiments.gscale.cases import aggregates_of
from experiments.measuring.failure_run import roles_of
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology

CUT = ("a", "x")


def _plan(weights: Sequence[float], paths: Sequence[str] = ("axb", "ayb", "azb")) -> Plan:
    ends = {(p, q) for path in paths for p, q in pairwise(path)}
    topology = Topology("diamond", tuple("abxyz"), tuple(Link(*pair, 1000.0) for pair in sorted(ends)))
    tunnels = tuple(
        Tunnel(16 + position, tuple(path), 300 * weight, weight)
        for position, (path, weight) in enumerate(zip(paths, weights, strict=True))
    )
    return Plan(topology, (PairPlan("a", "b", 300.0, 300.0, tunnels),), "max-throughput", 300.0, "none", 0.0)


def _offered(plan: Plan) -> dict[str, float]:
    return {flow.name: round(flow.offered, 6) for flow in aggregates_of(plan, CUT)}


def test_the_papers_example_offers_90_and_60_on_the_first_tunnel() -> None:
    assert _offered(_plan((0.5, 0.3, 0.2))) == {
        "a-b/1-2": 90.0,
        "a-b/1-3": 60.0,
        "a-b/2-1": round(90 * 0.5 / 0.7, 6),
        "a-b/2-3": round(90 * 0.2 / 0.7, 6),
        "a-b/3-1": 37.5,
        "a-b/3-2": 22.5,
    }


def test_an_empty_tunnel_sends_nothing_and_is_rescaled_to_by_nobody() -> None:
    assert _offered(_plan((0.6, 0.4, 0.0))) == {"a-b/1-2": 180.0, "a-b/2-1": 120.0}


def test_where_all_others_are_empty_they_share_alike() -> None:
    assert _offered(_plan((1.0, 0.0, 0.0))) == {"a-b/1-2": 150.0, "a-b/1-3": 150.0}


def test_an_aggregate_too_small_for_a_hash_slot_is_sent_with_its_sibling() -> None:
    offered = _offered(_plan((0.9, 0.09, 0.01)))
    assert offered == {"a-b/1-2": 243.0, "a-b/1-3": 27.0, "a-b/2-1": 27.0}
    assert _offered(_plan((0.96, 0.025, 0.015)))["a-b/2-1"] == 7.5


def test_victims_whose_promised_tunnel_fails_too_go_to_the_alive_one_of_greatest_weight() -> None:
    plan = _plan((0.5, 0.3, 0.2), ("axb", "axyb", "azb"))
    backups = {flow.name: "".join(flow.backup.nodes) for flow in aggregates_of(plan, CUT)}
    assert backups == {
        "a-b/1-2": "azb",
        "a-b/1-3": "azb",
        "a-b/2-1": "azb",
        "a-b/2-3": "azb",
        "a-b/3-1": "azb",
        "a-b/3-2": "azb",
    }


def test_a_pair_that_is_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="a-x takes all tunnels from a to b"):
        aggregates_of(_plan((0.5, 0.3, 0.2), ("axb", "axyb", "axzb")), CUT)


def test_ranges_that_grow_move_slots_of_alive_tunnels_too() -> None:
    """Of 64 slots a, b and c own 32, 19 and 13; after a's failure b owns the first 38, c the rest (by hand)."""
    flows = aggregates_of(_plan((0.5, 0.3, 0.2)), CUT, "rescaling-renormalised")
    assert {flow.name: (round(flow.offered, 6), "".join(flow.backup.nodes)) for flow in flows} == {
        "a-b/1-2": (150.0, "ayb"),
        "a-b/2-2": (round(90 * 6 / 19, 6), "ayb"),
        "a-b/2-3": (round(90 * 13 / 19, 6), "azb"),
        "a-b/3-3": (60.0, "azb"),
    }


def test_a_slot_that_moves_alone_is_sent_with_its_siblings() -> None:
    """Of 64 slots the tunnels own 2, 28 and 34; then the second one has 29, of which 27 were its own (by hand)."""
    flows = aggregates_of(_plan((0.03, 0.44, 0.53)), CUT, "rescaling-renormalised")
    assert {flow.name: round(flow.offered, 6) for flow in flows} == {"a-b/1-2": 9.0, "a-b/2-2": 132.0, "a-b/3-3": 159.0}


def test_ranges_do_not_grow_over_tunnels_without_weight() -> None:
    plan = _plan((1.0, 0.0, 0.0))
    assert aggregates_of(plan, CUT, "rescaling-renormalised") == aggregates_of(plan, CUT)


def test_a_pair_that_loses_no_tunnel_is_the_same_under_both() -> None:
    plan = _plan((0.5, 0.3, 0.2), ("ayzb", "ayb", "azb"))
    assert aggregates_of(plan, CUT, "rescaling-renormalised") == aggregates_of(plan, CUT)


def test_flows_that_change_tunnel_affect_others_as_victims_do() -> None:
    """The paper's ranges: part of the second tunnel's flows move to the third, which no victim uses."""
    flows = aggregates_of(_plan((0.2, 0.4, 0.4)), CUT, "rescaling-renormalised")
    assert roles_of(flows, CUT) == {
        "a-b/1-2": "victim",
        "a-b/2-2": "direct",
        "a-b/2-3": "direct",
        "a-b/3-3": "direct",
    }
