from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from te_solver.formats.topology_file import load_topology
from te_solver.model.demand_generators import gravity, scaled_to_utilisation
from te_solver.model.demands import Demand
from te_solver.networks import shipped_network
from te_solver.programs import partition
from te_solver.programs.column_generation import NearOptimum
from te_solver.programs.highs import Indices, Vector
from te_solver.programs.partition import PartitionedOptimum, Partitioning, partitioned_throughput
from te_solver.programs.resolve import ThroughputResolver
from te_solver.programs.tunnel_links import TunnelLinks
from tests.te_solver.programs.problems import RHOMBUS, Case, cases

pytestmark = pytest.mark.slow

partitionings = st.builds(
    Partitioning, parts=st.integers(1, 6), rounds=st.integers(1, 3), seed=st.integers(0, 9), processes=st.just(1)
)


def most(case: Case) -> float:
    return float(ThroughputResolver(case.incidence, fewest_hops=False).solve(case.capacity, case.demand).rates.sum())


def gscale() -> Case:
    """All 132 pairs, with demands that the network can carry only in part."""
    topology = load_topology(shipped_network("gscale"))
    demands = scaled_to_utilisation(topology, gravity(topology, np.random.default_rng(1)), 4.0)
    assert len(demands) == len(list(permutations(topology.nodes, 2)))
    return Case.of(topology, demands, 4)


@settings(max_examples=80)
@given(cases(), partitionings)
def test_no_bound_is_exceeded(case: Case, how: Partitioning) -> None:
    rates = partitioned_throughput(TunnelLinks.of(case.incidence), case.capacity, case.demand, how).rates
    assert (rates >= 0).all()
    assert (case.incidence.links @ rates <= case.capacity * (1 + 1e-9)).all()
    assert (case.incidence.pairs @ rates <= case.demand * (1 + 1e-9)).all()


@settings(max_examples=80)
@given(cases(), partitionings)
def test_the_best_throughput_is_between_that_of_the_parts_and_the_bound(case: Case, how: Partitioning) -> None:
    answer = partitioned_throughput(TunnelLinks.of(case.incidence), case.capacity, case.demand, how)
    best = most(case)
    assert answer.rates.sum() <= best * (1 + 1e-6)
    assert best <= answer.bound * (1 + 1e-6)
    assert answer.loss == pytest.approx(max(0, 1 - answer.rates.sum() / answer.bound) if answer.bound else 0)


@given(cases(), partitionings)
def test_the_same_seed_gives_the_same_answer(case: Case, how: Partitioning) -> None:
    first, second = (
        partitioned_throughput(TunnelLinks.of(case.incidence), case.capacity, case.demand, how) for _ in range(2)
    )
    assert first.rates.tolist() == second.rates.tolist()
    assert first.bound == second.bound


@settings(max_examples=40)
@given(cases(), st.integers(1, 6), st.integers(1, 3))
def test_a_further_round_never_loses(case: Case, parts: int, rounds: int) -> None:
    tunnels = TunnelLinks.of(case.incidence)
    fewer, more = (
        partitioned_throughput(
            tunnels, case.capacity, case.demand, Partitioning(parts, rounds=number, processes=1)
        ).rates.sum()
        for number in (rounds, rounds + 1)
    )
    assert more >= fewer * (1 - 1e-9)


def test_one_part_is_the_whole_problem() -> None:
    case = gscale()
    how = Partitioning(1, rounds=1, processes=1)
    answer = partitioned_throughput(TunnelLinks.of(case.incidence), case.capacity, case.demand, how)
    assert answer.rates.sum() == pytest.approx(most(case), rel=how.gap)
    assert answer.loss <= how.gap


def test_little_is_lost_in_parts_and_less_in_further_rounds() -> None:
    case = gscale()
    answers = [
        partitioned_throughput(
            TunnelLinks.of(case.incidence), case.capacity, case.demand, Partitioning(4, rounds=rounds, processes=1)
        )
        for rounds in (1, 2, 3)
    ]
    losses = [1 - answer.rates.sum() / most(case) for answer in answers]
    assert losses[0] <= 0.08
    assert losses[1] <= losses[0] / 2
    assert losses[2] <= losses[1] / 2
    assert answers[2].loss <= 0.015


def test_neither_the_number_of_processes_nor_telling_of_progress_changes_the_answer() -> None:
    case = gscale()
    tunnels = TunnelLinks.of(case.incidence)
    told: list[tuple[int, int]] = []
    alone = partitioned_throughput(
        tunnels, case.capacity, case.demand, Partitioning(3, processes=1), lambda *done: told.append(done)
    )
    together = partitioned_throughput(tunnels, case.capacity, case.demand, Partitioning(3, processes=2))
    assert together.rates.tolist() == alone.rates.tolist()
    assert told == [(done, 6) for done in range(1, 7)]


def test_a_demand_larger_than_a_part_can_carry_is_split_over_several() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30), *(Demand("s", "a", 0.001) for _ in range(8))], 3)
    answer = partitioned_throughput(
        TunnelLinks.of(case.incidence), case.capacity, case.demand, Partitioning(3, rounds=1, processes=1)
    )
    assert answer.rates[:3].sum() == pytest.approx(30, rel=2e-3)


def test_more_parts_than_demands_are_no_harm() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)
    answer = partitioned_throughput(
        TunnelLinks.of(case.incidence), case.capacity, case.demand, Partitioning(50, processes=1)
    )
    assert answer.rates.sum() == pytest.approx(30, rel=2e-3)


def test_without_demand_nothing_is_carried_and_nothing_lost() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 0)], 3)
    answer = partitioned_throughput(
        TunnelLinks.of(case.incidence), case.capacity, case.demand, Partitioning(2, processes=1)
    )
    assert (answer.rates.sum(), answer.bound, answer.loss) == (0, 0, 0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("demands", "carried"), [((3.0,), 3.0), ((3.0, 8.0), 9.0)])
def test_a_few_demands_among_very_many_pairs_are_bounded_closely(demands: tuple[float, ...], carried: float) -> None:
    """The sample of pairs that selects a bound has none of these; the link carries 10 Mbit/s."""
    pairs = 60_001
    tunnels = TunnelLinks(np.zeros(pairs, np.int32), np.arange(pairs + 1), np.arange(pairs + 1))
    demand = np.zeros(pairs)
    demand[5 : 5 + len(demands)] = demands
    answer = partitioned_throughput(tunnels, np.array([10.0]), demand, Partitioning(4, processes=1))
    assert answer.rates.sum() == pytest.approx(carried, rel=1e-3)
    assert answer.bound == pytest.approx(min(sum(demands), 10.0))


def test_a_part_keeps_its_rates_where_the_solver_finds_less(monkeypatch: pytest.MonkeyPatch) -> None:
    case = gscale()
    tunnels = TunnelLinks.of(case.incidence)
    first = partitioned_throughput(tunnels, case.capacity, case.demand, Partitioning(3, rounds=1, processes=1))
    solve, solved = partition._solved, []

    def worse_later(gap: float, part: partition._Part) -> NearOptimum:
        found = solve(gap, part)
        solved.append(part)
        return found if len(solved) <= 3 else replace(found, rates=found.rates * 0.5)

    monkeypatch.setattr(partition, "_solved", worse_later)
    second = partitioned_throughput(tunnels, case.capacity, case.demand, Partitioning(3, rounds=2, processes=1))
    assert len(solved) == 6
    assert second.rates.tolist() == pytest.approx(first.rates.tolist())


def test_the_bound_is_the_least_of_those_of_zero_of_full_links_and_of_the_prices() -> None:
    """Two pairs ask for 8 Mbit/s each of a link of 10: bounds are 16 at price zero, and 10 at price one."""
    tunnels = TunnelLinks(np.zeros(2, np.int32), np.arange(3), np.arange(3))
    capacity, demand = np.array([10.0]), np.array([8.0, 8.0])
    high = np.array([3.0])

    def bound(carried: float, *prices: Vector) -> float:
        return partition._bound(tunnels, capacity, demand, np.array([carried, 0.0]), prices)

    assert bound(10 * (1 - 0.9e-6), high, high, high) == 10
    assert bound(10 * (1 - 1.1e-6), high, high, high) == 16
    assert bound(5, high, np.array([1.0]), high) == 10
    assert bound(5, *(np.array([price]) for price in (0, 0.5, 1.5, 6))) == 10  # by the median alone
    assert bound(5, *(np.array([price]) for price in (0, 0, 0, 4))) == 10  # by the mean alone
    assert bound(5) == 0


def test_a_sample_of_the_pairs_by_size_selects_the_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []
    of_pairs = TunnelLinks.of_pairs

    def noted(self: TunnelLinks, pairs: Indices) -> tuple[TunnelLinks, Indices]:
        asked.append(pairs.tolist())
        return of_pairs(self, pairs)

    monkeypatch.setattr(partition, "_SAMPLED", 2)
    monkeypatch.setattr(TunnelLinks, "of_pairs", noted)
    tunnels = TunnelLinks(np.zeros(6, np.int32), np.arange(7), np.arange(7))
    demand = np.array([1.0, 6.0, 2.0, 5.0, 3.0, 4.0])
    rates = np.zeros(6)
    assert partition._bound(tunnels, np.array([30.0]), demand, rates, [np.array([1.0])]) == 21
    assert asked == [[2, 3]]  # the second of each three


def test_demands_are_cut_into_equal_pieces_until_there_are_a_quarter_more() -> None:
    demand = np.array([100.0, 10.0, 10.0, 10.0, 0.0, 10.0, 10.0, 10.0, 10.0])
    assert partition._pieces(demand, 5).tolist() == [3, 1, 1, 1, 0, 1, 1, 1, 1]
    assert partition._pieces(demand, 2).tolist() == [2, 1, 1, 1, 0, 1, 1, 1, 1]
    assert partition._pieces(np.zeros(2), 2).tolist() == [0, 0]


def test_each_round_of_cards_gives_every_part_one_piece() -> None:
    demand = np.array([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 0.0])
    hands = partition._dealt(demand, 3, np.random.default_rng(1))
    whole = np.zeros(8)
    for hand in hands:
        whole[hand.pairs] += hand.share
    assert whole.tolist() == pytest.approx([1, 1, 1, 1, 1, 1, 1, 0])
    pieces = partition._pieces(demand, 3)
    size = demand / np.maximum(pieces, 1)
    sizes = [
        sorted(
            (size[p] for p, part in zip(h.pairs, h.share, strict=True) for _ in range(round(part * pieces[p]))),
            reverse=True,
        )
        for h in hands
    ]
    # The smallest card of a round is no smaller than the largest of the next.
    for one, other in ((a, b) for a in sizes for b in sizes):
        assert all(earlier >= later for earlier, later in zip(one, other[1:], strict=False))


def test_the_loss_is_the_missing_share_of_the_bound() -> None:
    assert PartitionedOptimum(np.array([6.0, 3.0]), 12.0, 0.0).loss == 0.25
    assert PartitionedOptimum(np.array([6.0, 3.0]), 8.0, 0.0).loss == 0
    assert PartitionedOptimum(np.array([0.0]), 0.5, 0.0).loss == 1
