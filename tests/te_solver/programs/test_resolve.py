from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_base.errors import SolverError
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs import highs, resolve
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.max_throughput import MaxThroughput
from te_solver.programs.program import Allocation
from te_solver.programs.resolve import ThroughputResolver, WarmThroughput
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


def test_a_program_of_few_that_has_nothing_to_carry_is_not_solved() -> None:
    incidence, demand = RHOMBUS_CASE.incidence, RHOMBUS_CASE.demand
    found = resolve.throughput_of_few(incidence, np.zeros(RHOMBUS_CASE.capacity.size), demand)
    assert (found.rates.sum(), found.solve_seconds) == (0, 0)


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

    monkeypatch.setattr("te_solver.programs.resolve.ThroughputResolver", Counted)
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


def test_a_rate_too_small_for_its_tunnel_is_rounding_and_a_larger_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = np.array([1.0, 0.9e-9, 1.1e-9])
    monkeypatch.setattr(highs.HighsProgram, "solve", lambda *_, **__: shares)
    rates = ThroughputResolver(RHOMBUS_CASE.incidence).solve(RHOMBUS_CASE.capacity, RHOMBUS_CASE.demand).rates
    assert rates.tolist() == [10.0, 0.0, pytest.approx(1.1e-8)]


def test_only_pairs_with_several_tunnels_have_a_row_for_their_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []

    class Counted(highs.HighsProgram):
        def __init__(self, matrix: sp.csc_array, cost: Vector, tolerance: float) -> None:
            rows.append(matrix.shape[0])
            super().__init__(matrix, cost, tolerance)

    monkeypatch.setattr(resolve, "HighsProgram", Counted)
    case = Case(RHOMBUS, (Demand("s", "t", 5), Demand("s", "a", 5)), ((("s", "t"), ("s", "a", "t")), (("s", "a"),)))
    resolver = ThroughputResolver(case.incidence, fewest_hops=False)
    assert rows == [5 + 1]
    assert resolver.solve(case.capacity, np.array([30.0, 7.0])).granted.tolist() == pytest.approx([13, 7])


class Noted(ThroughputResolver):
    """Notes what it is made for and asked."""

    made: list[Noted]

    def __init__(self, incidence: Incidence, *, fewest_hops: bool = True) -> None:
        super().__init__(incidence, fewest_hops=fewest_hops)
        self.asked: list[tuple[list[float], list[float]]] = []
        self.made.append(self)

    def solve(self, capacity: Vector, demand: Vector) -> Allocation:
        self.asked.append((capacity.tolist(), demand.tolist()))
        return super().solve(capacity, demand)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[Noted]:
    monkeypatch.setattr(Noted, "made", [], raising=False)
    monkeypatch.setattr(resolve, "ThroughputResolver", Noted)
    return Noted.made


@pytest.mark.parametrize("way", ["announced", "asked"])
def test_the_first_problem_is_kept_although_the_caller_changes_its_arrays(way: str, noted: list[Noted]) -> None:
    incidence, capacity, demand = RHOMBUS_CASE.incidence, RHOMBUS_CASE.capacity, RHOMBUS_CASE.demand
    solver = WarmThroughput()
    if way == "announced":
        solver.begin_with(incidence, capacity, demand)
        assert noted == []
    else:
        solver(incidence, capacity, demand)
        incidence, solver = deepcopy((incidence, solver))
        noted.clear()
    capacity[:], demand[:] = 1.0, 2.0
    solver(incidence, capacity, demand)
    solver(incidence, capacity, demand)
    assert [each.asked for each in noted] == [[([10.0] * 5, [30.0]), ([1.0] * 5, [2.0]), ([1.0] * 5, [2.0])]]


def test_a_program_of_few_has_no_pair_that_asks_for_nothing_and_no_dead_tunnel_and_no_unused_link(
    noted: list[Noted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "_MANY_TUNNELS", 0)
    case = Case.of(RHOMBUS, [Demand("s", "t", 30), *(Demand("s", "a", 0) for _ in range(4))], 3)
    capacity = np.where([link.ends == ("s", "a") for link in RHOMBUS.links], 0.0, case.capacity)
    allocation = WarmThroughput(fewest_hops=False)(case.incidence, capacity, case.demand)
    assert allocation.granted.tolist() == pytest.approx([20, 0, 0, 0, 0])
    ((few, asked),) = [(each.incidence, each.asked) for each in noted]
    assert (few.links.shape, few.pairs.shape, few.hops.tolist()) == ((3, 2), (1, 2), [1, 2])
    assert asked == [([10.0] * 3, [30.0])]


@pytest.mark.parametrize(("asking", "tunnels", "few"), [(1, 1001, True), (1, 1000, False), (2, 1001, False)])
def test_a_smaller_program_is_made_for_few_pairs_of_many_tunnels_only(
    asking: int,
    tunnels: int,
    few: bool,  # noqa: FBT001
    noted: list[Noted],
) -> None:
    pairs = 8
    owners = np.arange(tunnels) % pairs
    incidence = Incidence(
        sp.csc_array(np.ones((1, tunnels))),
        sp.csc_array((np.ones(tunnels), (owners, np.arange(tunnels))), shape=(pairs, tunnels)),
        np.ones(tunnels),
        np.zeros(1, np.int64),
        (("a", "b"),),
        Topology("one link", ("a", "b"), (Link("a", "b", 20.0),)),
    )
    demand = np.where(np.arange(pairs) < asking, 5.0, 0.0)
    assert WarmThroughput()(incidence, np.array([20.0]), demand).rates.sum() == pytest.approx(5 * asking)
    assert (noted[0].incidence is not incidence) is few
