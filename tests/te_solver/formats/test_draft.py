from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_base.errors import InputError
from te_solver.formats.draft import NetworkDraft
from te_solver.model.topology import Link
from tests.cpu_time import at_most

DEFAULT_CAPACITY = 1000.0


def draft(notes: list[str], *nodes: str, capacity: float | None = None) -> NetworkDraft:
    """A draft with these nodes, which have no labels."""
    made = NetworkDraft("file", "net", capacity, notes.append)
    for node in nodes:
        made.add_node(node)
    return made


def test_parallel_edges_become_one_link_with_their_capacities_added() -> None:
    notes: list[str] = []
    network = draft(notes, "a", "b", "c")
    network.add_edge("a", "b", 10, 0.5)
    network.add_edge("b", "c", 1)
    network.add_edge("b", "a", 20, 0.2)
    assert network.topology().links == (
        Link("a", "b", 30, 0.2),
        Link("b", "a", 30, 0.2),
        Link("b", "c", 1),
        Link("c", "b", 1),
    )
    assert notes == ["1 pair of nodes has parallel edges: their capacities are added"]


def test_a_network_of_too_many_nodes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("te_solver.formats.draft.MOST_NODES", 2)
    network = draft([], "a", "b")
    with pytest.raises(InputError, match="more than 2 nodes"):
        network.add_node("c")


def test_parallel_directed_edges_are_added_for_each_direction() -> None:
    notes: list[str] = []
    network = draft(notes, "a", "b")
    network.add_edge("a", "b", 10, directed=True)
    network.add_edge("b", "a", 1, directed=True)
    network.add_edge("a", "b", 5, directed=True)
    assert network.topology().links == (Link("a", "b", 15), Link("b", "a", 1))


def test_a_missing_capacity_is_the_default_and_noted() -> None:
    notes: list[str] = []
    network = draft(notes, "a", "b", "c")
    network.add_edge("a", "b", None)
    network.add_edge("b", "c", 7)
    assert [link.capacity for link in network.topology().links] == [DEFAULT_CAPACITY, DEFAULT_CAPACITY, 7, 7]
    assert notes == ["1 of 2 edges without a capacity: 1 Gbit/s assumed"]
    notes.clear()
    network = draft(notes, "a", "b", capacity=40)
    network.add_edge("a", "b", None)
    network.add_edge("a", "b", None)
    assert network.topology().link("a", "b").capacity == 80
    assert "2 of 2 edges without a capacity: 40 Mbit/s assumed" in notes


def test_edges_to_their_own_node_are_left_out_and_parts_are_kept() -> None:
    notes: list[str] = []
    network = draft(notes, "a", "b", "c", "d", "alone")
    network.add_edge("a", "b", 1)
    network.add_edge("c", "d", 1)
    network.add_edge("c", "c", 1)
    topology = network.topology()
    assert topology.nodes == ("a", "b", "c", "d", "alone")
    assert notes == [
        "1 edge from a node to itself left out",
        "the network is in 3 parts that no link connects: all are kept",
    ]


def test_labels_that_are_not_unique_get_their_id() -> None:
    notes: list[str] = []
    network = draft(notes)
    for identity, label in (("0", "Paris"), ("1", "London"), ("2", " London\n"), ("3", "London (1)"), ("4", None)):
        network.add_node(identity, label)
    network.add_edge("0", "1", 1)
    names = network.topology().nodes
    assert names == ("Paris", "London (1) (1)", "London (2)", "London (1) (3)", "4")
    assert notes[:2] == [
        "1 node without a label: named by id",
        "3 nodes with a label that another one has too: id added, such as 'London (1) (1)'",
    ]


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.text(max_size=4), st.none() | st.text("AB (1)\n\x00", max_size=6)), unique_by=lambda x: x[0])
)
def test_whatever_ids_and_labels_there_are_the_names_are_sound(nodes: list[tuple[str, str | None]]) -> None:
    network = draft([], "first", "second node")
    network.add_edge("first", "second node", 1)
    fresh = [(identity, label) for identity, label in nodes if identity not in {"first", "second node"}]
    for identity, label in fresh:
        network.add_node(identity, label)
    # Topology itself refuses names that are empty, repeated or not printable.
    assert len(network.topology().nodes) == 2 + len(fresh)


@pytest.mark.parametrize(
    ("a", "b", "capacity", "delay", "problem"),
    [
        ("a", "x", 1.0, 0.0, "edge 'a' to 'x': unknown node 'x', expected a node of the file"),
        ("a", "b", 0.0, 0.0, "edge 'a' to 'b' has capacity 0, expected a finite number of Mbit/s greater than zero"),
        (
            "a",
            "b",
            float("nan"),
            0.0,
            "edge 'a' to 'b' has capacity nan, expected a finite number of Mbit/s greater than zero",
        ),
        ("a", "b", 1.0, -1.0, "edge 'a' to 'b' has delay -1, expected a finite number of seconds, zero or more"),
    ],
)
def test_an_impossible_edge_is_refused_with_its_place(
    a: str, b: str, capacity: float, delay: float, problem: str
) -> None:
    with pytest.raises(InputError) as raised:
        draft([], "a", "b").add_edge(a, b, capacity, delay, place=7)
    assert str(raised.value) == f"file:7: {problem}"


def test_what_is_no_network_is_refused() -> None:
    network = draft([], "a", "b")
    with pytest.raises(InputError) as raised:
        network.add_node("a", place=3)
    assert str(raised.value) == "file:3: node 'a' is given twice, expected different nodes"
    network.add_edge("a", "a", 1)
    with pytest.raises(InputError) as raised:
        network.topology()
    assert str(raised.value) == (
        "file: 2 nodes and no link between two of them, expected a network of at least two nodes and one link"
    )


def test_labels_that_meet_names_with_ids_again_and_again_take_no_longer() -> None:
    rounds = 500
    network = NetworkDraft("file", "net", None, lambda _note: None)
    labels = ["a", *("a" + " (1)" * times for times in range(rounds)), *map(str, range(50_000))]
    for number, label in enumerate(labels, start=1):
        network.add_node(str(number), label)
    network.add_edge("1", "2", 1)
    with at_most(2):
        topology = network.topology()
    assert topology.nodes[:3] == ("a" + " (1)" * rounds, "a (2)", "a (1) (3)")
