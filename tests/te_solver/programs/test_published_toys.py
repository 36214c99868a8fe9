"""Small networks whose values other projects publish in their tests; NCFlow's are in `test_ncflow.py`."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.resolve import maximise_throughput
from te_solver.solve import solve
from te_solver.tunnels.path_finders import finder_by
from tests.te_solver.programs.problems import Case


def network(links: str) -> Topology:
    """Return the network of links such as `ab:10`, which lead one way."""
    found = tuple(Link(each[0], each[1], float(each[3:])) for each in links.split())
    return Topology("toy", tuple(sorted({node for link in found for node in link.ends})), found)


def demands_of(rates: str) -> list[Demand]:
    return [Demand(each[0], each[1], float(each[3:])) for each in rates.split()]


RING = network("12:100 21:100 13:100 31:100 23:100 32:100")
HALVES = [Demand(*pair, 50.0) for pair in permutations(RING.nodes, 2)]


@pytest.mark.parametrize(
    ("objective", "paths", "value"),
    [
        pytest.param("static-splits", "vlb", 2 / 3, id="electrical"),  # two thirds on the link, a third around
        pytest.param("static-splits", "ecmp", 0.5, id="ecmp"),
        pytest.param("static-splits", "disjoint", 0.75, id="edksp"),
        pytest.param("static-splits", "ksp", 0.75, id="ksp"),
        pytest.param("edge-min-max-utilisation", "disjoint", 0.5, id="mcf"),
        pytest.param("min-max-utilisation", "disjoint", 0.5, id="semimcf-edksp"),
        pytest.param("min-max-utilisation", "ksp", 0.5, id="semimcf-ksp"),
        pytest.param("min-max-utilisation", "vlb", 0.5, id="semimcf-vlb"),
    ],
)
def test_all_pairs_of_a_ring_use_what_yates_says(objective: str, paths: str, value: float) -> None:
    """Published in cornell-netlab/yates, test/Test_Routing.ml: all pairs of three nodes ask for half of a link."""
    plan = solve(RING, HALVES, 2, objective, finder=finder_by(RING, paths))
    assert plan.objective_value == pytest.approx(value)


@pytest.mark.parametrize("paths", ["ksp", "disjoint"])
def test_ffc_sets_aside_as_much_on_both_ways_of_a_ring(paths: str) -> None:
    """So all demand sent by its weights fills three quarters of each link, which is YATES' figure for FFC."""
    plan = solve(RING, HALVES, 2, "ffc", finder=finder_by(RING, paths))
    assert [tunnel.weight for pair in plan.pairs for tunnel in pair.tunnels] == pytest.approx([0.5] * 12)


def test_rates_at_a_full_link_are_those_of_yates() -> None:
    """Published there as `fair_share`: seven paths with demands of 1 to 7 share a link of 20."""
    tails = "cdefghi"
    topology = network("ab:20 " + " ".join(f"b{tail}:100" for tail in tails))
    demands = [Demand("a", tail, float(rate)) for rate, tail in enumerate(tails, start=1)]
    plan = solve(topology, demands, 1, "max-min")
    assert [pair.allocated for pair in plan.pairs] == pytest.approx([1, 2, 3, 3.5, 3.5, 3.5, 3.5])


DIAMOND = "ab:10 ac:10 bd:10 cd:10"
ASKED = demands_of("ad:10 bd:5 ac:5")


@pytest.mark.parametrize(
    ("links", "rates", "optimum", "in_two_parts"),
    [("ab:10", "ab:10", 10, 5), (DIAMOND, "ab:10 ac:10 bd:10 cd:10", 40, 20)],
    ids=["link", "diamond"],
)
def test_two_parts_of_pop_lose_what_metaopt_says(links: str, rates: str, optimum: float, in_two_parts: float) -> None:
    """Published in microsoft/MetaOpt: OptimalEncodingTests, PopEncodingTests, OptimalityGapTests."""
    for objective, value in (("max-throughput", optimum), ("pop:parts=2", in_two_parts)):
        assert solve(network(links), demands_of(rates), 1, objective).allocated == pytest.approx(value), objective


@pytest.mark.parametrize(
    ("links", "rates", "threshold", "optimum", "pinned"),
    [
        (DIAMOND, "ab:10 bd:10 ad:5", 5, 25, 15),
        ("ab:100 bc:100 ad:50 de:50 ec:50", "ab:100 bc:100 ac:50", 50, 250, 150),
    ],
    ids=["diamond", "paper"],
)
def test_pinning_loses_what_metaopt_says(
    links: str, rates: str, threshold: float, optimum: float, pinned: float
) -> None:
    """Published in DemandPinningTests of microsoft/MetaOpt: the largest gaps are 10 and 100."""
    topology, demands = network(links), demands_of(rates)
    share = threshold * len(topology.links) / sum(link.capacity for link in topology.links)
    assert solve(topology, demands, 2).allocated == pytest.approx(optimum)
    plan = solve(topology, demands, 2, f"demand-pinning:share={share}")
    assert plan.allocated == pytest.approx(pinned)


@pytest.mark.slow
def test_no_demands_of_whole_fives_lose_more_by_pinning() -> None:
    topology = network(DIAMOND)
    pairs = ("ab", "ac", "bd", "cd", "ad")
    gaps = []
    for rates in product((0.0, 5.0, 10.0), repeat=5):
        demands = [Demand(pair[0], pair[1], rate) for pair, rate in zip(pairs, rates, strict=True)]
        best, pinned = (solve(topology, demands, 2, name) for name in ("max-throughput", "demand-pinning:share=0.5"))
        gaps.append(best.allocated - pinned.allocated)
    assert max(gaps) == pytest.approx(10)


@pytest.mark.parametrize(
    ("links", "failed", "carried"),
    [
        (DIAMOND, "cd", 15),
        (DIAMOND, "any", 10),
        (DIAMOND + " ad:5", "cd", 20),
        (DIAMOND + " ad:5", "any", 15),
        (DIAMOND + " ad:5 bc:3", "bd", 18),
        (DIAMOND + " ad:5 bc:3", "bd ac", 8),
    ],
)
def test_throughput_after_failures_is_what_metaopt_says(links: str, failed: str, carried: float) -> None:
    """Published in FailureAnalysisBasicTests of microsoft/MetaOpt: 15 and 20, and losses of 10, 5, 2 and 12 from 20."""
    case = Case.of(network(links), ASKED, 4)
    ends = ["".join(link.ends) for link in case.topology.links]

    def throughput(lost: str) -> float:
        left = np.where([link in lost for link in ends], 0.0, case.capacity)
        return float(maximise_throughput(case.incidence, left, case.demand).granted.sum())

    assert throughput("") == pytest.approx(20)
    assert min(map(throughput, ends if failed == "any" else [failed])) == pytest.approx(carried)
