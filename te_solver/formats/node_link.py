"""Reads a topology from node-link JSON, as networkx writes it and FIGRET, NCFlow and Teal keep networks."""

from __future__ import annotations

from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.json_document import read_json
from kuijia_base.text import Note
from te_solver.formats.draft import MOST_NODES, NetworkDraft, RateUnit
from te_solver.model.topology import MOST_LINKS, POSITIVE_RATE, Topology

_WHAT = "a network in node-link JSON"
_MOST_BYTES = 8 * 2**20
_EXPECTED = 'an object with the lists "nodes" and "links" (or "edges")'


def read_node_link_topology(path: Path, default_capacity: float | None, note: Note, unit: str | None) -> Topology:
    """Return the graph of a file (networkx, `node_link_data`).

    A node has the name in `label` or `name`, else its `id`, and perhaps a place in `pos`. An edge may have `capacity`
    and `delay`, in seconds.

    Raises:
        InputError: anything else; its place is the key.
    """
    data = read_json(path, _WHAT, _EXPECTED, most=_MOST_BYTES)
    graph = data if isinstance(data, dict) else {}
    edges_key = "edges" if "links" not in graph else "links"
    nodes, edges = graph.get("nodes"), graph.get(edges_key)
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise InputError(path, "", "is no such graph", _EXPECTED)
    for key, found, most in (("nodes", nodes, MOST_NODES), (edges_key, edges, MOST_LINKS)):
        if len(found) > most:
            raise InputError(path, key, f"{len(found)} of them", f"at most {most}")
    inner = graph.get("graph")
    name = inner.get("name") if isinstance(inner, dict) else None
    draft = NetworkDraft(path, name if isinstance(name, str) and name else path.stem, default_capacity, note)
    for position, node in enumerate(nodes):
        _add_node(path, f"nodes[{position}]", node, draft)
    rates = RateUnit(unit, "Mbit/s")
    if any(isinstance(edge, dict) and edge.get("capacity") is not None for edge in edges):
        rates.note("capacities", note)
    directed = graph.get("directed") is True
    for position, edge in enumerate(edges):
        place = f"{edges_key}[{position}]"
        if not isinstance(edge, dict):
            raise InputError(path, place, f"found {quoted(str(edge))}", "an edge as an object")
        capacity = _number(path, place, edge, "capacity", POSITIVE_RATE)
        delay = _number(path, place, edge, "delay", "a number of seconds") or 0.0
        a, b = (_identity(path, place, edge, key) for key in ("source", "target"))
        if capacity is not None:
            capacity /= rates.per_mbit
        draft.add_edge(a, b, capacity, delay, directed=directed, place=place)
    return draft.topology()


def _add_node(path: Path, place: str, node: object, draft: NetworkDraft) -> None:
    if not isinstance(node, dict):
        raise InputError(path, place, f"found {quoted(str(node))}", "a node as an object")
    identity = _identity(path, place, node, "id")
    label = next((node[key] for key in ("label", "name") if isinstance(node.get(key), str)), None)
    draft.add_node(identity, label, place)
    position = node.get("pos")
    if isinstance(position, list) and len(position) == 2:
        draft.put_node(identity, str(position[0]), str(position[1]))


def _identity(path: Path, place: str, item: dict[object, object], key: str) -> str:
    found = item.get(key)
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise InputError(path, place, f"{key} {quoted(str(found))}", "the id of a node, a text or a whole number")
    return str(found)


def _number(path: Path, place: str, item: dict[object, object], key: str, expected: str) -> float | None:
    found = item.get(key)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise InputError(path, place, f"{key} {quoted(str(found))} is not a number", expected)
    return float(found)
