"""After a failure has settled a new plan avoids it; pairs that are cut off keep what they had."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kuijia_app.control.reoptimisation import SETTLE, Reoptimisation, reoptimised
from te_solver.feasibility import require_sound_tunnels
from te_solver.plan import Plan
from te_solver.plan_file import plan_from_json, plan_to_json
from testbed.machine.processes import start_time
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.plans import both_ways, class_plans, motivation_plan, plan_of, plans

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


def test_a_pair_that_is_cut_off_keeps_its_tunnels() -> None:
    line = both_ways("line", "a b c", "a-b b-c")
    old = solvable(plan_of(line, "a-b-c", "a-b"))
    new = reoptimised(old, frozenset({frozenset({"b", "c"})}))
    assert new.pairs[0] == old.pairs[0]
    assert [tunnel.nodes for tunnel in new.pairs[1].tunnels] == [("a", "b")]


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
    assert new.pairs[0] == old.pairs[0]
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
    for before, after in zip(old.pairs, new.pairs, strict=True):
        assert (before.source, before.target, before.priority) == (after.source, after.target, after.priority)
        crosses_a_failure = any(frozenset(hop) in failed for tunnel in after.tunnels for hop in tunnel.hops)
        assert not crosses_a_failure or after == before


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
