"""Reads topologies and demand matrices in the text formats of TEAVAR (Bogle et al., SIGCOMM 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.quantities import counted
from kuijia_base.text import Note, parse_number, read_lines, require_number
from te_solver.formats.draft import MOST_NODES, DemandSum, NetworkDraft, RateUnit, finder_of_nodes
from te_solver.formats.matrices import read_matrix
from te_solver.model.demands import Demand
from te_solver.model.topology import MOST_LINKS, POSITIVE_RATE, Topology

TOPOLOGY_FILE, DEMANDS_FILE, NODES_FILE = "topology.txt", "demand.txt", "nodes.txt"

_HEADER = "to_node from_node capacity prob_failure"
_LIST = ("to_node", "from_node", "demand")
_UNIT = "Mbit/s"
_DEMANDS = "a file of demands"
_OTHER_UNIT = " (TEAVAR's programs divide them by 1,000, as if they were kbit/s)"


def file_of_folder(path: Path, name: str) -> Path:
    """Return the file of this name in a folder of TEAVAR; any other path as it is."""
    inside = path / name
    try:
        return inside if inside.is_file() else path
    except OSError:  # too long a name, which whoever reads the path reports
        return path


def read_teavar_topology(path: Path, default_capacity: float | None, note: Note, unit: str | None) -> Topology:
    """Return the topology of a `topology.txt`: a line of headings, then one directed link per line, nodes by number.

    TEAVAR's program takes the first column as the node that a link comes from, whatever its heading says, and so does
    this reader. Nodes are numbered from 1, or from 0 when a 0 occurs. Their names are the lines of `nodes.txt` in the
    same folder, without its heading; where there is no such file, the numbers are the names.

    Raises:
        InputError: anything else; its place is the line.
    """
    rates = RateUnit(unit, _UNIT, _OTHER_UNIT)
    links = list(_links(path))
    numbers = {end for a, b, *_ in links for end in (a, b)}
    first = 0 if 0 in numbers else 1
    # The files of all networks have the same name, in a folder of their own.
    name = path.resolve().parent.name if path.stem == "topology" else path.stem
    draft = NetworkDraft(path, name or path.stem, default_capacity, note)
    names = _node_names(path.with_name(NODES_FILE), note)
    if not names:
        names = [str(number) for number in range(first, max(numbers, default=0) + 1)]
    for position, name in enumerate(names, start=first):
        draft.add_node(str(position), name)
    for a, b, capacity, probability, line in links:
        draft.add_edge(str(a), str(b), capacity / rates.per_mbit, directed=True, place=line)
        if probability is not None:
            draft.put_probability(str(a), str(b), probability)
    topology = draft.topology()
    if any(
        not topology.has_link(link.target, link.source)
        or topology.link(link.target, link.source).capacity != link.capacity
        for link in topology.links
    ):
        note("not the same links in both directions: the first column is taken as the node that a link comes from")
    rates.note("capacities", note)
    if topology.down:
        note("its failure probabilities are those of `kuijia whatif`")
    return topology


def read_teavar_demands(
    path: Path, topology: Topology, row: int | None, note: Note, unit: str | None
) -> tuple[Demand, ...]:
    """Return the demands of a `demand.txt` of matrices, or of a list such as `demand/1.txt`.

    A list has a line of headings, then source, target and rate in each line; TEAVAR's program takes the first column as
    the source, whatever its heading says. Nodes are numbers, in a list from 1, or from 0 when a 0 occurs.

    Raises:
        InputError: as `read_matrix` raises it, or a line of a list is none; its place is the line.
    """
    rates = RateUnit(unit, _UNIT, _OTHER_UNIT)
    first = next((text.split(maxsplit=len(_LIST)) for _, text in read_lines(path, _DEMANDS) if text.strip()), [])
    if len(first) != len(_LIST) or parse_number(first[0]) is not None:
        return read_matrix(path, topology, topology.nodes, row, note, rates)
    if row is not None and row > 1:
        raise InputError(path, "", f"a list of demands, no row {row}", "a file of matrices")
    rates.note("demands", note)
    words = {word for _, *ends, _ in _listed(path) for word in ends}
    node_of = finder_of_nodes(topology, words, 0 if "0" in words else 1, "", note)
    total = DemandSum(path, topology)
    for line, source, target, text in _listed(path):
        rate = require_number(text, path, line, "demand", "a rate, zero or more") / rates.per_mbit
        total.add(node_of(path, line, source), node_of(path, line, target), rate, line)
    return total.demands(note)


def _listed(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Yield line, source, target and rate of each demand in a list, after its headings."""
    rows = ((line, text.split(maxsplit=len(_LIST))) for line, text in read_lines(path, _DEMANDS) if text.strip())
    next(rows)
    for line, cells in rows:
        if len(cells) != len(_LIST):
            raise InputError(path, line, counted(len(cells), "column"), f"the columns {' '.join(_LIST)}")
        yield line, cells[0], cells[1], cells[2]


def _links(path: Path) -> Iterator[tuple[int, int, float, float | None, int]]:
    """Yield the ends, capacity, failure probability and line of every link."""
    heading, lines = True, 0
    for line, text in read_lines(path, "a topology file"):
        cells = text.split()
        if not cells:
            continue
        if heading:
            heading = False
            if len(cells) not in {3, 4} or cells[0].isdecimal():
                raise InputError(path, line, f"found {quoted(text.strip())}", f"the headings {_HEADER}")
            continue
        lines += 1
        if lines > MOST_LINKS:
            raise InputError(path, line, "too many links", f"a network of at most {MOST_LINKS} links")
        if len(cells) not in {3, 4}:
            raise InputError(path, line, counted(len(cells), "column"), f"the columns {_HEADER}")
        capacity = require_number(cells[2], path, line, "capacity", POSITIVE_RATE)
        probability = None
        if len(cells) == 4:
            probability = require_number(cells[3], path, line, "prob_failure", "a number from 0 to 1")
            if not 0 <= probability <= 1:
                raise InputError(path, line, f"prob_failure {cells[3]}", "a number from 0 to 1")
        yield _node(path, line, cells[0]), _node(path, line, cells[1]), capacity, probability, line


def _node(path: Path, line: int, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 7 and int(text) <= MOST_NODES):
        raise InputError(path, line, f"node {quoted(text)}", f"the number of a node, at most {MOST_NODES}")
    return int(text)


def _node_names(path: Path, note: Note) -> list[str]:
    if not path.exists():
        return []
    names: list[str] = []
    for line, text in read_lines(path, "names of nodes"):
        names.append(text.strip())
        if len(names) > MOST_NODES + 1:  # the first line is a heading
            raise InputError(path, line, "too many names of nodes", f"at most {MOST_NODES}")
    names = names[1:]
    while names and not names[-1]:
        names.pop()
    if names:
        note(f"node names are those of {path}")
    return names
