"""Concurrent flows over any paths are feasible, below their bound, and as near to the optimum as was asked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_base.errors import UnsoundError
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.all_pairs import ConcurrentFlow, nearly_concurrent
from te_solver.programs.edge_flow import edge_flow

GAP = 0.02


@st.composite
def problems(draw: st.DrawFn) -> tuple[Topology, list[Demand]]:
    """Draw a ring with chords, one capacity for each direction, and demands of all pairs."""
    nodes = tuple("abcdefg"[: draw(st.integers(3, 7))])
    ring = [frozenset((a, b)) for a, b in zip(nodes, nodes[1:] + nodes[:1], strict=True)]
    chords = draw(st.lists(st.sets(st.sampled_from(nodes), min_size=2, max_size=2).map(frozenset), max_size=4))
    rates = st.floats(1, 100)
    links = [Link(*way, draw(rates)) for edge in dict.fromkeys(ring + chords) for way in _ways(edge)]
    demands = [Demand(a, b, draw(rates)) for a in nodes for b in nodes if a != b]
    return Topology("drawn", nodes, tuple(links)), demands


def _ways(edge: Iterable[str]) -> tuple[tuple[str, str], tuple[str, str]]:
    a, b = sorted(edge)
    return (a, b), (b, a)


def on_tree(topology: Topology, demands: list[Demand], source: str, length: list[float]) -> tuple[list[float], float]:
    """Return the flow of a source on its shortest paths, and its demands times their distances."""
    far, before = dict.fromkeys(topology.nodes, math.inf) | {source: 0.0}, dict.fromkeys(topology.nodes, -1)
    for _ in topology.nodes:
        for number, link in enumerate(topology.links):
            if far[link.source] + length[number] < far[link.target]:
                far[link.target], before[link.target] = far[link.source] + length[number], number
    flow, cost = [0.0] * len(topology.links), 0.0
    for each in demands:
        node = each.target if each.source == source else source
        cost += each.rate * far[node]
        while node != source:
            flow[before[node]] += each.rate
            node = topology.links[before[node]].source
    return flow, cost


def bound_of(topology: Topology, demands: list[Demand], length: list[float]) -> float:
    volume = sum(link.capacity * each for link, each in zip(topology.links, length, strict=True))
    return volume / sum(on_tree(topology, demands, source, length)[1] for source in {each.source for each in demands})


def best_step(steepness: float, used: list[float], change: list[float]) -> float:
    def slope(step: float) -> float:
        powers = [steepness * (now - max(used) + step * more) for now, more in zip(used, change, strict=True)]
        return sum(more * math.exp(power) for more, power in zip(change, powers, strict=True))

    low, high = 0.0, 1.0
    for _ in range(20 if slope(0.0) < 0 else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return low


def reference(topology: Topology, demands: list[Demand], gap: float) -> list[tuple[float, float]]:
    """Return the value and the bound at each proof, found slowly."""
    capacity, count = [link.capacity for link in topology.links], len(topology.links)
    length = [1 / each for each in capacity]
    flows = {each.source: on_tree(topology, demands, each.source, length)[0] for each in demands}
    least, mean, sharp = bound_of(topology, demands, length), [0.0] * count, 4.0
    seen: list[tuple[float, float]] = []
    while True:
        used = [sum(column) / room for *column, room in zip(*flows.values(), capacity, strict=True)]
        seen.append((1 / max(used), least))
        found = 1 - seen[-1][0] / least
        if found <= gap:
            return seen
        sharp = min(max(1.1 * sharp, 1 / found), 2 / gap)
        mean = [each / 2 for each in mean]
        for _ in range(4):
            steepness = math.log(count) * sharp / max(used)
            weight = [math.exp(steepness * (each - max(used))) for each in used]
            length = [(each / sum(weight) + 1e-7 / count) / room for each, room in zip(weight, capacity, strict=True)]
            volume = sum(map(mul, capacity, length))
            mean = [old + new / volume for old, new in zip(mean, length, strict=True)]
            for source, flow in flows.items():
                tree = on_tree(topology, demands, source, length)[0]
                change = [(new - old) / room for new, old, room in zip(tree, flow, capacity, strict=True)]
                step = best_step(steepness, used, change)
                flows[source] = [old + step * (new - old) for new, old in zip(tree, flow, strict=True)]
                used = [old + step * each for old, each in zip(used, change, strict=True)]
        least = min(least, bound_of(topology, demands, mean), bound_of(topology, demands, length))


@pytest.mark.parametrize("gap", [0.1, 0.02])
def test_each_proof_is_that_of_the_slow_reference(gap: float) -> None:
    rates = {"ab": 7.0, "bc": 11.0, "cd": 5.0, "de": 13.0, "ea": 9.0, "ac": 3.0, "bd": 6.0}
    links = [Link(*way, rate + 0.3 * number) for edge, rate in rates.items() for number, way in enumerate(_ways(edge))]
    network = Topology("n", tuple("abcde"), tuple(links))
    demands = [Demand(a, b, 1.0 + ord(a) * ord(b) % 7) for a in "adb" for b in "abcde" if a != b]
    seen: list[ConcurrentFlow] = []
    nearly_concurrent(network, demands, gap, watch=seen.append)
    expected = reference(network, demands, gap)
    assert [each.value for each in seen] == pytest.approx([value for value, _ in expected], rel=1e-9)
    assert [each.bound for each in seen] == pytest.approx([bound for _, bound in expected], rel=1e-9)
    assert len(seen) > 2


@settings(max_examples=40, deadline=None)
@given(problems())
def test_the_value_is_near_the_optimum_of_the_program_and_the_bound_above_it(
    problem: tuple[Topology, list[Demand]],
) -> None:
    topology, demands = problem
    best = 1 / edge_flow(topology, demands, "utilisation").value
    found = nearly_concurrent(topology, demands, GAP)
    assert best * (1 - GAP) * (1 - 1e-6) <= found.value <= best * (1 + 1e-6)
    assert best <= found.bound * (1 + 1e-6)
    assert found.gap <= GAP


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(problems())
def test_flows_carry_every_demand_and_the_value_is_what_their_busiest_link_allows(
    problem: tuple[Topology, list[Demand]],
) -> None:
    topology, demands = problem
    found = nearly_concurrent(topology, demands, GAP)
    assert (found.flows >= 0).all()
    for source, flows in zip(found.sources, found.flows, strict=True):
        left = dict.fromkeys(topology.nodes, 0.0)
        for link, rate in zip(topology.links, flows.tolist(), strict=True):
            left[link.target] += rate
            left[link.source] -= rate
        asked = {each.target: each.rate for each in demands if each.source == source}
        asked[source] = -sum(asked.values())
        assert left == pytest.approx(asked)
    capacity = np.array([link.capacity for link in topology.links])
    assert found.value == pytest.approx(1 / (found.flows.sum(axis=0) / capacity).max())


def test_the_same_problem_has_the_same_flow_and_its_unit_does_not_matter() -> None:
    ends = [way for edge in ("ab", "bc", "cd", "da", "ac") for way in _ways(frozenset(edge))]
    found = [
        nearly_concurrent(
            Topology("n", tuple("abcd"), tuple(Link(a, b, 10.0 * unit) for a, b in ends)),
            [Demand(a, b, unit * (1 + "abcd".index(b))) for a in "abcd" for b in "abcd" if a != b],
        )
        for unit in (1.0, 1.0, 1024.0)
    ]
    assert (found[0].flows == found[1].flows).all()
    assert found[2].value == pytest.approx(found[0].value)


def test_a_search_that_may_take_no_longer_ends_with_a_flow_and_a_bound() -> None:
    links = [Link(way[0], way[1], 10.0) for way in ("ab", "bd", "ac", "cd")]
    square = Topology("n", tuple("abcd"), tuple(links))
    seen: list[ConcurrentFlow] = []
    found = nearly_concurrent(square, [Demand("a", "d", 10.0)], most_seconds=0.0, watch=seen.append)
    # One path alone carries the demand; both could carry it twice.
    assert (found.value, found.bound) == (1.0, 2.0)
    assert seen == [found]


def test_a_search_whose_steps_hardly_help_any_more_ends_by_itself() -> None:
    """Its gap falls to 3 % at once, then ever less: small demands of a source move with its large one."""
    links = [Link(a, b, 10.0) for edge in ("ab", "ac", "bc", "bd", "cd") for a, b in _ways(frozenset(edge))]
    demands = [("a", "b", 1.0), ("b", "c", 0.267), ("b", "d", 0.0695), ("c", "b", 0.2294), ("d", "a", 1.0)]
    seen: list[ConcurrentFlow] = []

    def watch(found: ConcurrentFlow) -> None:
        seen.append(found)
        assert len(seen) < 500

    found = nearly_concurrent(
        Topology("n", tuple("abcd"), tuple(links)), [Demand(*each) for each in demands], 1e-3, watch=watch
    )
    assert found == seen[-1]
    assert found.value <= found.bound


def test_a_demand_without_a_path_is_refused() -> None:
    one_way = Topology("n", ("a", "b"), (Link("a", "b", 1.0),))
    with pytest.raises(UnsoundError, match="b -> a has no path"):
        nearly_concurrent(one_way, [Demand("a", "b", 1.0), Demand("b", "a", 1.0)])
