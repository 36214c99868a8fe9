"""Failures of a study and their order."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_base.errors import UnsoundError
from te_solver.failures import (
    NO_FAILURE,
    Failure,
    link_pairs,
    random_links,
    single_links,
    single_nodes,
    surviving,
)
from te_solver.topology import Link, Topology
from tests.te_solver.random_networks import topologies

RING = Topology(
    "ring",
    ("a", "b", "c"),
    tuple(Link(*ends, 1.0) for a, b in (("b", "a"), ("b", "c"), ("c", "a")) for ends in ((a, b), (b, a))),
)


def test_every_cable_fails_once_in_the_order_of_the_links() -> None:
    assert list(single_links(RING)) == [
        Failure("b-a", (("b", "a"),)),
        Failure("b-c", (("b", "c"),)),
        Failure("c-a", (("c", "a"),)),
    ]


def test_every_two_cables_fail_together_once() -> None:
    assert list(link_pairs(RING)) == [
        Failure("b-a + b-c", (("b", "a"), ("b", "c"))),
        Failure("b-a + c-a", (("b", "a"), ("c", "a"))),
        Failure("b-c + c-a", (("b", "c"), ("c", "a"))),
    ]


def test_every_node_fails_once() -> None:
    assert list(single_nodes(RING)) == [Failure(node, nodes=(node,)) for node in "abc"]


@given(topologies(), st.data())
def test_random_failures_are_different_sets_and_the_same_for_the_same_seed(
    topology: Topology, data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, min(3, len(topology.edges))))
    everything = set(combinations(topology.edges, size))
    count = data.draw(st.integers(0, len(everything)))
    seed = data.draw(st.integers(0, 2**32))
    drawn = list(random_links(topology, size, count, seed))
    assert len({failure.edges for failure in drawn}) == len(drawn) == count
    assert {failure.edges for failure in drawn} <= everything
    assert list(random_links(topology, size, count, seed)) == drawn


def test_another_seed_draws_other_failures() -> None:
    wheel = Topology("wheel", tuple("abcdef"), tuple(Link("a", b, 1.0) for b in "bcdef") + RING.links[2:4])
    draws = {tuple(random_links(wheel, 2, 5, seed)) for seed in range(10)}
    assert len(draws) > 1


@pytest.mark.parametrize(("size", "count", "possible"), [(2, 4, 3), (4, 1, 0), (0, 1, 0), (-1, 1, 0), (1, -1, 3)])
def test_more_random_failures_than_there_are_are_refused(size: int, count: int, possible: int) -> None:
    message = f"{count} sets of {size} links, expected 0 to {possible} sets of at least one link"
    with pytest.raises(ValueError, match=message):
        random_links(RING, size, count, seed=0)


def test_a_failed_cable_leaves_the_network_in_both_directions() -> None:
    left = surviving(RING, Failure("cut", (("a", "b"),)))
    assert left.nodes == RING.nodes
    assert [link.ends for link in left.links] == [("b", "c"), ("c", "b"), ("c", "a"), ("a", "c")]


def test_a_failed_node_takes_its_links_with_it() -> None:
    left = surviving(RING, Failure("site", nodes=("b",)))
    assert left.nodes == ("a", "c")
    assert [link.ends for link in left.links] == [("c", "a"), ("a", "c")]


def test_no_failure_leaves_everything() -> None:
    assert surviving(RING, NO_FAILURE) == RING


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (Failure("x", (("a", "z"),)), "edges[0]: there is no link between 'a' and 'z', expected a link of ring"),
        (Failure("x", nodes=("a", "z")), "nodes[1]: unknown node 'z', expected a node of ring"),
    ],
)
def test_a_failure_of_another_network_is_refused(failure: Failure, message: str) -> None:
    with pytest.raises(UnsoundError) as raised:
        surviving(RING, failure)
    assert str(raised.value) == message
