from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from kuijia_base.errors import SolverError, UnsoundError
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.networks import shipped_demands, shipped_network
from te_solver.programs.incidence import Incidence
from te_solver.programs.linear import Linear, TunnelShares
from te_solver.programs.program import Options, Program
from te_solver.programs.registry import STATIC_SPLITS, find_objective, objective_names
from te_solver.programs.solver import HIGHS_OPTIONS, Solver
from te_solver.solve import solve
from tests.te_solver.programs.problems import RHOMBUS, Case, cases

MANY_TUNNELS = 30_000

COMPILED = tuple(
    {
        find_objective(name).program: name for name in reversed(objective_names()) if find_objective(name).compiled
    }.values()
)[::-1]
"""A name of each program that CVXPY compiles, the first of several."""


def compiled(name: str, case: Case, **options: object) -> Program:
    return find_objective(name).program(case.incidence, Options(**options))  # type: ignore[arg-type]


def worth(name: str, case: Case, program: Program, factor: float) -> float:
    allocation = program.solve(case.capacity, case.demand * factor)
    if name == "max-min":
        return float(allocation.granted.min())
    if name == "min-max-utilisation":
        return float((case.incidence.links @ allocation.rates / case.capacity).max())
    return float(allocation.granted.sum())


def test_solvers_and_spread_are_for_the_objectives_that_the_manual_names() -> None:
    simple = ["max-throughput", "max-min", "ffc", "min-max-utilisation", "static-splits"]
    others = ["edge-max-throughput", "edge-min-max-utilisation", "smore"]
    assert [name for name in objective_names() if find_objective(name).compiled] == [*simple, *others]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
@settings(max_examples=15)
@given(case=cases(max_nodes=6), factors=st.lists(st.floats(1e-5, 1e3), min_size=2, max_size=4))
def test_solved_again_with_other_numbers_it_is_as_good_as_a_new_one(
    name: str, case: Case, factors: list[float]
) -> None:
    again = compiled(name, case)
    for factor in factors:
        fresh = worth(name, case, compiled(name, case), factor)
        assert worth(name, case, again, factor) == pytest.approx(fresh, rel=1e-6)


@pytest.mark.parametrize("name", sorted({*COMPILED} - {STATIC_SPLITS}))  # which optimises nothing
def test_it_is_compiled_once_for_numbers_that_are_not_too_far_apart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 8), Demand("a", "t", 8)], 2)
    program = compiled(name, case)
    program.solve(case.capacity, case.demand)
    made = []
    make = cp.Problem.__init__

    def recorded(self: cp.Problem, *arguments: object) -> None:
        made.append(self)
        make(self, *arguments)

    # CVXPY makes problems of problems when it compiles one.
    monkeypatch.setattr(cp.Problem, "__init__", recorded)
    for factor in (0.1, 3.0, 0.0, 1.0):
        program.solve(case.capacity * (1 + factor), case.demand * factor)
    assert not made
    program.solve(case.capacity, case.demand * 1e4)
    assert made


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("spread", [False, True])
def test_capacities_and_demands_are_parameters_of_disciplined_programs(
    name: str,
    spread: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problems: list[cp.Problem] = []
    run = Solver.run

    def recorded(self: Solver, problem: cp.Problem) -> float:
        problems.append(problem)
        return run(self, problem)

    monkeypatch.setattr(Solver, "run", recorded)
    case = Case.of(RHOMBUS, [Demand("s", "t", 8), Demand("a", "t", 8)], 2)
    compiled(name, case, spread=spread).solve(case.capacity, case.demand)
    assert all(problem.is_dpp() and problem.parameters() for problem in problems)


@pytest.mark.parametrize(
    ("solver", "name"),
    [
        (solver, name)
        for solver in ("CLARABEL", "HIGHS-IPM", "HIGHS-PDLP", "OSQP", "SCIPY", "SCS")
        for name in COMPILED
        if (solver, name) != ("OSQP", "max-min")  # OSQP gives up on it
    ],
)
def test_other_solvers_find_the_same(name: str, solver: str) -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 25), Demand("a", "t", 8), Demand("s", "a", 3)], 3)
    expected = worth(name, case, compiled(name, case), 1.0)
    assert worth(name, case, compiled(name, case, solver=Solver.named(solver)), 1.0) == pytest.approx(
        expected, rel=1e-5
    )


@pytest.mark.parametrize("solver", ["HIGHS-IPM", "HIGHS-PDLP"])
@pytest.mark.parametrize("name", [name for name in objective_names() if find_objective(name).compiled])
def test_methods_without_a_basis_quietly_solve_a_shipped_network(
    name: str, solver: str, capfd: pytest.CaptureFixture[str]
) -> None:
    topology = load_topology(shipped_network("gscale"))
    demands = load_demands(shipped_demands("gscale"), topology)
    expected = solve(topology, demands, objective=name).objective_value
    found = solve(topology, demands, objective=name, options=Options(solver=Solver.named(solver)))
    assert found.objective_value == pytest.approx(expected, rel=1e-6)
    assert capfd.readouterr().out == ""


def test_what_presolve_spoils_is_solved_without_it() -> None:
    topology = load_topology(shipped_network("gscale"))
    case = Case.of(topology, load_demands(shipped_demands("gscale"), topology), 3)
    shares = TunnelShares(case.incidence, case.capacity, case.demand)
    program = Linear(method="interior")
    rates = program.variables(shares.worth.size, cost=-shares.worth, caps=shares.caps)
    program.rows((rates, shares.load), at_most=shares.capacity)
    program.rows((rates, shares.sent), at_most=shares.demand)
    assert program.solve().objective * shares.scale.unit == pytest.approx(-4000)


def test_what_no_inner_point_ends_is_solved_with_crossover() -> None:
    """A drawn program of very different numbers, which HiGHS 1.15 leaves unknown with presolve and without."""
    first = [625.9556814255413, 9.7e-6, 1.0, 0.3, 0.0, 14.889758268242206]
    matrix = np.array([first, [0.0, 0.0, 0.0, 0.0, 2.7e-4, 4000.0]])
    cost = np.array([-2e-5, -1.4e-5, 400.0, 0.0, -200.0, -1e-3])
    caps, bounds = np.array([90.0, 9e-4, 0.0, 8e-3, 16000.0, 20000.0]), np.array([40000.0, 1e7])
    program = Linear(method="interior")
    columns = program.variables(cost.size, cost, caps)
    program.rows((columns, sp.csc_array(matrix)), at_most=bounds)
    program.rows((columns, sp.csc_array(matrix[:1])), at_least=0.0)
    expected = linprog(cost, matrix, bounds, bounds=[(0.0, cap) for cap in caps.tolist()]).fun
    assert program.solve().objective == pytest.approx(expected, rel=1e-6)


def test_an_unknown_solver_is_refused_with_those_there_are() -> None:
    assert Solver.named("highs") == Solver()
    with pytest.raises(UnsoundError, match=r"^solver: solver 'fast' is not installed, expected one of CLARABEL, "):
        Solver.named("fast")


def test_protection_against_no_failure_is_refused() -> None:
    with pytest.raises(UnsoundError, match=r"^protect: protection against 0 failures, expected one or more$"):
        Options(protect=0)


def test_the_solver_is_named_with_its_version() -> None:
    assert Solver().title.startswith("HiGHS 1.")
    assert Solver("CLARABEL").title.startswith("CLARABEL 0.")
    assert Solver.named("highs-pdlp").title.startswith("HiGHS (PDLP) 1.")
    assert Solver("NOBODYS").title == "NOBODYS"


def test_a_solver_that_gives_up_is_reported_with_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HIGHS_OPTIONS, "presolve", "off")
    monkeypatch.setitem(HIGHS_OPTIONS, "simplex_iteration_limit", 0)
    case = Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)
    with pytest.raises(SolverError) as raised:
        compiled("max-throughput", case).solve(case.capacity, case.demand)
    assert str(raised.value) == "HiGHS gave up with status user_limit, no plan was made"


@pytest.mark.parametrize(("many_tunnels", "strategy"), [(MANY_TUNNELS, None), (3, 4)])
def test_only_a_program_of_many_tunnels_is_solved_by_primal_simplex(
    many_tunnels: int, strategy: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    solve = cp.Problem.solve

    def noted(problem: cp.Problem, **options: Any) -> object:  # noqa: ANN401  # CVXPY's own
        asked.append(options["highs_options"].get("simplex_strategy"))
        return solve(problem, **options)

    monkeypatch.setattr("te_solver.programs.max_throughput.MANY_TUNNELS", many_tunnels)
    monkeypatch.setattr(cp.Problem, "solve", noted)
    case = Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)
    allocation = compiled("max-throughput", case).solve(case.capacity, case.demand)
    assert allocation.granted.tolist() == pytest.approx([30])
    assert asked == [strategy, strategy]


def test_a_solver_that_fails_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise cp.SolverError("Solver 'HIGHS' failed.\nTry another solver.")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    case = Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)
    with pytest.raises(SolverError) as raised:
        compiled("max-throughput", case).solve(case.capacity, case.demand)
    assert str(raised.value) == "HiGHS failed: Solver 'HIGHS' failed. Try another solver."


@pytest.mark.parametrize("name", ["max-throughput", "max-min", "ffc"])
def test_what_is_carried_already_takes_room_away(name: str) -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 100)], 3)
    room = np.array([10.0, 4.0, 10.0, 0.0, 10.0])
    allocation = compiled(name, case).solve(case.capacity, case.demand, case.capacity - room)
    assert (case.incidence.links @ allocation.rates <= room * (1 + 1e-9)).all()
    assert allocation.granted.sum() == pytest.approx(4 if name == "ffc" else 14)


def test_an_incidence_has_a_row_per_link_and_per_pair_and_a_column_per_tunnel() -> None:
    incidence = Incidence.of(RHOMBUS, [[("s", "t"), ("s", "a", "t")], [("a", "t")]])
    assert incidence.links.toarray().T.tolist() == [[1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 0, 0]]
    assert incidence.pairs.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]
    assert incidence.hops.tolist() == [1, 2, 1]
    assert incidence.pair_of_tunnel.tolist() == [0, 0, 1]


def test_both_directions_of_a_cable_are_one_edge() -> None:
    both = Case.of(RHOMBUS, [Demand("s", "a", 1)], 1).topology
    topology = type(both)("both", both.nodes, (*both.links, *(type(x)(x.target, x.source, 1.0) for x in both.links)))
    incidence = Incidence.of(topology, [[("s", "a", "t")], [("t", "a", "s")]])
    assert incidence.edges_of_tunnel(0) == (1, 2)
    assert set(incidence.edges_of_tunnel(1)) == {1, 2}


def test_room_of_less_than_a_billionth_of_a_link_is_rounding() -> None:
    program = compiled("max-throughput", Case.of(RHOMBUS, [Demand("s", "t", 30)], 3))
    left = np.array([10.0, 0.9e-8, 1.1e-8, 0.0, -1e-6])
    assert program._room(np.full(5, 10.0), 10.0 - left).tolist() == pytest.approx([10, 0, 1.1e-8, 0, 0], rel=1e-6)


@pytest.mark.parametrize(
    ("raised", "error", "message"),
    [
        ("Cannot unpack invalid solution: None", SolverError, "HiGHS gave up with status unknown, no plan was made"),
        ("no such option", ValueError, "no such option"),
    ],
)
def test_only_an_unknown_status_is_an_error_of_the_solver(raised: str, error: type[Exception], message: str) -> None:
    class Unpacked:
        def solve(self, **_: object) -> None:
            raise ValueError(raised)

    with pytest.raises(error, match=f"^{message}$"):
        Solver().run(Unpacked())
