from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings

from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.resolve import maximise_throughput
from tests.te_solver.programs.problems import (
    RHOMBUS,
    Case,
    Rows,
    cases,
    within_capacities,
    within_demands,
)

MANY_TUNNELS = 30_000


def allocate(case: Case) -> Vector:
    return maximise_throughput(case.incidence, case.capacity, case.demand).rates


def reference(case: Case) -> tuple[float, float]:
    """Return the greatest throughput and its least sum(hops * rate), row by row from the definition by scipy."""
    rows = Rows(len(case.paths))
    within_capacities(case, rows)
    within_demands(case, rows)
    everything = [1.0] * len(case.paths)
    throughput = rows.maximum(everything)
    rows.at_least(everything, throughput * (1 - 1e-9))
    return throughput, rows.minimum(case.hops)


@pytest.mark.slow
@pytest.mark.parametrize("many_tunnels", [MANY_TUNNELS, 0], ids=["dual simplex", "primal simplex"])
@settings(max_examples=60)
@given(case=cases())
def test_the_throughput_is_that_of_an_independent_program_by_the_fewest_hops(case: Case, many_tunnels: int) -> None:
    with mock.patch("te_solver.programs.max_throughput.MANY_TUNNELS", many_tunnels):
        rates = allocate(case)
    throughput, hops = reference(case)
    assert rates.sum() == pytest.approx(throughput, rel=1e-6, abs=1e-6)
    assert rates @ case.hops == pytest.approx(hops, rel=1e-6, abs=1e-6)


@pytest.mark.slow
@settings(max_examples=60)
@given(cases())
def test_no_bound_is_exceeded_and_the_same_problem_has_the_same_answer(case: Case) -> None:
    rates = allocate(case)
    assert (rates >= 0).all()
    assert (case.incidence.links @ rates <= case.capacity * (1 + 1e-12)).all()
    assert (case.incidence.pairs @ rates <= case.demand * (1 + 1e-12)).all()
    assert allocate(case).tolist() == rates.tolist()


def test_the_shorter_tunnel_is_filled_first() -> None:
    assert allocate(Case.of(RHOMBUS, [Demand("s", "t", 8)], 3)).tolist() == pytest.approx([8, 0, 0])
    assert allocate(Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)).tolist() == pytest.approx([10, 10, 10])


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1.0, 1e9, 1e300])
def test_the_unit_of_the_rates_does_not_matter(scale: float) -> None:
    rates = allocate(Case.of(RHOMBUS.with_capacity(10 * scale), [Demand("s", "t", 15 * scale)], 2))
    assert (rates / scale).tolist() == pytest.approx([10, 5])


def test_a_small_link_is_used_as_exactly_as_a_large_one() -> None:
    topology = Topology("t", ("a", "b", "c"), (Link("a", "b", 1e-3), Link("a", "c", 1e5)))
    rates = allocate(Case.of(topology, [Demand("a", "b", 1), Demand("a", "c", 1e6)], 1))
    assert rates.tolist() == pytest.approx([1e-3, 1e5], rel=1e-6)


APART = Topology("apart", tuple("abcdef"), (Link("a", "b", 1.0), Link("c", "d", 1.0), Link("e", "f", 1.0)))
ROW = Topology("row", tuple("abcde"), (Link("a", "b", 1.0), Link("b", "c", 1.0), Link("d", "e", 1.0)))


def solved(topology: Topology, paths: str, capacity: list[float], demand: list[float]) -> list[float]:
    """The rates of pairs with one tunnel each, such as "a-b c-d"."""
    incidence = Incidence.of(topology, [[tuple(path.split("-"))] for path in paths.split()])
    return list(maximise_throughput(incidence, np.array(capacity), np.array(demand)).rates)


def test_small_tunnels_count_beside_large_ones_that_cannot_carry_anything() -> None:
    paths = "a-b c-d e-f"
    assert solved(APART, paths, [0, 1e-3, 1e6], [1e6, 1, 0.01]) == pytest.approx([0, 1e-3, 0.01], abs=1e-12)
    assert solved(APART, paths, [1e6, 1e-3, 1e6], [0, 1, 0.01]) == pytest.approx([0, 1e-3, 0.01], abs=1e-12)


@pytest.mark.parametrize("paths", ["a-b a-b-c d-e", "a-b-c a-b d-e"])
def test_a_small_tunnel_over_a_link_without_capacity_takes_no_other_links_capacity(paths: str) -> None:
    rates = dict(zip(paths.split(), solved(ROW, paths, [1e-3, 0, 1e6], [1, 1, 1e-3]), strict=True))
    assert rates == pytest.approx({"a-b": 1e-3, "a-b-c": 0, "d-e": 1e-3}, abs=1e-12)
