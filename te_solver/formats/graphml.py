"""Reads a topology from GraphML, such as the Internet Topology Zoo's; attributes of edges, which GML has as well."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from kuijia_base.errors import InputError, UnsoundError, quoted, shown
from kuijia_base.quantities import counted
from kuijia_base.text import Note, parse_number
from te_solver.formats.draft import NetworkDraft, note_hyperedge_nodes
from te_solver.formats.xml_document import Element, read_xml
from te_solver.model.topology import POSITIVE_RATE, Topology

EDGE_ATTRIBUTES = ("capacity", "LinkSpeedRaw", "LinkSpeed", "LinkSpeedUnits", "delay")
"""All attributes that are read."""

_READ = ("capacity", "LinkSpeedRaw", "LinkSpeed", "delay")
_TELLING = re.compile("bandwidth|capacity|speed|rate|throughput|delay|latency|bw", re.IGNORECASE)
"""Words in names of attributes that are likely to hold a capacity or a delay."""

_BITS_PER_MBIT = 1e6
_UNITS = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def edge_capacity(attributes: Mapping[str, str]) -> float | None:
    """Return the capacity of an edge in Mbit/s, None if its attributes do not give it.

    An attribute without text is ignored. `capacity` is in Mbit/s. The Internet Topology Zoo (Knight et al., IEEE JSAC
    29, 2011) has `LinkSpeedRaw` in bit/s and `LinkSpeed` in multiples of `LinkSpeedUnits`, one of K, M, G and T.

    Raises:
        UnsoundError: an attribute that is no number or no known unit; its `where` is the attribute.
    """
    attributes = {key: attributes[key] for key in EDGE_ATTRIBUTES if attributes.get(key, "").strip()}
    if "capacity" in attributes:
        return _number(attributes, "capacity", POSITIVE_RATE)
    if "LinkSpeedRaw" in attributes:
        return _number(attributes, "LinkSpeedRaw", "a number of bit/s") / _BITS_PER_MBIT
    if "LinkSpeed" in attributes:
        unit = attributes.get("LinkSpeedUnits", "").strip()
        if unit not in _UNITS:
            raise UnsoundError(("LinkSpeedUnits",), f"LinkSpeedUnits {quoted(unit)}", f"one of {', '.join(_UNITS)}")
        return _number(attributes, "LinkSpeed", "a number") * _UNITS[unit] / _BITS_PER_MBIT
    return None


def edge_delay(attributes: Mapping[str, str]) -> float:
    """Return the attribute `delay` in seconds, 0 if there is none; raises UnsoundError if it is no number."""
    return _number(attributes, "delay", "a number of seconds") if attributes.get("delay", "").strip() else 0.0


def note_unused(names: Iterable[str], note: Note) -> None:
    """Note attributes of edges, given once for each edge that has them, which look like a capacity or delay."""
    edges = Counter(name for name in names if name not in EDGE_ATTRIBUTES and _TELLING.search(name))
    for name, number in edges.items():
        note(f"the attribute {shown(name)} of {counted(number, 'edge')} is not used: only {', '.join(_READ)} are")


def _number(attributes: Mapping[str, str], key: str, expected: str) -> float:
    number = parse_number(attributes[key])
    if number is None:
        raise UnsoundError((key,), f"{key} {quoted(attributes[key])} is not a number", expected)
    return number


_EXPECTED = "a topology in GraphML"
_USED = frozenset({"label", "hyperedge", "Longitude", "Latitude", *EDGE_ATTRIBUTES})
"""The attributes that are read; every node and edge has the default of each."""


def read_graphml(path: Path, default_capacity: float | None, note: Note) -> Topology:
    """Return the first graph of a GraphML file (http://graphml.graphdrawing.org/specification.html).

    A node is named by its attribute `label`, else by its id. Capacities and delays: see `edge_attributes`. A
    hyperedge becomes a node that is joined to all its ends.

    Raises:
        InputError: anything that cannot be read as that; its place is the line.
    """
    return _Reader(path, default_capacity, note).read()


class _Reader:
    def __init__(self, path: Path, default_capacity: float | None, note: Note) -> None:
        self._path = path
        self._note = note
        self._draft = NetworkDraft(path, path.stem, default_capacity, note, assumes_seconds=True)
        self._edge_attributes: list[str] = []
        self._attribute_names: dict[str, str] = {}
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}

    def read(self) -> Topology:
        document = read_xml(self._path, "graphml", _EXPECTED)
        for key in document.all("key"):
            self._declare(key)
        graph = document.first("graph")
        if graph is None:
            raise InputError(self._path, document.line, "there is no graph", _EXPECTED)
        if len(list(document.all("graph"))) > 1:
            self._note("the file has several graphs: the first one is read")
        hyperedge_nodes = 0
        for node in graph.all("node"):
            attributes = self._attributes(node, "node")
            hyperedge_nodes += attributes.get("hyperedge") in {"1", "true"}
            identity = self._required(node, "id")
            others = attributes.keys() - _USED
            self._draft.add_node(identity, attributes.get("label"), node.line, has_other_names=bool(others))
            self._draft.put_node(identity, attributes.get("Longitude"), attributes.get("Latitude"))
        note_hyperedge_nodes(hyperedge_nodes, self._note)
        hyperedges = list(graph.all("hyperedge"))
        for number, hyperedge in enumerate(hyperedges, start=1):
            self._add_hyperedge(hyperedge, number)
        if hyperedges:
            self._note(f"{counted(len(hyperedges), 'hyperedge')}: each made a node that is joined to all its ends")
        for edge in graph.all("edge"):
            self._add_edge(edge, graph.attributes.get("edgedefault", ""))
        topology = self._draft.topology()
        note_unused(self._edge_attributes, self._note)
        return topology

    def _declare(self, key: Element) -> None:
        identity = self._required(key, "id")
        name = key.attributes.get("attr.name", identity)
        self._attribute_names[identity] = name
        default = key.first("default")
        if default is not None and name in _USED:
            domain = key.attributes.get("for", "all")
            for kind in self._defaults if domain == "all" else self._defaults.keys() & {domain}:
                self._defaults[kind][name] = default.text

    def _attributes(self, element: Element, kind: str) -> dict[str, str]:
        found = dict(self._defaults[kind])
        for data in element.all("data"):
            key = self._required(data, "key")
            if key not in self._attribute_names:
                raise InputError(self._path, data.line, f"unknown key {quoted(key)}", "the id of a key of the file")
            found[self._attribute_names[key]] = data.text
        return found

    def _add_edge(self, edge: Element, default: str) -> None:
        ends = self._required(edge, "source"), self._required(edge, "target")
        own = {"true": "directed", "false": "undirected"}.get(edge.attributes.get("directed", ""))
        self._add(edge, [ends], directed=(own or default) == "directed")

    def _add_hyperedge(self, hyperedge: Element, number: int) -> None:
        middle = hyperedge.attributes.get("id", f"hyperedge {number}")
        self._draft.add_node(middle, place=hyperedge.line)
        ends = [(middle, self._required(endpoint, "node")) for endpoint in hyperedge.all("endpoint")]
        self._add(hyperedge, ends, directed=False)

    def _add(self, element: Element, edges: Iterable[tuple[str, str]], *, directed: bool) -> None:
        """Add the edges that one element stands for; they have its attributes."""
        attributes = self._attributes(element, "edge")
        self._edge_attributes += attributes
        try:
            capacity, delay = edge_capacity(attributes), edge_delay(attributes)
        except UnsoundError as error:
            raise InputError(self._path, element.line, error.problem, error.expected) from error
        for ends in edges:
            self._draft.add_edge(*ends, capacity, delay, directed=directed, place=element.line)

    def _required(self, element: Element, attribute: str) -> str:
        if attribute not in element.attributes:
            raise InputError(self._path, element.line, f"a {element.tag} without {attribute}", _EXPECTED)
        return element.attributes[attribute]
