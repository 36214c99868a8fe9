"""Reads topologies (`.graph`) and demands (`.demands`) of REPETITA (Gay et al., arXiv:1710.08665, 2017)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.quantities import counted
from kuijia_base.text import Note, parse_whole, read_lines, require_number
from te_solver.formats.draft import MOST_NODES, DemandSum, NetworkDraft, RateUnit
from te_solver.model.demands import Demand
from te_solver.model.topology import MOST_LINKS, POSITIVE_RATE, Topology

_UNIT = "kbit/s"
_MICROSECONDS = 1e6
_COLUMNS = {
    "NODES": ("label", "x", "y"),
    "EDGES": ("label", "src", "dest", "weight", "bw", "delay"),
    "DEMANDS": ("label", "src", "dest", "bw"),
}
_MOST_COLUMNS = 10
"""Cuts of a line into cells at most: enough to see that a line has too many."""

_MOST_DEMANDS = 2_000_000
_HEADING = re.compile(r"([A-Z]+)\s+([0-9]{1,7})$")


def read_repetita_topology(path: Path, default_capacity: float | None, note: Note, unit: str | None) -> Topology:
    """Return the topology of a `.graph` file: nodes with coordinates, then directed edges between their numbers.

    Nodes are named by their labels. IGP weights are not used.

    Raises:
        InputError: anything else; its place is the line.
    """
    draft = NetworkDraft(path, path.stem, default_capacity, note)
    rates = RateUnit(unit, _UNIT)
    rates.note("capacities", note)
    nodes = 0
    weights: set[str] = set()
    for section, line, cells in _rows(path, {"NODES": MOST_NODES, "EDGES": MOST_LINKS}):
        if section == "NODES":
            draft.add_node(str(nodes), cells[0], line)
            draft.put_node(str(nodes), cells[1], cells[2])
            nodes += 1
            continue
        _, source, target, weight, rate, delay = cells
        weights.add(weight)
        a, b = (str(_position(path, line, each, nodes)) for each in (source, target))
        capacity = require_number(rate, path, line, "bw", POSITIVE_RATE) / rates.per_mbit
        seconds = require_number(delay, path, line, "delay", "a number of microseconds") / _MICROSECONDS
        draft.add_edge(a, b, capacity, seconds, directed=True, place=line)
    topology = draft.topology()
    if any(link.delay for link in topology.links):
        note("delays are taken as microseconds")
    if len(weights) > 1:
        note("its IGP weights are not used")
    return topology


def read_repetita_demands(
    path: Path, topology: Topology, row: int | None, note: Note, unit: str | None
) -> tuple[Demand, ...]:
    """Return the demands of a `.demands` file, whose numbers are places in the order of the topology's nodes.

    Raises:
        InputError: anything else; its place is the line.
    """
    del row  # the file has one matrix
    rates = RateUnit(unit, _UNIT)
    rates.note("demands", note)
    total = DemandSum(path, topology)
    for _, line, (_, source, target, rate) in _rows(path, {"DEMANDS": _MOST_DEMANDS}):
        a, b = (topology.nodes[_position(path, line, each, len(topology.nodes))] for each in (source, target))
        total.add(a, b, require_number(rate, path, line, "bw", "a rate, zero or more") / rates.per_mbit, line)
    return total.demands(note)


def _position(path: Path, line: int, text: str, nodes: int) -> int:
    found = parse_whole(text)
    if found is None or found >= nodes:
        raise InputError(path, line, f"node {quoted(text)}", f"a number below {nodes}, the number of nodes")
    return found


def _rows(path: Path, most: dict[str, int]) -> Iterator[tuple[str, int, list[str]]]:
    """Yield section, line number and cells of each row; sections come in the order of `most`, their largest sizes."""
    expected = " and ".join(most)
    waiting = list(most)
    section, left, needs_columns = "", 0, False
    number = 0
    for number, text in read_lines(path, f"a file with the sections {expected}"):  # used after the loop
        cells = text.split(maxsplit=_MOST_COLUMNS)
        if not cells:
            continue
        if needs_columns:
            if tuple(cells) != _COLUMNS[section]:
                raise InputError(path, number, f"found {quoted(text.strip())}", " ".join(_COLUMNS[section]))
            needs_columns = False
        elif left:
            if len(cells) != len(_COLUMNS[section]):
                raise InputError(path, number, counted(len(cells), "column"), " ".join(_COLUMNS[section]))
            left -= 1
            yield section, number, cells
        else:
            heading = _HEADING.match(text.strip())
            if not waiting or heading is None or heading[1] != waiting[0]:
                wanted = f"{waiting[0]} and their number" if waiting else "the end of the file"
                raise InputError(path, number, f"found {quoted(text.strip())}", wanted)
            section, left, needs_columns = waiting.pop(0), int(heading[2]), True
            if left > most[section]:
                raise InputError(path, number, f"{left} {section.lower()}", f"at most {most[section]}")
    if waiting or left:
        missing = f"{left} more {section.lower()}" if left else waiting[0]
        raise InputError(path, number or "", "the file ends", missing)
