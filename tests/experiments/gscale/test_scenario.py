from __future__ import annotations

from itertools import product

import pytest

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.cases import DEMANDS, LINKS, LOW, TRAFFICS, Case, aggregates_of, grid
from experiments.gscale.plans import LOW_TO_HIGH, PAIRS, PLANNED_SHARE, TUNNELS, pairs_of, plan_of
from experiments.measuring.failure_run import roles_of

SEED, CAPACITY = 1, 20.0


def test_a_case_is_named_by_everything_it_is_made_of() -> None:
    assert Case("tcp", 1.2, ("2", "3"), "kuijia", 1).name == "tcp-1.2-2-3-kuijia-1"


def test_the_papers_grid_has_as_many_names_as_cases_and_ends_each_repetition_before_the_next() -> None:
    cases = grid(("tcp", "udp"))
    assert len(cases) == len({case.name for case in cases}) == 2 * 5 * 3 * 2 * 3
    assert [case.repetition for case in cases] == [1] * 60 + [2] * 60 + [3] * 60


@pytest.mark.parametrize(
    "values",
    [
        ("icmp", 1.2, ("2", "3"), "kuijia", 1),
        ("tcp", 1.3, ("2", "3"), "kuijia", 1),
        ("tcp", 1.2, ("3", "2"), "kuijia", 1),
        ("tcp", 1.2, ("2", "3"), "ffc", 1),
        ("tcp", 1.2, ("2", "3"), "kuijia", 0),
    ],
)
def test_a_case_outside_the_evaluation_is_refused(values: tuple[object, ...]) -> None:
    with pytest.raises(ValueError, match=r"none of|one or more"):
        Case(*values)  # type: ignore[arg-type]


@pytest.mark.slow
def test_pairs_are_the_same_for_a_repetition_and_seed_and_differ_between_them() -> None:
    drawn = {pairs_of(repetition, seed) for repetition, seed in product((1, 2), (1, 2))}
    assert len(drawn) == 4
    assert all(len(set(pairs)) == PAIRS for pairs in drawn)
    pairs_of.cache_clear()
    assert pairs_of(1, 1) in drawn


@pytest.mark.parametrize("traffic", TRAFFICS)
def test_every_failure_measures_something_within_what_may_be_planned(traffic: str) -> None:
    for case in grid((traffic,), schemes=("kuijia",), repetitions=2):  # type: ignore[arg-type]
        plan = plan_of(case, CAPACITY, SEED)
        assert {link.capacity for link in plan.topology.links} == {CAPACITY}
        assert plan.maximum_utilisation <= PLANNED_SHARE + 1e-9
        found = roles_of(aggregates_of(plan, case.link), case.link)
        assert {"victim", "direct"} <= set(found.values())


def test_aggregates_send_what_was_planned_over_tunnels_that_survive() -> None:
    for case in grid(("tcp",), schemes=("kuijia",), repetitions=2):
        plan = plan_of(case, CAPACITY, SEED)
        flows = aggregates_of(plan, case.link)
        assert sum(flow.offered for flow in flows) == pytest.approx(
            sum(pair.allocated for pair in plan.pairs), rel=0.03
        )
        for flow in flows:
            assert (flow.tunnel == flow.backup) == (not flow.tunnel.crosses(*case.link))
            assert not flow.backup.crosses(*case.link)
            assert (flow.backup.nodes[0], flow.backup.nodes[-1]) == (flow.source, flow.target)


def test_a_light_demand_uses_all_tunnels_with_two_aggregates_each() -> None:
    plan = plan_of(Case("tcp", 0.8, LINKS[0], PAPERS_SCHEMES[0], 1), CAPACITY, SEED)
    assert len(aggregates_of(plan, LINKS[0])) == PAIRS * TUNNELS * (TUNNELS - 1)


def test_two_classes_share_tunnels_and_divide_the_demand_as_the_paper_does() -> None:
    plan = plan_of(Case("priorities", 0.8, LINKS[0], PAPERS_SCHEMES[0], 1), CAPACITY, SEED)
    flows = aggregates_of(plan, LINKS[0])
    assert len(flows) == len({flow.name for flow in flows}) == 2 * PAIRS * TUNNELS * (TUNNELS - 1)
    low = sum(flow.offered for flow in flows if flow.priority == LOW)
    assert low == pytest.approx(LOW_TO_HIGH * (sum(flow.offered for flow in flows) - low))
    assert all(flow.name.endswith("/low" if flow.priority == LOW else "/high") for flow in flows)


def test_demand_is_counted_in_parts_of_what_may_be_planned_on_a_link() -> None:
    for demand in DEMANDS:
        plan = plan_of(Case("udp", demand, LINKS[0], PAPERS_SCHEMES[0], 1), CAPACITY, SEED)
        assert [pair.demand for pair in plan.pairs] == pytest.approx([demand * PLANNED_SHARE * CAPACITY] * PAIRS)
