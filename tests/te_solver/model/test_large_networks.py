"""Files of a megabyte end in time in every format: a network with too many links is refused by its line."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from kuijia_base.reading import reading
from te_solver.formats.topology_file import load_topology
from te_solver.model.topology_summary import summarise
from tests.cpu_time import at_most

MOST_LINKS = 50_000

Edges = list[tuple[int, int]]


def gml(nodes: int, edges: Edges) -> str:
    return _lines(
        "graph [",
        (f"node [ id {node} ]" for node in range(1, nodes + 1)),
        (f"edge [ source {a} target {b} ]" for a, b in edges),
        "]",
    )


def graphml(nodes: int, edges: Edges) -> str:
    return _lines(
        "<graphml><graph edgedefault='undirected'>",
        (f"<node id='{node}'/>" for node in range(1, nodes + 1)),
        (f"<edge source='{a}' target='{b}'/>" for a, b in edges),
        "</graph></graphml>",
    )


def teavar(_nodes: int, edges: Edges) -> str:
    both = (each for a, b in edges for each in ((a, b), (b, a)))
    return _lines("to_node from_node capacity prob_failure", (f"{a} {b} 1 0" for a, b in both), "")


def yaml(nodes: int, edges: Edges) -> str:
    listed = f"nodes: [{', '.join(map(str, range(1, nodes + 1)))}]\nlinks:"
    return _lines(listed, (f"- {{a: {a}, b: {b}, capacity: 1}}" for a, b in edges), "")


def sndlib(nodes: int, edges: Edges) -> str:
    return _lines(
        "?SNDlib native format; type: network; version: 1.0\nNODES (",
        (f"{node} ( 0 0 )" for node in range(1, nodes + 1)),
        ")\nLINKS (",
        (f"L{a}-{b} ( {a} {b} ) 1 0 0 0 ( )" for a, b in edges),
        ")",
    )


def _lines(first: str, *parts: Iterable[str] | str) -> str:
    lines = [first]
    for part in parts:
        lines += [part] if isinstance(part, str) else part
    return "\n".join(lines) + "\n"


FORMATS = [("net.gml", gml), ("net.graphml", graphml), ("net.txt", teavar), ("net.yaml", yaml), ("net.txt", sndlib)]

SHAPES: dict[str, Edges] = {
    "clique": list(combinations(range(1, 224), 2)),
    "path": list(pairwise(range(1, 15_000))),
    "ring": [*pairwise(range(1, 3100)), (3099, 1)],
    "star": [(1, node) for node in range(2, 1800)],
}


@pytest.mark.parametrize(("name", "form"), FORMATS, ids=[form.__name__ for _, form in FORMATS])
def test_a_network_with_too_many_links_is_refused_by_the_line_of_the_first(
    name: str, form: Callable[[int, Edges], str], tmp_path: Path
) -> None:
    edges = list(combinations(range(1, 260), 2))[: MOST_LINKS // 2 + 1]
    path = tmp_path / name
    text = form(259, edges)
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        load_topology(path)
    assert raised.value.problem == "too many links"
    assert raised.value.expected == f"a network of at most {MOST_LINKS} links"
    last = text.count("\n")
    assert last * 0.8 < int(raised.value.place) <= last


@pytest.mark.parametrize("shape", SHAPES)
def test_the_largest_networks_are_read_and_summarised_in_time(shape: str, tmp_path: Path) -> None:
    path = tmp_path / "net.gml"
    edges = SHAPES[shape]
    path.write_text(gml(max(max(each) for each in edges), edges))
    with at_most(2):
        summary = summarise(load_topology(path))
    assert summary.edges == len(edges)


def test_the_garbage_collector_rests_while_a_file_is_read() -> None:
    with reading("file", "anything"):
        assert not gc.isenabled()
        with reading("another", "anything"):
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(InputError), reading("file", "anything"):
        raise ValueError
    assert gc.isenabled()
