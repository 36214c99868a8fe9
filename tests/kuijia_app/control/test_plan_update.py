"""Paths that stay keep their ids, new ones get free ids, and only plans for the same network can replace one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.plan_update import FULL, overload_of, renumber, require_same_network
from kuijia_base.errors import UnsoundError
from te_solver.model.plan import Plan
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of, plans

FIRST_PATH_ID = 16

SQUARE = both_ways("square", "a b c d", "a-b b-c c-d d-a a-c")


def ids(plan: Plan) -> dict[str, int]:
    return {"-".join(tunnel.nodes): tunnel.path_id for tunnel in plan.tunnels}


def test_paths_that_stay_keep_their_ids_and_new_ones_get_the_lowest_free() -> None:
    old = plan_of(SQUARE, "a-b-c a-c", "d-c")
    new = plan_of(SQUARE, "a-d-c a-c", "b-c")
    assert ids(renumber(new, old)) == {"a-d-c": 19, "a-c": 17, "b-c": 20}


def test_ids_that_drain_are_not_given_to_others() -> None:
    old, new = plan_of(SQUARE, "a-c"), plan_of(SQUARE, "a-b-c")
    assert ids(renumber(new, old, frozenset({17, 19}))) == {"a-b-c": 18}


def test_an_id_that_is_free_again_is_used_again() -> None:
    old = renumber(plan_of(SQUARE, "a-b-c"), plan_of(SQUARE, "a-c"))
    assert ids(renumber(plan_of(SQUARE, "a-d-c"), old)) == {"a-d-c": FIRST_PATH_ID}


@given(plan=plans(), unavailable=st.frozensets(st.integers(16, 40)))
def test_every_path_has_one_id_and_every_id_one_path(plan: Plan, unavailable: frozenset[int]) -> None:
    backwards = plan_of(
        plan.topology, *(" ".join("-".join(each.nodes[::-1]) for each in pair.tunnels) for pair in plan.pairs)
    )
    for new in (plan, backwards):
        found = renumber(new, plan, unavailable)
        by_id = {tunnel.path_id: tunnel.nodes for tunnel in found.tunnels}
        old = {tunnel.nodes: tunnel.path_id for tunnel in plan.tunnels}
        assert len(by_id) == len({tunnel.nodes for tunnel in new.tunnels})
        for path_id, nodes in by_id.items():
            assert path_id == old[nodes] if nodes in old else path_id not in unavailable | set(old.values())
        assert renumber(found, found) == found


def test_a_plan_for_other_switches_or_other_links_is_refused() -> None:
    plan = motivation_plan()
    others = plan_of(both_ways("other", "s1 s2 s3", "s1-s2 s2-s3"), "s1-s2")
    with pytest.raises(UnsoundError, match=r"topology\.nodes: are not those of the plan in force"):
        require_same_network(others, plan)
    rewired = plan_of(both_ways("fig1", "s1 s2 s3 s4", "s1-s2 s2-s4 s1-s4 s1-s3"), "s1-s4")
    with pytest.raises(UnsoundError, match="node s3 has other neighbours"):
        require_same_network(rewired, plan)
    require_same_network(plan_of(plan.topology, "s1-s4"), plan)


def test_the_link_that_a_plan_overloads_most_is_named_and_a_full_one_is_not() -> None:
    plan = motivation_plan((0.2, 0.3, 0.5))  # 100 Mbit/s
    assert overload_of(plan) is None
    capacity = plan.topology.links[0].capacity
    assert overload_of(plan.with_rates_times(capacity / 50)) is None
    assert overload_of(plan.with_rates_times(capacity / 50 * FULL * 1.0001)) is not None
    text = "the plan sends 1.5 Gbit/s over link s1->s3 of 1 Gbit/s, 500 Mbit/s too much; 1 other link too"
    assert overload_of(plan.with_rates_times(1.5 * capacity / 50)) == text
