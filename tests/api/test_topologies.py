from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import kuijia
from te_solver.formats.topology_file import load_topology


def triangle() -> nx.Graph[str]:
    graph: nx.Graph[str] = nx.Graph(name="triangle")
    graph.add_node("a", pos=(0.0, 1.0))
    graph.add_edge("a", "b", capacity=100, delay=0.01)
    graph.add_edge("b", "c", capacity=200)
    graph.add_edge("c", "a")
    return graph


def test_a_name_and_a_file_and_a_topology_give_the_same_network(tmp_path: Path) -> None:
    network = kuijia.load_topology("gscale")
    path = network.save(tmp_path / "copy.yaml")
    assert kuijia.load_topology(path).links == network.links == load_topology(path).links
    assert kuijia.load_topology(load_topology(path)).nodes == network.nodes
    assert kuijia.load_topology(network) is network


def test_a_cable_of_a_graph_goes_both_ways_and_gaps_are_noted() -> None:
    network = kuijia.load_topology(triangle(), default_capacity=50)
    assert network.name == "triangle"
    assert network.link("b", "a") == kuijia.Link("b", "a", 100.0, 0.01)
    assert network.link("c", "a").capacity == 50
    assert network.positions == {"a": (0.0, 1.0)}
    assert network.notes == ("1 of 3 edges without a capacity: 50 Mbit/s assumed",)


@pytest.mark.parametrize("place", [None, "here", (1.0,), (1.0, 2.0, 3.0), ("a", "b")])
def test_a_node_without_two_coordinates_has_no_place(place: object) -> None:
    graph = triangle()
    graph.nodes["a"]["pos"] = place
    assert kuijia.load_topology(graph).positions == {}


def test_a_directed_graph_goes_one_way_and_comes_back() -> None:
    graph: nx.DiGraph[Any] = nx.DiGraph()
    graph.add_edge(1, 2, capacity=5.0, delay=0.5)
    network = kuijia.load_topology(graph)
    assert [link.ends for link in network.links] == [("1", "2")]
    assert dict(network.to_networkx().edges["1", "2"]) == {"capacity": 5.0, "delay": 0.5}
    assert kuijia.load_topology(network.to_networkx()).links == network.links


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere", "nowhere: no such file or shipped network, expected a file or one of fig1, gscale"),
        (3, "topology: 'int' is no network, expected a file, a name, a topology, a graph of networkx or a data frame"),
        (
            [],
            "topology: 'list' is no network, expected a file, a name, a topology, a graph of networkx or a data frame",
        ),
    ],
)
def test_other_things_are_refused_in_one_line(source: str, message: str) -> None:
    with pytest.raises(kuijia.InputError) as raised:
        kuijia.load_topology(source)
    assert str(raised.value) == message


def test_a_bad_attribute_of_an_edge_names_the_edge() -> None:
    graph = triangle()
    graph.edges["a", "b"]["capacity"] = "wide"
    with pytest.raises(kuijia.InputError, match=r"^graph:edge a-b: capacity 'wide' is not a number, .* as 10G$"):
        kuijia.load_topology(graph)
    graph.edges["a", "b"].update(capacity="10G", delay="10k")
    with pytest.raises(kuijia.InputError, match=r"^graph:edge a-b: delay '10k' is not a number, expected a number$"):
        kuijia.load_topology(graph)
    del graph.edges["a", "b"]["delay"]
    graph.edges["a", "b"]["capacity"] = -1
    with pytest.raises(kuijia.InputError, match=r"^graph:edge a-b: edge 'a' to 'b' has capacity -1, expected a finite"):
        kuijia.load_topology(graph)


def test_options_are_named_as_in_python() -> None:
    with pytest.raises(kuijia.InputError, match=r"^option:default_capacity: '0', expected a finite number greater"):
        kuijia.load_topology("fig1", default_capacity=0)
    with pytest.raises(kuijia.InputError, match=r"^option:format: 'json' is unknown, expected one of yaml, graphml,"):
        kuijia.load_topology("fig1", format="json")


def test_it_is_shown_in_a_line_a_table_and_a_summary() -> None:
    network = kuijia.load_topology("fig1")
    assert repr(network) == "Topology('fig1', 4 nodes, 10 links)"
    assert network.table().heads == ("source", "target", "capacity", "delay")
    assert len(network.table()) == 10
    assert network.summary().splitlines()[0] == "fig1"
    assert network._repr_html_().startswith("<p><b>fig1: 4 nodes, 10 links</b></p><table>")


def test_without_pandas_a_data_frame_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kuijia_base.additions.find_spec", lambda _: None)
    with pytest.raises(kuijia.KuijiaError) as raised:
        kuijia.load_topology("fig1").to_frame()
    command = "pip install 'kuijia[notebook]'"
    assert str(raised.value) == f"pandas, needed for data frames, is not installed: {command}"


def test_a_data_frame_of_links_goes_out_and_in() -> None:
    pandas = pytest.importorskip("pandas")
    network = kuijia.load_topology("fig1")
    frame = network.to_frame()
    assert list(frame.columns) == ["source", "target", "capacity_mbps", "delay_seconds"]
    for each in (frame, frame.rename(columns={"capacity_mbps": "capacity", "delay_seconds": "delay"})):
        assert set(kuijia.load_topology(each).links) == set(network.links)
    one_way = pandas.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "capacity": [5, None]})
    read = kuijia.load_topology(one_way)
    assert [(*link.ends, link.capacity) for link in read.links] == [
        ("a", "b", 5.0),
        ("b", "a", 5.0),
        ("b", "c", 1000.0),
        ("c", "b", 1000.0),
    ]
    with pytest.raises(
        kuijia.InputError, match=r"^data frame: there is no column target, expected the columns source, "
    ):
        kuijia.load_topology(pandas.DataFrame({"source": ["a"]}))
    with pytest.raises(kuijia.InputError, match=r"^data frame:row 0: target is empty, expected a value$"):
        kuijia.load_topology(pandas.DataFrame({"source": ["a"], "target": [None]}))


def test_whole_numbers_are_named_without_a_fraction_as_pandas_makes_one_of_a_gap() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"source": [1.0, 2.0], "target": [2.0, 3.5]})
    assert kuijia.load_topology(frame).nodes == ("1", "2", "3.5")
    assert kuijia.load_topology(nx.Graph([(1.0, 2.0)])).nodes == ("1", "2")


def test_a_data_frame_with_a_column_twice_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["a", "b", "c"]], columns=["source", "source", "target"])
    with pytest.raises(kuijia.InputError, match=r"^data frame: there are 2 columns source, expected one$"):
        kuijia.load_topology(frame)


def test_a_whole_number_beyond_all_rates_is_refused() -> None:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_edge("a", "b", capacity=10**400)
    with pytest.raises(kuijia.InputError, match=r"^graph:edge a-b: capacity '1000.*is not a number"):
        kuijia.load_topology(graph)


@pytest.mark.parametrize("capacity", [True, np.True_])
def test_a_truth_value_is_no_capacity(capacity: object) -> None:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_edge("a", "b", capacity=capacity)
    with pytest.raises(kuijia.InputError, match=r"^graph:edge a-b: capacity 'True' is not a number"):
        kuijia.load_topology(graph)


def test_a_folder_of_teavar_has_its_demands_too(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text("to_node from_node capacity prob_failure\n1 2 10 0\n2 1 10 0\n")
    (tmp_path / "demand.txt").write_text("0 5 6 0\n")
    assert [pair.demand for pair in kuijia.solve(tmp_path).pairs] == [5, 6]


def test_a_row_of_a_data_frame_goes_both_ways_unless_its_reverse_is_there_too() -> None:
    pandas = pytest.importorskip("pandas")
    rows = {"source": ["A", "B", "B"], "target": ["B", "A", "C"], "capacity": [1.0, 2.0, 3.0]}
    network = kuijia.load_topology(pandas.DataFrame(rows))
    links = [(link.source, link.target, link.capacity) for link in network.links]
    assert links == [("A", "B", 1), ("B", "A", 2), ("B", "C", 3), ("C", "B", 3)]
