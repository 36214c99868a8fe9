from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from tests.te_solver.formats.reading import capacities, complaint, read

HEADINGS = "to_node   from_node   capacity   prob_failure\n"
COLUMNS = "to_node from_node capacity prob_failure"
OTHER_UNIT = " (TEAVAR's programs divide them by 1,000, as if they were kbit/s)"
UNITS = f"capacities are taken as Mbit/s{OTHER_UNIT}"
CHANCES = "its failure probabilities are those of `kuijia whatif`"
TRIANGLE = HEADINGS + "1 2 10 .01\n2 1 10 .01\n\n1\t3\t20\t.004\n3 1 20 .004\n3 2 5 .01\n2 3 5 .01\n"


@pytest.fixture
def triangle(tmp_path: Path) -> Topology:
    return read(tmp_path / "topology.txt", TRIANGLE)[0]


def test_a_network_is_named_by_its_folder_and_its_nodes_by_number(tmp_path: Path) -> None:
    (tmp_path / "Triangle").mkdir()
    topology, notes = read(tmp_path / "Triangle" / "topology.txt", TRIANGLE)
    assert topology.name == "Triangle"
    assert topology.nodes == ("1", "2", "3")
    assert capacities(topology)[::2] == [("1", "2", 10), ("1", "3", 20), ("3", "2", 5)]
    assert notes == [UNITS, CHANCES]


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text(HEADINGS + "1 2 10 0\n2 1 10 0\n")
    (tmp_path / "demand.txt").write_text("0 5 6 0\n")
    topology = load_topology(tmp_path)
    assert topology.nodes == ("1", "2")
    assert load_demands(tmp_path, topology) == (Demand("1", "2", 5.0), Demand("2", "1", 6.0))


def test_names_of_nodes_stand_in_a_file_beside(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text("String_node_names\ns1\nNew York\ns3\ns4\n\n")
    topology, notes = read(tmp_path / "links.txt", TRIANGLE)
    assert topology.name == "links"
    assert topology.nodes == ("s1", "New York", "s3", "s4")
    assert topology.link("s3", "New York").capacity == 5
    assert f"node names are those of {tmp_path / 'nodes.txt'}" in notes


def test_more_names_than_nodes_can_have_numbers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text("String_node_names\n" + "a\n" * 100_001)
    (tmp_path / "links.txt").write_text(TRIANGLE)
    with pytest.raises(InputError, match=r"nodes.txt:100002: too many names of nodes, expected at most 100000$"):
        load_topology(tmp_path / "links.txt")


def test_a_cable_is_down_with_the_probability_in_the_file(triangle: Topology) -> None:
    cables = [("1", "2", 0.01), ("1", "3", 0.004), ("2", "3", 0.01)]
    assert dict(triangle.down) == {frozenset((a, b)): probability for a, b, probability in cables}


def test_the_greater_probability_of_two_directions_is_taken(tmp_path: Path) -> None:
    topology, notes = read(tmp_path / "topology.txt", HEADINGS + "1 2 10 .01\n2 1 10 .02\n")
    assert dict(topology.down) == {frozenset("12"): 0.02}
    assert "1 cable has different failure probabilities in its directions: the greatest is taken" in notes


def test_probabilities_of_zero_are_none(tmp_path: Path) -> None:
    topology, notes = read(tmp_path / "topology.txt", HEADINGS + "1 2 10 0\n2 1 10 0\n")
    assert topology.down == {}
    assert notes == [UNITS]


def test_nodes_may_be_counted_from_zero(tmp_path: Path) -> None:
    topology, _ = read(tmp_path / "topology.txt", HEADINGS + "0 2 10 0\n2 0 10 0\n")
    assert topology.nodes == ("0", "1", "2")


def test_the_first_column_is_where_a_link_comes_from(tmp_path: Path) -> None:
    topology, notes = read(tmp_path / "topology.txt", HEADINGS + "1 2 10 0\n2 1 20 0\n2 3 5 0\n")
    assert capacities(topology) == [("1", "2", 10), ("2", "1", 20), ("2", "3", 5)]
    assert notes == [
        "1 of 3 links one way only: no link leads back",
        "not the same links in both directions: the first column is taken as the node that a link comes from",
        UNITS,
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "",
            ": 0 nodes and no link between two of them, expected a network of at least two nodes and one link",
        ),
        ("1 2 10 0\n", f":1: found '1 2 10 0', expected the headings {COLUMNS}"),
        (HEADINGS + "1 2\n", f":2: 2 columns, expected the columns {COLUMNS}"),
        (HEADINGS + "\na 2 10 0\n", ":3: node 'a', expected the number of a node, at most 100000"),
        (
            HEADINGS + "1 9999999999999 10 0\n",
            ":2: node '9999999999999', expected the number of a node, at most 100000",
        ),
        (
            HEADINGS + "1 2 0 0\n",
            ":2: edge '1' to '2' has capacity 0, expected a finite number of Mbit/s greater than zero",
        ),
        (
            HEADINGS + "1 2 x 0\n",
            ":2: capacity 'x' is not a number, expected a finite number of Mbit/s greater than zero",
        ),
        (HEADINGS + "1 2 1 1.5\n", ":2: prob_failure 1.5, expected a number from 0 to 1"),
        (HEADINGS + "1 2 1 nan\n", ":2: prob_failure nan, expected a number from 0 to 1"),
    ],
)
def test_a_bad_topology_is_refused_with_its_line(tmp_path: Path, content: str, said: str) -> None:
    assert complaint(tmp_path / "topology.txt", content) == said


def test_a_link_to_a_node_without_a_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text("String_node_names\ns1\ns2\n")
    said = complaint(tmp_path / "topology.txt", HEADINGS + "1 2 1 0\n2 3 1 0\n")
    assert said == ":3: edge '2' to '3': unknown node '3', expected a node of the file"


def test_a_row_is_a_matrix_of_all_pairs(tmp_path: Path, triangle: Topology) -> None:
    path = tmp_path / "demand.txt"
    path.write_text("9 1 2.5 3 0 4e2 0 5 0\n\n0 0 7 0 0.0 0 0 0 0\n")
    notes: list[str] = []
    assert load_demands(path, triangle, note=notes.append) == (
        Demand("1", "2", 1),
        Demand("1", "3", 2.5),
        Demand("2", "1", 3),
        Demand("2", "3", 400),
        Demand("3", "2", 5),
    )
    assert notes == [
        "the first of 2 matrices is taken; --row chooses another",
        f"demands are taken as Mbit/s{OTHER_UNIT}",
        "1 demand of a node to itself left out",
    ]
    assert load_demands(path, triangle, row=2) == (Demand("1", "3", 7),)


def test_the_matrix_goes_with_any_topology_of_as_many_nodes(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text("nodes: [a, b]\nlinks: [{a: a, b: b, capacity: 1}]")
    (tmp_path / "matrices").write_text("0 4 0 0")
    demands = load_demands(tmp_path / "matrices", load_topology(tmp_path / "net.yaml"), "teavar")
    assert demands == (Demand("a", "b", 4),)


@pytest.mark.parametrize(
    ("content", "row", "said"),
    [
        ("0 1 0 0 0 0 0 0 0\n", 2, " 1 matrix, no row 2, expected a row of the file"),
        ("\n", None, " 0 matrices, no row 1, expected a row of the file"),
        ("0 1 0 0\n", None, "1: 4 rates, the matrix of 2 nodes, expected 9, as {name} has 3 nodes"),
        ("0 1\n", None, "1: 2 rates, expected 9, as {name} has 3 nodes"),
        ("1 " * 20_000, None, "1: more than 10,000 rates, expected 9, as {name} has 3 nodes"),
        ("\n0 1 0 0 x 0 0 0 0\n", None, "2: rate 'x' is not a number, expected Mbit/s, zero or more"),
        ("0 -1 0 0 0 0 0 0 0\n", None, "1: rate -1, expected a finite number of Mbit/s, zero or more"),
        ("0 inf 0 0 0 0 0 0 0\n", None, "1: rate inf, expected a finite number of Mbit/s, zero or more"),
        ("3 0 0 0 0 0 0 0 0\n", None, " there is no demand above zero, expected at least one"),
    ],
)
def test_a_bad_matrix_is_refused(tmp_path: Path, triangle: Topology, content: str, row: int | None, said: str) -> None:
    path = tmp_path / "demand.txt"
    path.write_text(content)
    with pytest.raises(InputError) as raised:
        load_demands(path, triangle, row=row)
    assert str(raised.value) == f"{path}:{said.format(name=triangle.name)}"


def test_a_list_of_demands_has_a_pair_in_each_line(tmp_path: Path, triangle: Topology) -> None:
    path = tmp_path / "1.txt"
    path.write_text("to_node  from_node  demand\n1 3 5\n3 2 8\n\n2 2 4\n")
    notes: list[str] = []
    assert load_demands(path, triangle, note=notes.append) == (Demand("1", "3", 5), Demand("3", "2", 8))
    assert f"demands are taken as Mbit/s{OTHER_UNIT}" in notes
    assert load_demands(path, triangle, rate_unit="kbit/s")[0].rate == 0.005


@pytest.mark.parametrize(
    ("content", "row", "said"),
    [
        ("to_node from_node demand\n1 2\n", None, ":2: 2 columns, expected the columns to_node from_node demand"),
        ("to_node from_node demand\n1 9 1\n", None, ":2: unknown node '9', expected a node of {name}"),
        ("to_node from_node demand\n1 2 x\n", None, ":2: demand 'x' is not a number, expected a rate, zero or more"),
        ("to_node from_node demand\n1 2 1\n", 2, ": a list of demands, no row 2, expected a file of matrices"),
    ],
)
def test_a_bad_list_is_refused(tmp_path: Path, triangle: Topology, content: str, row: int | None, said: str) -> None:
    path = tmp_path / "1.txt"
    path.write_text(content)
    with pytest.raises(InputError) as raised:
        load_demands(path, triangle, row=row)
    assert str(raised.value) == f"{path}{said.format(name=triangle.name)}"


def test_a_history_of_figret_is_a_matrix_in_each_line(tmp_path: Path, triangle: Topology) -> None:
    path = tmp_path / "5.hist"
    path.write_text("0 1 2 3 0 4 5 6 0\n0 1 0 0 0 0 0 0 0\n")
    assert load_demands(path, triangle, row=2) == (Demand("1", "2", 1),)
    assert load_demands(path, triangle, rate_unit="bit/s")[5] == Demand("3", "2", 6e-6)


def test_a_file_of_more_lines_than_a_network_has_links_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("te_solver.formats.teavar.MOST_LINKS", 2)
    said = complaint(tmp_path / "x.txt", HEADINGS + "1 2 10 .01\n" * 3)
    assert said == ":4: too many links, expected a network of at most 2 links"
