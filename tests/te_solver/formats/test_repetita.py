from __future__ import annotations

import time
from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from tests.te_solver.formats.reading import capacities, complaint, read

EDGE_COLUMNS = "label src dest weight bw delay"
GRAPH = f"""NODES 3
label x y
0_Bonn 7.1 50.7
1_Kiel 10.1 54.3
2_Ulm 9.9 48.4

EDGES 4
{EDGE_COLUMNS}
edge_0 0 1 10 10000 500
edge_1 1 0 10 10000 500
edge_2 1 2 5 2500 250
edge_3 2 1 5 2500 250
"""
DEMANDS = "DEMANDS 3\nlabel src dest bw\ndemand_0 0 1 300\ndemand_1 2 0 1500\ndemand_2 1 1 7\n"


def test_edges_are_directed_and_their_rates_in_kbit_per_second(tmp_path: Path) -> None:
    topology, notes = read(tmp_path / "net.graph", GRAPH)
    assert (topology.name, topology.nodes) == ("net", ("0_Bonn", "1_Kiel", "2_Ulm"))
    assert capacities(topology) == [
        ("0_Bonn", "1_Kiel", 10),
        ("1_Kiel", "0_Bonn", 10),
        ("1_Kiel", "2_Ulm", 2.5),
        ("2_Ulm", "1_Kiel", 2.5),
    ]
    assert topology.link("0_Bonn", "1_Kiel").delay == 0.0005
    assert topology.positions["1_Kiel"] == (10.1, 54.3)
    assert notes == [
        "capacities are taken as kbit/s",
        "delays are taken as microseconds",
        "its IGP weights are not used",
    ]


def test_demands_are_between_nodes_by_number(tmp_path: Path) -> None:
    topology, _ = read(tmp_path / "net.graph", GRAPH)
    (tmp_path / "net.0000.demands").write_text(DEMANDS)
    notes: list[str] = []
    assert load_demands(tmp_path / "net.0000.demands", topology, note=notes.append) == (
        Demand("0_Bonn", "1_Kiel", 0.3),
        Demand("2_Ulm", "0_Bonn", 1.5),
    )
    assert notes == ["demands are taken as kbit/s", "1 demand of a node to itself left out"]


@pytest.mark.parametrize(("unit", "capacity"), [("bit/s", 0.01), ("kbit/s", 10), ("Mbit/s", 10_000), ("Gbit/s", 1e7)])
def test_a_stated_unit_is_no_assumption(tmp_path: Path, unit: str, capacity: float) -> None:
    (tmp_path / "net.graph").write_text(GRAPH)
    (tmp_path / "d.demands").write_text(DEMANDS)
    notes: list[str] = []
    topology = load_topology(tmp_path / "net.graph", note=notes.append, rate_unit=unit)
    assert topology.link("0_Bonn", "1_Kiel").capacity == capacity
    demands = load_demands(tmp_path / "d.demands", topology, note=notes.append, rate_unit=unit)
    assert demands[0].rate == pytest.approx(0.03 * capacity)
    assert not [note for note in notes if "bit/s" in note]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ": the file ends, expected NODES"),
        ("EDGES 1\n", ":1: found 'EDGES 1', expected NODES and their number"),
        ("NODES 3\nlabel y x\n", ":2: found 'label y x', expected label x y"),
        ("NODES 200000\n", ":1: 200000 nodes, expected at most 100000"),
        ("NODES 2\nlabel x y\na 0 0\n", ":3: the file ends, expected 1 more nodes"),
        ("NODES 1\nlabel x y\na 0\n", ":3: 2 columns, expected label x y"),
        (GRAPH.replace("2500 250", "x 250", 1), f":11: bw 'x' is not a number, expected {'a finite number of Mbit/s'}"),
        (GRAPH.replace("edge_3 2 1", "edge_3 3 1"), ":12: node '3', expected a number below 3, the number of nodes"),
        (GRAPH + "more\n", ":13: found 'more', expected the end of the file"),
    ],
)
def test_a_bad_topology_is_refused_with_its_line(tmp_path: Path, content: str, said: str) -> None:
    assert complaint(tmp_path / "net.graph", content).startswith(said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (DEMANDS.replace(" 2 0 ", " 9 0 "), ":4: node '9', expected a number below 3, the number of nodes"),
        (DEMANDS.replace("300", "-3"), ":3: rate -0.003, expected a finite number of Mbit/s, zero or more"),
        (DEMANDS.replace("DEMANDS 3", "DEMANDS 2"), ":5: found 'demand_2 1 1 7', expected the end of the file"),
    ],
)
def test_bad_demands_are_refused_with_their_line(tmp_path: Path, content: str, said: str) -> None:
    topology, _ = read(tmp_path / "net.graph", GRAPH)
    path = tmp_path / "net.demands"
    path.write_text(content)
    with pytest.raises(InputError) as raised:
        load_demands(path, topology)
    assert str(raised.value) == f"{path}{said}"


def test_a_large_file_of_nothing_is_refused_at_once(tmp_path: Path) -> None:
    content = "NODES 100000\nlabel x y\n" + "a\n" * 10_000_000
    started = time.process_time()
    assert complaint(tmp_path / "net.graph", content) == ":3: 1 column, expected label x y"
    assert time.process_time() - started < 2
