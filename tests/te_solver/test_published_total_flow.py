"""Published optima of total flow are met: demands from their seeds, paths and programs of our own, 110 rows."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.published_rows import most_total_flow
from te_solver.formats.topology_file import load_topology
from te_solver.model.ncflow_demands import parsed_model
from te_solver.model.topology import Topology
from te_solver.programs.edge_flow import edge_flow
from te_solver.programs.incidence import Incidence
from te_solver.programs.ncflow import ContractedNetwork, Contraction
from te_solver.tunnels.finder import Paths
from te_solver.tunnels.path_choice import PathFinder, PathQuestion
from te_solver.tunnels.path_choices.edge_disjoint_flow import CHOICE

ROWS = [
    line.split()
    for line in Path(__file__).with_name("uninett2010.txt").read_text().splitlines()
    if not line.startswith("#")
]
IN_ORDER_OF_THE_ZOO = {0: (73, 49, 41), 29: (33, 30, 39), 66: (68, 67)}
"""Neighbours of nodes of which topohub has the edges in another order than the Zoo's file, which decides the paths."""


@cache
def uninett() -> Topology:
    """Return the network as NCFlow reads it: edges in the order of the Zoo's file, 1000 Mbit/s each."""
    pytest.importorskip("topohub")
    network = load_topology("topohub:topozoo/Uninett2010", default_capacity=1000)
    links = list(network.links)
    for node, others in IN_ORDER_OF_THE_ZOO.items():
        ends = {frozenset((network.nodes[node], network.nodes[other])): place for place, other in enumerate(others)}
        places = [place for place, link in enumerate(links) if frozenset(link.ends) in ends]
        moved = sorted((links[place] for place in places), key=lambda link: ends[frozenset(link.ends)])
        for place, link in zip(places, moved, strict=True):
            links[place] = link
    return Topology(network.name, network.nodes, tuple(links))


@cache
def tunnels() -> dict[tuple[str, str], Paths]:
    nodes = uninett().nodes
    pairs = [(a, b) for a in nodes for b in nodes if a != b]
    finder = PathFinder(CHOICE, PathQuestion(uninett(), "inverse-capacity", seed=1))
    return dict(zip(pairs, finder.tunnels_of_pairs(pairs, 4), strict=True))


def test_the_network_is_that_of_the_published_rows() -> None:
    assert (len(uninett().nodes), len(uninett().links)) == (74, 202)
    assert len(ROWS) == 110


@pytest.mark.parametrize(("model", "seed", "scale", "total", "optimum"), ROWS)
def test_the_optimum_of_a_seed_is_the_published_one(
    model: str, seed: str, scale: str, total: str, optimum: str
) -> None:
    demands = parsed_model(model).demands(uninett(), int(seed), float(scale))
    # Published sums are of single precision for all models but the bimodal one.
    assert sum(each.rate for each in demands) == pytest.approx(float(total), rel=1e-6)
    incidence = Incidence.of(uninett(), [tunnels()[each.pair] for each in demands])
    capacity = np.array([link.capacity for link in uninett().links])
    found = most_total_flow(incidence, capacity, np.array([each.rate for each in demands]))
    assert found == pytest.approx(float(optimum), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "published"),
    [("1690127082", 0.8227), ("138709840", 0.7818), ("163133169", 0.8535), ("1291225773", 0.9471)],
)
def test_ncflow_carries_the_published_share_of_the_optimum_or_more(seed: str, published: float) -> None:
    """Published in harvard-cns/pop-ncflow-lptop, ncflow-total_flow-slices_0_1_2_3_4.csv: sums of all iterations."""
    model, _, scale, _, optimum = next(row for row in ROWS if row[1] == seed)
    demands = parsed_model(model).demands(uninett(), int(seed), float(scale))
    capacity = np.array([link.capacity for link in uninett().links])
    rates = np.array([each.rate for each in demands])
    network = ContractedNetwork(uninett(), capacity, [each.pair for each in demands], rates, Contraction())
    network.fill()
    carried = sum(sum(of_pair.values()) for of_pair in network.flows)
    assert carried >= published * float(optimum)
    assert carried <= edge_flow(uninett(), demands, "throughput").value * (1 + 1e-6)
