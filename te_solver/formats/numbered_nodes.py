"""Nodes that files call by number: names of a network's nodes, or places in their order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.text import Note, parse_whole
from te_solver.model.topology import Topology


def finder_of_nodes(topology: Topology, first: int, prefix: str, note: Note) -> Callable[[Path, int, str], str]:
    """Return a function that finds the node that a line of a file calls by a name or a number.

    A word is a name where the network has such a node. Otherwise the number in it, after `prefix`, is a name or a place
    in the order of nodes, counted from `first`; the first such place is noted. The function raises InputError for any
    other word.
    """
    noted = False

    def node_of(path: Path, line: int, text: str) -> str:
        nonlocal noted
        word = text.strip()
        if topology.has_node(word):
            return word
        number = word.removeprefix(prefix)
        whole = parse_whole(number)
        if whole is not None:
            if topology.has_node(number):
                return number
            if 0 <= whole - first < len(topology.nodes):
                found = topology.nodes[whole - first]
                if not noted:
                    note(f"{word} is taken as {found}: numbers are places in the order of nodes")
                    noted = True
                return found
        raise InputError(path, line, f"unknown node {quoted(word)}", f"a node of {topology.name}")

    return node_of
