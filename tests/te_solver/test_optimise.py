from __future__ import annotations

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from te_solver import optimise
from te_solver.demands import Demand
from te_solver.errors import SolverError
from te_solver.optimise import Incidence, Vector, maximise_throughput
from te_solver.topology import Link, Topology
from te_solver.tunnels import tunnels_for
from tests.te_solver.random_networks import demands_on, topologies

Problem = tuple[Topology, tuple[Demand, ...], list[tuple[tuple[str, ...], ...]]]

RHOMBUS = Topology(
    "rhombus",
    ("s", "a", "b", "t"),
    tuple(Link(a, b, 10.0) for a, b in (("s", "t"), ("s", "a"), ("a", "t"), ("s", "b"), ("b", "t"))),
)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    topology = draw(topologies(directed=draw(st.booleans())))
    demands = draw(demands_on(topology))
    assume(demands)
    count = draw(st.integers(1, 4))
    return topology, demands, [tunnels_for(topology, demand.source, demand.target, count) for demand in demands]


def allocate(topology: Topology, demands: tuple[Demand, ...], tunnels: list[tuple[tuple[str, ...], ...]]) -> Vector:
    capacity = np.array([link.capacity for link in topology.links])
    demand = np.array([demand.rate for demand in demands])
    return maximise_throughput(Incidence.of(topology, tunnels), capacity, demand).rates


def reference(problem: Problem) -> tuple[float, float]:
    """Greatest throughput, and the least hops * rate that it takes, row by row from the definition by scipy."""
    topology, demands, tunnels = problem
    owner = [row for row, paths in enumerate(tunnels) for _ in paths]
    paths = [path for of_pair in tunnels for path in of_pair]
    rows, bounds = [], []
    for link in topology.links:
        rows.append([float(link.ends in pairwise(path)) for path in paths])
        bounds.append(link.capacity)
    for row, demand in enumerate(demands):
        rows.append([float(each == row) for each in owner])
        bounds.append(demand.rate)
    throughput = -linprog([-1.0] * len(paths), A_ub=rows, b_ub=bounds).fun
    hops = linprog(
        [len(path) - 1 for path in paths],
        A_ub=[*rows, [-1.0] * len(paths)],
        b_ub=[*bounds, -throughput * (1 - 1e-9)],
    ).fun
    return throughput, hops


@settings(max_examples=60)
@given(problems())
def test_the_throughput_is_that_of_an_independent_program_by_the_fewest_hops(problem: Problem) -> None:
    _, _, tunnels = problem
    rates = allocate(*problem)
    throughput, hops = reference(problem)
    assert rates.sum() == pytest.approx(throughput, rel=1e-6, abs=1e-6)
    taken = sum(rate * (len(path) - 1) for rate, path in zip(rates, (p for ps in tunnels for p in ps), strict=True))
    assert taken == pytest.approx(hops, rel=1e-6, abs=1e-6)


@settings(max_examples=60)
@given(problems())
def test_no_bound_is_exceeded_and_the_same_problem_has_the_same_answer(problem: Problem) -> None:
    topology, demands, tunnels = problem
    rates = allocate(*problem)
    assert (rates >= 0).all()
    incidence = Incidence.of(topology, tunnels)
    load, sent = incidence.links @ rates, incidence.pairs @ rates
    assert (load <= np.array([link.capacity for link in topology.links]) * (1 + 1e-12)).all()
    assert (sent <= np.array([demand.rate for demand in demands]) * (1 + 1e-12)).all()
    assert allocate(*problem).tolist() == rates.tolist()


def test_the_shorter_tunnel_is_filled_first() -> None:
    tunnels = [tunnels_for(RHOMBUS, "s", "t", 3)]
    assert allocate(RHOMBUS, (Demand("s", "t", 8),), tunnels).tolist() == pytest.approx([8, 0, 0])
    assert allocate(RHOMBUS, (Demand("s", "t", 30),), tunnels).tolist() == pytest.approx([10, 10, 10])


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1.0, 1e9, 1e300])
def test_the_unit_of_the_rates_does_not_matter(scale: float) -> None:
    topology = RHOMBUS.with_capacity(10 * scale)
    rates = allocate(topology, (Demand("s", "t", 15 * scale),), [tunnels_for(topology, "s", "t", 2)])
    assert (rates / scale).tolist() == pytest.approx([10, 5])


def test_a_small_link_is_used_as_exactly_as_a_large_one() -> None:
    topology = Topology("t", ("a", "b", "c"), (Link("a", "b", 1e-3), Link("a", "c", 1e5)))
    demands = (Demand("a", "b", 1), Demand("a", "c", 1e6))
    rates = allocate(topology, demands, [tunnels_for(topology, *demand.pair, 1) for demand in demands])
    assert rates.tolist() == pytest.approx([1e-3, 1e5], rel=1e-6)


def test_an_incidence_has_a_row_per_link_and_per_pair_and_a_column_per_tunnel() -> None:
    incidence = Incidence.of(RHOMBUS, [[("s", "t"), ("s", "a", "t")], [("a", "t")]])
    assert incidence.links.toarray().T.tolist() == [[1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 0, 0]]
    assert incidence.pairs.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]
    assert incidence.hops.tolist() == [1, 2, 1]


def test_a_solver_that_gives_up_is_reported_with_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(optimise.HIGHS_OPTIONS, "presolve", "off")
    monkeypatch.setitem(optimise.HIGHS_OPTIONS, "simplex_iteration_limit", 0)
    with pytest.raises(SolverError) as raised:
        allocate(RHOMBUS, (Demand("s", "t", 30),), [tunnels_for(RHOMBUS, "s", "t", 3)])
    assert str(raised.value) == "HiGHS gave up with status user_limit, no plan was made"


def test_a_solver_that_fails_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise cp.SolverError("Solver 'HIGHS' failed.\nTry another solver.")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    with pytest.raises(SolverError) as raised:
        allocate(RHOMBUS, (Demand("s", "t", 30),), [tunnels_for(RHOMBUS, "s", "t", 3)])
    assert str(raised.value) == "HiGHS failed: Solver 'HIGHS' failed. Try another solver."
