"""Networks for notebooks: from files, graphs and data frames, shown, summarised and written again."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from kuijia.api.names import NetworkName, RateUnitName, TopologyFormatName
from kuijia.api.sources import topology_of
from kuijia.api.table import (
    FrameLike,
    Table,
    Text,
    html_page,
    is_frame,
    name_of,
    number_in,
    rates,
    records,
    seconds,
    words,
)
from kuijia_base.errors import InputError, quoted
from kuijia_base.option_values import positive_rate
from kuijia_base.options import parsed_or_none, require_known
from kuijia_base.quantities import counted, rate, share, significant
from kuijia_base.text_table import aligned
from te_solver.formats.draft import RATE_UNITS, NetworkDraft
from te_solver.formats.topology_file import save_topology, topology_formats
from te_solver.model import topology as core

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from te_solver.model.topology_summary import TopologySummary


FileName: TypeAlias = str | Path

TopologyLike: TypeAlias = "NetworkName | str | Path | core.Topology | nx.Graph[Any] | FrameLike"
"""A network in any form: a file or name, a topology, a graph of networkx, or a data frame of links."""

_GRAPH, _FRAME = "graph", "data frame"
_CELLS = (("source", "target"), ("capacity", "delay"))


@dataclass(frozen=True, repr=False, eq=False)
class Topology(core.Topology):
    """A network: nodes, and directed links with capacities in Mbit/s and delays in seconds.

    Attributes:
        notes: what its reader assumed about things that the file leaves open, one sentence each.
    """

    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, topology: core.Topology, notes: tuple[str, ...] = ()) -> Topology:
        if isinstance(topology, cls):
            return topology
        given = [field.name for field in fields(core.Topology) if field.init]
        values: dict[str, Any] = {name: getattr(topology, name) for name in given}
        return cls(**values, notes=notes)

    def save(self, path: str | Path) -> Path:
        """Write the network as YAML; raises InputError."""
        save_topology(self, Path(path))
        return Path(path)

    def summary(self) -> Text:
        """Return a description: size, capacities, connectivity and disjoint paths."""
        from te_solver.model.topology_summary import summarise  # noqa: PLC0415  # slow to import: SciPy

        return Text.of(topology_lines(summarise(self), None))

    def table(self) -> Table:
        """Return a row for each directed link."""
        columns = (words("source"), words("target"), rates("capacity"), seconds("delay"))
        return Table.of(columns, ((link.source, link.target, link.capacity, link.delay) for link in self.links))

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a data frame, which `load_topology` reads again."""
        return self.table().to_frame()

    def to_networkx(self) -> nx.DiGraph[str]:
        """Return a graph with `capacity` and `delay` of edges, and `pos` of nodes that have a place."""
        import networkx as nx  # noqa: PLC0415  # slow to import

        graph: nx.DiGraph[str] = nx.DiGraph(name=self.name)
        for node in self.nodes:
            graph.add_node(node, **({"pos": self.positions[node]} if node in self.positions else {}))
        for link in self.links:
            graph.add_edge(link.source, link.target, capacity=link.capacity, delay=link.delay)
        return graph

    def _repr_html_(self) -> str:
        size = f"{counted(len(self.nodes), 'node')}, {counted(len(self.links), 'link')}"
        return html_page(f"{self.name}: {size}", self.notes, self.table())


def load_topology(
    source: TopologyLike,
    *,
    format: TopologyFormatName | str | None = None,  # noqa: A002  # its name
    default_capacity: float | str | None = None,
    rate_unit: RateUnitName | None = None,
) -> Topology:
    """Return a network, from a source in any form.

    Args:
        source: a file (YAML, GraphML, GML, SNDlib, TEAVAR, REPETITA, YATES, node-link JSON, Flexile), the name of a
            shipped network such as "gscale", a network of topohub such as "topohub:sndlib/germany50", a topology, a
            graph of networkx, or a data frame with the columns source, target and, if known, capacity and delay. Edges
            of a graph may have `capacity` (Mbit/s) and `delay` (seconds), its nodes `pos`. An undirected edge, and a
            row whose reverse is not in the data frame either, is a cable that goes both ways.
        format: format of the file; by default chosen by its suffix.
        default_capacity: capacity of links without one, in Mbit/s or as in "10G"; 1 Gbit/s by default.
        rate_unit: unit of capacities in a file that does not state it, such as "kbit/s".

    Raises:
        InputError: the network cannot be read.
    """
    if rate_unit is not None:
        require_known("rate_unit", rate_unit, RATE_UNITS)
    if format is not None:
        require_known("format", format, topology_formats())
    default = parsed_or_none("default_capacity", default_capacity, positive_rate)
    if isinstance(source, core.Topology):
        return Topology.of(source)
    notes: list[str] = []
    if isinstance(source, str | Path):
        found = topology_of(str(source), format, default, notes.append, rate_unit)
    elif _is_graph(source):
        found = _of_graph(source, NetworkDraft(_GRAPH, str(source.name or _GRAPH), default, notes.append))
    elif is_frame(source):
        found = _of_frame(source, NetworkDraft(_FRAME, "frame", default, notes.append))
    else:
        problem = f"{quoted(type(source).__name__)} is no network"
        raise InputError("topology", "", problem, "a file, a name, a topology, a graph of networkx or a data frame")
    return Topology.of(found, tuple(notes))


def _is_graph(value: object) -> TypeGuard[nx.Graph[Any]]:
    """Return True for a graph of networkx; while that has not been imported, nothing is one."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(value, networkx.Graph)


def _of_graph(graph: nx.Graph[Any], draft: NetworkDraft) -> core.Topology:
    names = {node: name_of(node) for node in graph.nodes}
    for node, attributes in graph.nodes(data=True):
        draft.add_node(names[node])
        east, north = _place(attributes.get("pos"))
        draft.put_node(names[node], east, north)
    for a, b, attributes in graph.edges(data=True):
        place = f"edge {names[a]}-{names[b]}"
        given = {key: value for key, value in attributes.items() if value is not None}
        capacity, delay = (number_in(given, key, place, _GRAPH) for key in ("capacity", "delay"))
        draft.add_edge(names[a], names[b], _known(capacity), delay or 0.0, directed=graph.is_directed(), place=place)
    return draft.topology()


def _place(position: object) -> tuple[str | None, str | None]:
    """Return the two numbers of a node's place in pictures; anything else is no place."""
    try:
        numbers = [float(each) for each in position] if isinstance(position, Iterable) else []
    except (TypeError, ValueError, OverflowError):
        numbers = []
    return (str(numbers[0]), str(numbers[1])) if len(numbers) == 2 else (None, None)


def _of_frame(frame: FrameLike, draft: NetworkDraft) -> core.Topology:
    rows = list(records(frame, *_CELLS))
    ends = [(name_of(cells["source"]), name_of(cells["target"])) for _, cells in rows]
    for node in dict.fromkeys(node for pair in ends for node in pair):
        draft.add_node(node)
    given = set(ends)
    for (a, b), (place, cells) in zip(ends, rows, strict=True):
        capacity, delay = (number_in(cells, column, place) for column in ("capacity", "delay"))
        draft.add_edge(a, b, capacity, delay or 0.0, directed=(b, a) in given, place=place)
    return draft.topology()


def _known(capacity: float | None) -> float | None:
    return None if capacity is None or math.isnan(capacity) else capacity


_LISTED = 8
"""Most parts of a network whose sizes are listed."""


def topology_lines(summary: TopologySummary, listed: int | None) -> list[str]:
    """Return the lines; at most `listed` different capacities are named, all if it is None."""
    facts = {
        "size": f"{counted(summary.nodes, 'node')}, {counted(summary.edges, 'edge')}, {_links(summary)}",
        "degree": f"{summary.least_degree} to {summary.greatest_degree}, {summary.mean_degree:.2f} on average",
        "parts": _parts(summary),
        "diameter": "not computed, the network is too large"
        if summary.diameter is None
        else counted(summary.diameter, "link"),
        "capacity": f"{_capacities(summary, listed)}; {rate(summary.total_capacity)} in all",
        "delay": _delays(summary),
        "edge connectivity": "not computed, see the sample below"
        if summary.disjoint_paths.edge_connectivity is None
        else str(summary.disjoint_paths.edge_connectivity),
    }
    return [
        summary.name,
        *(f"  {line}" for line in aligned([*facts.items()], left=(0, 1))),
        "",
        *_path_lines(summary),
    ]


def _links(summary: TopologySummary) -> str:
    one_way = f", {summary.one_way_links} of them without their reverse" if summary.one_way_links else ""
    return f"{counted(summary.links, 'link')}{one_way}"


def _parts(summary: TopologySummary) -> str:
    if len(summary.parts) == 1:
        return f"1, every node is connected{', apart from directions' if summary.one_way_links else ''}"
    sizes = ", ".join(map(str, summary.parts[:_LISTED]))
    more = ", ..." if len(summary.parts) > _LISTED else ""
    return f"{len(summary.parts)} that no link connects, of {sizes}{more} nodes"


def _capacities(summary: TopologySummary, listed: int | None) -> str:
    by_links = sorted(summary.capacities.items(), key=lambda each: -each[1])
    shown = ", ".join(f"{counted(links, 'link')} of {rate(capacity)}" for capacity, links in by_links[:listed])
    left_out = len(by_links) - listed if listed is not None else 0
    return f"{shown} and {counted(left_out, 'other value')} (-v lists all)" if left_out > 0 else shown


def _delays(summary: TopologySummary) -> str:
    if summary.delays is None:
        return "none given"
    least, middle, greatest = (f"{significant(seconds * 1000)} ms" for seconds in summary.delays)
    return f"{least} to {greatest}, median {middle}"


def _path_lines(summary: TopologySummary) -> list[str]:
    paths = summary.disjoint_paths
    every = sum(paths.pairs.values())
    kind = "ordered pairs" if paths.ordered else "pairs"
    sampled = "" if paths.exact else f", a sample of {every}"
    return [
        f"edge-disjoint paths ({kind} of nodes{sampled})",
        *(
            f"  {number:>3}  {pairs:>9,}  {share(pairs / every):>7}"
            for number, pairs in sorted(paths.pairs.items(), reverse=True)
        ),
    ]
