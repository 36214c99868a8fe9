"""Reads topologies (`.dot`) and demand matrices of YATES (Kumar et al., SOSR 2018)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.quantities import counted, require_rate
from kuijia_base.text import Note, read_lines, read_text
from te_solver.formats.draft import MOST_NODES, NetworkDraft, RateUnit
from te_solver.formats.matrices import read_matrix
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology

_WHAT = "a topology in DOT"
_EXPECTED = 'a graph such as `digraph net { s1 [type=switch]; s1 -> s2 [capacity="1Gbps"]; }`'
_RATE = "a capacity such as 1Gbps"
_MOST_BYTES = 2**20
_HOSTS = ".hosts"
_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/|^\#[^\n]*)|(?P<edge>->|--)|(?P<sign>[{}\[\]=;,])"
    r'|(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[^\s{}\[\]=;,"]+?(?=->|--|[\s{}\[\]=;,"]|$))|(?P<other>.)',
    re.DOTALL | re.MULTILINE,
)
_END = ("", "", 0)


def read_yates_topology(path: Path, default_capacity: float | None, note: Note) -> Topology:
    """Return the switches of a file in DOT and the links between them.

    Nodes with `type=host` are left out, as are their links: in demands a host `h1` stands for the switch `s1`. The
    `capacity` of a link has its unit; a `cost` is not used. DOT's subgraphs, ports and defaults are refused.

    Raises:
        InputError: anything else; its place is the line.
    """
    return _Parser(path, default_capacity, note).parse()


def read_yates_demands(
    path: Path, topology: Topology, row: int | None, note: Note, unit: str | None
) -> tuple[Demand, ...]:
    """Return the matrix in line `row` (from 1): the rates between all hosts, those of the first host first, in bit/s.

    A file of hosts gives their order, one in each line: it is called as the demands or as the topology, with the suffix
    `.hosts`, and is beside the demands or in the folder `hosts` beside theirs. Without it the order is that of the
    topology's nodes, which is noted.

    Raises:
        InputError: no such row, unknown hosts, or another number of rates; its place is the line.
    """
    return read_matrix(path, topology, _order(path, topology, note), row, note, RateUnit(unit, "bit/s"))


def _order(path: Path, topology: Topology, note: Note) -> tuple[str, ...]:
    """Return the switch of each row of a matrix."""
    files = [
        folder / f"{name}{_HOSTS}"
        for folder in (path.parent, path.parent.parent / "hosts")
        for name in (path.stem, topology.name)
    ]
    found = next((each for each in files if each.is_file()), None)
    if found is None:
        note(f"there is no file of hosts: the order of {topology.name}'s nodes is taken")
        return topology.nodes
    hosts: dict[str, int] = {}
    for line, text in read_lines(found, "a file of hosts"):
        host = text.strip()
        if not host:
            continue
        node = host if topology.has_node(host) else f"s{host.removeprefix('h')}"
        if not topology.has_node(node):
            raise InputError(found, line, f"unknown host {quoted(host)}", f"a host of {topology.name}, as h1 of s1")
        if node in hosts:
            raise InputError(found, line, f"{quoted(host)} is given twice", "each host once")
        hosts[node] = line
    note(f"the order of hosts is that of {found}")
    return tuple(hosts)


class _Parser:
    """Parser of the statements of a graph in DOT."""

    def __init__(self, path: Path, default_capacity: float | None, note: Note) -> None:
        self._path = path
        self._note = note
        self._draft = NetworkDraft(path, path.stem, default_capacity, note)
        self._tokens = self._split(read_text(path, _WHAT, _MOST_BYTES))
        self._kind, self._text, self._line = next(self._tokens, _END)
        self._nodes: dict[str, tuple[dict[str, str], int]] = {}
        self._edges: list[tuple[str, str, dict[str, str], int]] = []

    def parse(self) -> Topology:
        if self._text.lower() == "strict":
            self._next()
        kind = self._text.lower()
        if kind not in {"digraph", "graph"}:
            raise self._fault("digraph or graph")
        self._next()
        if self._kind in {"word", "text"}:
            self._next()
        self._take("{")
        while self._text != "}":
            self._statement()
        self._take("}")
        if self._kind:
            raise self._fault("the end of the file")
        return self._topology(directed=kind == "digraph")

    def _topology(self, *, directed: bool) -> Topology:
        hosts = {name for name, (attributes, _) in self._nodes.items() if attributes.get("type") == "host"}
        for name, (_, line) in self._nodes.items():
            if name not in hosts:
                self._draft.add_node(name, place=line)
        for a, b, attributes, line in self._edges:
            if a in hosts or b in hosts:
                continue
            capacity = None
            if "capacity" in attributes:
                capacity = require_rate(attributes["capacity"], self._path, line, "capacity", _RATE)
            self._draft.add_edge(a, b, capacity, directed=directed, place=line)
        topology = self._draft.topology()
        if hosts:
            self._note(f"{counted(len(hosts), 'host')} left out: demands of a host are those of its switch")
        return topology

    def _statement(self) -> None:
        """Read a node or a chain of edges, with its attributes."""
        if self._text == ";":
            self._next()
            return
        line = self._line
        ends = [self._name()]
        while self._kind == "edge":
            self._next()
            ends.append(self._name())
        attributes: dict[str, str] = {}
        while self._text == "[" and self._kind == "sign":
            self._attributes(attributes)
        if len(ends) == 1:
            known, first = self._nodes.get(ends[0], ({}, line))
            self._nodes[ends[0]] = {**known, **attributes}, first
        for a, b in pairwise(ends):
            for end in (a, b):
                self._nodes.setdefault(end, ({}, line))
            self._edges.append((a, b, attributes, line))
        if len(self._nodes) > MOST_NODES:
            raise InputError(self._path, line, "too many nodes", f"at most {MOST_NODES}")

    def _attributes(self, attributes: dict[str, str]) -> None:
        self._take("[")
        while self._text != "]":
            key = self._name()
            self._take("=")
            attributes[key] = self._name()
            if self._text in {",", ";"}:
                self._next()
        self._take("]")

    def _name(self) -> str:
        if self._kind == "text":
            text = self._text[1:-1].replace('\\"', '"')
        elif self._kind == "word" and self._text.lower() not in {"node", "edge", "graph", "subgraph"}:
            text = self._text
        else:
            raise self._fault("the name of a node")
        self._next()
        return text

    def _take(self, sign: str) -> None:
        if self._kind != "sign" or self._text != sign:
            raise self._fault(quoted(sign))
        self._next()

    def _next(self) -> None:
        self._kind, self._text, self._line = next(self._tokens, _END)

    def _fault(self, expected: str) -> InputError:
        if not self._kind:
            return InputError(self._path, "", "the file ends in the middle of a graph", expected)
        return InputError(self._path, self._line, f"found {quoted(self._text)}", f"{expected} ({_EXPECTED})")

    def _split(self, text: str) -> Iterator[tuple[str, str, int]]:
        """Yield kind, text and line of each token."""
        line = 1
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup or ""
            if kind != "space":
                yield kind, match.group(), line
            line += match.group().count("\n")
