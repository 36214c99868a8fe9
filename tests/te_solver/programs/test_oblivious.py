"""Oblivious ratios against worst demands found one after the other, each a vertex of the demands that can be routed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from te_solver.model.demands import Demand
from te_solver.programs.incidence import Vector
from te_solver.programs.oblivious import Cope, Oblivious, least_ratio
from te_solver.programs.program import Options
from tests.te_solver.programs.edge_bounds import arriving, edge_rows, least_utilisation, on_link
from tests.te_solver.programs.problems import RHOMBUS, Case, Rows, cases


def worst_demands(case: Case, load: Vector) -> tuple[float, Vector]:
    """Return the greatest load, and its demands, of all demands that some routing carries within capacities.

    The load is linear in the demands, so one of the vertices of these demands is the worst.
    """
    from scipy.optimize import linprog  # noqa: PLC0415  # its solution is needed, not its value alone

    topology, demands = case.topology, case.demands
    flows, pairs = len(demands) * len(topology.links), len(demands)
    rows = edge_rows(topology, demands, pairs)
    for at, link in enumerate(topology.links):
        rows.at_most(on_link(topology, demands, at), link.capacity)
    for number in range(pairs):
        row = [-entry for entry in arriving(topology, demands, number)] + [0.0] * pairs
        row[flows + number] = 1.0
        rows.at_most(row, 0.0)
    found = linprog([*[0.0] * flows, *(-load)], A_ub=rows._rows, b_ub=rows._bounds)
    assert found.status == 0, found.message
    return -float(found.fun), np.asarray(found.x[flows:])


def ratio_by_vertices(case: Case) -> float:
    """Return the least ratio: worst vertices are added to a program until none is worse than it says."""
    uses = np.array([case.uses(link) for link in case.topology.links]) / case.capacity[:, None]
    owners = np.array(case.owners)
    rows = Rows(len(case.paths) + 1)
    for pair in range(len(case.demands)):
        rows.at_least(case.owned(pair), 1.0)
    from scipy.optimize import linprog  # noqa: PLC0415  # as above

    while True:
        found = linprog([*[0.0] * len(case.paths), 1.0], A_ub=rows._rows, b_ub=rows._bounds)
        shares, ratio = np.asarray(found.x[:-1]), float(found.x[-1])
        worse = False
        for use in uses:
            per_pair = np.bincount(owners, use * shares, minlength=len(case.demands)).astype(np.float64)
            load, demand = worst_demands(case, per_pair)
            if load > ratio * (1 + 1e-7) + 1e-9:
                rows.at_most([*(use * demand[owners]), -1.0], 0.0)
                worse = True
        if not worse:
            return ratio


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(cases(max_nodes=5, max_tunnels=3))
def test_the_ratio_is_that_of_the_worst_vertices(case: Case) -> None:
    assume(case.capacity.max() <= 1000 * case.capacity.min())
    _, ratio, _ = least_ratio(case.incidence, case.capacity)
    assert ratio == pytest.approx(ratio_by_vertices(case), rel=1e-4)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(cases(max_nodes=5, max_tunnels=3))
def test_cope_uses_links_less_than_oblivious_routing_and_no_less_than_the_bound(case: Case) -> None:
    assume((case.demand > 0).any() and case.capacity.max() <= 1000 * case.capacity.min())

    def used(rates: Vector) -> float:
        return float((case.incidence.links @ rates / case.capacity).max())

    oblivious = Oblivious(case.incidence).solve(case.capacity, case.demand)
    cope = [
        Cope(case.incidence, Options(settings={"envelope": envelope})).solve(case.capacity, case.demand)
        for envelope in (1.0, 1.5, 1e6)
    ]
    least = least_utilisation(case.topology, [each for each in case.demands if each.rate > 0])
    assert used(oblivious.rates) <= least_ratio(case.incidence, case.capacity)[1] * least * (1 + 1e-4)
    loads = [used(each.rates) for each in cope]
    assert used(oblivious.rates) >= loads[0] * (1 - 1e-3)
    assert loads[0] >= loads[1] * (1 - 1e-5)
    assert loads[1] >= loads[2] * (1 - 1e-5)
    assert loads[2] >= least * (1 - 1e-5)
    assert cope[0].granted == pytest.approx(case.demand)


def test_splits_do_not_depend_on_the_demands() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30), Demand("a", "t", 5)], 3)
    one, other = (Oblivious(case.incidence).solve(case.capacity, case.demand * by).rates for by in (1.0, [2.0, 0.5]))
    assert (one * [2, 2, 2, 0.5]).tolist() == pytest.approx(other.tolist())


def test_two_ways_of_one_pair_share_alike() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)
    shares, ratio, _ = least_ratio(case.incidence, case.capacity)
    assert (ratio, *shares) == pytest.approx((1, 1 / 3, 1 / 3, 1 / 3))
