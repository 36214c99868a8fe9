"""Reads a topology from GML, such as the Internet Topology Zoo's."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.text import Note, read_text
from te_solver.formats.draft import NetworkDraft, note_hyperedge_nodes
from te_solver.formats.graphml import edge_capacity, edge_delay, note_unused
from te_solver.model.topology import Topology

_EXPECTED = "a topology in GML"
_USED_OF_NODES = frozenset({"id", "label", "hyperedge", "Longitude", "Latitude"})
_TOKEN = re.compile(r'"(?P<text>[^"]*)"|(?P<bracket>[\[\]])|(?P<word>[^\s\[\]"]+)|(?P<stray>")')
_KEY = re.compile(r"[^\W\d]")
_MOST_BYTES, _MOST_VALUES = 16 * 2**20, 500_000
_MOST_DIGITS = 10
_LONG_REFERENCE = re.compile(rf"&#[xX]?[0-9a-fA-F]{{{_MOST_DIGITS + 1},}}")
_COMMENT = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)


@dataclass(slots=True)
class _Block:
    """Contents of two brackets: keys with texts, the last of each key, and nested blocks."""

    key: str
    line: int
    texts: dict[str, str] = field(default_factory=dict)
    blocks: list[_Block] = field(default_factory=list)

    def all(self, key: str) -> Iterator[_Block]:
        return (block for block in self.blocks if block.key == key)


def read_gml(path: Path, default_capacity: float | None, note: Note) -> Topology:
    """Return the graph of a GML file (Himsolt, GML: a portable graph file format, 1996).

    A node is named by its `label`, else by its `id`. Edges are undirected unless the graph says `directed 1`.
    Capacities and delays: see `edge_attributes`.

    Raises:
        InputError: anything that cannot be read as that; its place is the line.
    """
    graph = next(_parse(path).all("graph"), None)
    if graph is None:
        raise InputError(path, "", "there is no graph [ ... ]", _EXPECTED)
    draft = NetworkDraft(path, path.stem, default_capacity, note, assumes_seconds=True)
    for node in graph.all("node"):
        identity = _required(path, node, "id")
        others = node.texts.keys() - _USED_OF_NODES
        draft.add_node(identity, node.texts.get("label"), node.line, has_other_names=bool(others))
        draft.put_node(identity, node.texts.get("Longitude"), node.texts.get("Latitude"))
    note_hyperedge_nodes(sum(node.texts.get("hyperedge") == "1" for node in graph.all("node")), note)
    directed = graph.texts.get("directed") == "1"
    for edge in graph.all("edge"):
        ends = _required(path, edge, "source"), _required(path, edge, "target")
        try:
            capacity, delay = edge_capacity(edge.texts), edge_delay(edge.texts)
        except UnsoundError as error:
            raise InputError(path, edge.line, error.problem, error.expected) from error
        draft.add_edge(*ends, capacity, delay, directed=directed, place=edge.line)
    topology = draft.topology()
    note_unused((name for edge in graph.all("edge") for name in edge.texts), note)
    return topology


def _parse(path: Path) -> _Block:
    """Return the whole file as one block; without recursion, so that brackets may be nested to any depth."""
    block = _Block("", 0)
    outer: list[_Block] = []
    values = 0
    tokens = _tokens(path)
    for kind, key, line in tokens:
        if key == "]" and kind == "bracket" and outer:
            block = outer.pop()
            continue
        if kind != "word" or _KEY.match(key) is None:
            raise InputError(path, line, f"found {quoted(key)}", "a key")
        values += 1
        if values > _MOST_VALUES:
            raise InputError(path, line, "too many values", f"at most {_MOST_VALUES} in a file")
        value_kind, value, value_line = next(tokens, ("end", "", line))
        if value_kind in {"text", "word"}:
            block.texts[key] = value
        elif value == "[":
            inside = _Block(key, line)
            block.blocks.append(inside)
            outer.append(block)
            block = inside
        else:
            raise InputError(path, value_line, f"{quoted(key)} has no value", "a number, a text in quotes or [ ... ]")
    if outer:
        raise InputError(path, block.line, f"malformed GML (the [ of this {block.key} is never closed)", _EXPECTED)
    return block


def _tokens(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield kind, text and line of every token; quoted texts have their character references resolved."""
    source = _COMMENT.sub("", read_text(path, "a topology file", _MOST_BYTES))
    line, counted_to = 1, 0
    for match in _TOKEN.finditer(source):
        line += source.count("\n", counted_to, match.start())
        counted_to = match.start()
        kind = match.lastgroup
        assert kind is not None, "the pattern consists of named groups"
        if kind == "stray":
            raise InputError(path, line, "malformed GML (this quote is never closed)", _EXPECTED)
        text = match[kind]
        yield kind, _unescaped(path, line, text) if kind == "text" else text, line


def _unescaped(path: Path, line: int, text: str) -> str:
    """Return a text in quotes with its character references resolved."""
    long = _LONG_REFERENCE.search(text)
    if long is not None:
        raise InputError(path, line, f"the character reference {quoted(long[0])}", f"at most {_MOST_DIGITS} digits")
    return html.unescape(text)


def _required(path: Path, block: _Block, key: str) -> str:
    if key not in block.texts:
        raise InputError(path, block.line, f"{block.key} without {key}", _EXPECTED)
    return block.texts[key]
