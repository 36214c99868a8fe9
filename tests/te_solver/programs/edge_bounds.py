"""Bounds of all allocations over any paths: a flow for each demand on each link, row by row for scipy's linprog."""

from __future__ import annotations

from collections.abc import Sequence

from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from tests.te_solver.programs.problems import Rows


def edge_rows(topology: Topology, demands: Sequence[Demand], more: int) -> Rows:
    """Rows that keep flows; the variables are a flow for each demand and link, then `more` others from zero up."""
    links = topology.links
    rows = Rows(len(demands) * len(links) + more)
    for number, demand in enumerate(demands):
        for node in topology.nodes:
            if node in (demand.source, demand.target):
                continue
            through = [0.0] * (len(demands) * len(links))
            for at, link in enumerate(links):
                through[number * len(links) + at] = (link.target == node) - float(link.source == node)
            rows.at_most(through, 0.0)
            rows.at_least(through, 0.0)
    return rows


def arriving(topology: Topology, demands: Sequence[Demand], number: int) -> list[float]:
    """1 for each variable that brings flow to the target of a demand, -1 for those that take it away."""
    row = [0.0] * (len(demands) * len(topology.links))
    for at, link in enumerate(topology.links):
        target = demands[number].target
        row[number * len(topology.links) + at] = (link.target == target) - float(link.source == target)
    return row


def on_link(topology: Topology, demands: Sequence[Demand], at: int) -> list[float]:
    return [float(place == at) for _ in demands for place in range(len(topology.links))]


def most_throughput(topology: Topology, demands: Sequence[Demand]) -> float:
    rows = edge_rows(topology, demands, 0)
    for at, link in enumerate(topology.links):
        rows.at_most(on_link(topology, demands, at), link.capacity)
    for number, demand in enumerate(demands):
        rows.at_most(arriving(topology, demands, number), demand.rate)
    together = map(sum, zip(*(arriving(topology, demands, number) for number in range(len(demands))), strict=True))
    return rows.maximum(list(together))


def least_utilisation(topology: Topology, demands: Sequence[Demand]) -> float:
    rows = edge_rows(topology, demands, 1)
    for at, link in enumerate(topology.links):
        rows.at_most([*on_link(topology, demands, at), -link.capacity], 0.0)
    for number, demand in enumerate(demands):
        rows.at_least(arriving(topology, demands, number), demand.rate)
    return rows.minimum([*[0.0] * (len(demands) * len(topology.links)), 1.0])
