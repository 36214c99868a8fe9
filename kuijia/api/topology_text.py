"""Description of a network as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kuijia_base.quantities import counted, rate, share, significant
from kuijia_base.text_table import aligned

if TYPE_CHECKING:
    from te_solver.model.topology_summary import TopologySummary

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
