"""Recomputation: feasible, never worse than placing only victims, with new tunnels on request."""

from __future__ import annotations

import pickle
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from te_solver.model.demands import Demand
from te_solver.model.failures import Failure, surviving
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from te_solver.programs.max_min import MaxMin
from te_solver.programs.registry import FFC, objective_names
from te_solver.programs.scale import Scale
from te_solver.schemes.models.precomputed import Precomputed
from te_solver.schemes.models.recompute import Recompute
from te_solver.schemes.models.rerouting import NEW_TRAFFIC, Rerouting
from te_solver.schemes.models.traffic import PlannedTraffic
from te_solver.solve import Planner, solve
from te_solver.tunnels.finder import TunnelFinder
from tests.te_solver.random_networks import demands_on, topologies
from tests.te_solver.random_plans import failures, plans
from tests.te_solver.schemes.cases import about, cut, parallel_plan, sub_flows

pytestmark = pytest.mark.slow


def of_first_class(answer: Rerouting) -> float:
    priority = answer.traffic.priority
    return float(answer.offered[priority[answer.pair] == priority.min()].sum())


@settings(max_examples=40)
@given(plans(), st.builds(Recompute, new_tunnels=st.booleans()), st.data())
def test_no_link_is_above_capacity_and_no_pair_above_demand(plan: Plan, scheme: Recompute, data: st.DataObject) -> None:
    traffic = PlannedTraffic.of(plan)
    answer = scheme.reroute(traffic, data.draw(failures(plan.topology)))
    assert (answer.link_loads <= traffic.capacity * (1 + 1e-6)).all()
    assert (answer.tunnels.sums(answer.tunnel_rates) <= traffic.demand * (1 + 1e-6)).all()


@settings(max_examples=40)
@given(st.data())
def test_it_is_at_least_as_good_as_placing_victims_alone_and_better_still_with_new_tunnels(data: st.DataObject) -> None:
    topology = data.draw(topologies())
    plan = solve(topology, data.draw(demands_on(topology).filter(bool)), data.draw(st.integers(1, 3)))
    traffic = PlannedTraffic.of(plan)
    failure = data.draw(failures(topology))
    schemes = (Precomputed(), Recompute(), Recompute(new_tunnels=True))
    victims_alone, old_tunnels, new_tunnels = (scheme.reroute(traffic, failure).offered.sum() for scheme in schemes)
    assert old_tunnels >= victims_alone * (1 - 1e-6) - 1e-6
    assert new_tunnels >= old_tunnels * (1 - 1e-6) - 1e-6


@settings(max_examples=40)
@given(plans(), st.data())
def test_the_first_class_has_at_least_what_it_has_when_victims_alone_are_placed(
    plan: Plan, data: st.DataObject
) -> None:
    traffic = PlannedTraffic.of(plan)
    failure = data.draw(failures(plan.topology))
    anew, victims_alone = (scheme.reroute(traffic, failure) for scheme in (Recompute(), Precomputed()))
    assert of_first_class(anew) >= of_first_class(victims_alone) * (1 - 1e-6) - 1e-6


def test_what_a_failure_sets_free_others_gain_as_new_traffic() -> None:
    # Both pairs share a-b, 60 + 40 of 100 Mbit/s; the cut of s-a cuts the first off.
    topology = Topology("line", ("s", "a", "b"), (Link("s", "a", 100.0), Link("a", "b", 100.0)))
    first = PairPlan("s", "b", 60.0, 60.0, (Tunnel(16, ("s", "a", "b"), 60.0, 1.0),))
    second = PairPlan("a", "b", 90.0, 40.0, (Tunnel(17, ("a", "b"), 40.0, 1.0),))
    traffic = PlannedTraffic.of(Plan(topology, (first, second), "any", 100.0, "none", 0.0))
    answer = Recompute().reroute(traffic, Failure("cut", (("s", "a"),)))
    assert sub_flows(answer) == about({(2, 2): 40, (NEW_TRAFFIC + 1, 2): 50})
    assert answer.cut_off.tolist() == [60, 0]
    assert answer.gained.tolist() == pytest.approx([0, 50])
    assert not answer.victim.any()
    assert not answer.moved.any()


def test_what_no_longer_fits_is_withheld_in_proportion() -> None:
    # 240 Mbit/s over three tunnels of 100: two are left, so 40 of the 120 of tunnel 1 stay outside.
    traffic = PlannedTraffic.of(parallel_plan([0.5, 0.25, 0.25], allocated=240.0))
    answer = Recompute().reroute(traffic, cut(1))
    assert sub_flows(answer) == about({(2, 2): 60, (3, 3): 60, (1, 2): 40, (1, 3): 40})
    assert answer.withheld.tolist() == pytest.approx([40])


def test_a_pair_that_lost_a_tunnel_keeps_the_others_and_gets_a_new_one_where_asked() -> None:
    edges = (("s", "t"), ("s", "m"), ("m", "t"), ("s", "n"), ("n", "m"), ("n", "t"))
    topology = Topology("mesh", ("s", "m", "n", "t"), tuple(Link(*ends, 100.0) for ends in edges))
    tunnels = (Tunnel(16, ("s", "t"), 100.0, 0.5), Tunnel(17, ("s", "m", "t"), 100.0, 0.5))
    plan = Plan(topology, (PairPlan("s", "t", 200.0, 200.0, tunnels),), "any", 200.0, "none", 0.0)
    failure = Failure("cut", (("s", "m"),))
    traffic = PlannedTraffic.of(plan)
    answer = Recompute(new_tunnels=True).reroute(traffic, failure)
    assert answer.tunnels.paths == (("s", "t"), ("s", "m", "t"), ("s", "n", "t"))
    assert sub_flows(answer) == about({(1, 1): 100, (2, 3): 100})
    assert not answer.lost.any()
    assert Recompute().reroute(traffic, failure).withheld.tolist() == pytest.approx([100])


def with_dead_tunnel(edges: str, *alive: str) -> PlannedTraffic:
    """From s to t over the dead s-x-t and these tunnels; nodes are letters, links have one direction."""
    nodes = tuple(dict.fromkeys("sxt" + edges.replace(" ", "")))
    topology = Topology("mesh", nodes, tuple(Link(edge[0], edge[1], 100.0) for edge in ("sx", "xt", *edges.split())))
    paths = ("sxt", *alive)
    tunnels = tuple(Tunnel(16 + at, tuple(path), 10.0, 1 / len(paths)) for at, path in enumerate(paths))
    sent = 10.0 * len(paths)
    return PlannedTraffic.of(Plan(topology, (PairPlan("s", "t", sent, sent, tunnels),), "any", sent, "none", 0.0))


@pytest.mark.parametrize(
    ("traffic", "expected"),
    [
        # Of s-a-t, which is shorter but shares s-a with the alive tunnel, and s-c-d-t.
        (with_dead_tunnel("sa at ab bt sc cd dt", "sabt"), "scdt"),
        # There is only one other, which shares more with s-a-b-t than the alive s-t does with itself.
        (with_dead_tunnel("st sa ab bt bc ct", "st", "sabt"), "sabct"),
    ],
)
def test_the_tunnel_that_is_added_is_another_one_that_shares_least_with_the_alive_ones(
    traffic: PlannedTraffic, expected: str
) -> None:
    answer = Recompute(new_tunnels=True).reroute(traffic, Failure("cut", (("s", "x"),)))
    assert answer.tunnels.paths[traffic.sent.size :] == (tuple(expected),)


def test_the_short_tunnel_that_is_dead_is_not_counted_on() -> None:
    topology = Topology("t", ("s", "m", "t"), (Link("s", "t", 100.0), Link("s", "m", 100.0), Link("m", "t", 100.0)))
    traffic = PlannedTraffic.of(solve(topology, [Demand("s", "t", 100)], tunnels_per_pair=2))
    answer = Recompute().reroute(traffic, Failure("cut", (("s", "t"),)))
    assert sub_flows(answer) == about({(2, 2): 0, (1, 2): 100})


def test_a_failure_that_breaks_no_tunnel_leaves_the_plan_as_it_is() -> None:
    plan = parallel_plan([0.9, 0.1])
    unused = Topology("more", (*plan.topology.nodes, "x"), (*plan.topology.links, Link("t", "x", 1.0)))
    traffic = PlannedTraffic.of(Plan(unused, plan.pairs, "any", 100.0, "none", 0.0))
    answer = Recompute().reroute(traffic, Failure("cut", (("x", "t"),)))
    np.testing.assert_array_equal(answer.offered, traffic.sent)


def triangle(*demands: Demand, objective: str) -> PlannedTraffic:
    """Return the traffic over two tunnels a pair between a, b and c, on links of 10 Mbit/s."""
    links = tuple(Link(x, y, 10.0) for x, y in permutations("abc", 2))
    topology = Topology("triangle", ("a", "b", "c"), links)
    return PlannedTraffic.of(solve(topology, demands, 2, objective))


NO_AB = Failure("cut", (("a", "b"),))


def test_a_max_min_plan_is_recomputed_fairly() -> None:
    """Both pairs are left with the link from c to b, 10 Mbit/s: the greatest sum would also allow 0 and 10."""
    traffic = triangle(Demand("a", "b", 12.0), Demand("c", "b", 12.0), objective="max-min")
    for scheme in (Recompute(), Recompute(new_tunnels=True)):
        answer = scheme.reroute(traffic, NO_AB)
        assert answer.tunnels.sums(answer.tunnel_rates) == pytest.approx([5, 5])


def test_a_min_max_plan_is_recomputed_to_carry_everything_of_the_pairs_that_are_connected() -> None:
    """From c to b go 12 and 8 Mbit/s over 10: twice the capacity, which the plan allows. Pair a to z is cut off."""
    links = tuple(Link(x, y, 10.0) for x, y in [*permutations("abc", 2), ("a", "z")])
    topology = Topology("with-z", ("a", "b", "c", "z"), links)
    demands = [Demand("a", "b", 12.0), Demand("c", "b", 8.0), Demand("a", "z", 1.0)]
    traffic = PlannedTraffic.of(solve(topology, demands, 2, "min-max-utilisation"))
    answer = Recompute().reroute(traffic, Failure("cut", (("a", "b"), ("a", "z"))))
    assert answer.tunnels.sums(answer.tunnel_rates) == pytest.approx([12, 8, 0])
    assert answer.link_loads.max() == pytest.approx(20)


@pytest.mark.parametrize("objective", [name for name in objective_names() if name != FFC])
@pytest.mark.parametrize("rate", [0.3, 8.0])
def test_a_plan_of_any_objective_is_recomputed_as_if_it_were_solved_on_what_is_left(
    objective: str, rate: float
) -> None:
    """Of the tunnels from a to b the short one is dead, and with it a link on which rules may count."""
    traffic = triangle(Demand("a", "b", rate), Demand("c", "b", 12.0), Demand("b", "a", 2.0), objective=objective)
    left, demands, tunnels = surviving(traffic.plan.topology, NO_AB), [], {}
    for pair in traffic.plan.pairs:
        alive = tuple(tunnel.nodes for tunnel in pair.tunnels if not tunnel.crosses("a", "b"))
        if alive:
            tunnels[pair.source, pair.target] = alive
            demands.append(Demand(pair.source, pair.target, pair.demand))
    found = Planner(left, tunnels, demands, objective).plan()
    allocated = {(each.source, each.target): each.allocated for each in found.pairs}
    answer = Recompute().reroute(traffic, NO_AB)
    expected = [allocated.get((pair.source, pair.target), 0.0) for pair in traffic.plan.pairs]
    assert answer.tunnels.sums(answer.tunnel_rates) == pytest.approx(expected)


def test_a_plan_is_recomputed_though_its_file_names_what_has_failed(tmp_path: Path) -> None:
    file = tmp_path / "down.csv"
    file.write_text("a,b,probability\na,b,0.1\na,c,0.1\nb,c,0.1\n")
    traffic = triangle(Demand("a", "b", 4.0), Demand("c", "b", 4.0), objective=f"teavar:file={file},beta=0.5")
    answer = Recompute(new_tunnels=True).reroute(traffic, Failure("cut", (("a", "b"),)))
    assert answer.tunnels.sums(answer.tunnel_rates) == pytest.approx([4, 4])


def test_an_ffc_plan_is_recomputed_with_protection_and_sends_what_it_grants() -> None:
    """Four disjoint tunnels of 10 Mbit/s, one failed: of the other three one more may fail, so 20 may be sent."""
    middles = "wxyz"
    links = tuple(Link(*ends, 10.0) for middle in middles for ends in (("s", middle), (middle, "t")))
    topology = Topology("parallel", ("s", *middles, "t"), links)
    traffic = PlannedTraffic.of(solve(topology, [Demand("s", "t", 100.0)], 4, "ffc"))
    assert traffic.sent.sum() == pytest.approx(30)
    answer = Recompute().reroute(traffic, Failure("cut", (("s", "w"),)))
    assert answer.tunnel_rates == pytest.approx([0, 20 / 3, 20 / 3, 20 / 3])


def test_a_less_important_class_is_recomputed_fairly_in_what_the_first_one_leaves() -> None:
    traffic = triangle(
        Demand("a", "b", 4.0, 0), Demand("a", "b", 12.0, 1), Demand("c", "b", 12.0, 1), objective="max-min"
    )
    answer = Recompute().reroute(traffic, NO_AB)
    assert answer.tunnels.sums(answer.tunnel_rates) == pytest.approx([4, 3, 3])


def test_a_recomputation_compiles_its_program_once_and_pickles_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = 0
    of_class = MaxMin._compile

    def count(self: MaxMin, scale: Scale) -> None:
        nonlocal compiled
        compiled += 1
        of_class(self, scale)

    monkeypatch.setattr(MaxMin, "_compile", count)
    traffic = triangle(Demand("a", "b", 12.0), Demand("c", "b", 12.0), objective="max-min")
    compiled = 0
    scheme = Recompute()
    answers = [scheme.reroute(traffic, Failure(b, (("a", b),))).tunnel_rates.tolist() for b in "bcb"]
    assert compiled == 1
    assert answers[0] == answers[2] != answers[1]
    again = pickle.loads(pickle.dumps(scheme))  # noqa: S301  # our own data
    assert again.reroute(traffic, NO_AB).tunnel_rates.tolist() == answers[0]


def test_new_tunnels_minimise_what_the_tunnels_of_the_plan_do() -> None:
    """The direct link fails; by hops the way over x is shorter, by delay the one over y and z."""
    quick = {("s", "y"): 0.001, ("y", "z"): 0.001, ("z", "t"): 0.001}
    slow = {("s", "t"): 0.0001, ("s", "x"): 0.01, ("x", "t"): 0.01}
    links = tuple(Link(*ends, 100.0, delay) for ends, delay in {**slow, **quick}.items())
    topology = Topology("two-ways", tuple("stxyz"), links)
    plan = solve(topology, [Demand("s", "t", 50.0)], 1, finder=TunnelFinder(topology, "delay"))
    answer = Recompute(new_tunnels=True).reroute(PlannedTraffic.of(plan), Failure("cut", (("s", "t"),)))
    assert answer.tunnels.paths[1:] == (("s", "y", "z", "t"),)
