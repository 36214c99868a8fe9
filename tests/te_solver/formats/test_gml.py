from __future__ import annotations

from pathlib import Path

import pytest

from te_solver.model.topology import Link
from tests.te_solver.formats.reading import capacities, complaint, read

NETWORK = """
# made by hand
Creator "somebody"
graph [
  directed 0
  label "Tiny"
  node [ id 0 label "Z&#252;rich" Longitude 8.5 ]
  node [ id 1 label "Bern" graphics [ x 1 y 2 ] ]
  node [ id 2 label "None" hyperedge 1 ]
  node [ id 3 label "None" ]
  edge [ source 0 target 1 LinkSpeed "10" LinkSpeedUnits "G" LinkSpeedRaw 10000000000.0 ]
  edge [ source 1 target 2 LinkSpeed "64" LinkSpeedUnits "K" LinkSpeedRaw "" ]
  edge [
    source 0
    target 1
    LinkLabel "1 [Gbit/s]
over two lines"
    capacity 1000
    delay 0.002
  ]
  edge [ source 2 target 2 ]
  edge [ source 3 target 2 ]
]
"""


def test_a_network_of_the_topology_zoo(tmp_path: Path) -> None:
    topology, notes = read(tmp_path / "Tiny.gml", NETWORK)
    assert topology.name == "Tiny"
    assert topology.nodes == ("Zürich", "Bern", "None (2)", "None (3)")
    assert capacities(topology)[::2] == [
        ("Zürich", "Bern", 11000),
        ("Bern", "None (2)", 0.064),
        ("None (3)", "None (2)", 1000),
    ]
    assert notes == [
        "1 node stands for a medium that others share (hyperedge): kept as nodes",
        "2 nodes with a label that another one has too: id added, such as 'None (2)'",
        "1 edge from a node to itself left out",
        "1 pair of nodes has parallel edges: their capacities are added",
        "1 of 4 edges without a capacity: 1 Gbit/s assumed",
    ]


def test_a_directed_graph_has_links_in_one_direction(tmp_path: Path) -> None:
    text = "graph [ directed 1 node [ id 5 ] node [ id 6 ] edge [ source 6 target 5 capacity 3 delay 0.5 ] ]"
    topology, notes = read(tmp_path / "x.gml", text)
    assert topology.links == (Link("6", "5", 3, 0.5),)
    assert notes == ["delays are taken as seconds: up to 0.5 s", "1 of 1 link one way only: no link leads back"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ": there is no graph [ ... ], expected a topology in GML"),
        ("graph 5", ": there is no graph [ ... ], expected a topology in GML"),
        (
            "graph [\n]",
            ": 0 nodes and no link between two of them, expected a network of at least two nodes and one link",
        ),
        ("graph [\nnode [ id 0", ":2: malformed GML (the [ of this node is never closed), expected a topology in GML"),
        ("graph [ ]\n]", ":2: found ']', expected a key"),
        ("graph [\n[ ]", ":2: found '[', expected a key"),
        ('graph [\n"label" 5 ]', ":2: found 'label', expected a key"),
        ("( " * 3_000_000, ":1: found '(', expected a key"),
        ("graph [\n1 5 ]", ":2: found '1', expected a key"),
        ("graph [\n" + "a 1 " * 500_000, ":2: too many values, expected at most 500000 in a file"),
        ("graph [\n]\n" + "#\n" * 8_500_000, ": is too large, expected a topology file of at most 16 MiB"),
        ("graph [\nid ]", ":2: 'id' has no value, expected a number, a text in quotes or [ ... ]"),
        ("graph", ":1: 'graph' has no value, expected a number, a text in quotes or [ ... ]"),
        ('graph [\n\nlabel "x ]', ":3: malformed GML (this quote is never closed), expected a topology in GML"),
        ("graph [\nnode [ label 5 ] ]", ":2: node without id, expected a topology in GML"),
        ("graph [\nnode [ id 1 ]\nnode [ id 1 ] ]", ":3: node '1' is given twice, expected different nodes"),
        ("graph [\nedge [ source 1 ] ]", ":2: edge without target, expected a topology in GML"),
        (
            "graph [\nedge [ source 1 target 2 ] ]",
            ":2: edge '1' to '2': unknown node '1', expected a node of the file",
        ),
        (
            "graph [ node [ id 1 ] node [ id 2 ]\nedge [ source 1 target 2 capacity inf ] ]",
            ":2: edge '1' to '2' has capacity inf, expected a finite number of Mbit/s greater than zero",
        ),
        (
            'graph [ node [ id 1 ] node [ id 2 ]\nedge [ source 1 target 2 LinkSpeed "9" LinkSpeedUnits "X" ] ]',
            ":2: LinkSpeedUnits 'X', expected one of K, M, G, T",
        ),
        ("a [ " * 100_000, ":1: malformed GML (the [ of this a is never closed), expected a topology in GML"),
        (b"graph [\n\xe9 ]", ":2: byte 0xe9 is not UTF-8, expected text in UTF-8"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, content: str | bytes, said: str) -> None:
    assert complaint(tmp_path / "x.gml", content) == said


@pytest.mark.parametrize("reference", [f"&#{'9' * 4301};", f"&#x{'f' * 9000};", f"&#{'9' * 11}"])
def test_a_character_reference_without_end_is_refused(tmp_path: Path, reference: str) -> None:
    told = complaint(tmp_path / "net.gml", f'graph [\nnode [ id 0 label "{reference}" ] ]')
    assert told.startswith(":2: the character reference '&#")
    assert told.endswith(("..., expected at most 10 digits", "', expected at most 10 digits"))


def test_character_references_of_no_character_are_shown_as_such(tmp_path: Path) -> None:
    text = 'graph [ node [ id 0 label "&#1114112;" ] node [ id 1 label "&#66;" ] edge [ source 0 target 1 ] ]'
    assert read(tmp_path / "net.gml", text)[0].nodes == ("\N{REPLACEMENT CHARACTER}", "B")
