"""Impact of failures: the paper's tables in the fluid limit, and invariants of every scheme and failure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from simulator.flow.failure_impact import FailureModel, Impact, Role, Weighting
from te_solver.formats.topology_file import load_topology
from te_solver.model.failures import NO_FAILURE, Failure
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from te_solver.networks import shipped_network
from te_solver.schemes.making import make_scheme
from te_solver.schemes.models.precomputed import Precomputed
from te_solver.schemes.models.rescaling import Kuijia, Rescaling
from te_solver.schemes.models.traffic import PlannedTraffic
from tests.te_solver.random_plans import failures, plans

CUT = Failure("s2-s4", edges=(("s2", "s4"),))
PATHS = (("s1", "s2", "s4"), ("s1", "s4"), ("s1", "s3", "s4"))
ROUNDING = 1e-6


def figure_1(per_tunnel: float, capacity: float = 1000.0) -> PlannedTraffic:
    """The paper's four switches with the same rate on each of the three tunnels."""
    topology = load_topology(shipped_network("fig1"))
    topology = replace(topology, links=tuple(replace(link, capacity=capacity) for link in topology.links))
    tunnels = tuple(Tunnel(16 + number, path, per_tunnel, 1 / 3) for number, path in enumerate(PATHS))
    total = 3 * per_tunnel
    return PlannedTraffic.of(Plan(topology, (PairPlan("s1", "s4", total, total, tunnels),), "any", total, "none", 0.0))


def impact(
    traffic: PlannedTraffic, scheme: str, *, elastic: bool = True, weighting: Weighting = "equal", cut: Failure = CUT
) -> Impact:
    return FailureModel(traffic, elastic=elastic, weighting=weighting).impact(make_scheme(scheme).reroute(traffic, cut))


def flows(found: Impact) -> dict[str, float]:
    """Return the flows by the paper's names: f1 and f2 move from T1 to T2 and T3; f3 and f4 are those of T2 and T3."""
    names = {(0, 1): "f1", (0, 2): "f2", (1, 1): "f3", (2, 2): "f4"}
    answer = found.rerouting
    return {
        names[int(origin), int(carrier)]: round(float(rate), 6)
        for origin, carrier, rate in zip(answer.origin, answer.carrier, found.goodput, strict=True)
    }


class TestTable2:
    """400 of f1, f2 and 800 of f3, f4, on links of 1000."""

    def test_under_rescaling_a_victim_has_its_offer_and_the_other_flow_the_rest(self) -> None:
        assert flows(impact(figure_1(800), "rescaling")) == {"f1": 400, "f2": 400, "f3": 600, "f4": 600}

    def test_under_kuijia_a_victim_has_what_the_other_flow_leaves(self) -> None:
        assert flows(impact(figure_1(800), "kuijia")) == {"f1": 200, "f2": 200, "f3": 800, "f4": 800}

    @pytest.mark.parametrize(
        ("scheme", "published"),
        [
            ("rescaling", {"f1": 379, "f2": 378, "f3": 584, "f4": 586}),
            ("kuijia", {"f1": 177, "f2": 177, "f3": 762, "f4": 762}),
        ],
    )
    def test_the_published_goodput_is_that_of_the_model(self, scheme: str, published: dict[str, float]) -> None:
        # Measured before the failure: 762 of 800, and 941 to 943 of a link (Table 3). The rest are headers.
        assert flows(impact(figure_1(762, capacity=942), scheme)) == pytest.approx(published, rel=0.05)


class TestTable3:
    """500 of f1, f2 and 1000 of f3, f4, on links of 1000."""

    def test_under_rescaling_all_have_half_a_link(self) -> None:
        assert flows(impact(figure_1(1000), "rescaling")) == {"f1": 500, "f2": 500, "f3": 500, "f4": 500}

    def test_under_kuijia_victims_starve(self) -> None:
        assert flows(impact(figure_1(1000), "kuijia")) == {"f1": 0, "f2": 0, "f3": 1000, "f4": 1000}

    @pytest.mark.parametrize(
        ("scheme", "published"),
        [
            ("rescaling", {"f1": 472, "f2": 474, "f3": 465, "f4": 470}),
            ("kuijia", {"f1": 0.074, "f2": 0.011, "f3": 943, "f4": 941}),
        ],
    )
    def test_the_published_goodput_is_that_of_the_model(self, scheme: str, published: dict[str, float]) -> None:
        assert flows(impact(figure_1(942, capacity=942), scheme)) == pytest.approx(published, rel=0.05, abs=0.1)


class TestOtherTraffic:
    def test_inelastic_flows_lose_in_proportion_under_rescaling(self) -> None:
        # 1200 are offered to 1000: each loses a sixth.
        expected = {"f1": 333.333333, "f2": 333.333333, "f3": 666.666667, "f4": 666.666667}
        assert flows(impact(figure_1(800), "rescaling", elastic=False)) == expected

    @pytest.mark.parametrize("capacity", [1.0, 1000.0])
    def test_so_do_elastic_flows_that_stand_for_as_many_connections_as_they_offer(self, capacity: float) -> None:
        traffic = figure_1(0.8 * capacity, capacity)
        inelastic = impact(traffic, "rescaling", elastic=False)
        assert flows(impact(traffic, "rescaling", weighting="offered")) == flows(inelastic)

    def test_under_kuijia_only_victims_of_inelastic_traffic_lose(self) -> None:
        found = impact(figure_1(800), "kuijia", elastic=False)
        assert flows(found) == {"f1": 200, "f2": 200, "f3": 800, "f4": 800}
        assert found.dropped.sum() == pytest.approx(400)


class TestSums:
    def test_roles_apart(self) -> None:
        found = impact(figure_1(800), "kuijia")
        victims, direct = found.of_role(Role.VICTIM), found.of_role(Role.DIRECT)
        assert (victims.sent, victims.goodput, victims.congestion_loss) == pytest.approx((800, 400, 400))
        assert (direct.sent, direct.goodput, direct.congestion_loss) == pytest.approx((1600, 1600, 0))
        assert victims.failure_loss == direct.failure_loss == 0
        assert np.count_nonzero(found.overloaded) == 3  # s1-s4 and both links of the way through s3

    def test_what_is_withheld_is_lost_by_the_failure_not_by_congestion(self) -> None:
        victims = impact(figure_1(800), "precomputed").of_role(Role.VICTIM)
        assert (victims.sent, victims.failure_loss, victims.congestion_loss) == pytest.approx((800, 400, 0))

    def test_a_pair_without_tunnels_loses_all(self) -> None:
        found = impact(figure_1(800), "kuijia", cut=Failure("s4", nodes=("s4",)))
        assert found.of_role(Role.VICTIM).failure_loss == pytest.approx(2400)
        assert found.pair_goodput.tolist() == [0]

    def test_indirect_traffic_shares_a_link_with_direct_traffic_only(self) -> None:
        # a's traffic moves from a-d to a-b-d; b-c-d shares no link with it, but shares c-d with traffic that shares b-d
        # with it.
        names = ("a", "b", "c", "d", "e")
        ends = [("a", "d"), ("a", "b"), ("b", "d"), ("d", "c"), ("c", "e"), ("e", "d")]
        topology = Topology("drawn", names, tuple(Link(*end, 10.0) for end in ends))

        def pair(number: int, *paths: tuple[str, ...]) -> PairPlan:
            tunnels = tuple(
                Tunnel(16 + 2 * number + position, path, 4.0 * (position == 0), 1.0 * (position == 0))
                for position, path in enumerate(paths)
            )
            return PairPlan(paths[0][0], paths[0][-1], 4.0, 4.0, tunnels)

        pairs = (
            pair(0, ("a", "d"), ("a", "b", "d")),
            pair(1, ("b", "d", "c")),
            pair(2, ("d", "c", "e")),
            pair(3, ("e", "d")),
        )
        traffic = PlannedTraffic.of(Plan(topology, pairs, "any", 0.0, "none", 0.0))
        found = impact(traffic, "kuijia", cut=Failure("a-d", edges=(("a", "d"),)))
        role = dict(
            zip(
                found.rerouting.pair[found.rerouting.offered > 0].tolist(),
                found.role[found.rerouting.offered > 0].tolist(),
                strict=True,
            )
        )
        assert role == {0: Role.VICTIM, 1: Role.DIRECT, 2: Role.INDIRECT, 3: Role.UNTOUCHED}

    @pytest.mark.parametrize(("rate", "role"), [(0.0, Role.UNTOUCHED), (0.5, Role.INDIRECT), (5.0, Role.INDIRECT)])
    def test_only_traffic_that_is_sent_gives_others_a_role(self, rate: float, role: Role) -> None:
        # s's traffic moves to s-b-t; x-b-t meets it on b-t, and x-b meets that on x-b.
        ends = (("s", "a"), ("a", "t"), ("s", "b"), ("b", "t"), ("x", "b"))
        topology = Topology("met", ("s", "a", "b", "t", "x"), tuple(Link(*end, 10.0) for end in ends))
        moving = (Tunnel(16, ("s", "a", "t"), 4.0, 1.0), Tunnel(17, ("s", "b", "t"), 0.0, 0.0))
        pairs = (
            PairPlan("s", "t", 4.0, 4.0, moving),
            PairPlan("x", "t", 5.0, rate, (Tunnel(18, ("x", "b", "t"), rate, 1.0),)),
            PairPlan("x", "b", 2.0, 2.0, (Tunnel(19, ("x", "b"), 2.0, 1.0),)),
        )
        traffic = PlannedTraffic.of(Plan(topology, pairs, "any", 0.0, "none", 0.0))
        found = impact(traffic, "kuijia", cut=Failure("s-a", edges=(("s", "a"),)))
        of_pair = dict(zip(found.rerouting.pair.tolist(), found.role.tolist(), strict=True))
        assert (of_pair[0], of_pair[1], of_pair[2]) == (Role.VICTIM, Role.DIRECT, role)
        assert found.role.tolist().count(Role.VICTIM) == 1

    def test_an_answer_for_another_plan_is_refused(self) -> None:
        with pytest.raises(ValueError, match="a rerouting of other traffic"):
            FailureModel(figure_1(1)).impact(Kuijia().reroute(figure_1(1), CUT))


@given(st.data())
def test_whatever_is_sent_arrives_or_is_accounted_for(data: st.DataObject) -> None:
    traffic = PlannedTraffic.of(data.draw(plans()))
    model = FailureModel(
        traffic, elastic=data.draw(st.booleans()), weighting=data.draw(st.sampled_from(["equal", "offered"]))
    )
    scheme = data.draw(st.sampled_from(["kuijia", "rescaling", "rescaling-renormalised"]))
    found = model.impact(make_scheme(scheme).reroute(traffic, data.draw(failures(traffic.plan.topology))))
    sums = [found.of_role(role) for role in Role]
    scale = max(1.0, traffic.sent.sum()) * ROUNDING
    assert sum(each.sent for each in sums) == pytest.approx(traffic.sent.sum(), abs=scale)
    for each in sums:
        assert each.sent == pytest.approx(each.failure_loss + each.congestion_loss + each.goodput, abs=scale)
    assert found.pair_goodput.sum() == pytest.approx(sum(each.goodput for each in sums), abs=scale)


@given(st.data())
def test_under_kuijia_aboriginal_traffic_of_a_plan_within_capacity_loses_nothing(data: st.DataObject) -> None:
    traffic = PlannedTraffic.of(data.draw(plans(classes=1)))
    model = FailureModel(traffic, elastic=data.draw(st.booleans()))
    found = model.impact(Kuijia().reroute(traffic, data.draw(failures(traffic.plan.topology))))
    aboriginal = found.role >= Role.DIRECT
    assert_allclose(found.goodput[aboriginal], found.rerouting.offered[aboriginal], rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.slow
@given(st.data())
def test_kuijia_and_rescaling_lose_the_same_to_the_failure(data: st.DataObject) -> None:
    traffic = PlannedTraffic.of(data.draw(plans()))
    failure = data.draw(failures(traffic.plan.topology))
    model = FailureModel(traffic)
    ours, others = (model.impact(scheme.reroute(traffic, failure)) for scheme in (Kuijia(), Rescaling()))
    assert (ours.failure_loss == others.failure_loss).all()


@pytest.mark.slow
@given(plans())
def test_without_a_failure_nothing_changes(plan: Plan) -> None:
    traffic = PlannedTraffic.of(plan)
    found = FailureModel(traffic).impact(Precomputed().reroute(traffic, NO_FAILURE))
    assert_allclose(found.pair_goodput, found.before, rtol=ROUNDING)
    assert (found.role == Role.UNTOUCHED).all()
