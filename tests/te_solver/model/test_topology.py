from __future__ import annotations

import math
import re

import pytest

from kuijia_base.errors import UnsoundError
from te_solver.model.topology import Link, Topology

LINKS = (Link("a", "b", 10), Link("c", "b", 20, 0.5), Link("b", "a", 30))


def test_links_are_found_by_direction() -> None:
    topology = Topology("t", ("a", "b", "c"), LINKS)
    assert topology.link("c", "b") == Link("c", "b", 20, 0.5)
    assert topology.has_link("c", "b")
    assert not topology.has_link("b", "c")
    assert topology.has_node("a")
    assert not topology.has_node("d")


def test_its_repr_is_a_line_that_names_it() -> None:
    assert repr(Topology("t", ("a", "b", "c"), LINKS)) == "Topology('t', 3 nodes, 3 links)"


def test_an_edge_stands_for_both_directions() -> None:
    topology = Topology("t", ("c", "a", "b"), LINKS)
    assert topology.edges == (("a", "b"), ("c", "b"))
    assert topology.neighbours == {"c": ("b",), "a": ("b",), "b": ("c", "a")}


def test_with_capacity_changes_capacities_only() -> None:
    topology = Topology("t", ("a", "b", "c"), LINKS).with_capacity(5)
    assert [link.capacity for link in topology.links] == [5, 5, 5]
    assert topology.link("c", "b").delay == 0.5


@pytest.mark.parametrize(
    ("nodes", "link", "message"),
    [
        (("a", ""), LINKS[0], "nodes[1]: name '', expected printable characters without spaces around them"),
        (("a", " b"), LINKS[0], "nodes[1]: name ' b', expected printable characters without spaces around them"),
        (("a", "b", "a"), LINKS[0], "nodes[2]: node a is given twice, expected different names"),
        (("a", "b"), Link("x", "b", 1), "links[0].source: link to the unknown node 'x', expected a name from nodes"),
        (("a", "b"), Link("a", "x", 1), "links[0].target: link to the unknown node 'x', expected a name from nodes"),
        (("a", "b"), Link("a", "a", 1), "links[0].target: a link from a to itself, expected two different nodes"),
        (
            ("a", "b"),
            Link("a", "b", 0),
            "links[0].capacity: link a-b has capacity 0, expected a finite number of Mbit/s greater than zero",
        ),
        (
            ("a", "b"),
            Link("a", "b", 1, math.inf),
            "links[0].delay: link a-b has delay inf, expected a finite number of seconds, zero or more",
        ),
    ],
)
def test_what_is_no_network_is_refused(nodes: tuple[str, ...], link: Link, message: str) -> None:
    with pytest.raises(UnsoundError) as raised:
        Topology("t", nodes, (link,))
    assert str(raised.value) == message


def test_a_second_link_in_the_same_direction_is_refused() -> None:
    with pytest.raises(UnsoundError) as raised:
        Topology("t", ("a", "b"), (LINKS[0], LINKS[2], Link("a", "b", 7)))
    assert str(raised.value) == "links[2]: link a-b is given twice, expected one link for each two nodes"


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (Link("a", "b", 1.1e302), "link a-b has capacity 1.1e+302, expected at most 1e+302 Mbit/s"),
        (Link("a", "b", 1, 1.1e9), "link a-b has delay 1.1e+09, expected at most 1e+09 seconds"),
    ],
)
def test_capacities_and_delays_that_sums_could_not_hold_are_refused(link: Link, said: str) -> None:
    with pytest.raises(UnsoundError, match=re.escape(said)):
        Topology("net", ("a", "b"), (link,))
