"""Demand estimation: the paper's example step by step, known sums, and the kernel against its reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedera import _core
from hedera.network.fabric import Ints
from hedera.network.matrices import authors_matrices
from hedera.placement.demand_estimation import estimate_demands
from tests.hedera.cases import all_to_all
from tests.hedera.reference import demand_estimation as reference

A, B, C, X, Y = range(5)
EXAMPLE = [(A, X), (A, Y), (B, Y), (C, Y)]

SUMS = {
    "rand0": 11.0,
    "rand1": 12.0,
    "rand2": 12.0,
    "hotspot": 12.0,
    "randx2": 13.5,
    "randx3": 41 / 3,
    "randx4": 13.425,
    "randx5": 1586 / 105,
}

CHAIN = ("AX", "BX", "CX", "DX", "AY", "EY", "FY", "FV", "AW", "EZ", "GZ", "HZ", "IZ", "JZ", "EP", "EQ")
CHAIN_BY_ROUND = (
    (1 / 4, 1 / 4, 1 / 4, 1 / 4, 1 / 3, 1 / 4, 5 / 12, 1 / 2, 1 / 3, *[1 / 5] * 5, 1 / 4, 1 / 4),
    (1 / 4, 1 / 4, 1 / 4, 1 / 4, 11 / 30, 4 / 15, 11 / 30, 7 / 12, 3 / 8, *[1 / 5] * 5, 4 / 15, 4 / 15),
    (1 / 4, 1 / 4, 1 / 4, 1 / 4, 11 / 30, 4 / 15, 11 / 30, 19 / 30, 23 / 60, *[1 / 5] * 5, 4 / 15, 4 / 15),
)


def ends(pairs: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    source, target = np.array(pairs, np.int32).reshape(-1, 2).T
    return np.ascontiguousarray(source), np.ascontiguousarray(target)


def test_the_papers_example_step_by_step() -> None:
    demand, converged = [0.0] * 4, [False] * 4
    of_sender, of_receiver = [[0, 1], [2], [3]], [[0], [1, 2, 3]]
    for flows in of_sender:
        reference._send(flows, demand, converged)
    assert demand == [1 / 2, 1 / 2, 1, 1]
    for flows in of_receiver:
        reference._receive(flows, demand, converged)
    assert demand == [1 / 2, 1 / 3, 1 / 3, 1 / 3]
    assert converged == [False, True, True, True]
    for flows in of_sender:
        reference._send(flows, demand, converged)
    assert demand == pytest.approx([2 / 3, 1 / 3, 1 / 3, 1 / 3])
    for flows in of_receiver:
        reference._receive(flows, demand, converged)
    assert demand == pytest.approx([2 / 3, 1 / 3, 1 / 3, 1 / 3])


def test_the_papers_example_in_the_kernel() -> None:
    found = estimate_demands(5, *ends(EXAMPLE), 900.0)
    assert found.demand.tolist() == pytest.approx([600, 300, 300, 300])
    assert (found.rounds, found.settled) == (3, True)


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_each_round_of_a_chain_of_receivers(rounds: int) -> None:
    """Flows from A to J, named by their ends; X has four, Y three and Z five, the other receivers one each.

    1. A sends 1/3, E 1/4, F 1/2, all others 1. X limits its flows to 1/4, Z to 1/5. Y is offered 13/12: E asks for
       less than a third, then A for less than the 3/8 of two, so F alone is limited, to 1 - 1/4 - 1/3.
    2. A has 3/4 left for two flows, E 4/5 for three, F 7/12 for one. Y is offered 127/120: E still asks for less, and A
       and F are limited to 1/2 (1 - 4/15).
    3. A has 1 - 1/4 - 11/30 left for W, F 1 - 11/30 for V.
    4. Nothing changes.
    """
    hosts = "ABCDEFGHIJPQVWXYZ"
    flows = [(hosts.index(flow[0]), hosts.index(flow[1])) for flow in CHAIN]
    demand, made, settled = _core.estimate(len(hosts), *ends(flows), 60.0, rounds)
    assert demand.tolist() == pytest.approx([60 * share for share in CHAIN_BY_ROUND[min(rounds, 3) - 1]])
    assert (made, settled) == (rounds, rounds == 4)


@pytest.mark.parametrize("name", authors_matrices())
def test_sums_over_the_authors_matrices(name: str) -> None:
    matrix = authors_matrices()[name]
    found = estimate_demands(16, matrix.source, matrix.target, 1.0)
    expected = SUMS.get(name, 16.0)
    if name in {"rand3", "rand4"}:
        expected = len(set(matrix.target.tolist()))  # single flows; every receiver takes one interface in sum
    assert found.demand.sum() == pytest.approx(expected, abs=1e-9)


def test_all_to_all_fills_all_interfaces() -> None:
    matrix = all_to_all(16)
    assert estimate_demands(16, matrix.source, matrix.target, 1.0).demand.sum() == pytest.approx(16.0, abs=1e-9)


@st.composite
def flows_between_few_hosts(draw: st.DrawFn) -> tuple[int, Ints, Ints]:
    hosts = draw(st.integers(1, 12))
    host = st.integers(0, hosts - 1)
    return hosts, *ends(draw(st.lists(st.tuples(host, host), max_size=40)))


@settings(deadline=None)
@given(flows_between_few_hosts())
def test_the_kernel_is_its_reference(case: tuple[int, Ints, Ints]) -> None:
    fast, slow = estimate_demands(*case, 1.0), reference.estimate_demands(*case, 1.0)
    assert fast.demand.tolist() == pytest.approx(slow.demand.tolist(), abs=1e-9)
    assert fast.settled
    assert slow.settled


@settings(deadline=None)
@given(flows_between_few_hosts())
def test_no_interface_is_exceeded_and_every_flow_is_held_back_by_one(case: tuple[int, Ints, Ints]) -> None:
    hosts, source, target = case
    demand = estimate_demands(*case, 1.0).demand
    sent = np.bincount(source, demand, hosts)
    received = np.bincount(target, demand, hosts)
    assert max(sent.max(initial=0), received.max(initial=0)) <= 1 + 1e-6
    assert np.maximum(sent[source], received[target]).tolist() == pytest.approx([1.0] * source.size, abs=1e-6)


@settings(deadline=None)
@given(flows_between_few_hosts())
def test_flows_of_one_pair_are_alike(case: tuple[int, Ints, Ints]) -> None:
    hosts, source, target = case
    demand = estimate_demands(*case, 1.0).demand
    pair = source.astype(np.int64) * hosts + target
    for each in np.unique(pair):
        assert np.ptp(demand[pair == each]) <= 1e-9


def test_random_traffic_of_a_large_network_settles_and_agrees() -> None:
    random = np.random.default_rng(5)
    source, target = random.integers(0, 1024, (2, 5000)).astype(np.int32)
    fast, slow = estimate_demands(1024, source, target, 1.0), reference.estimate_demands(1024, source, target, 1.0)
    assert fast.settled
    assert np.abs(fast.demand - slow.demand).max() <= 1e-7


@pytest.mark.parametrize(
    ("hosts", "source", "target", "problem"),
    [
        (2, [2], [0], r"source\[0\]: expected an existing number"),
        (2, [0, 1], [1, -1], r"target\[1\]: expected an existing number"),
        (2, [0, 1], [1], "target: expected as many as sources"),
    ],
)
def test_hosts_that_there_are_not_are_refused(hosts: int, source: list[int], target: list[int], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        estimate_demands(hosts, np.array(source, np.int32), np.array(target, np.int32), 1.0)


def test_without_flows_there_is_nothing_to_estimate() -> None:
    found = estimate_demands(3, *ends([]), 1.0)
    assert (found.demand.size, found.rounds, found.settled) == (0, 1, True)
