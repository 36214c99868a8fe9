from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from tests.te_solver.formats.reading import capacities, complaint, read

CAPACITIES = "i j capacity\n0 1 1\n1 0 1\n2 1 2.5\n"
DEMANDS = "s t h tm\n0 1 0 0.5\n2 0 0 0.25\n0 1 1 7\n"


def test_links_are_directed_and_nodes_have_numbers_as_names(tmp_path: Path) -> None:
    topology, notes = read(tmp_path / "toy_capa.tab", CAPACITIES)
    assert (topology.name, topology.nodes) == ("toy", ("0", "1", "2"))
    assert capacities(topology) == [("0", "1", 1), ("1", "0", 1), ("2", "1", 2.5)]
    assert "capacities are taken as Mbit/s" in notes


def test_a_row_chooses_one_of_several_matrices(tmp_path: Path) -> None:
    topology, _ = read(tmp_path / "toy_capa.tab", CAPACITIES)
    path = tmp_path / "toy_traffic.tab"
    path.write_text(DEMANDS)
    notes: list[str] = []
    assert load_demands(path, topology, note=notes.append) == (Demand("0", "1", 0.5), Demand("2", "0", 0.25))
    assert notes == ["demands are taken as Mbit/s", "the first of 2 matrices is taken; --row chooses another"]
    assert load_demands(path, topology, row=2, rate_unit="Gbit/s") == (Demand("0", "1", 7000),)
    with pytest.raises(InputError, match=r"toy_traffic.tab: 2 matrices, no row 3, expected a matrix of the file$"):
        load_demands(path, topology, row=3)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ": is empty, expected the headings i j capacity or i j cap"),
        ("i j\n", ":1: found 'i j', expected the headings i j capacity or i j cap"),
        ("i j cap\n0 1\n", ":2: 2 columns, expected the columns i j capacity or i j cap"),
        ("i j cap\n0 a 1\n", ":2: node 'a', expected the number of a node, at most 100000"),
        (
            "i j cap\n0 1 -1\n",
            ":2: edge '0' to '1' has capacity -1, expected a finite number of Mbit/s greater than zero",
        ),
    ],
)
def test_bad_capacities_are_refused_with_their_line(tmp_path: Path, content: str, said: str) -> None:
    assert complaint(tmp_path / "net.tab", content) == said


@pytest.mark.parametrize(
    ("content", "pairs", "notes"),
    [
        ("0 1 0 5\n1 2 0 7\n", ["12", "23"], ["0 is taken as 1: numbers are places in the order of nodes"]),
        ("1 2 0 7\n2 3 0 7\n", ["12", "23"], ["1 is taken as 1: numbers are names"]),
    ],
)
def test_numbers_are_names_only_if_all_of_them_are(
    tmp_path: Path, content: str, pairs: list[str], notes: list[str]
) -> None:
    topology = Topology("from1", ("1", "2", "3"), tuple(Link(a, b, 9) for a, b in ("12", "23", "31")))
    path = tmp_path / "traffic.tab"
    path.write_text(f"s t h tm\n{content}")
    heard: list[str] = []
    found = load_demands(path, topology, note=heard.append, rate_unit="Mbit/s")
    assert ["".join(demand.pair) for demand in found] == pairs
    assert heard == notes


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("s t h tm\n0 9 0 1\n", ":2: unknown node '9', expected a node of toy"),
        ("s t h tm\n0 1 x 1\n", ":2: h 'x', expected the number of a matrix, from 0"),
        ("s t h tm\n0 1 0 nan\n", ":2: rate nan, expected a finite number of Mbit/s, zero or more"),
    ],
)
def test_bad_demands_are_refused_with_their_line(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "toy_capa.tab").write_text(CAPACITIES)
    path = tmp_path / "toy_traffic.tab"
    path.write_text(content)
    with pytest.raises(InputError) as raised:
        load_demands(path, load_topology(tmp_path / "toy_capa.tab"))
    assert str(raised.value) == f"{path}{said}"
