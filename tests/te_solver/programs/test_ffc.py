from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from te_solver.demands import Demand
from te_solver.exposure import Exposure
from te_solver.programs.ffc import ForwardFaultCorrection, _takes_compact
from te_solver.programs.incidence import Vector
from te_solver.programs.program import Allocation, Formulation, Options
from te_solver.topology import Link, Topology
from tests.te_solver.programs.problems import RHOMBUS, Case, Rows, cases, within_capacities

pytestmark = pytest.mark.slow

FORMULATIONS: tuple[Formulation, ...] = ("enumeration", "compact", "smaller")


def both_ways(name: str, *edges: tuple[str, str]) -> Topology:
    nodes = tuple(dict.fromkeys(node for edge in edges for node in edge))
    return Topology(name, nodes, tuple(Link(*ends, 10.0) for a, b in edges for ends in ((a, b), (b, a))))


LADDER = both_ways(
    "ladder",
    *(("s", "a"), ("s", "b"), ("s", "c"), ("s", "d"), ("a", "t"), ("b", "t"), ("c", "t"), ("d", "t"), ("s", "t")),
)


def allocate(case: Case, protect: int, formulation: Formulation = "smaller", *, spread: bool = False) -> Allocation:
    options = Options(protect=protect, formulation=formulation, spread=spread)
    return ForwardFaultCorrection(case.incidence, options).solve(case.capacity, case.demand)


def reference(case: Case, protect: int) -> float:
    """Return the greatest surviving sum, with a row for every set of failed edges of the network and every pair."""
    paths, pairs = len(case.paths), len(case.demands)
    rows = Rows(paths + pairs)
    within_capacities(case, rows)
    granted = np.eye(pairs)
    for pair, demand in enumerate(case.demands):
        rows.at_most([*[0.0] * paths, *granted[pair]], demand.rate)
        for failed in case.failures(protect):
            left = np.array(case.alive(failed)) * case.owned(pair)
            rows.at_least([*left, *-granted[pair]], 0.0)
    return rows.maximum([*[0.0] * paths, *[1.0] * pairs])


def require_no_loss(case: Case, allocation: Allocation, protect: int) -> None:
    """Rescale by hand: after any failure each pair sends its whole grant and no link is overloaded."""
    for number in range(protect + 1):
        for failed in case.failures(number):
            alive = np.array(case.alive(failed))
            load = dict.fromkeys((link.ends for link in case.topology.links), 0.0)
            for pair, rate in enumerate(allocation.granted.tolist()):
                weights = allocation.rates * alive * case.owned(pair)
                if rate == 0:
                    continue
                assert weights.sum() > 0, "everything that the pair was granted would be lost"
                for path, sent in zip(case.paths, rate * weights / weights.sum(), strict=True):
                    for hop in pairwise(path):
                        load[hop] += sent
            for link in case.topology.links:
                assert load[link.ends] <= link.capacity * (1 + 1e-6)


@settings(max_examples=60)
@given(cases(max_nodes=6), st.integers(1, 3), st.sampled_from(FORMULATIONS))
def test_as_much_survives_as_an_independent_program_says(case: Case, protect: int, formulation: Formulation) -> None:
    allocation = allocate(case, protect, formulation)
    assert (allocation.granted <= case.demand * (1 + 1e-12)).all()
    assert allocation.granted.sum() == pytest.approx(reference(case, protect), rel=1e-6, abs=1e-6)


@settings(max_examples=60)
@given(cases(max_nodes=6), st.integers(1, 3), st.booleans())
def test_no_failure_that_is_protected_against_loses_anything(case: Case, protect: int, spread: bool) -> None:  # noqa: FBT001
    allocation = allocate(case, protect, spread=spread)
    require_no_loss(case, allocation, protect)
    again = allocate(case, protect, spread=spread)
    assert (again.rates.tolist(), again.granted.tolist()) == (allocation.rates.tolist(), allocation.granted.tolist())


@settings(max_examples=40)
@given(cases(max_tunnels=6), st.integers(1, 4))
def test_the_formulations_agree(case: Case, protect: int) -> None:
    sums = [allocate(case, protect, formulation).granted.sum() for formulation in FORMULATIONS]
    assert sums == pytest.approx([sums[0]] * 3, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(("protect", "granted"), [(1, 40), (2, 30), (3, 20), (4, 10), (5, 0), (9, 0)])
def test_of_five_disjoint_tunnels_as_many_count_as_survive(
    formulation: Formulation, protect: int, granted: float
) -> None:
    case = Case.of(LADDER, [Demand("s", "t", 100)], 5)
    assert allocate(case, protect, formulation).granted.tolist() == pytest.approx([granted])


def test_tunnels_that_share_an_edge_fall_together() -> None:
    # s-t, s-a-t and s-a-b-t: the failure of s-a takes down two of the three.
    topology = both_ways("shared", ("s", "t"), ("s", "a"), ("a", "t"), ("a", "b"), ("b", "t"))
    case = Case(topology, (Demand("s", "t", 100),), ((("s", "t"), ("s", "a", "t"), ("s", "a", "b", "t")),))
    assert allocate(case, 1).granted.tolist() == pytest.approx([10])


def test_both_directions_of_an_edge_fail_together() -> None:
    case = Case.of(both_ways("line", ("a", "b"), ("b", "c")), [Demand("a", "c", 5), Demand("c", "a", 5)], 2)
    assert allocate(case, 1).granted.tolist() == [0, 0]


def test_the_shorter_tunnels_are_preferred_or_all_are_used_alike() -> None:
    edges = (("s", "t"), ("s", "a"), ("a", "t"), ("s", "b"), ("b", "c"), ("c", "d"), ("d", "t"))
    case = Case.of(both_ways("long", *edges), [Demand("s", "t", 6)], 3)
    assert allocate(case, 1).rates.tolist() == pytest.approx([6, 6, 0])
    assert allocate(case, 1, spread=True).rates.tolist() == pytest.approx([3, 3, 3])


def test_what_is_carried_already_is_left_alone() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)
    carried: Vector = np.array([10.0, 4.0, 0.0, 0.0, 0.0])
    allocation = ForwardFaultCorrection(case.incidence).solve(case.capacity, case.demand, carried)
    assert allocation.granted.tolist() == pytest.approx([6])
    assert allocation.rates.tolist() == pytest.approx([0, 6, 6])


def test_a_pair_without_tunnels_gets_nothing() -> None:
    case = Case(RHOMBUS, (Demand("s", "t", 5), Demand("s", "a", 5)), ((("s", "t"), ("s", "a", "t")), ()))
    assert allocate(case, 1).granted.tolist() == pytest.approx([5, 0])


@pytest.mark.parametrize(
    ("groups", "failures", "compact"),
    [(0, 1, False), (3, 1, False), (3, 2, False), (4, 2, True), (5, 2, True), (2, 5, False)],
)
def test_the_smaller_formulation_is_the_one_with_fewer_rows(groups: int, failures: int, compact: bool) -> None:  # noqa: FBT001
    """Enumeration takes a row for each choice of failed groups, the compact one a row for each group and one more."""
    exposure = Exposure.of([(edge,) for edge in range(groups)])
    assert [_takes_compact(exposure, failures, each) for each in FORMULATIONS] == [False, True, compact]


def test_tunnels_that_overlap_are_enumerated_whatever_is_asked_for() -> None:
    exposure = Exposure.of([(0, 1), (1, 2), (2, 3)])
    assert not any(_takes_compact(exposure, 2, each) for each in FORMULATIONS)
