"""After a failure has settled a new plan avoids it; pairs that are cut off keep what they had."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kuijia_app.control.reoptimisation import Reoptimisation, reoptimised
from te_solver.formats.plan_file import plan_from_json, plan_to_json
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan, PlanOptions, require_sound_tunnels
from te_solver.model.topology import Link, Topology
from te_solver.programs.partition import Partitioning
from te_solver.programs.partitioned import in_parts
from te_solver.programs.program import Options
from te_solver.programs.registry import objective_names
from te_solver.solve import require_feasible, require_protected, require_within_bounds, solve
from te_solver.tunnels.finder import TunnelFinder
from testbed.machine.processes import start_time
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.plans import both_ways, class_plans, motivation_plan, plan_of, plans

SETTLE = 1.0

CUT = frozenset({frozenset({"s2", "s4"})})
NOTHING: frozenset[frozenset[str]] = frozenset()
PATIENCE = 60.0


def solvable(plan: Plan) -> Plan:
    """With an objective that there is."""
    return Plan(plan.topology, plan.pairs, "max-throughput", plan.objective_value, plan.solver, 0.0)


def test_the_new_plan_avoids_what_has_failed_on_the_same_network() -> None:
    old = solvable(motivation_plan())
    new = reoptimised(old, CUT)
    assert new.topology == old.topology
    assert not any(tunnel.crosses("s2", "s4") for tunnel in new.tunnels)
    assert new.pairs[0].demand == old.pairs[0].demand


def shares(plan: Plan, pair: int) -> list[tuple[int, tuple[str, ...], float]]:
    return [(tunnel.path_id, tunnel.nodes, tunnel.weight) for tunnel in plan.pairs[pair].tunnels]


def test_a_pair_that_is_cut_off_keeps_its_tunnels_and_is_allocated_nothing() -> None:
    line = both_ways("line", "a b c", "a-b b-c")
    old = solvable(plan_of(line, "a-b-c", "a-b"))
    new = reoptimised(old, frozenset({frozenset({"b", "c"})}))
    assert shares(new, 0) == shares(old, 0)
    assert new.pairs[0].allocated == 0
    assert all(tunnel.rate == 0 for tunnel in new.pairs[0].tunnels)
    assert [tunnel.nodes for tunnel in new.pairs[1].tunnels] == [("a", "b")]
    assert new.objective_value == new.allocated == old.pairs[1].demand


@pytest.mark.slow
def test_it_waits_until_failures_have_settled_and_solves_in_a_process_of_its_own() -> None:
    plan = solvable(motivation_plan())
    reoptimisation = Reoptimisation(is_on=True)
    assert reoptimisation.look(plan, NOTHING, 0.0, is_free=True) is None
    assert reoptimisation.look(plan, CUT, 1.0, is_free=True) is None
    assert reoptimisation.look(plan, CUT, 1.0 + SETTLE, is_free=True) is None
    found: Plan | None = None
    deadline = time.monotonic() + PATIENCE
    while found is None and time.monotonic() < deadline:
        found = reoptimisation.look(plan, CUT, 3.0, is_free=True)
    assert found is not None
    assert not any(tunnel.crosses("s2", "s4") for tunnel in found.tunnels)
    assert reoptimisation.look(found, CUT, 99.0, is_free=True) is None


@pytest.mark.parametrize(("is_on", "is_free"), [(False, True), (True, False)])
def test_off_or_with_an_update_under_way_it_does_nothing(*, is_on: bool, is_free: bool) -> None:
    reoptimisation = Reoptimisation(is_on=is_on)
    for second in range(5):
        assert reoptimisation.look(motivation_plan(), CUT, float(second), is_free=is_free) is None


def test_a_pair_that_is_cut_off_shares_no_path_id_with_those_solved_anew() -> None:
    stub = both_ways("stub", "a b c d", "a-b b-c c-a c-d")
    old = solvable(plan_of(stub, "a-c-d", "a-b", "b-c"))
    new = reoptimised(old, frozenset({frozenset("cd"), frozenset("ab")}))
    assert shares(new, 0) == shares(old, 0)
    assert [tunnel.nodes for tunnel in new.pairs[1].tunnels] == [("a", "c", "b")]
    require_sound_tunnels(new)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans() | class_plans(3), data=st.data())
def test_whatever_fails_the_new_plan_is_sound_and_switches_can_be_led_to_it(plan: Plan, data: st.DataObject) -> None:
    edges = sorted({tuple(sorted(link.ends)) for link in plan.topology.links})
    failed = frozenset(map(frozenset, data.draw(st.sets(st.sampled_from(edges)))))
    old = solvable(plan)
    new = reoptimised(old, failed)
    again = plan_from_json(plan_to_json(new), "plan")
    assert again == new
    ids = {tunnel.nodes: tunnel.path_id for tunnel in old.tunnels}
    assert all(ids.get(tunnel.nodes, tunnel.path_id) == tunnel.path_id for tunnel in new.tunnels)
    for at, (before, after) in enumerate(zip(old.pairs, new.pairs, strict=True)):
        assert (before.source, before.target, before.priority) == (after.source, after.target, after.priority)
        crosses_a_failure = any(frozenset(hop) in failed for tunnel in after.tunnels for hop in tunnel.hops)
        assert not crosses_a_failure or shares(new, at) == shares(old, at)


def mesh(*names: str, capacity: float = 10.0, delays: dict[str, float] | None = None) -> Topology:
    """Return a network of links `ab`, both ways; delays in seconds, 1 ms by default."""
    links = [
        Link(a, b, capacity, (delays or {}).get(name, 0.001))
        for name in names
        for a, b in ((name[0], name[1]), (name[1], name[0]))
    ]
    return Topology("mesh", tuple(sorted(set("".join(names)))), tuple(links))


K5 = mesh(*("".join(pair) for pair in combinations("abcde", 2)))
TRIANGLE = mesh("ab", "bc", "ac")


def test_a_plan_that_protects_against_two_failures_still_does_after_one() -> None:
    """Of four disjoint tunnels of 10 Mbit/s two survive two failures; the failed link is in none of them."""
    old = solve(K5, [Demand("a", "b", 100.0)], 4, "ffc", options=Options(protect=2))
    assert old.allocated == pytest.approx(20)
    new = reoptimised(old, frozenset({frozenset("cd")}))
    assert new.protected_failures == 2
    assert [new.allocated, new.objective_value] == pytest.approx([20, 20])
    require_feasible(new)
    require_protected(new)


def test_the_value_of_the_new_plan_is_that_of_its_own_rates() -> None:
    """10 Mbit/s use half of two paths of 10, and all of the one that is left."""
    old = solve(TRIANGLE, [Demand("a", "b", 10.0)], 2, "min-max-utilisation")
    assert old.objective_value == pytest.approx(0.5)
    new = reoptimised(old, frozenset({frozenset("ab")}))
    assert new.objective_value == new.maximum_utilisation == pytest.approx(1.0)
    require_within_bounds(new)


@pytest.mark.parametrize("objective", objective_names())
@pytest.mark.parametrize("failed", [NOTHING, frozenset({frozenset("bc")})])
def test_a_plan_of_any_objective_solved_again_is_the_one_that_would_be_solved_now(
    objective: str, failed: frozenset[frozenset[str]]
) -> None:
    demands = [Demand("a", "d", 12.0), Demand("b", "e", 9.0), Demand("c", "a", 5.0)]
    rest = replace(K5, links=tuple(link for link in K5.links if frozenset(link.ends) not in failed))
    old, expected = (solve(each, demands, 3, objective) for each in (K5, rest))
    new = reoptimised(old, failed)
    assert new.objective_value == pytest.approx(expected.objective_value)
    assert [(each.nodes, each.rate) for each in new.tunnels] == [(each.nodes, each.rate) for each in expected.tunnels]
    assert (new.objective, new.options) == (expected.objective, expected.options)


@pytest.mark.parametrize(
    ("objective", "header", "lines", "others"),
    [
        ("ffc:risks=list.csv", "failure,a,b", "duct,b,c\nhut,b,\n", "duct,c,d\nduct,a,d\n"),
        ("teavar:file=list.csv", "a,b,probability", "c,b,0.1\n", "a,d,0.3\nc,d,0.02\na,e,0.01\n"),
    ],
)
def test_a_plan_is_solved_again_with_its_files_in_another_folder_and_though_they_name_what_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objective: str, header: str, lines: str, others: str
) -> None:
    demands, failed = [Demand("a", "d", 12.0), Demand("e", "c", 40.0)], frozenset({frozenset("bc")})
    for folder, content in (("whole", lines + others), ("rest", others), ("another", None)):
        (tmp_path / folder).mkdir()
        if content is not None:
            (tmp_path / folder / "list.csv").write_text(f"{header}\n{content}")
    monkeypatch.chdir(tmp_path / "whole")
    old = solve(K5, demands, 3, objective)
    monkeypatch.chdir(tmp_path / "rest")
    rest = replace(K5, links=tuple(link for link in K5.links if frozenset(link.ends) not in failed))
    expected = solve(rest, demands, 3, objective)
    monkeypatch.chdir(tmp_path / "another")
    new = reoptimised(plan_from_json(plan_to_json(old), "plan"), failed)
    assert new.objective_value == pytest.approx(expected.objective_value)
    assert [(each.nodes, each.rate) for each in new.tunnels] == [(each.nodes, each.rate) for each in expected.tunnels]


@pytest.mark.parametrize("failed", [NOTHING, frozenset({frozenset("bc")})])
def test_a_plan_solved_again_knows_how_likely_each_cable_fails(failed: frozenset[frozenset[str]]) -> None:
    likely = replace(K5, down={frozenset(ends): 0.001 for ends in combinations("abcde", 2)} | {frozenset("ad"): 0.3})
    old = solve(likely, [Demand("a", "d", 12.0), Demand("b", "d", 9.0)], 3, "teavar")
    new = reoptimised(plan_from_json(plan_to_json(old), "plan"), failed)
    rest = replace(likely, links=tuple(link for link in K5.links if frozenset(link.ends) not in failed))
    expected = solve(rest, [Demand("a", "d", 12.0), Demand("b", "d", 9.0)], 3, "teavar")
    assert new.objective_value == pytest.approx(expected.objective_value)
    assert new.topology.down == likely.down


def test_rates_of_a_pair_that_is_cut_off_load_no_link() -> None:
    """20 Mbit/s from a to c fill both of its paths, a part of which the pair from a to d used before."""
    line = mesh("ab", "bc", "cd", "ac")
    old = solve(line, [Demand("a", "d", 10.0), Demand("a", "c", 20.0)], 2, "max-min")
    assert old.pairs[0].allocated == pytest.approx(10)
    new = reoptimised(old, frozenset({frozenset("cd")}))
    assert [pair.allocated for pair in new.pairs] == pytest.approx([0, 20])
    assert new.objective_value == 0  # the least allocation of a pair
    require_within_bounds(new)


@pytest.mark.parametrize(
    ("finder", "options", "tunnels", "expected"),
    [
        ({}, Options(spread=True), 2, [(("a", "b"), 0.5), (("a", "c", "b"), 0.5)]),
        ({"weight": "delay"}, Options(), 1, [(("a", "c", "b"), 1.0)]),
        ({}, Options(), 4, [(("a", "b"), 1.0), (("a", "c", "b"), 0.0), (("a", "c", "d", "b"), 0.0)]),
    ],
    ids=["spread", "delay", "more tunnels than there were"],
)
def test_the_new_plan_is_solved_with_the_options_of_the_old_one(
    finder: dict[str, Any], options: Options, tunnels: int, expected: list[tuple[tuple[str, ...], float]]
) -> None:
    network = mesh("ab", "ac", "bc", "cd", "ce", "bd", delays={"ab": 0.05})
    old = solve(
        network,
        [Demand("a", "b", 5.0)],
        tunnels,
        options=options,
        finder=TunnelFinder(network, **finder),
    )
    kept = plan_from_json(plan_to_json(old), "plan")
    new = reoptimised(kept, frozenset({frozenset("ce")}))
    assert new.options == old.options
    assert [(tunnel.nodes, tunnel.weight) for tunnel in new.pairs[0].tunnels] == expected


def test_node_disjoint_tunnels_stay_node_disjoint() -> None:
    """Two edge-disjoint paths of three links meet in c; the node-disjoint pair takes one link more."""
    network = mesh("ac", "cb", "ad", "dc", "ce", "eb", "df", "fg", "ge", "fz")
    old = solve(network, [Demand("a", "b", 5.0)], 2, finder=TunnelFinder(network, node_disjoint=True))
    new = reoptimised(old, frozenset({frozenset("fz")}))
    inner = [set(tunnel.nodes) - {"a", "b"} for tunnel in new.pairs[0].tunnels]
    assert inner[0].isdisjoint(inner[1])


def test_a_plan_solved_in_parts_is_solved_in_parts_again() -> None:
    old = solve(K5, [Demand("a", "b", 5.0), Demand("b", "c", 5.0)], 2, in_parts(Partitioning(2, seed=7)))
    new = reoptimised(old, frozenset({frozenset("de")}))
    assert new.options == PlanOptions(2, partitions=2, seed=7)
    assert new.upper_bound == pytest.approx(10, rel=0.01)


def test_a_plan_without_recorded_options_counts_as_solved_by_hops_for_as_many_tunnels_as_it_has() -> None:
    network = mesh("ab", "bc", "ac", "cd", "de")
    old = replace(solve(network, [Demand("c", "d", 5.0), Demand("a", "b", 5.0)], 2), options=None)
    assert [len(pair.tunnels) for pair in old.pairs] == [1, 2]
    new = reoptimised(old, frozenset({frozenset("de")}))
    assert new.options == PlanOptions(2)


SOLVERS = {
    "dies": "import sys; sys.exit(3)",
    "is killed": "import os; os.kill(os.getpid(), 9)",
    "answers nonsense": "print('nonsense')",
    "answers what is no plan": "print('[' * 980 + ']' * 980)",
    "answers nothing": "pass",
}


@pytest.mark.parametrize("program", SOLVERS.values(), ids=SOLVERS)
def test_what_goes_wrong_with_the_solver_is_logged_and_the_plan_in_force_stays(
    program: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = subprocess.Popen

    def instead(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        return real([command[0], "-c", program], **options)  # type: ignore[call-overload,no-any-return]  # passed on

    monkeypatch.setattr(subprocess, "Popen", instead)
    assert looked_until_logged(Reoptimisation(is_on=True), caplog)


def test_a_solver_that_cannot_be_started_is_logged_and_the_plan_in_force_stays(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert looked_until_logged(Reoptimisation(is_on=True), caplog)


def looked_until_logged(reoptimisation: Reoptimisation, caplog: pytest.LogCaptureFixture) -> bool:
    """Return True if a failure is logged once, makes no plan, and is not tried again for the same failures."""
    plan = solvable(motivation_plan())
    deadline = time.monotonic() + PATIENCE
    now = 0.0
    while not caplog.messages and time.monotonic() < deadline:
        now += SETTLE
        assert reoptimisation.look(plan, CUT, now, is_free=True) is None
        time.sleep(0.01)
    assert reoptimisation.look(plan, CUT, now + 10, is_free=True) is None
    return caplog.messages == ["no new plan: the one in force stays"]


@pytest.mark.slow
def test_an_answer_for_a_plan_that_is_no_longer_in_force_is_not_taken() -> None:
    plan, other = solvable(motivation_plan()), solvable(motivation_plan((0.2, 0.3, 0.5)))
    reoptimisation = Reoptimisation(is_on=True)
    for now in (0.0, SETTLE):
        assert reoptimisation.look(plan, CUT, now, is_free=True) is None
    first = reoptimisation._process
    assert first is not None
    first.wait(PATIENCE)
    assert reoptimisation.look(other, CUT, 2 * SETTLE, is_free=True) is None
    assert reoptimisation._process not in (None, first)
    reoptimisation._abandon()


WAITING_PARENT = """
import sys, time
from kuijia_app.control import reoptimisation
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.control.test_reoptimisation import CUT, solvable
solver = reoptimisation.Reoptimisation(is_on=True)
for now in (0.0, 2.0):
    solver.look(solvable(motivation_plan()), CUT, now, is_free=True)
print(solver._process.pid, flush=True)
time.sleep(600)
"""


def test_a_parent_that_is_killed_leaves_neither_a_solver_nor_a_file(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", WAITING_PARENT],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert parent.stdout is not None
        solver = int(parent.stdout.readline())
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()  # type: ignore[union-attr]  # it is a pipe
    wait_until(lambda: start_time(solver) is None, "the solver has ended")
    assert list(tmp_path.iterdir()) == []
