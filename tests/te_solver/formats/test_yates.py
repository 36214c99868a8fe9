from __future__ import annotations

import time
from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from te_solver.formats.demands_file import load_demands
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from tests.te_solver.formats.reading import capacities, complaint, read

NET = """strict digraph net {
  // a comment
  s1 [type=switch, id=1]; s2 [type=switch]
  h1 [type=host, ip="10.0.0.1"];
  h2 [type=host];
  s1 -> s2 [capacity="1Gbps", cost=3,
            src_port=1];
  s2 -> s1 [capacity="500Mbps"];
  h1 -> s1 [capacity="5Gbps"]; s1 -> h1;
  h2 -> s2; s2 -> h2 /* the last */
}
"""


def network(tmp_path: Path) -> Topology:
    return read(tmp_path / "net.dot", NET)[0]


def test_hosts_are_left_out_and_capacities_have_units(tmp_path: Path) -> None:
    topology, notes = read(tmp_path / "net.dot", NET)
    assert (topology.name, topology.nodes) == ("net", ("s1", "s2"))
    assert capacities(topology) == [("s1", "s2", 1000), ("s2", "s1", 500)]
    assert notes == ["2 hosts left out: demands of a host are those of its switch"]


def test_an_undirected_graph_has_chains(tmp_path: Path) -> None:
    topology, _ = read(tmp_path / "net.dot", 'graph { "New York"--Boston--Albany [capacity="10G"] }')
    assert topology.nodes == ("New York", "Boston", "Albany")
    assert {link.capacity for link in topology.links} == {10_000}
    assert len(topology.links) == 4


def test_matrices_are_between_hosts_in_bits_per_second(tmp_path: Path) -> None:
    topology = network(tmp_path)
    (tmp_path / "net.hosts").write_text("h2\nh1\n")
    (tmp_path / "tm.txt").write_text("0 2e6 500e+6 0\n0 1e6 0 0\n")
    notes: list[str] = []
    assert load_demands(tmp_path / "tm.txt", topology, "yates", note=notes.append) == (
        Demand("s2", "s1", 2),
        Demand("s1", "s2", 500),
    )
    assert notes == [
        f"the order of hosts is that of {tmp_path / 'net.hosts'}",
        "the first of 2 matrices is taken; --row chooses another",
        "demands are taken as bit/s",
    ]
    assert load_demands(tmp_path / "tm.txt", topology, "yates", row=2, rate_unit="kbit/s") == (
        Demand("s2", "s1", 1000),
    )


def test_hosts_may_be_in_a_folder_beside_that_of_the_demands(tmp_path: Path) -> None:
    topology = network(tmp_path)
    for folder in ("hosts", "demands"):
        (tmp_path / folder).mkdir()
    (tmp_path / "hosts" / "net.hosts").write_text("h2\nh1\n")
    (tmp_path / "demands" / "tm.txt").write_text("0 2e6 0 0\n")
    assert load_demands(tmp_path / "demands" / "tm.txt", topology, "yates") == (Demand("s2", "s1", 2),)


def test_without_hosts_the_order_is_that_of_the_nodes(tmp_path: Path) -> None:
    (tmp_path / "tm.txt").write_text("0 2e6 0 0\n")
    notes: list[str] = []
    assert load_demands(tmp_path / "tm.txt", network(tmp_path), "yates", note=notes.append) == (Demand("s1", "s2", 2),)
    assert "there is no file of hosts: the order of net's nodes is taken" in notes


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        ("h1\nh7\n", ":2: unknown host 'h7', expected a host of net, as h1 of s1"),
        ("h1\ns1\n", ":2: 's1' is given twice, expected each host once"),
    ],
)
def test_bad_hosts_are_refused_with_their_line(tmp_path: Path, hosts: str, said: str) -> None:
    (tmp_path / "net.hosts").write_text(hosts)
    (tmp_path / "tm.txt").write_text("0 1 0 0\n")
    with pytest.raises(InputError) as raised:
        load_demands(tmp_path / "tm.txt", network(tmp_path), "yates")
    assert str(raised.value) == f"{tmp_path / 'net.hosts'}{said}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ": the file ends in the middle of a graph, expected digraph or graph"),
        ("tree {}", ":1: found 'tree', expected digraph or graph"),
        ("digraph {\n a -> \n}", ":3: found '}', expected the name of a node"),
        ("digraph { a -> b [capacity]", ":1: found ']', expected '='"),
        ("digraph { a -> b", ": the file ends in the middle of a graph, expected the name of a node"),
        ("digraph {\n subgraph { a }}", ":2: found 'subgraph', expected the name of a node"),
        ("digraph { a -> b } c", ":1: found 'c', expected the end of the file"),
        ('digraph {\n a -> b [capacity="many"] }', ":2: capacity 'many' is not a number, expected a capacity"),
        ('digraph { a -> "b }', ":1: found '\"', expected the name of a node"),
    ],
)
def test_bad_dot_is_refused_with_its_line(tmp_path: Path, content: str, said: str) -> None:
    assert complaint(tmp_path / "net.dot", content).startswith(said)


@pytest.mark.parametrize("part", ["a->a;", "a;", "[", '"', "a [b=c];", "/*", "\\", "- "])
def test_hostile_dot_is_refused_in_bounded_time(tmp_path: Path, part: str) -> None:
    content = "digraph {" + part * ((2**20 - 10) // len(part))
    started = time.process_time()
    complaint(tmp_path / "net.dot", content)
    assert time.process_time() - started < 2
