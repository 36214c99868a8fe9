"""Pairs that failures leave without a tunnel though a path connects them."""

from __future__ import annotations

import pytest

from kuijia_app.tables.connected_pairs import DeadPairs, dead_pairs
from kuijia_app.tables.options import PipelineOptions, Tagging
from te_solver.model.failures import Failure, link_pairs
from tests.kuijia_app.plans import both_ways, plan_of

RING = both_ways("ring", "a b c d e", "a-b b-c c-d d-e e-a")
PLAN = plan_of(RING, "a-b-c", "a-e-d a-b-c-d")
"""Two pairs, both ways; the first has one tunnel."""

PLAIN = PipelineOptions()


def cut(text: str) -> Failure:
    edges = [tuple(edge.split("-")) for edge in text.split()]
    return Failure(text, tuple((a, b) for a, b in edges))


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (cut("d-e"), DeadPairs(connected=4, without_tunnel=0, without_path=0)),
        (cut("a-b"), DeadPairs(connected=4, without_tunnel=2, without_path=0)),
        (cut("a-b a-e"), DeadPairs(connected=0, without_tunnel=0, without_path=0)),
        (Failure("b", nodes=("b",)), DeadPairs(connected=4, without_tunnel=2, without_path=0)),
        (Failure("a", nodes=("a",)), DeadPairs(connected=0, without_tunnel=0, without_path=0)),
    ],
    ids=str,
)
def test_a_pair_counts_if_all_its_tunnels_fail_and_a_path_is_left(failure: Failure, expected: DeadPairs) -> None:
    assert dead_pairs(PLAN, PLAIN, [failure]) == expected


def test_failures_are_summed() -> None:
    failures = list(link_pairs(RING))
    each = [dead_pairs(PLAN, PLAIN, [failure]) for failure in failures]
    found = dead_pairs(PLAN, PLAIN, failures)
    assert found.without_tunnel == sum(one.without_tunnel for one in each) > 0
    assert found.connected == sum(one.connected for one in each)


def test_the_words_have_the_share() -> None:
    assert str(DeadPairs(1710, 27, 0)) == (
        "of 1,710 pairs that failures leave connected, 27 (1.58%) have no tunnel left; 0 of them stay dead with "
        "restoration by the controller"
    )


def test_a_pair_without_a_tag_for_its_egress_stays_dead() -> None:
    triangle = both_ways("triangle", "a b c", "a-b b-c a-c")
    all_code_points = plan_of(triangle, "c-a", *["b-c"] * 62)
    options = PipelineOptions(tagging=Tagging.DSCP_ECN)
    assert dead_pairs(all_code_points, options, [cut("a-c")]) == DeadPairs(4, 2, 2)
    assert dead_pairs(plan_of(triangle, "c-a", "b-c"), options, [cut("a-c")]) == DeadPairs(4, 2, 0)
