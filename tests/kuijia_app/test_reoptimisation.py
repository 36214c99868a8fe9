"""After a failure has settled a new plan avoids it; pairs that are cut off keep what they had."""

from __future__ import annotations

import time

import pytest

from kuijia_app.reoptimisation import SETTLE, Reoptimisation, reoptimised
from te_solver.plan import Plan
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of

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
