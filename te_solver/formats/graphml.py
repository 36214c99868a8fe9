"""Reads a topology from GraphML, such as the Internet Topology Zoo's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.quantities import counted
from kuijia_base.text import Note
from te_solver.formats.draft import NetworkDraft, note_hyperedge_nodes
from te_solver.formats.edge_attributes import EDGE_ATTRIBUTES, edge_capacity, edge_delay, note_unused
from te_solver.formats.xml_document import Element, read_xml
from te_solver.model.topology import Topology

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
