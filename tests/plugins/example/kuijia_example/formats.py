"""The format `edge-list`: a line `A B MBITS` for each link that goes both ways; the capacity may be missing."""

from __future__ import annotations

from pathlib import Path

from kuijia.te_solver.formats.added_format import TopologyFormat
from kuijia.te_solver.formats.draft import NetworkDraft
from kuijia.te_solver.model.topology import Topology

from kuijia_base.errors import InputError, quoted
from kuijia_base.text import Note, parse_number, read_text

_FIELDS = (2, 3)


def read_edge_list(path: Path, default_capacity: float | None, note: Note) -> Topology:
    """Return the network in a file; raises InputError with the line that cannot be used."""
    draft = NetworkDraft(path, path.stem, default_capacity, note)
    known: set[str] = set()
    for number, line in enumerate(read_text(path, "a topology file").splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        capacity = parse_number(words[2]) if len(words) == max(_FIELDS) else None
        if len(words) not in _FIELDS or (len(words) == max(_FIELDS) and capacity is None):
            raise InputError(path, number, f"found {quoted(line)}", "two nodes and a capacity in Mbit/s")
        for name in words[:2]:
            if name not in known:
                known.add(name)
                draft.add_node(name, name, number)
        draft.add_edge(words[0], words[1], capacity, place=number)
    return draft.topology()


EDGE_LIST = TopologyFormat(read_edge_list, (".edges",))
