from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from te_solver.model.exposure import Exposure

EDGES = range(7)

tunnel_sets = st.lists(st.sets(st.sampled_from(EDGES), min_size=1), min_size=1, max_size=6)


def killed(tunnels: list[set[int]], failed: tuple[int, ...]) -> int:
    """Return the mask of the tunnels that cross a failed edge."""
    return sum(1 << position for position, edges in enumerate(tunnels) if edges.intersection(failed))


@settings(max_examples=200)
@given(tunnel_sets, st.integers(0, 4), st.data())
def test_the_losses_and_what_survives_are_those_of_trying_every_failure(
    tunnels: list[set[int]], failures: int, data: st.DataObject
) -> None:
    exposure = Exposure.of(tunnels)
    outcomes = {killed(tunnels, failed) for number in range(failures + 1) for failed in combinations(EDGES, number)}
    worst = {mask for mask in outcomes if not any(mask != other and mask & ~other == 0 for other in outcomes)}
    assert set(exposure.losses(failures)) == worst
    rates = data.draw(st.lists(st.floats(0, 100), min_size=len(tunnels), max_size=len(tunnels)))
    least = min(sum(rate for position, rate in enumerate(rates) if not mask >> position & 1) for mask in outcomes)
    assert exposure.surviving(rates, failures) == pytest.approx(least)


@given(tunnel_sets)
def test_as_many_failures_cut_off_as_edges_hit_all_tunnels(tunnels: list[set[int]]) -> None:
    everything = (1 << len(tunnels)) - 1
    number = Exposure.of(tunnels).failures_to_cut_off
    assert any(killed(tunnels, failed) == everything for failed in combinations(EDGES, number))
    assert not any(killed(tunnels, failed) == everything for failed in combinations(EDGES, number - 1))


def test_tunnels_without_a_common_edge_are_groups_of_one() -> None:
    exposure = Exposure.of_paths([("s", "t"), ("s", "a", "t"), ("s", "b", "t")])
    assert exposure.groups == (0b001, 0b010, 0b100)
    assert exposure.is_disjoint
    assert exposure.failures_to_cut_off == 3


def test_edges_count_in_both_directions() -> None:
    exposure = Exposure.of_paths([("s", "a", "b", "t"), ("s", "b", "a", "t")])
    assert exposure.groups == (0b11,)
    assert exposure.failures_to_cut_off == 1


def test_groups_that_overlap_are_not_disjoint() -> None:
    exposure = Exposure.of_paths([("s", "a", "t"), ("s", "a", "b", "t"), ("s", "b", "t")])
    assert exposure.groups == (0b011, 0b110)
    assert not exposure.is_disjoint


def test_no_tunnels_lose_nothing() -> None:
    nothing = Exposure.of([])
    assert nothing.losses(2) == (0,)
    assert nothing.surviving([], 1) == 0
    assert nothing.failures_to_cut_off == 0


def test_sixteen_tunnels_with_many_common_edges_are_no_trouble() -> None:
    tunnels = [[f"e{position}", f"e{(position * 7) % 16}", f"f{position}"] for position in range(16)]
    exposure = Exposure.of(tunnels)
    assert exposure.surviving([1.0] * 16, 5) == 16 - max(mask.bit_count() for mask in exposure.losses(5))
