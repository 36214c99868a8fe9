"""Oblivious ratios against worst demands found one after the other, each a vertex of the demands that can be routed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kuijia_base.errors import InputError
from te_solver.model.demands import Demand
from te_solver.programs.incidence import Vector
from te_solver.programs.oblivious import Cope, Oblivious, least_ratio
from te_solver.programs.program import Options
from tests.te_solver.programs.edge_bounds import arriving, edge_rows, least_utilisation, on_link
from tests.te_solver.programs.problems import RHOMBUS, Case, Rows, cases


def worst_demands(case: Case, load: Vector, cone: Vector | None = None) -> tuple[float, Vector]:
    """Return the greatest load, and its demands, of all demands that some routing carries within capacities.

    The load is linear in the demands, so one of the vertices of these demands is the worst. With a `cone` they are sums
    of multiples of its rows.
    """
    cone = np.identity(len(case.demands)) if cone is None else cone
    from scipy.optimize import linprog  # noqa: PLC0415  # its solution is needed, not its value alone

    topology, demands = case.topology, case.demands
    flows, pairs = len(demands) * len(topology.links), len(demands)
    rows = edge_rows(topology, demands, len(cone))
    for at, link in enumerate(topology.links):
        rows.at_most(on_link(topology, demands, at), link.capacity)
    for number in range(pairs):
        row = [-entry for entry in arriving(topology, demands, number)]
        rows.at_most([*row, *cone[:, number]], 0.0)
    found = linprog([*[0.0] * flows, *(-cone @ load)], A_ub=rows._rows, b_ub=rows._bounds)
    assert found.status == 0, found.message
    return -float(found.fun), np.asarray(found.x[flows:]) @ cone


def ratio_by_vertices(case: Case, envelope: float = 0.0, cone: Vector | None = None) -> float:
    """Return the least ratio in a cone: worst vertices are added to a program until none is worse than it says.

    With an `envelope` no demand at all may have a greater ratio than this.
    """
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
            load, demand = worst_demands(case, per_pair, cone)
            if load > ratio * (1 + 1e-7) + 1e-9:
                rows.at_most([*(use * demand[owners]), -1.0], 0.0)
                worse = True
            if envelope:
                load, demand = worst_demands(case, per_pair)
                if load > envelope * (1 + 1e-7) + 1e-9:
                    rows.at_most([*(use * demand[owners]), 0.0], envelope)
                    worse = True
        if not worse:
            return ratio


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(cases(max_nodes=6, max_tunnels=3))
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


def splits(case: Case, rates: Vector) -> Vector:
    return np.asarray(rates / case.demand[case.owners])


def ratio_of(case: Case, shares: Vector, cone: Vector | None = None) -> float:
    """Return the worst ratio of splits by the worst demands of each link."""
    uses = np.array([case.uses(link) for link in case.topology.links]) / case.capacity[:, None]
    per_pair = [np.bincount(case.owners, use * shares, minlength=len(case.demands)) for use in uses]
    return max(worst_demands(case, load.astype(np.float64), cone)[0] for load in per_pair)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    case=cases(max_nodes=4, max_tunnels=3),
    envelope=st.sampled_from([1.0, 1.2, 1e3]),
    random=st.randoms(use_true_random=False),
)
def test_cope_has_the_least_ratio_in_the_hull_within_its_envelope(
    case: Case, envelope: float, random: Random, tmp_path: Path
) -> None:
    assume(case.capacity.max() <= 1000 * case.capacity.min())
    case = replace(case, demands=tuple(replace(each, rate=each.rate or 1.0) for each in case.demands))
    nodes = case.topology.nodes
    matrices = [{(a, b): random.choice((0, 1, 5)) for a in nodes for b in nodes if a != b} for _ in range(2)]
    hull = np.array([case.demand, *([matrix[each.pair] for each in case.demands] for matrix in matrices)])
    assume(all(any(matrix.values()) for matrix in matrices) and case.demand.max() <= 1e6 * case.demand.min())
    lines = [" ".join(str(matrix.get((a, b), 0)) for a in nodes for b in nodes) for matrix in matrices]
    file = tmp_path / "week.hist"
    file.write_text("\n".join(lines))
    program = Cope(case.incidence, Options(settings={"envelope": envelope, "hull": str(file)}))
    shares = splits(case, program.solve(case.capacity, case.demand).rates)
    most = envelope * least_ratio(case.incidence, case.capacity)[1]
    assert ratio_of(case, shares) <= most * (1 + 1e-4)
    best = ratio_by_vertices(case, most * (1 + 1e-6), hull[hull.any(axis=1)])
    assert ratio_of(case, shares, hull[hull.any(axis=1)]) == pytest.approx(best, rel=1e-3)


def test_a_matrix_of_the_hull_pulls_splits_towards_what_suits_it(tmp_path: Path) -> None:
    """Alone s-t takes all three ways alike; where a-t may be as large, the way over a is left to it."""
    case = Case.of(RHOMBUS, [Demand("s", "t", 30), Demand("a", "t", 0)], 3)
    file = tmp_path / "week.hist"
    file.write_text("0 0 0 10 " + "0 0 0 10 " + "0 " * 8)

    def shares(**values: float | str) -> list[float]:
        program = Cope(case.incidence, Options(settings={"envelope": 10.0, **values}))
        return [round(float(each), 4) for each in program.solve(case.capacity, case.demand).rates / 30][:3]

    assert shares() == pytest.approx([1 / 3] * 3, abs=1e-3)
    assert shares(hull=str(file))[1] < 1 / 3 - 0.01
    # If a-t asks for a tenth at most, the ratios are 3 x = 3 (1 - y) / 2 and 3 (0.1 + y) / 1.1; of all demands 1 + 2 y.
    file.write_text("0 0 0 10 " + "0 0 0 1 " + "0 " * 8)
    assert shares(hull=str(file)) == pytest.approx([11 / 31, 9 / 31, 11 / 31], abs=1e-3)


def test_a_file_of_the_hull_that_cannot_be_used_is_refused_with_its_line(tmp_path: Path) -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)
    file = tmp_path / "week.hist"
    program = Cope(case.incidence, Options(settings={"hull": str(file)}))
    for content, problem in (("", "no matrix"), ("0 1 2\n", ":1: 3 rates"), ("0 1 2 x\n" * 1, ":1: ")):
        file.write_text(content)
        with pytest.raises(InputError, match=problem):
            program.solve(case.capacity, case.demand)


def test_splits_do_not_depend_on_the_demands() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30), Demand("a", "t", 5)], 3)
    one, other = (Oblivious(case.incidence).solve(case.capacity, case.demand * by).rates for by in (1.0, [2.0, 0.5]))
    assert (one * [2, 2, 2, 0.5]).tolist() == pytest.approx(other.tolist())


def test_two_ways_of_one_pair_share_alike() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)
    shares, ratio, _ = least_ratio(case.incidence, case.capacity)
    assert (ratio, *shares) == pytest.approx((1, 1 / 3, 1 / 3, 1 / 3))


def test_a_pair_whose_links_are_down_gets_nothing_and_the_others_their_splits() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30), Demand("s", "b", 5)], 3)
    down = np.array([10.0, 10.0, 10.0, 0.0, 10.0])
    for program in (Oblivious(case.incidence), Cope(case.incidence, Options())):
        rates = program.solve(down, case.demand).rates
        assert rates == pytest.approx([15, 15, 0, 0], abs=1e-3)
