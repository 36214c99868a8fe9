from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from te_solver.formats.topology_file import load_topology
from tests.te_solver.formats.reading import capacities, complaint, read

BEGINNING = '{"directed": true, "multigraph": false, "graph": {}, '
TINY = BEGINNING + '"nodes": [{"id": 0}, {"id": 1}], "links": [{"capacity": 5, "source": 0, "target": 1}]}'


def test_a_graph_as_networkx_writes_it_is_read_from_json(tmp_path: Path) -> None:
    graph: nx.DiGraph[str] = nx.DiGraph(name="small")
    graph.add_node("a", pos=[1.5, 2])
    graph.add_edge("a", "b", capacity=100.5, delay=0.25)
    graph.add_edge("b", "a")
    for key in ("links", "edges"):
        topology, notes = read(tmp_path / "net.json", json.dumps(nx.node_link_data(graph, edges=key)))
        assert (topology.name, topology.nodes) == ("small", ("a", "b"))
        assert capacities(topology) == [("a", "b", 100.5), ("b", "a", 1000)]
        assert topology.link("a", "b").delay == 0.25
        assert topology.positions == {"a": (1.5, 2)}
        assert notes == ["capacities are taken as Mbit/s", "1 of 2 edges without a capacity: 1 Gbit/s assumed"]


def test_a_stated_unit_holds_for_its_capacities(tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(TINY)
    topology = load_topology(tmp_path / "net.json", rate_unit="Gbit/s")
    assert capacities(topology) == [("0", "1", 5000)]


def test_our_own_json_remains_our_own(tmp_path: Path) -> None:
    topology, _ = read(
        tmp_path / "net.json", '{"directed": true, "nodes": ["a", "b"], "links": [{"a": "a", "b": "b", "capacity": 1}]}'
    )
    assert capacities(topology) == [("a", "b", 1)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            BEGINNING + '"nodes": 1}',
            ': is no such graph, expected an object with the lists "nodes" and "links" (or "edges")',
        ),
        (TINY.replace('{"id": 0}', "7"), ":nodes[0]: found '7', expected a node as an object"),
        (
            TINY.replace('"id": 0', '"id": [0]'),
            ":nodes[0]: id '[0]', expected the id of a node, a text or a whole number",
        ),
        (
            TINY.replace('"capacity": 5', '"capacity": "5"'),
            ":links[0]: capacity '5' is not a number, expected a finite number of Mbit/s greater than zero",
        ),
        (
            TINY.replace('"target": 1', '"target": 9'),
            ":links[0]: edge '0' to '9': unknown node '9', expected a node of the file",
        ),
        (TINY.replace('{"id": 1}', '{"id": 0}'), ":nodes[1]: node '0' is given twice, expected different nodes"),
    ],
)
def test_a_bad_graph_is_refused_with_its_key(tmp_path: Path, content: str, said: str) -> None:
    assert complaint(tmp_path / "net.json", content) == said


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["nodes", "links", "id", "source", "target", "capacity", "pos", "graph"]), inner
            )
        ),
        max_leaves=12,
    )
)
def test_no_json_ends_in_another_error(tmp_path_factory: pytest.TempPathFactory, data: object) -> None:
    path = tmp_path_factory.mktemp("json") / "net"
    path.write_text(json.dumps(data))
    try:
        load_topology(path, "node-link")
    except ValueError as error:
        assert type(error).__name__ == "InputError"  # noqa: PT017
