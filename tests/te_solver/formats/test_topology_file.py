from __future__ import annotations

import math
from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from te_solver.formats.topology_file import load_topology
from te_solver.model.topology import Link

NODES = "nodes: [a, b]\n"
LINK_KEYS = "expected the keys a, b, capacity, delay"
FILE_KEYS = "expected the keys name, directed, nodes, links"
RATE = "expected a finite number of Mbit/s greater than zero"
WORD = "expected a finite number greater than zero, in Mbit/s or with its unit, such as 10G"


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "net.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_link_is_both_directions_of_a_cable(tmp_path: Path) -> None:
    topology = load_topology(written(tmp_path, NODES + "links: [{a: a, b: b, capacity: 10.5, delay: 0.002}]"))
    assert topology.name == "net"
    assert topology.nodes == ("a", "b")
    assert topology.links == (Link("a", "b", 10.5, 0.002), Link("b", "a", 10.5, 0.002))


def test_a_directed_file_gives_each_direction_of_its_own(tmp_path: Path) -> None:
    text = "name: one way\ndirected: true\n" + NODES + "links: [{a: b, b: a, capacity: 7}]"
    topology = load_topology(written(tmp_path, text))
    assert topology.name == "one way"
    assert topology.links == (Link("b", "a", 7),)


def test_names_that_look_like_other_types_are_text(tmp_path: Path) -> None:
    text = "nodes: [1, 2.0, 010, yes, null]\nlinks: [{a: 1, b: 2.0, capacity: 1e3}, {a: 010, b: yes, capacity: 1}]"
    topology = load_topology(written(tmp_path, text))
    assert topology.nodes == ("1", "2.0", "010", "yes", "null")
    assert [(*link.ends, link.capacity) for link in topology.links[::2]] == [("1", "2.0", 1000), ("010", "yes", 1)]


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + (NODES + "links: [{a: a, b: b, capacity: 1}]\n").replace("\n", "\r\n").encode()
    assert load_topology(written(tmp_path, content)).nodes == ("a", "b")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", ": the file is empty, expected nodes and links"),
        ("- a", f":1: the file is not a mapping, {FILE_KEYS}"),
        (NODES, f":1: the file has no links, {FILE_KEYS}"),
        (NODES + "colour: red\nlinks: []", f":2: unknown key 'colour', {FILE_KEYS}"),
        (NODES + "nodes: [c]\nlinks: []", ":2: nodes is given twice, expected each key once"),
        ("nodes: a\nlinks: []", ":1: nodes is not a list, expected a list of node names"),
        ("nodes: []\nlinks: []", ":1: nodes is empty, expected a network of at least two nodes and one link"),
        (NODES + "links: []", ":2: links is empty, expected a network of at least two nodes and one link"),
        (NODES + "links: {a: b}", ":2: links is not a list, expected a list of {a, b, capacity, delay?}"),
        (NODES + "links:\n- a-b", f":3: a link is not a mapping, {LINK_KEYS}"),
        (NODES + "links:\n- {a: a, b: b}", f":3: a link has no capacity, {LINK_KEYS}"),
        (NODES + "links:\n- {a: a, capacity: 1}", f":3: a link has no b, {LINK_KEYS}"),
        (NODES + "links:\n- {a: a, b: b, capacity: 1, cost: 1}", f":3: unknown key 'cost', {LINK_KEYS}"),
        (
            NODES + "links:\n- a: a\n  b: x\n  capacity: 1",
            ":4: link to the unknown node 'x', expected a name from nodes",
        ),
        (NODES + "links:\n- a: a\n  b: a\n  capacity: 1", ":4: a link from a to itself, expected two different nodes"),
        (NODES + "links:\n- a: a\n  b: b\n  capacity: fast", f":5: capacity 'fast' is not a number, {WORD}"),
        (NODES + "links:\n- a: a\n  b: b\n  capacity: 1_0", f":5: capacity '1_0' is not a number, {WORD}"),
        (NODES + "links:\n- a: a\n  b: b\n  capacity: -1", f":5: link a-b has capacity -1, {RATE}"),
        (NODES + "links:\n- a: a\n  b: b\n  capacity: 0", f":5: link a-b has capacity 0, {RATE}"),
        (NODES + "links:\n- a: a\n  b: b\n  capacity: nan", f":5: link a-b has capacity nan, {RATE}"),
        (NODES + "links:\n- a: a\n  b: b\n  capacity: 1e999", f":5: link a-b has capacity inf, {RATE}"),
        (
            NODES + "links:\n- {a: a, b: b, capacity: 1,\n   delay: -2}",
            ":4: link a-b has delay -2, expected a finite number of seconds, zero or more",
        ),
        (
            NODES + "links:\n- {a: a, b: b, capacity: 1}\n- {a: b, b: a, capacity: 1}",
            ":4: link b-a is given twice, expected one link for each two nodes",
        ),
        (
            "nodes: [a,\n b,\n a]\nlinks: [{a: a, b: b, capacity: 1}]",
            ":3: node a is given twice, expected different names",
        ),
        (
            'nodes: [a, "b\\n"]\nlinks: [{a: a, b: a, capacity: 1}]',
            r":1: name 'b\n', expected printable characters without spaces around them",
        ),
        (
            "nodes: [a, [b]]\nlinks: [{a: a, b: b, capacity: 1}]",
            ":1: a node name is a list or mapping, expected a single word or number",
        ),
        (
            "directed: maybe\n" + NODES + "links: [{a: a, b: b, capacity: 1}]",
            ":1: directed 'maybe', expected true or false",
        ),
        (
            'name: "a\\tb"\n' + NODES + "links: [{a: a, b: b, capacity: 1}]",
            r":1: name 'a\tb', expected printable characters without spaces around them",
        ),
        ("nodes: [a\nlinks: 3", ":2: malformed YAML (expected ',' or ']', but got ':'), expected a topology in YAML"),
        (NODES + "links: \x07", ":2: malformed YAML (character 0x07), expected printable text"),
        ("[" * 500, ": nested too deeply, expected a topology in YAML"),
        (NODES.encode() + b"# \xe9", ":2: byte 0xe9 is not UTF-8, expected text in UTF-8"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, text: str | bytes, complaint: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as raised:
        load_topology(path)
    assert str(raised.value) == f"{path}{complaint}"


def test_aliases_are_not_expanded(tmp_path: Path) -> None:
    levels = [f"- &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]" for level in range(1, 40)]
    path = written(tmp_path, NODES + "links:\n- &l0 [x]\n" + "\n".join(levels))
    with pytest.raises(InputError) as raised:
        load_topology(path)
    assert str(raised.value) == f"{path}:3: a link is not a mapping, {LINK_KEYS}"


@pytest.mark.parametrize(("name", "reason"), [("absent.yaml", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, reason: str) -> None:
    path = tmp_path / name
    with pytest.raises(InputError) as raised:
        load_topology(path)
    assert str(raised.value) == f"{path}: cannot be read ({reason}), expected a topology file"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.graphml", "<graphml><graph><node id='1'/><node id='2'/><edge source='1' target='2'/></graph></graphml>"),
        ("a.gml", "graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 ] ]"),
        (
            "a.xml",
            """<network><networkStructure><nodes><node id="1"/><node id="2"/></nodes>
            <links><link id="l"><source>1</source><target>2</target></link></links></networkStructure></network>""",
        ),
        (
            "a.txt",
            "# x\n?SNDlib native format; type: network; version: 1.0\nNODES ( 1 2 ) LINKS ( l ( 1 2 ) 0 0 0 0 ( ) )",
        ),
        ("A.TXT", "to_node from_node capacity prob_failure\n1 2 1000 0\n2 1 1000 0"),
        ("a.yml", "nodes: [1, 2]\nlinks: [{a: 1, b: 2, capacity: 1000}]"),
        ("a.json", '{"nodes": [1, 2], "links": [{"a": 1, "b": 2, "capacity": 1000}]}'),
        ("a", "nodes: [1, 2]\nlinks: [{a: 1, b: 2, capacity: 1000}]"),
    ],
)
def test_the_suffix_says_which_format_it_is(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    topology = load_topology(path)
    assert topology.nodes == ("1", "2")
    assert topology.links == (Link("1", "2", 1000), Link("2", "1", 1000))


def test_a_named_format_comes_before_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 ] ]")
    assert load_topology(path, "gml").nodes == ("1", "2")
    with pytest.raises(
        ValueError, match="no topology format 'dot', there are yaml, graphml, gml, yates, sndlib, teavar"
    ):
        load_topology(path, "dot")


def test_a_rate_with_a_unit_may_be_in_quotes_as_json_demands(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    path.write_text('{"nodes": ["a", "b"], "links": [{"a": "a", "b": "b", "capacity": "1.5T"}]}')
    assert load_topology(path).link("a", "b").capacity == 1_500_000


def test_a_plan_is_no_topology(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{\n "format": "kuijia-plan",\n "version": 1\n}')
    with pytest.raises(InputError) as raised:
        load_topology(path)
    assert str(raised.value) == (f"{path}:1: a plan of kuijia, expected a topology")


def test_an_unknown_suffix_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.xls"
    with pytest.raises(InputError) as raised:
        load_topology(path)
    assert str(raised.value) == (
        f"{path}: .xls is not a known suffix of a topology, "
        "expected .yaml, .yml, .json, .graphml, .gml, .xml, .dot, .graph, .tab, .txt or the option --format"
    )


@pytest.mark.parametrize(
    "name",
    [
        "absent.graphml",
        "absent.gml",
        "absent.xml",
        "absent.dot",
        "absent.graph",
        "absent.tab",
        "absent.txt",
        "absent.yaml",
    ],
)
def test_every_reader_names_a_file_that_is_not_there(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(InputError) as raised:
        load_topology(path)
    assert str(raised.value).startswith(f"{path}: cannot be read (No such file or directory), expected a")


@pytest.mark.parametrize("capacity", [0.0, -1.0, math.nan, math.inf])
def test_a_default_capacity_is_a_rate(tmp_path: Path, capacity: float) -> None:
    with pytest.raises(ValueError, match="a default capacity of"):
        load_topology(written(tmp_path, NODES), default_capacity=capacity)
