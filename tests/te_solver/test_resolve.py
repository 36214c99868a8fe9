from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_base.errors import SolverError
from te_solver import highs, resolve
from te_solver.demands import Demand
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.max_throughput import MaxThroughput
from te_solver.resolve import ThroughputResolver, WarmThroughput
from te_solver.topology import Link, Topology
from tests.te_solver.programs.problems import RHOMBUS, Case, cases

pytestmark = pytest.mark.slow

Bounds = tuple[Vector, Vector]

RHOMBUS_CASE = Case.of(RHOMBUS, [Demand("s", "t", 30.0)], 3)


@st.composite
def changing_cases(draw: st.DrawFn) -> tuple[Case, list[Bounds]]:
    """A case and bounds to solve it with in turn; each time some of them differ from before."""
    case = draw(cases())
    capacity, demand = case.capacity, case.demand
    bounds = [(capacity, demand)]
    for _ in range(draw(st.integers(1, 4))):
        capacity, demand = (_changed(draw, values) for values in (capacity, demand))
        bounds.append((capacity, demand))
    return case, bounds


def _changed(draw: st.DrawFn, values: Vector) -> Vector:
    changed = np.array(values)
    for position in draw(st.lists(st.integers(0, values.size - 1), max_size=4)):
        changed[position] = draw(st.just(0.0) | st.floats(0.01, 1e5))
    return changed


@settings(max_examples=60)
@given(changing_cases())
def test_every_answer_is_as_good_as_that_of_cvxpy_for_the_same_bounds(problem: tuple[Case, list[Bounds]]) -> None:
    case, bounds = problem
    incidence = case.incidence
    resolver, program = ThroughputResolver(incidence), MaxThroughput(incidence)
    for capacity, demand in bounds:
        resolved, expected = resolver.solve(capacity, demand), program.solve(capacity, demand)
        assert resolved.rates.sum() == pytest.approx(expected.rates.sum(), rel=1e-6)
        assert incidence.hops @ resolved.rates == pytest.approx(incidence.hops @ expected.rates, rel=1e-6)


@settings(max_examples=60)
@given(changing_cases())
def test_no_bound_is_exceeded(problem: tuple[Case, list[Bounds]]) -> None:
    case, bounds = problem
    incidence = case.incidence
    resolver = ThroughputResolver(incidence)
    for capacity, demand in bounds:
        answer = resolver.solve(capacity, demand)
        assert (answer.rates >= 0).all()
        assert (incidence.links @ answer.rates <= capacity * (1 + 1e-12)).all()
        assert (incidence.pairs @ answer.rates <= demand * (1 + 1e-12)).all()
        assert answer.granted.tolist() == (incidence.pairs @ answer.rates).tolist()


@settings(max_examples=60)
@given(changing_cases())
def test_what_was_solved_in_between_does_not_matter(problem: tuple[Case, list[Bounds]]) -> None:
    case, bounds = problem
    through, straight = ThroughputResolver(case.incidence), ThroughputResolver(case.incidence)
    rates = [through.solve(*each).rates for each in bounds][-1]
    straight.solve(*bounds[0])
    assert straight.solve(*bounds[-1]).rates.tolist() == rates.tolist()


def test_without_the_second_program_the_throughput_is_the_same() -> None:
    case = RHOMBUS_CASE
    resolver = ThroughputResolver(case.incidence, fewest_hops=False)
    assert resolver.solve(case.capacity, case.demand).rates.tolist() == pytest.approx([10, 10, 10])
    assert resolver.solve(case.capacity, np.array([8.0])).rates.sum() == pytest.approx(8)


def test_the_shorter_tunnel_is_filled_first() -> None:
    resolver = ThroughputResolver(RHOMBUS_CASE.incidence)
    resolver.solve(RHOMBUS_CASE.capacity, RHOMBUS_CASE.demand)
    assert resolver.solve(RHOMBUS_CASE.capacity, np.array([8.0])).rates.tolist() == pytest.approx([8, 0, 0])


def test_nothing_is_carried_without_capacity_or_demand() -> None:
    case = RHOMBUS_CASE
    resolver = ThroughputResolver(case.incidence)
    for capacity, demand in [(case.capacity * 0, case.demand), (case.capacity, case.demand * 0)]:
        assert resolver.solve(capacity, demand).rates.tolist() == [0, 0, 0]
    assert resolver.solve(case.capacity, case.demand).rates.tolist() == pytest.approx([10, 10, 10])


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1.0, 1e9, 1e300])
def test_the_unit_of_the_rates_does_not_matter(scale: float) -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 15)], 2)
    resolver = ThroughputResolver(case.incidence)
    resolver.solve(case.capacity, case.demand)
    rates = resolver.solve(case.capacity * scale, case.demand * scale).rates
    assert (rates / scale).tolist() == pytest.approx([10, 5])


def test_a_small_link_is_used_as_exactly_as_a_large_one() -> None:
    topology = Topology("t", ("a", "b", "c"), (Link("a", "b", 1e-3), Link("a", "c", 1e5)))
    incidence = Incidence.of(topology, [[("a", "b")], [("a", "c")]])
    rates = ThroughputResolver(incidence).solve(np.array([1e-3, 1e5]), np.array([1.0, 1e6])).rates
    assert rates.tolist() == pytest.approx([1e-3, 1e5], rel=1e-6)


def test_a_solver_that_gives_up_is_reported_with_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(highs.OPTIONS, "presolve", "off")
    monkeypatch.setitem(highs.OPTIONS, "simplex_iteration_limit", 0)
    resolver = ThroughputResolver(RHOMBUS_CASE.incidence)
    with pytest.raises(SolverError) as raised:
        resolver.solve(RHOMBUS_CASE.capacity, RHOMBUS_CASE.demand)
    assert str(raised.value) == "HiGHS gave up with status Iteration limit reached, no plan was made"


def test_schemes_keep_their_resolver_as_long_as_the_tunnels_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Incidence] = []

    class Counted(ThroughputResolver):
        def __init__(self, incidence: Incidence, *, fewest_hops: bool) -> None:
            made.append(incidence)
            super().__init__(incidence, fewest_hops=fewest_hops)

    monkeypatch.setattr("te_solver.resolve.ThroughputResolver", Counted)
    solver = WarmThroughput()
    case, other = RHOMBUS_CASE.incidence, RHOMBUS_CASE.incidence
    for incidence in (case, case, other):
        assert solver(incidence, RHOMBUS_CASE.capacity, RHOMBUS_CASE.demand).rates.sum() == pytest.approx(30)
    assert [incidence is case for incidence in made] == [True, False]


@settings(max_examples=30)
@given(changing_cases())
def test_a_copy_of_a_solver_gives_the_same_answers(
    problem: tuple[Case, list[Bounds]],
) -> None:
    case, bounds = problem
    solver = WarmThroughput()
    for each in bounds[:-1]:
        solver(case.incidence, *each)
    incidence, copied = deepcopy((case.incidence, solver))  # as pickle does
    assert copied(incidence, *bounds[-1]).rates.tolist() == solver(case.incidence, *bounds[-1]).rates.tolist()


@settings(max_examples=40)
@given(changing_cases(), st.data())
def test_a_program_of_those_who_ask_alone_is_as_good(problem: tuple[Case, list[Bounds]], data: st.DataObject) -> None:
    case, bounds = problem
    asks = data.draw(st.lists(st.booleans(), min_size=case.demand.size, max_size=case.demand.size))
    for capacity, of_all in bounds:
        demand = np.where(asks, of_all, 0.0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(resolve, "_MANY_TUNNELS", 0)
            patch.setattr(resolve, "_FEW_PAIRS", 2.0)
            alone = WarmThroughput()(case.incidence, capacity, demand)
        whole = ThroughputResolver(case.incidence).solve(capacity, demand)
        assert alone.rates.sum() == pytest.approx(whole.rates.sum(), rel=1e-6)
        assert alone.granted == pytest.approx(case.incidence.pairs @ alone.rates)
        hops = [case.incidence.hops @ each.rates for each in (alone, whole)]
        assert hops[0] == pytest.approx(hops[1], rel=1e-5)
