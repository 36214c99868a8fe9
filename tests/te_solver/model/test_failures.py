"""Failures of a study and their order."""

from __future__ import annotations

import pytest

from kuijia_base.errors import UnsoundError
from te_solver.model.failures import (
    NO_FAILURE,
    Failure,
    link_pairs,
    single_links,
    single_nodes,
    surviving,
)
from te_solver.model.topology import Link, Topology

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
