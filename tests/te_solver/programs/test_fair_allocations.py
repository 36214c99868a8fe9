"""Allocations near max-min fairness: SWAN's, waterfilling, bins and B4's, against what defines them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.adaptive_waterfilling import AdaptiveWaterfilling
from te_solver.programs.b4 import B4
from te_solver.programs.equi_depth_bins import EquiDepthBins
from te_solver.programs.max_min import MaxMin
from te_solver.programs.program import Options, Program
from te_solver.programs.swan import Swan
from tests.te_solver.programs.problems import RHOMBUS, Case, Rows, cases, within_capacities, within_demands

TIGHT = 1e-6


def of(kind: type[Program], case: Case, **values: float) -> Program:
    return kind(case.incidence, Options(settings=values))


@pytest.mark.slow
@settings(max_examples=50)
@given(cases(max_nodes=6), st.sampled_from([1.1, 1.5, 2.0, 4.0]))
def test_swan_gives_each_pair_within_alpha_of_its_fair_rate(case: Case, alpha: float) -> None:
    assume((case.demand > 0).any())
    fair = MaxMin(case.incidence).solve(case.capacity, case.demand).granted
    granted = of(Swan, case, alpha=alpha).solve(case.capacity, case.demand).granted
    assert (granted >= fair / alpha * (1 - 1e-4)).all()
    assert (granted <= fair * alpha * (1 + 1e-4)).all()


@pytest.mark.slow
@settings(max_examples=40)
@given(cases(max_nodes=6), st.sampled_from([1.1, 1.5, 2.0, 4.0]))
def test_each_step_of_swan_has_the_optimum_of_an_independent_program(case: Case, alpha: float) -> None:
    assume((case.demand > 0).any())
    granted = of(Swan, case, alpha=alpha).solve(case.capacity, case.demand).granted.tolist()
    crossing = [
        [bool(np.dot(case.uses(link), case.owned(pair))) for link in case.topology.links]
        for pair in range(len(granted))
    ]
    asking = [pair for pair, demand in enumerate(case.demands) if demand.rate > 0]
    users = [sum(crossing[pair][at] for pair in asking) for at in range(len(case.topology.links))]

    def alone(path: tuple[str, ...]) -> float:
        """Return what a tunnel can carry if all pairs that could use its links use them."""
        links = zip(case.topology.links, users, strict=True)
        return min(link.capacity / count for link, count in links if link.ends in pairwise(path))

    level = min(min(max(map(alone, case.tunnels[pair])), case.demand[pair]) for pair in asking)
    before = 0.0
    while True:
        rows = Rows(len(case.paths))
        within_capacities(case, rows)
        for pair, rate in enumerate(granted):
            rises = rate >= before * (1 - TIGHT * 2) and case.demand[pair] > before
            rows.at_most(case.owned(pair), min(level, case.demand[pair]) if rises else rate)
            rows.at_least(case.owned(pair), min(before, rate))
        expected = rows.maximum([1.0] * len(case.paths))
        # Shorter tunnels are worth up to 1e-4 of a rate more.
        assert sum(min(rate, level) for rate in granted) == pytest.approx(expected, rel=2e-4)
        if all(rate < level * (1 - TIGHT * 2) or case.demand[pair] <= level for pair, rate in enumerate(granted)):
            return
        before, level = level, level * alpha


def test_swan_in_one_step_is_the_most_throughput_below_the_level() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30), Demand("a", "t", 8)], 3)
    granted = of(Swan, case, alpha=2.0).solve(case.capacity, case.demand).granted
    assert granted.tolist() == pytest.approx([22, 8])
    assert of(Swan, case).number("alpha") == 2.0


def test_swans_first_level_is_what_the_pairs_of_a_link_can_have_at_once_whoever_else_asks() -> None:
    ends = (("a", "m", 9.0), ("b", "m", 9.0), ("m", "t", 3.0), ("x", "y", 9.0))
    apart = Topology("apart", tuple("abmtxy"), tuple(Link(*each) for each in ends))
    case = Case.of(apart, [Demand("a", "t", 3.0), Demand("b", "t", 3.0), Demand("x", "y", 9.0)], 1)
    granted = of(Swan, case, alpha=2.0).solve(case.capacity, case.demand).granted
    assert granted.tolist() == pytest.approx([1.5, 1.5, 9.0])


@pytest.mark.slow
@settings(max_examples=60)
@given(cases(max_nodes=6), st.integers(1, 4))
def test_each_tunnel_is_held_by_a_full_link_on_which_none_has_more_for_its_weight(case: Case, rounds: int) -> None:
    """Weights of the first round are equal, those of later ones the shares that the round before found."""
    assume((case.demand > 0).all())
    rates = of(AdaptiveWaterfilling, case, rounds=rounds).solve(case.capacity, case.demand).rates
    weights = np.array([1 / len(case.tunnels[owner]) for owner in case.owners])
    if rounds > 1:
        before = of(AdaptiveWaterfilling, case, rounds=rounds - 1).solve(case.capacity, case.demand).rates
        weights = before / np.bincount(case.owners, before)[case.owners]
    per_weight = np.divide(rates, weights, out=np.zeros(rates.size), where=weights > 0)
    rows = [*(case.uses(link) for link in case.topology.links), *map(case.owned, range(len(case.demands)))]
    bounds = [*case.capacity.tolist(), *case.demand.tolist()]
    held = weights == 0
    for row, bound in zip(np.array(rows), bounds, strict=True):
        assert row @ rates <= bound * (1 + TIGHT)
        if row @ rates >= bound * (1 - TIGHT):
            held |= (row > 0) & (per_weight >= (per_weight * row).max() * (1 - TIGHT))
    assert held.all()


def test_weights_that_adapt_do_not_favour_the_pair_with_more_tunnels() -> None:
    """Two pairs share a link; one has a second tunnel of its own: adapting leaves the link to the other pair."""
    topology = Topology("y", ("a", "b", "c"), tuple(Link(x, y, 10.0) for x, y in (("a", "b"), ("a", "c"), ("c", "b"))))
    case = Case.of(topology, [Demand("a", "b", 20), Demand("c", "b", 20)], 2)
    first = of(AdaptiveWaterfilling, case, rounds=1).solve(case.capacity, case.demand).granted
    later = of(AdaptiveWaterfilling, case, rounds=200).solve(case.capacity, case.demand).granted
    assert first.tolist() == pytest.approx([10 + 10 / 3, 20 / 3])
    assert later.tolist() == pytest.approx([10, 10], abs=0.2)


@pytest.mark.slow
@settings(max_examples=40)
@given(cases(max_nodes=6), st.integers(1, 6), st.sampled_from([0.1, 0.5]))
def test_bins_give_the_optimum_of_an_independent_program(case: Case, bins: int, epsilon: float) -> None:
    assume((case.demand > 0).any())
    program = EquiDepthBins(case.incidence, Options(settings={"bins": bins, "epsilon": epsilon}))
    granted = program.solve(case.capacity, case.demand).granted
    estimates = of(AdaptiveWaterfilling, case, rounds=10).solve(case.capacity, case.demand).granted
    positive = estimates[estimates > 0]
    ends = [0.0, *sorted({float(np.quantile(positive, number / bins)) for number in range(1, bins)})]

    def worth(rate: float) -> float:
        """The worth of a rate as a sum over the bins that it fills; after the last end a bin goes on for ever."""
        filled = [min(max(rate - low, 0.0), high - low) for low, high in zip(ends, [*ends[1:], np.inf], strict=True)]
        return sum(epsilon**number * part for number, part in enumerate(filled))

    variables = len(case.paths) + len(ends) * len(case.demands)
    rows = Rows(variables)
    within_capacities(case, rows)
    within_demands(case, rows)
    gain = [0.0] * variables
    for pair in range(len(case.demands)):
        parts = [len(case.paths) + pair * len(ends) + number for number in range(len(ends))]
        row = [-entry for entry in case.owned(pair)] + [0.0] * (variables - len(case.paths))
        for number, (part, low, high) in enumerate(zip(parts, ends, [*ends[1:], np.inf], strict=True)):
            row[part], gain[part] = 1.0, epsilon**number
            if np.isfinite(high):
                rows.at_most([float(at == part) for at in range(variables)], high - low)
        rows.at_most(row, 0.0)
    assert sum(map(worth, granted.tolist())) == pytest.approx(rows.maximum(gain), rel=1e-4)


@pytest.mark.slow
@settings(max_examples=40)
@given(cases(max_nodes=5, max_tunnels=3))
def test_b4_fills_as_small_steps_of_the_fair_share_do(case: Case) -> None:
    """The fair share rises by small steps, without events, each pair on its first tunnel with room."""
    steps = 4000
    step = float(case.demand.max()) / steps
    assume(step > 0)
    left, granted = case.capacity.copy(), np.zeros(len(case.demands))
    rows = [np.array(case.uses(link)) for link in case.topology.links]
    uses = np.array(rows).T
    order = [sorted(np.flatnonzero(case.owned(pair)), key=lambda at: case.hops[at]) for pair in range(granted.size)]
    for _ in range(steps):
        for pair, tunnels in enumerate(order):
            room = [tunnel for tunnel in tunnels if (left[uses[tunnel] > 0] > 0).all()]
            if room and granted[pair] < case.demand[pair]:
                grown = min(step, case.demand[pair] - granted[pair], left[uses[room[0]] > 0].min())
                left -= uses[room[0]] * grown
                granted[pair] += grown
    found = B4(case.incidence).solve(case.capacity, case.demand).granted
    assert found == pytest.approx(granted, rel=1e-3, abs=step * 4 * len(case.demands) * len(case.topology.links))


def test_a_pair_that_gets_nothing_makes_no_end_of_a_bin() -> None:
    program = EquiDepthBins(Case.of(RHOMBUS, [Demand("s", "t", 30)], 3).incidence, Options(settings={"bins": 2}))
    assert program._widths(np.array([0.0, 0.0, 4.0, 8.0])) == [6.0, np.inf]


def test_b4_on_three_links_is_as_by_hand() -> None:
    """Both rise on their shortest tunnel to 5; the link a-t is full, then s-t goes on alone by its other tunnels."""
    case = Case.of(RHOMBUS, [Demand("s", "t", 30), Demand("a", "t", 20)], 3)
    allocation = B4(case.incidence).solve(case.capacity, case.demand)
    # s-t fills to 10 while a-t fills to 10: a-t is full with all of it for its own pair, s-t then takes s-b-t.
    assert allocation.granted.tolist() == pytest.approx([20, 10])


@pytest.mark.parametrize("kind", [Swan, AdaptiveWaterfilling, EquiDepthBins, B4])
def test_nothing_asked_and_nothing_free_give_nothing(kind: type[Program]) -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30), Demand("a", "t", 0)], 3)
    assert kind(case.incidence).solve(case.capacity * 0, case.demand).granted.tolist() == [0, 0]
    assert kind(case.incidence).solve(case.capacity, case.demand * 0).granted.tolist() == [0, 0]
