"""Flexile against all choices of critical scenarios, and its paper's toy."""

from __future__ import annotations

from itertools import chain, combinations, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kuijia_base.errors import UnsoundError
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.flexile import Flexile
from te_solver.programs.program import Options
from tests.te_solver.programs.problems import Case, Rows, cases

ENDS = (("A", "B"), ("A", "C"), ("B", "C"))
TRIANGLE = Topology("triangle", ("A", "B", "C"), tuple(Link(*way, 1.0) for a, b in ENDS for way in ((a, b), (b, a))))


def worst_loss(case: Case, failed: tuple[tuple[str, str], ...], critical: tuple[int, ...]) -> float:
    """The least loss that all critical pairs keep to in a scenario."""
    rows = Rows(len(case.paths) + 1)
    alive = case.alive(failed)
    for link in case.topology.links:
        rows.at_most([uses * up for uses, up in zip(case.uses(link), alive, strict=True)], link.capacity)
    for pair in critical:
        rate = case.demand[pair]
        rows.at_least([own * up / rate for own, up in zip(case.owned(pair), alive, strict=True)] + [1.0], 1.0)
    return rows.minimum([*[0.0] * len(case.paths), 1.0])


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(cases(max_nodes=3, max_tunnels=2), st.sampled_from([0.05, 0.2]), st.sampled_from([0.8, 0.95]))
def test_the_percentile_loss_is_the_best_of_all_choices_of_critical_scenarios(
    case: Case, probability: float, beta: float
) -> None:
    asking = [pair for pair, rate in enumerate(case.demand.tolist()) if rate > 0]
    edges = case.topology.edges
    assume(1 <= len(asking) <= 2 and len(edges) <= 3)
    failures = list(chain.from_iterable(combinations(edges, size) for size in range(len(edges) + 1)))
    weight = [probability ** len(each) * (1 - probability) ** (len(edges) - len(each)) for each in failures]
    chosen = [
        each
        for each in product((False, True), repeat=len(failures))
        if sum(share for share, taken in zip(weight, each, strict=True) if taken) >= beta - 1e-12
    ]
    loss = {
        (number, critical): worst_loss(case, failed, critical)
        for number, failed in enumerate(failures)
        for size in range(len(asking) + 1)
        for critical in combinations(asking, size)
    }
    best = min(
        max(
            loss[number, tuple(pair for pair, own in zip(asking, choice, strict=True) if own[number])]
            for number in range(len(failures))
        )
        for choice in product(chosen, repeat=len(asking))
    )
    values = {"beta": beta, "probability": probability, "cutoff": 1e-9}
    allocation = Flexile(case.incidence, Options(settings=values)).solve(case.capacity, case.demand)
    assert allocation.value == pytest.approx(best, abs=1e-5)
    assert (case.incidence.links @ allocation.rates <= case.capacity * (1 + 1e-9)).all()


def test_all_pairs_together_get_the_most_that_links_carry_and_promises_leave() -> None:
    row = Topology("row", ("A", "B", "C"), (Link("A", "B", 1.0), Link("B", "C", 2.0)))
    case = Case.of(row, [Demand("A", "B", 1.0), Demand("A", "C", 1.0), Demand("B", "C", 2.0)], 1)
    allocation = Flexile(case.incidence, Options(settings={"beta": 0.9, "probability": 0.01})).solve(
        case.capacity, case.demand
    )
    assert allocation.value == pytest.approx(0.5)
    assert allocation.granted.tolist() == pytest.approx([0.5, 0.5, 1.5])


def test_on_the_papers_triangle_both_pairs_have_all_for_99_percent_of_the_time() -> None:
    """Each of two pairs of one unit holds whenever its own link is up, which is 99 % of the time."""
    case = Case.of(TRIANGLE, [Demand("A", "B", 1.0), Demand("A", "C", 1.0)], 2)
    values = {"beta": 0.99, "probability": 0.01}
    allocation = Flexile(case.incidence, Options(settings=values)).solve(case.capacity, case.demand)
    assert allocation.value == pytest.approx(0, abs=1e-6)
    assert allocation.granted.tolist() == pytest.approx([1, 1])
    values["beta"] = 0.9995
    assert Flexile(case.incidence, Options(settings=values)).solve(case.capacity, case.demand).value == pytest.approx(
        0.5
    )


def test_too_many_scenarios_for_a_mixed_integer_program_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("te_solver.programs.flexile._MOST_CHOICES", 7)
    case = Case.of(TRIANGLE, [Demand("A", "B", 1.0), Demand("A", "C", 1.0)], 2)
    program = Flexile(case.incidence, Options(settings={"probability": 0.01}))
    with pytest.raises(UnsoundError, match=r"^objective: \d scenarios of 2 pairs, expected a larger cutoff: at most 3"):
        program.solve(case.capacity, case.demand)
