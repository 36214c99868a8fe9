from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, permutations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kuijia_base.errors import InputError, SolverError, UnsoundError
from te_solver.formats.demands_file import load_demands
from te_solver.formats.plan_file import plan_text
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.model.topology import Link, Topology
from te_solver.networks import shipped_demands, shipped_network
from te_solver.programs.incidence import Vector
from te_solver.programs.max_throughput import MaxThroughput
from te_solver.programs.partition import Partitioning
from te_solver.programs.partitioned import in_parts
from te_solver.programs.program import Allocation, Objective, Options
from te_solver.programs.registry import find_objective, objective_names
from te_solver.programs.solver import Solver
from te_solver.solve import Planner, require_feasible, solve
from te_solver.tunnels.finder import TunnelFinder
from te_solver.tunnels.path_finders import finder_by
from tests.te_solver.random_networks import demands_on, topologies

FIG1 = load_topology(shipped_network("fig1"))

objectives = st.sampled_from([name for name in objective_names() if find_objective(name).tunnels is None])
"""Objectives that have plans for several classes of traffic."""


@st.composite
def classes_of(draw: st.DrawFn, topology: Topology) -> tuple[Demand, ...]:
    """Demands of one to three priorities, the same pairs in several of them."""
    demands = draw(demands_on(topology).filter(bool))
    priorities = st.sets(st.sampled_from((0, 1, 5)), min_size=1)
    return tuple(
        replace(demand, rate=demand.rate * draw(st.sampled_from((0.1, 1.0))), priority=priority)
        for demand in demands
        for priority in sorted(draw(priorities))
    )


def solved(topology: Topology, demands: tuple[Demand, ...], tunnels: int, objective: str, **options: object) -> Plan:
    """Solve, and discard cases that cannot be protected at all, or whose paths the network does not have."""
    try:
        return solve(topology, demands, tunnels, objective, options=Options(**options))  # type: ignore[arg-type]
    except UnsoundError as error:
        assume(error.where not in {("protect",), ("paths",)} and "can cut off every pair" not in error.problem)
        raise


def untimed(plan: Plan) -> str:
    return plan_text(replace(plan, solve_seconds=0.0, options=None))


def test_the_tunnels_of_figure_1_have_equal_weights() -> None:
    plan = solve(FIG1, load_demands(shipped_demands("fig1"), FIG1))
    (pair,) = plan.pairs
    assert [tunnel.nodes for tunnel in pair.tunnels] == [("s1", "s4"), ("s1", "s2", "s4"), ("s1", "s3", "s4")]
    assert [tunnel.weight for tunnel in pair.tunnels] == pytest.approx([1 / 3] * 3, abs=1e-12)
    assert [tunnel.rate for tunnel in pair.tunnels] == pytest.approx([1000] * 3, abs=1e-9)
    assert pair.allocated == plan.objective_value == pytest.approx(3000, abs=1e-9)


def test_path_ids_count_on_from_pair_to_pair_and_leave_the_reserved_labels() -> None:
    plan = solve(FIG1, [Demand("s1", "s4", 1), Demand("s4", "s1", 1), Demand("s2", "s3", 1)], tunnels_per_pair=2)
    assert [tunnel.path_id for tunnel in plan.tunnels] == [16, 17, 18, 19, 20, 21]


def test_a_pair_that_gets_nothing_has_equal_weights() -> None:
    (pair,) = solve(FIG1, [Demand("s1", "s4", 0)]).pairs
    assert pair.allocated == 0
    assert [tunnel.weight for tunnel in pair.tunnels] == [1 / 3] * 3


@pytest.mark.slow
@settings(max_examples=40)
@given(st.data(), objectives, st.booleans())
def test_every_plan_is_feasible_and_the_same_bytes_again(data: st.DataObject, objective: str, spread: bool) -> None:  # noqa: FBT001
    topology = data.draw(topologies(directed=data.draw(st.booleans())))
    demands = data.draw(classes_of(topology))
    tunnels = data.draw(st.integers(1, 4))
    spread = spread and find_objective(objective).compiled
    plan = solved(topology, demands, tunnels, objective, spread=spread)
    require_feasible(plan)
    assert [(pair.source, pair.target, pair.priority, pair.demand) for pair in plan.pairs] == [
        (demand.source, demand.target, demand.priority, demand.rate) for demand in demands
    ]
    assert untimed(solved(topology, demands, tunnels, objective, spread=spread)) == untimed(plan)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.data(), objectives)
def test_less_important_traffic_changes_nothing_for_the_more_important(data: st.DataObject, objective: str) -> None:
    topology = data.draw(topologies())
    demands = data.draw(classes_of(topology))
    plan = solved(topology, demands, 3, objective)
    for most in {demand.priority for demand in demands}:
        important = tuple(demand for demand in demands if demand.priority <= most)
        alone = solved(topology, important, 3, objective)
        rates = [[tunnel.rate for tunnel in pair.tunnels] for pair in plan.pairs if pair.priority <= most]
        assert rates == [[tunnel.rate for tunnel in pair.tunnels] for pair in alone.pairs]


@pytest.mark.slow
@settings(max_examples=25)
@given(st.data(), st.integers(1, 2))
def test_all_classes_together_survive_the_failures_that_a_plan_protects_against(
    data: st.DataObject, protect: int
) -> None:
    topology = data.draw(topologies(max_nodes=6))
    plan = solved(topology, data.draw(classes_of(topology)), 4, "ffc", protect=protect)
    for failed in combinations(topology.edges, min(protect, len(topology.edges))):
        load = dict.fromkeys((link.ends for link in topology.links), 0.0)
        for pair in plan.pairs:
            alive = [tunnel for tunnel in pair.tunnels if not any(tunnel.crosses(*edge) for edge in failed)]
            weight = sum(tunnel.weight for tunnel in alive)
            assert weight > 0 or pair.allocated == 0
            for tunnel in alive:
                for hop in tunnel.hops:
                    load[hop] += pair.allocated * tunnel.weight / weight if weight > 0 else 0.0
        for link in topology.links:
            assert load[link.ends] <= link.capacity * (1 + 1e-6)


def test_a_class_gets_what_those_before_it_leave() -> None:
    demands = [Demand("s1", "s4", 2500, 7), Demand("s1", "s4", 1800, 0), Demand("s1", "s2", 900, 7)]
    low, high, other = solve(FIG1, demands).pairs
    assert (high.priority, low.priority, other.priority) == (0, 7, 7)
    assert high.allocated == pytest.approx(1800)
    assert low.allocated + other.allocated == pytest.approx(1200)
    assert [tunnel.path_id for tunnel in low.tunnels] == [tunnel.path_id for tunnel in high.tunnels] == [16, 17, 18]


@pytest.mark.parametrize(
    ("objective", "value"),
    [("max-throughput", 2900), ("max-min", 900), ("ffc", 2000), ("min-max-utilisation", 2.9 / 3)],
)
def test_the_value_of_the_objective_covers_all_classes(objective: str, value: float) -> None:
    # Protection reserves all three tunnels for the first class, which leaves nothing to the second.
    demands = [Demand("s1", "s4", 2000, 0), Demand("s1", "s4", 900, 1)]
    plan = solve(FIG1, demands, objective=objective)
    assert plan.objective_value == pytest.approx(value)
    assert plan.protected_failures == (1 if objective == "ffc" else 0)


def test_in_parts_one_class_has_a_bound_and_several_have_none_together() -> None:
    demands = [Demand(a, b, 400, priority) for a, b in permutations(FIG1.nodes, 2) for priority in (0, 1)]
    in_two = in_parts(Partitioning(2, rounds=3, processes=1))
    of_first = [demand for demand in demands if demand.priority == 0]
    first, best_first = solve(FIG1, of_first, objective=in_two), solve(FIG1, of_first)
    assert (first.objective, best_first.upper_bound) == ("max-throughput", None)
    assert first.upper_bound is not None
    assert 0.95 * best_first.objective_value <= first.objective_value <= first.upper_bound * (1 + 1e-6)
    assert best_first.objective_value <= first.upper_bound * (1 + 1e-6)
    # A shortfall of the first class is left to the second, which may then get more.
    assert solve(FIG1, demands, objective=in_two).upper_bound is None


def test_a_plan_that_protects_weighs_tunnels_by_what_is_set_aside() -> None:
    (pair,) = solve(FIG1, [Demand("s1", "s4", 1000)], objective="ffc", options=Options(spread=True)).pairs
    assert pair.allocated == pytest.approx(1000)
    assert [tunnel.rate for tunnel in pair.tunnels] == pytest.approx([500] * 3)
    assert [tunnel.weight for tunnel in pair.tunnels] == pytest.approx([1 / 3] * 3)


def test_a_planner_plans_for_other_rates_and_capacities() -> None:
    demands = [Demand(a, b, 100) for a, b in permutations(FIG1.nodes, 2)]
    finder = TunnelFinder(FIG1)
    tunnels = {demand.pair: finder.tunnels(*demand.pair, 3) for demand in demands}
    planner = Planner(FIG1, tunnels, demands)
    assert untimed(planner.plan()) == untimed(solve(FIG1, demands))
    more = [replace(demand, rate=demand.rate * 9) for demand in demands]
    assert planner.plan(more).objective_value == pytest.approx(solve(FIG1, more).objective_value)
    less = FIG1.scaled(0.5)
    assert planner.plan(more, less).objective_value == pytest.approx(solve(less, more).objective_value)
    with pytest.raises(ValueError, match="other pairs or priorities"):
        planner.plan(demands[1:])
    with pytest.raises(ValueError, match="other links"):
        planner.plan(demands, replace(FIG1, links=FIG1.links[1:]))


def test_an_objective_of_ones_own_is_used() -> None:
    longest = Objective("least-throughput", MaxThroughput, lambda plan: -plan.pairs[0].allocated)
    plan = solve(FIG1, [Demand("s1", "s4", 5)], objective=longest)
    assert plan.objective == "least-throughput"
    assert plan.objective_value == pytest.approx(-5)


def test_another_finder_finds_other_tunnels() -> None:
    class Direct(TunnelFinder):
        def tunnels(self, source: str, target: str, count: int) -> tuple[tuple[str, ...], ...]:
            return ((source, "s3", target),)[:count]

    (pair,) = solve(FIG1, [Demand("s1", "s4", 5)], finder=Direct(FIG1)).pairs
    assert [tunnel.nodes for tunnel in pair.tunnels] == [("s1", "s3", "s4")]


@pytest.mark.parametrize(
    ("demands", "message"),
    [
        ([], "demands: there is no demand, expected at least one"),
        (
            [Demand("s1", "s4", 1), Demand("s1", "s4", 2)],
            "demands: two demands from s1 to s4 with priority 0, expected one for each source, target and priority",
        ),
    ],
)
def test_demands_that_make_no_plan_are_refused(demands: list[Demand], message: str) -> None:
    with pytest.raises(InputError) as raised:
        solve(FIG1, demands)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: solve(FIG1, [Demand("s1", "s5", 1)]),
            "target: unknown node 's5', expected a node of fig1",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1)], objective="fame"),
            f"objective: objective 'fame', expected one of {', '.join(objective_names())}",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1)], objective="swan:alpha=1"),
            "objective: alpha of swan is '1', expected a number above 1",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1)], objective="pop:parts=2,parts=3"),
            "objective: parts twice, expected a whole number from 1 to 10000",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1)], objective="b4:speed=1"),
            "objective: b4 has no setting 'speed=1', expected b4 alone, which has no settings",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1)], objective="pop:split=odd"),
            "objective: split of pop is 'odd', expected one of random, means",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1)], objective="swan", options=Options(spread=True)),
            "spread: swan divides traffic by its own rule, expected another objective",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1)], objective="b4", options=Options(solver=Solver("SCIPY"))),
            "solver: b4 is not solved by SCIPY, expected HIGHS",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1)], objective="smore", finder=finder_by(FIG1, "ksp")),
            "paths: smore does not choose by ksp, expected raeke",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1, 0), Demand("s1", "s4", 1, 1)], objective="edge-max-throughput"),
            "objective: a bound for demands of 2 priorities, expected those of one",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1)], objective="ffc", options=Options(protect=3)),
            "protect: every pair can be cut off by 3 failed edges, expected at most 2",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1), Demand("s2", "s3", 0)], 2, "ffc:switches=2"),
            "objective: failures that ffc:switches=2 names can cut off every pair, expected fewer at a time",
        ),
        (
            lambda: solve(FIG1, [Demand("s1", "s4", 1)], 1, "ffc"),
            "protect: every pair can be cut off by 1 failed edge, expected tunnels that have no edge in common",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(call: Callable[[], Plan], message: str) -> None:
    with pytest.raises(UnsoundError) as raised:
        call()
    assert str(raised.value) == message


def test_pairs_that_are_not_connected_are_listed() -> None:
    names = tuple(f"n{number}" for number in range(24))
    islands = Topology("islands", names, (Link("n0", "n1", 1.0),))
    with pytest.raises(InputError) as raised:
        solve(islands, [Demand("n0", name, 1) for name in names[1:]])
    listed = ", ".join(f"n0 to {name}" for name in names[2:22])
    assert str(raised.value) == (
        f"demands: no path from {listed} and 2 more, "
        "expected demands between connected nodes of islands (1 link without a reverse)"
    )


def test_an_answer_of_the_solver_that_breaks_a_bound_makes_no_plan() -> None:
    class Wishful(MaxThroughput):
        def solve(self, capacity: Vector, demand: Vector, carried: Vector | None = None) -> Allocation:
            allocation = super().solve(capacity, demand, carried)
            rates = allocation.rates * 0 + demand.sum() + capacity.max()
            return Allocation(rates, self.incidence.pairs @ rates, "wishful thinking", 0.0)

    with pytest.raises(SolverError) as raised:
        solve(FIG1, [Demand("s1", "s4", 1)], 1, Objective("wish", Wishful, lambda _: 0.0))
    assert str(raised.value) == (
        "the answer of wishful thinking breaks a bound: pairs[0].allocated: 1001 Mbit/s allocated, "
        "expected no more than the demand, 1, and the tunnels' rates together, 1001"
    )


@pytest.mark.slow
def test_more_priorities_than_programs_are_solved_for_are_refused() -> None:
    topology = Topology("net", ("a", "b"), (Link("a", "b", 1.0),))
    demands = [Demand("a", "b", 1.0, priority) for priority in range(101)]
    with pytest.raises(InputError, match="101 different priorities, expected at most 100"):
        solve(topology, demands)
    assert len(solve(topology, demands[:100]).pairs) == 100


def test_a_rate_that_sums_could_not_hold_is_refused() -> None:
    with pytest.raises(UnsoundError, match=r"rate 1\.1e\+302, expected at most 1e\+302 Mbit/s"):
        Demand("a", "b", 1.1e302)
