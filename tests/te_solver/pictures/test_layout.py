"""Positions of nodes in pictures: those of the file, or others if it has none."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from te_solver.formats.topology_file import load_topology
from te_solver.model.topology import Link, Topology
from te_solver.networks import shipped_network
from te_solver.pictures.layout import laid_out, mapped

GML = """graph [
  node [ id 0 label "west" Longitude 0.0 Latitude 60.0 ]
  node [ id 1 label "east" Longitude 10.0 Latitude 60.0 ]
  node [ id 2 label "between" Longitude "unknown" ]
  edge [ source 0 target 2 ] edge [ source 2 target 1 ]
]
"""


def network(positions: dict[str, tuple[float, float]], nodes: str = "abc") -> Topology:
    links = tuple(Link(a, b, 1) for a, b in pairwise(nodes))
    return Topology("t", tuple(nodes), links, positions)


def test_a_map_is_as_wide_as_its_latitude_says() -> None:
    # At 60 degrees north a degree of longitude is half as long as one of latitude.
    placed = mapped(network({"a": (0, 59), "b": (4, 61), "c": (2, 60)}), 1)
    assert placed["b"] - placed["a"] == pytest.approx([1, 1])
    assert placed["c"] - placed["a"] == pytest.approx([0.5, 0.5])


def test_other_units_are_taken_as_they_are() -> None:
    placed = mapped(network({"a": (0, 0), "b": (1000, 500), "c": (1000, 0)}), 1)
    assert placed["b"] == pytest.approx([1, 0.5])


def test_nodes_without_a_position_stand_between_their_neighbours(tmp_path: Path) -> None:
    path = tmp_path / "net.gml"
    path.write_text(GML)
    topology = load_topology(path)
    assert topology.positions == {"west": (0, 60), "east": (10, 60)}
    placed = mapped(topology, 1)
    assert placed["between"] == pytest.approx([0.5, 0], abs=0.02)


def test_nodes_on_one_spot_are_told_apart() -> None:
    placed = mapped(network({"a": (0, 0), "b": (0, 0), "c": (500, 0)}), 1)
    assert not np.allclose(placed["a"], placed["b"])
    assert placed["a"] == pytest.approx(placed["b"], abs=0.03)


def test_without_half_of_the_positions_distances_match_hops() -> None:
    topology = network({"a": (0, 0)})
    placed, without = mapped(topology, 1), laid_out(topology, 1)
    assert all(np.array_equal(placed[node], without[node]) for node in topology.nodes)


def test_graphml_sndlib_and_topohub_have_positions(tmp_path: Path) -> None:
    (tmp_path / "net.graphml").write_text(
        '<graphml><key id="k1" attr.name="Longitude" for="node"/><key id="k2" attr.name="Latitude" for="node"/><graph>'
        '<node id="a"><data key="k1">1.5</data><data key="k2">2</data></node><node id="b"/>'
        '<edge source="a" target="b"/></graph></graphml>'
    )
    assert load_topology(tmp_path / "net.graphml").positions == {"a": (1.5, 2)}
    (tmp_path / "net.xml").write_text(
        "<network><networkStructure><nodes><node id='a'><coordinates><x>3</x><y>4</y></coordinates></node>"
        "<node id='b'/></nodes><links><link id='l'><source>a</source><target>b</target></link></links>"
        "</networkStructure></network>"
    )
    assert load_topology(tmp_path / "net.xml").positions == {"a": (3, 4)}
    assert load_topology("topohub:topozoo/Abilene").positions["New York"] == (-74.01, 40.71)
    assert not load_topology(shipped_network("fig1")).positions
