from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings

from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.max_throughput import MaxThroughput
from te_solver.programs.program import Options
from te_solver.programs.scale import Scale
from tests.te_solver.programs.problems import RHOMBUS, Case, Rows, cases, within_capacities


def allocations(case: Case) -> tuple[list[float], list[float]]:
    """Return the rates of tunnels without and with spread."""
    plain, spread = (
        MaxThroughput(case.incidence, Options(spread=spread)).solve(case.capacity, case.demand).rates.tolist()
        for spread in (False, True)
    )
    return plain, spread


@pytest.mark.slow
@settings(max_examples=60)
@given(cases(max_nodes=6))
def test_pairs_keep_what_they_have_and_it_is_divided_as_evenly_as_an_independent_program_does(case: Case) -> None:
    plain, spread = map(np.array, allocations(case))
    granted = case.incidence.pairs @ plain
    assert case.incidence.pairs @ spread == pytest.approx(granted, rel=1e-6, abs=1e-6)
    couples = [
        (i, j) for i, j in combinations_with_replacement(range(len(case.paths)), 2) if case.owners[i] == case.owners[j]
    ]
    weight = [1 / Scale.of(case.incidence, case.capacity, case.demand).most[case.owners[i]] for i, _ in couples]
    rows = Rows(len(case.paths) + len(couples))
    within_capacities(case, rows)
    unit = np.eye(len(case.paths))
    for pair, rate in enumerate(granted):
        rows.at_least(case.owned(pair), rate)
    for number, couple in enumerate(couples):
        larger = np.eye(len(couples))[number]
        for tunnel in couple:
            rows.at_most([*unit[tunnel], *-larger], 0.0)
    least = rows.minimum([*[0.0] * len(case.paths), *weight])
    reached = sum(each * max(spread[i], spread[j]) for each, (i, j) in zip(weight, couples, strict=True))
    assert reached == pytest.approx(least, rel=1e-5, abs=1e-6)


def test_light_traffic_uses_all_tunnels_alike() -> None:
    plain, spread = allocations(Case.of(RHOMBUS, [Demand("s", "t", 6)], 3))
    assert plain == pytest.approx([6, 0, 0])
    assert spread == pytest.approx([2, 2, 2])


def test_where_one_tunnel_is_narrow_the_others_are_still_used_alike() -> None:
    links = tuple(Link(link.source, link.target, 1.0 if link.target == "a" else 10.0) for link in RHOMBUS.links)
    _, spread = allocations(Case.of(Topology("narrow", RHOMBUS.nodes, links), [Demand("s", "t", 6)], 3))
    assert spread == pytest.approx([2.5, 1, 2.5])


def test_a_single_tunnel_has_nothing_to_spread_over() -> None:
    _, spread = allocations(Case.of(RHOMBUS, [Demand("s", "t", 6), Demand("a", "t", 20)], 1))
    assert spread == pytest.approx([6, 10])
