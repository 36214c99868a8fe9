"""Allocations that give up some throughput: each against an independent statement of its rule."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from te_solver.model.demands import Demand
from te_solver.programs import resolve
from te_solver.programs.cspf import ConstrainedShortestPathFirst
from te_solver.programs.demand_pinning import DemandPinning
from te_solver.programs.fleischer import Fleischer
from te_solver.programs.hedging import Hedging
from te_solver.programs.incidence import Incidence
from te_solver.programs.lp_top import LpTop
from te_solver.programs.pop import Pop
from te_solver.programs.program import Options, Program
from tests.te_solver.programs.problems import RHOMBUS, Case, Rows, cases, within_capacities, within_demands

FULL = 1e-6


def most(case: Case) -> float:
    rows = Rows(len(case.paths))
    within_capacities(case, rows)
    within_demands(case, rows)
    return rows.maximum([1.0] * len(case.paths))


@pytest.mark.slow
@settings(max_examples=60)
@given(cases(max_nodes=6))
def test_cspf_places_demands_whole_where_they_fit_shortest_tunnels_first(case: Case) -> None:
    allocation = ConstrainedShortestPathFirst(case.incidence).solve(case.capacity, case.demand)
    left = {link.ends: link.capacity for link in case.topology.links}
    placed: set[int] = set()
    for length in sorted(set(case.hops)):
        for path, owner in zip(case.paths, case.owners, strict=True):
            hops = list(pairwise(path))
            if len(hops) == length and owner not in placed and all(left[hop] >= case.demand[owner] for hop in hops):
                placed.add(owner)
                left.update({hop: left[hop] - case.demand[owner] for hop in hops})
    expected = [rate if number in placed else 0.0 for number, rate in enumerate(case.demand.tolist())]
    assert allocation.granted.tolist() == expected


@pytest.mark.slow
@settings(max_examples=40)
@given(cases(max_nodes=6), st.sampled_from([0.0, 0.05, 0.5]))
def test_pinning_optimises_what_pinned_demands_leave(case: Case, share: float) -> None:
    assume((case.demand > 0).any())
    allocation = DemandPinning(case.incidence, Options(settings={"share": share})).solve(case.capacity, case.demand)
    small = case.demand <= share * case.capacity.mean()
    left = case.capacity.copy()
    pinned = 0.0
    for pair, paths in enumerate(case.tunnels):
        if small[pair] and case.demand[pair] > 0:
            first = min(paths, key=len)
            used = [link.ends in list(pairwise(first)) for link in case.topology.links]
            rate = min(case.demand[pair], left[used].min())
            left[used] -= rate
            pinned += rate
    rows = Rows(len(case.paths))
    for link, room in zip(case.topology.links, left.tolist(), strict=True):
        rows.at_most(case.uses(link), max(room, 0.0))
    for pair, rate in enumerate(case.demand.tolist()):
        rows.at_most(case.owned(pair), 0.0 if small[pair] else rate)
    expected = pinned + rows.maximum([1.0] * len(case.paths))
    assert allocation.granted.sum() == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
@settings(max_examples=40)
@given(cases(max_nodes=6), st.sampled_from([0.0, 0.3, 1.0]))
def test_only_the_largest_demands_leave_the_shortest_tunnel(case: Case, share: float) -> None:
    allocation = LpTop(case.incidence, Options(settings={"share": share})).solve(case.capacity, case.demand)
    count = int(np.ceil(share * np.count_nonzero(case.demand)))
    top = sorted(range(case.demand.size), key=lambda pair: (-case.demand[pair], pair))[:count]
    rows = Rows(len(case.paths))
    within_capacities(case, rows)
    within_demands(case, rows)
    for number, (path, owner) in enumerate(zip(case.paths, case.owners, strict=True)):
        if owner not in top and path != min(case.tunnels[owner], key=len):
            rows.at_most([float(at == number) for at in range(len(case.paths))], 0.0)
    assert allocation.granted.sum() == pytest.approx(rows.maximum([1.0] * len(case.paths)), rel=1e-5)


def test_the_programs_of_pop_have_only_the_pairs_of_their_part(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs: list[int] = []

    class Counted(resolve.ThroughputResolver):
        def __init__(self, incidence: Incidence, *, fewest_hops: bool = True) -> None:
            pairs.append(incidence.pairs.shape[0])
            super().__init__(incidence, fewest_hops=fewest_hops)

    monkeypatch.setattr(resolve, "ThroughputResolver", Counted)
    case = Case.of(RHOMBUS, [Demand("s", "t", 80), Demand("a", "t", 10), Demand("s", "a", 10)], 2)
    Pop(case.incidence, Options(settings={"parts": 4})).solve(case.capacity, case.demand)
    assert pairs == [1, 1, 1]


@pytest.mark.slow
@settings(max_examples=40)
@given(cases(max_nodes=6), st.integers(1, 4), st.sampled_from(["random", "means"]), st.sampled_from([0.0, 1.0]))
def test_pop_is_the_sum_of_its_parts(case: Case, parts: int, split: str, clients: float) -> None:
    program = Pop(case.incidence, Options(settings={"parts": parts, "split": split, "clients": clients}))
    divided = program.divided(case.demand)
    assert divided.sum(axis=0) == pytest.approx(case.demand)
    assert divided.shape == (parts, case.demand.size)
    expected = 0.0
    for share in divided:
        rows = Rows(len(case.paths))
        for link in case.topology.links:
            rows.at_most(case.uses(link), link.capacity / parts)
        for pair, rate in enumerate(share.tolist()):
            rows.at_most(case.owned(pair), rate)
        expected += rows.maximum([1.0] * len(case.paths))
    granted = program.solve(case.capacity, case.demand).granted
    assert granted.sum() == pytest.approx(expected, rel=1e-5)
    assert granted.sum() <= most(case) * (1 + FULL)


def test_client_splitting_halves_the_largest_and_means_balances_the_parts() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 80), Demand("a", "t", 10), Demand("s", "a", 10)], 2)
    program = Pop(case.incidence, Options(settings={"parts": 2, "split": "means", "clients": 1.0}))
    assert np.sort(program.divided(case.demand).sum(axis=1)).tolist() == [50, 50]
    other = Pop(case.incidence, Options(settings={"parts": 2, "seed": 5}))
    assert (other.divided(case.demand) > 0).sum(axis=0).tolist() == [1, 1, 1]


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_pieces_of_a_demand_are_in_different_parts(seed: int) -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 80), Demand("a", "t", 10), Demand("s", "a", 10)], 2)
    program = Pop(case.incidence, Options(settings={"parts": 4, "clients": 1.0, "seed": seed}))
    assert np.sort(program.divided(case.demand)[:, 0]).tolist() == [20, 20, 20, 20]


@pytest.mark.slow
@settings(max_examples=40)
@given(cases(max_nodes=6), st.sampled_from([0.1, 0.5, 1.0]), st.sampled_from([0.0, 0.5]))
def test_hedging_is_the_least_utilisation_within_parts_of_the_burst(case: Case, spread: float, before: float) -> None:
    assume((case.demand > 0).any())
    carried = before * case.capacity
    program = Hedging(case.incidence, Options(settings={"spread": spread}))
    allocation = program.solve(case.capacity, case.demand, carried)
    link = case.topology.link
    bottleneck = [min(link(*hop).capacity for hop in pairwise(path)) for path in case.paths]
    rows = Rows(len(case.paths) + 1)
    for each, other in zip(case.topology.links, carried.tolist(), strict=True):
        rows.at_most([*case.uses(each), -each.capacity], -other)
    for pair, demand in enumerate(case.demands):
        rows.at_least(case.owned(pair), demand.rate)
        burst = sum(np.array(case.owned(pair)) * bottleneck)
        for number in np.flatnonzero(case.owned(pair)).tolist():
            row = [float(at == number) for at in range(len(case.paths))]
            rows.at_most(row, demand.rate * bottleneck[number] / burst / spread)
    least = rows.minimum([*[0.0] * len(case.paths), 1.0])
    used = ((case.incidence.links @ allocation.rates + carried) / case.capacity).max()
    assert used == pytest.approx(least, rel=1e-5)
    assert allocation.granted == pytest.approx(case.demand)


@pytest.mark.parametrize("kind", [ConstrainedShortestPathFirst, DemandPinning, LpTop, Pop, Fleischer, Hedging])
def test_nothing_asked_gives_nothing(kind: type[Program]) -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30), Demand("a", "t", 0)], 3)
    assert kind(case.incidence).solve(case.capacity, case.demand * 0).granted.tolist() == [0, 0]
