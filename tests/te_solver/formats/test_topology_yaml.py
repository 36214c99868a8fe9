from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kuijia_base.errors import InputError
from kuijia_base.quantities import RATE_EXPECTED
from te_solver.formats.topology_file import load_topology, save_topology
from te_solver.formats.topology_yaml import topology_as_data, topology_yaml
from te_solver.model.topology import Link, Topology
from te_solver.networks import shipped_names, shipped_network
from te_solver.schemas import schema
from tests.te_solver.random_networks import topologies

VALIDATOR = Draft202012Validator(schema("topology"))

NAMES = (
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
    | st.sampled_from(["yes", "null", "~", "1e3", "010", "- a", "a: b", "#1", "{x}", "[", "'", '"', "\\", "a, b", "é"])
).filter(lambda name: name.isprintable() and name == name.strip())


@st.composite
def any_topologies(draw: st.DrawFn) -> Topology:
    """Networks with names and numbers of all kinds, their links in any order."""
    plain = draw(topologies(directed=draw(st.booleans())))
    names = draw(st.lists(NAMES, min_size=len(plain.nodes), max_size=len(plain.nodes), unique=True))
    name_of = dict(zip(plain.nodes, names, strict=True))
    delays = st.just(0.0) | st.floats(0, 1e3)
    links = [
        Link(name_of[link.source], name_of[link.target], draw(st.floats(0, 1e300, exclude_min=True)), draw(delays))
        for link in plain.links
    ]
    if draw(st.booleans()):
        links = draw(st.permutations(links))
    return Topology(draw(NAMES), tuple(names), tuple(links))


@given(any_topologies() | topologies())
def test_what_is_written_reads_as_the_same_topology(
    tmp_path_factory: pytest.TempPathFactory, topology: Topology
) -> None:
    path = tmp_path_factory.mktemp("yaml") / "other name.yaml"
    save_topology(topology, path, comment="made by\na test: {")
    assert load_topology(path) == topology
    VALIDATOR.validate(topology_as_data(topology))
    assert yaml.safe_load(path.read_text()).keys() == topology_as_data(topology).keys()


def test_the_file_is_made_to_be_read_by_people() -> None:
    both = Topology("a net", ("s1", "- 2"), (Link("s1", "- 2", 10, 0.5), Link("- 2", "s1", 10, 0.5)))
    assert topology_yaml(both, "first\nsecond") == (
        "# first\n# second\nname: a net\nnodes:\n  - s1\n"
        '  - "- 2"\nlinks:\n  - {a: s1, b: "- 2", capacity: 10, delay: 0.5}\n'
    )
    one = Topology("one", ("a", "b"), (Link("b", "a", 0.1),))
    assert topology_yaml(one) == (
        "name: one\ndirected: true\nnodes:\n  - a\n  - b\nlinks:\n  - {a: b, b: a, capacity: 0.1}\n"
    )


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_networks_keep_to_the_schema(name: str) -> None:
    VALIDATOR.validate(yaml.safe_load(shipped_network(name).read_text()))


GOOD: dict[str, Any] = {
    "name": "net",
    "directed": True,
    "nodes": ["a", 2, True, None],
    "links": [{"a": "a", "b": 2, "capacity": 10, "delay": 0.5}, {"a": 2, "b": "a", "capacity": 1.5}],
}
JUNK = st.sampled_from([None, True, "", " x", "x", "2", "10", 0, -1, 7, 0.25, [], ["a"], {}, {"a": 1}, "true"])


def places(data: Any, way: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:  # noqa: ANN401  # JSON is anything
    inner: list[tuple[str | int, Any]] = []
    if isinstance(data, dict):
        inner = list(data.items())
    elif isinstance(data, list):
        inner = list(enumerate(data))
    return [way, *(place for key, value in inner for place in places(value, (*way, key)))]


@st.composite
def damaged(draw: st.DrawFn) -> Any:  # noqa: ANN401  # JSON is anything
    """A good file, or one in which a value is replaced, left out, or added to."""
    data = copy.deepcopy(GOOD)
    for _ in range(draw(st.integers(0, 2))):
        way = draw(st.sampled_from(places(data)))
        if not way:
            continue
        *outer, last = way
        parent: Any = data
        for key in outer:
            parent = parent[key]
        kind = draw(st.sampled_from(["replace", "remove", "add"]))
        if kind == "replace":
            parent[last] = draw(JUNK)
        elif kind == "remove":
            del parent[last]
        elif isinstance(parent, dict):
            parent[draw(st.sampled_from(["name", "cost", "delay", "directed"]))] = draw(JUNK)
        else:
            parent.append(draw(JUNK))
    return data


def reads(path: Path) -> bool | None:
    """Return True if the reader takes the file; None if its fault is between values, where a schema does not look."""
    try:
        load_topology(path)
    except InputError as error:
        between = any(fault in error.problem for fault in ("is given twice", "unknown node", "to itself"))
        return None if between else False
    return True


@given(damaged())
def test_the_published_schema_and_the_reader_agree(tmp_path_factory: pytest.TempPathFactory, data: object) -> None:
    path = tmp_path_factory.mktemp("schema") / "net.yaml"
    path.write_text(json.dumps(data))  # JSON is YAML
    assert reads(path) in {None, VALIDATOR.is_valid(data)}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_refused_as_yaml_writes_them(tmp_path: Path, number: float) -> None:
    path = tmp_path / "net.yaml"
    path.write_text(yaml.safe_dump({"nodes": ["a", "b"], "links": [{"a": "a", "b": "b", "capacity": number}]}))
    with pytest.raises(InputError) as raised:
        load_topology(path)
    assert raised.value.expected == RATE_EXPECTED


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'nodes: [a, b]\nlinks:\n- {a: a, b: b, capacity: "10"}',
            f":3: capacity '10' is not a number, expected {RATE_EXPECTED}",
        ),
        (
            "directed: 'true'\nnodes: [a, b]\nlinks: [{a: a, b: b, capacity: 1}]",
            ":1: directed 'true', expected true or false",
        ),
    ],
)
def test_a_text_is_not_taken_for_something_else(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "net.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        load_topology(path)
    assert str(raised.value) == f"{path}{said}"
