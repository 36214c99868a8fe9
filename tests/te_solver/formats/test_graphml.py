from __future__ import annotations

from pathlib import Path

import pytest

from te_solver.model.topology import Link
from tests.cpu_time import at_most
from tests.te_solver.formats.reading import capacities, complaint, read

DELAYS = "delays are taken as seconds: up to 0.25 s"

KEYS = """
  <key attr.name="label" attr.type="string" for="node" id="d0" />
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d1" />
  <key attr.name="LinkSpeed" attr.type="string" for="edge" id="d2" />
  <key attr.name="LinkSpeedUnits" attr.type="string" for="edge" id="d3" />
  <key attr.name="hyperedge" attr.type="int" for="node" id="d4" />
  <key attr.name="capacity" attr.type="double" for="edge" id="d5" />
  <key attr.name="delay" attr.type="double" for="edge" id="d6"><default>0.25</default></key>
"""


def document(graph: str, default: str = "undirected") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        f'{KEYS}<graph edgedefault="{default}">{graph}</graph></graphml>'
    )


def nodes(*labels: str) -> str:
    return "".join(f'<node id="{number}"><data key="d0">{label}</data></node>' for number, label in enumerate(labels))


def edge(source: int, target: int, data: str = "", attributes: str = "") -> str:
    return f'<edge source="{source}" target="{target}" {attributes}>{data}</edge>'


def test_a_network_of_the_topology_zoo(tmp_path: Path) -> None:
    graph = (
        nodes("Wien", "Graz", "Linz")
        + edge(0, 1, '<data key="d2">155</data><data key="d3">M</data><data key="d1">155000000.0</data>')
        + edge(1, 2, '<data key="d2">2.5</data><data key="d3">G</data>')
        + edge(0, 1, '<data key="d2">10</data><data key="d3">G</data>')
        + edge(2, 0)
    )
    topology, notes = read(tmp_path / "Austria.graphml", document(graph), capacity=40)
    assert topology.name == "Austria"
    assert topology.nodes == ("Wien", "Graz", "Linz")
    assert capacities(topology)[::2] == [("Wien", "Graz", 10155), ("Graz", "Linz", 2500), ("Linz", "Wien", 40)]
    assert notes == [
        "1 pair of nodes has parallel edges: their capacities are added",
        "1 of 4 edges without a capacity: 40 Mbit/s assumed",
        DELAYS,
    ]


def test_capacity_and_delay_are_in_the_units_of_the_project(tmp_path: Path) -> None:
    graph = nodes("a", "b", "c") + edge(0, 1, '<data key="d5">7</data>')
    graph += edge(1, 2, '<data key="d5">1e3</data><data key="d6">0</data>')
    topology, notes = read(tmp_path / "x.graphml", document(graph))
    assert topology.links[::2] == (Link("a", "b", 7, 0.25), Link("b", "c", 1000, 0))
    assert notes == [DELAYS]


def test_an_edge_says_whether_it_is_directed_or_the_graph_does(tmp_path: Path) -> None:
    graph = nodes("a", "b", "c") + edge(0, 1, '<data key="d5">1</data>')
    graph += edge(2, 1, '<data key="d5">2</data>', 'directed="false"')
    topology, _ = read(tmp_path / "x.graphml", document(graph, default="directed"))
    assert capacities(topology) == [("a", "b", 1), ("c", "b", 2), ("b", "c", 2)]


def test_nodes_without_a_label_are_named_by_id(tmp_path: Path) -> None:
    graph = '<node id="n0"/><node id="n1"/>' + '<edge source="n0" target="n1"/>'
    topology, notes = read(tmp_path / "x.graphml", document(graph))
    assert topology.nodes == ("n0", "n1")
    assert notes == ["1 of 1 edge without a capacity: 1 Gbit/s assumed", DELAYS]


def test_hyperedges_are_nodes(tmp_path: Path) -> None:
    graph = nodes("a", "b", "c") + '<node id="h"><data key="d0">ring</data><data key="d4">1</data></node>'
    graph += "".join(f'<edge source="{number}" target="h"><data key="d5">5</data></edge>' for number in range(2))
    graph += (
        '<hyperedge><endpoint node="1"/><endpoint node="2"/><endpoint node="0"/><data key="d5">9</data></hyperedge>'
    )
    topology, notes = read(tmp_path / "x.graphml", document(graph))
    assert topology.neighbours["hyperedge 1"] == ("a", "b", "c")
    assert topology.link("c", "hyperedge 1").capacity == 9
    assert notes[0] == "1 node stands for a medium that others share (hyperedge): kept as nodes"
    assert notes[1] == "1 hyperedge: each made a node that is joined to all its ends"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ":1: malformed XML (no element found), expected a topology in GraphML"),
        ("<graphml>\n<graph>", ":2: malformed XML (no element found), expected a topology in GraphML"),
        ("<gml/>", ":1: the document is a 'gml', expected a topology in GraphML: a 'graphml'"),
        ("<graphml/>", ":1: there is no graph, expected a topology in GraphML"),
        (
            "<graphml><graph>\n<node/></graph></graphml>",
            ":2: a node without id, expected a topology in GraphML",
        ),
        (
            "<graphml><graph>\n<node id='a'/>\n<node id='a'/></graph></graphml>",
            ":3: node 'a' is given twice, expected different nodes",
        ),
        (
            "<graphml><graph><node id='a'/>\n<edge source='a' target='b'/></graph></graphml>",
            ":2: edge 'a' to 'b': unknown node 'b', expected a node of the file",
        ),
        (
            "<graphml><graph><node id='a'>\n<data key='d9'/></node></graph></graphml>",
            ":2: unknown key 'd9', expected the id of a key of the file",
        ),
        (
            document(nodes("a", "b")),
            ": 2 nodes and no link between two of them, expected a network of at least two nodes and one link",
        ),
        (
            document(nodes("a", "b") + "\n" + edge(0, 1, '<data key="d5">0</data>')),
            ":11: edge '0' to '1' has capacity 0, expected a finite number of Mbit/s greater than zero",
        ),
        (
            document(nodes("a", "b") + "\n" + edge(0, 1, '<data key="d1">NaN</data>')),
            ":11: edge '0' to '1' has capacity nan, expected a finite number of Mbit/s greater than zero",
        ),
        (
            document(nodes("a", "b") + "\n" + edge(0, 1, '<data key="d1">fast</data>')),
            ":11: LinkSpeedRaw 'fast' is not a number, expected a number of bit/s",
        ),
        (
            document(nodes("a", "b") + "\n" + edge(0, 1, '<data key="d2">10</data>')),
            ":11: LinkSpeedUnits '', expected one of K, M, G, T",
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, content: str, said: str) -> None:
    assert complaint(tmp_path / "x.graphml", content) == said


def test_defaults_that_nobody_reads_cost_nothing(tmp_path: Path) -> None:
    keys = "".join(f'<key id="k{number}" attr.name="a{number}"><default>x</default></key>' for number in range(8000))
    nodes = "".join(f'<node id="{number}"/>' for number in range(15_000))
    edges = "".join(f'<edge source="0" target="{number}"/>' for number in range(1, 8000))
    with at_most(5):
        topology, _ = read(tmp_path / "net.graphml", f"<graphml>{keys}<graph>{nodes}{edges}</graph></graphml>")
    assert len(topology.nodes) == 15_000


def test_ends_of_a_hyperedge_take_time_by_their_number_only(tmp_path: Path) -> None:
    hyperedge = "<hyperedge>" + '<endpoint node="1"/>' * 40_000 + "</hyperedge>"
    with at_most(5):
        topology, _ = read(tmp_path / "net.graphml", f'<graphml><graph><node id="1"/>{hyperedge}</graph></graphml>')
    assert topology.nodes == ("1", "hyperedge 1")


YED = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key for="node" id="d6" yfiles.type="nodegraphics"/><key attr.name="capacity" for="edge" id="d8"/>
<key attr.name="Bandwidth" for="edge" id="d9"/><graph edgedefault="directed">
<node id="n0"><data key="d6"><y:ShapeNode><y:NodeLabel>oslo</y:NodeLabel></y:ShapeNode></data></node>
<node id="n1"><data key="d6"><y:ShapeNode><y:NodeLabel>bergen</y:NodeLabel></y:ShapeNode></data></node>
<edge source="n0" target="n1"><data key="d8">400</data><data key="d9">100</data></edge></graph></graphml>"""


def test_what_a_drawing_leaves_open_is_noted(tmp_path: Path) -> None:
    """yEd writes every edge as directed, and the names of nodes into the drawing only."""
    topology, notes = read(tmp_path / "x.graphml", YED)
    assert topology.links == (Link("n0", "n1", 400),)
    assert notes == [
        "no node has a label: named by id, such as 'n0'",
        "1 of 1 link one way only: no link leads back",
        "the attribute Bandwidth of 1 edge is not used: only capacity, LinkSpeedRaw, LinkSpeed, delay are",
    ]
