"""Fleischer's approximation: against the steps of the paper, written out for one tunnel and slowly for all others."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.fleischer import Fleischer
from te_solver.programs.incidence import Vector
from te_solver.programs.program import Allocation, Options
from tests.te_solver.programs.problems import Case, Rows, cases, within_capacities, within_demands

ONE_LINK = Topology("one link", ("s", "t"), (Link("s", "t", 10.0),))

UNEQUAL = Topology(
    "unequal",
    ("s", "a", "b", "t", "u"),
    tuple(
        Link(*ends, rate)
        for ends, rate in {
            ("s", "t"): 7.0,
            ("s", "a"): 11.3,
            ("a", "t"): 5.9,
            ("s", "b"): 3.7,
            ("b", "a"): 2.9,
            ("b", "t"): 13.1,
            ("t", "u"): 17.3,
            ("u", "s"): 1.9,
        }.items()
    ),
)


def allocated(case: Case, epsilon: float, capacity: Vector | None = None) -> Allocation:
    room = case.capacity if capacity is None else capacity
    return Fleischer(case.incidence, Options(settings={"epsilon": epsilon})).solve(room, case.demand)


def reference(case: Case, epsilon: float, capacity: Vector) -> tuple[list[float], float]:
    """Return the rate of each tunnel and the bound, with lengths that start at one and a threshold that grows."""
    room: dict[object, float] = {
        link.ends: rate for link, rate in zip(case.topology.links, capacity.tolist(), strict=True)
    }
    room.update(enumerate(case.demand.tolist()))
    tunnels: dict[int, list[list[object]]] = {}
    for path, owner in zip(case.paths, case.owners, strict=True):
        tunnels.setdefault(owner, []).append([*pairwise(path), owner])
    usable = {
        (owner, number): passed
        for owner, of_pair in tunnels.items()
        for number, passed in enumerate(of_pair)
        if all(room[each] > 0 for each in passed)
    }
    length = {each: 1.0 for passed in usable.values() for each in passed}
    rates = dict.fromkeys(usable, 0.0)
    threshold = min(sum(length[each] for each in passed) for passed in usable.values())
    bound = float("inf")
    while True:
        threshold *= 1 + epsilon / 3
        for owner in tunnels:
            own = [tunnel for tunnel in usable if tunnel[0] == owner]
            while own:
                shortest = min(own, key=lambda tunnel: sum(length[each] for each in usable[tunnel]))
                if sum(length[each] for each in usable[shortest]) >= threshold:
                    break
                sent = min(room[each] for each in usable[shortest])
                rates[shortest] += sent
                for each in usable[shortest]:
                    length[each] *= 1 + epsilon / 3 * sent / room[each]
        volume = sum(room[each] * length[each] for each in length)
        bound = min(bound, volume / min(sum(length[each] for each in passed) for passed in usable.values()))
        excess = max(
            sum(rates[tunnel] for tunnel, passed in usable.items() if each in passed) / room[each] for each in length
        )
        if sum(rates.values()) / excess >= (1 - epsilon) * bound:
            return [
                rates.get((owner, number), 0.0) / excess for owner, own in tunnels.items() for number in range(len(own))
            ], bound


@pytest.mark.parametrize("unit", [1.0, 0.01])
def test_each_step_on_one_tunnel_is_the_papers(unit: float) -> None:
    """With e = 1/4, lengths begin at 1/2 of the threshold, which is 5/4 of that in the first round: at 2/5.

    The demand of 5 is sent on the link of 10 until the tunnel is as long as the threshold:
    link 0.4 -> 0.45 -> 0.50625, demand 0.4 -> 0.5 -> 0.625. It was sent twice, so half of it is within bounds.
    """
    case = Case.of(ONE_LINK, [Demand("s", "t", 5.0 * unit)], 1)
    allocation = allocated(case, 0.75, case.capacity * unit)
    assert allocation.rates.tolist() == pytest.approx([5.0 * unit])
    assert allocation.granted.tolist() == pytest.approx([5.0 * unit])
    assert allocation.upper_bound == pytest.approx(unit * (10 * 0.50625 + 5 * 0.625) / (0.50625 + 0.625))


@pytest.mark.parametrize("epsilon", [0.9, 0.3, 0.1])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("down", [("u", "s"), ("s", "a")])
def test_rates_and_bound_are_those_of_the_slow_reference(down: tuple[str, str], count: int, epsilon: float) -> None:
    demands = [Demand("s", "t", 23.7), Demand("a", "t", 4.3), Demand("u", "t", 3.1), Demand("s", "u", 6.1)]
    case = Case.of(UNEQUAL, [*demands, Demand("s", "a", 0.0), Demand("b", "t", 1.7)], count)
    capacity = case.capacity
    capacity[[link.ends for link in UNEQUAL.links].index(down)] = 0.0
    rates, bound = reference(case, epsilon, capacity)
    allocation = allocated(case, epsilon, capacity)
    assert allocation.rates.tolist() == pytest.approx(rates)
    assert allocation.upper_bound == pytest.approx(bound)


def test_nothing_is_possible_without_demands() -> None:
    allocation = allocated(Case.of(ONE_LINK, [Demand("s", "t", 0.0)], 1), 0.5)
    assert (allocation.rates.tolist(), allocation.upper_bound) == ([0.0], 0.0)


def test_lengths_withstand_the_least_epsilon() -> None:
    assert allocated(Case.of(ONE_LINK, [Demand("s", "t", 10.0)], 1), 1e-6).granted.tolist() == pytest.approx([10.0])


def test_grants_exceed_no_demand_by_rounding() -> None:
    case = Case.of(UNEQUAL, [Demand("s", "t", 0.7), Demand("b", "t", 0.1)], 3)
    assert (allocated(case, 0.1).granted <= case.demand).all()


def test_seconds_are_those_of_the_search() -> None:
    started = time.perf_counter()
    seconds = allocated(Case.of(ONE_LINK, [Demand("s", "t", 5.0)], 1), 0.5).solve_seconds
    assert 0 < seconds <= time.perf_counter() - started


def test_five_percent_are_given_up_by_default() -> None:
    case = Case.of(UNEQUAL, [Demand("s", "t", 23.7)], 4)
    allocation = Fleischer(case.incidence).solve(case.capacity, case.demand)
    assert allocation.rates.tolist() == allocated(case, 0.05).rates.tolist()


@pytest.mark.slow
@settings(max_examples=40)
@given(cases(max_nodes=5), st.sampled_from([0.05, 0.2, 0.5]))
def test_fleischer_reaches_its_share_and_bounds_the_optimum(case: Case, epsilon: float) -> None:
    assume((case.demand > 0).any())
    allocation = allocated(case, epsilon)
    rows = Rows(len(case.paths))
    within_capacities(case, rows)
    within_demands(case, rows)
    best = rows.maximum([1.0] * len(case.paths))
    assert (case.incidence.links @ allocation.rates <= case.capacity * (1 + 1e-9)).all()
    assert (1 - epsilon) * best * (1 - 1e-6) <= allocation.granted.sum() <= best * (1 + 1e-6)
    assert allocation.upper_bound is not None
    assert allocation.upper_bound >= best * (1 - 1e-6)
