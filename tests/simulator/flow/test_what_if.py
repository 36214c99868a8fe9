"""All failures under all schemes: each scheme gets the same ones, and its sums agree with the single failures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.flow.failure_impact import FailureModel, Role
from simulator.flow.what_if import Contender, loss_share
from te_solver.model.failures import single_links
from te_solver.model.plan import Plan
from te_solver.schemes.models.rescaling import Kuijia, Rescaling
from te_solver.schemes.models.traffic import PlannedTraffic
from tests.simulator.flow.outcomes import what_if
from tests.simulator.flow.test_failure_impact import figure_1
from tests.te_solver.random_plans import plans
from tests.te_solver.schemes.cases import cut, parallel_plan


def test_all_schemes_meet_the_same_failures_in_the_same_order() -> None:
    traffic = figure_1(800)
    failures = tuple(single_links(traffic.plan.topology))
    found = list(what_if([Contender(Kuijia(), traffic), Contender(Rescaling(), traffic)], failures))
    names = [failure.name for failure in failures]
    assert [(each.scheme, each.failure) for each in found] == [
        (scheme, name) for scheme in ("kuijia", "rescaling") for name in names
    ]


def test_a_failure_has_its_loss_its_churn_and_its_overloaded_links() -> None:
    traffic = figure_1(800)
    cut = [failure for failure in single_links(traffic.plan.topology) if failure.name == "s2-s4"]
    (found,) = what_if([Contender(Kuijia(), traffic)], cut)
    assert loss_share(found.total()) == pytest.approx(400 / 2400)
    assert loss_share(found.total((Role.VICTIM,))) == pytest.approx(0.5)
    assert found.moved == pytest.approx(800)
    assert set(found.overloaded) == {("s1", "s4"), ("s1", "s3"), ("s3", "s4")}


def test_all_traffic_is_tcp_unless_it_is_stated_to_be_udp() -> None:
    """Under rescaling victims of TCP get their 400 on either link; 1200 of UDP lose a sixth on a link of 1000."""
    contender = Contender(Rescaling(), figure_1(800))
    (cut,) = (failure for failure in single_links(contender.traffic.plan.topology) if failure.name == "s2-s4")
    outcomes = (*what_if([contender], [cut]), *what_if([contender], [cut], elastic=False))
    assert [loss_share(each.total((Role.VICTIM,))) for each in outcomes] == pytest.approx([0, 1 / 6])


@pytest.mark.parametrize(("allocated", "hurt"), [(0.0, ()), (100.0, ()), (100.0 * (1 + 1e-12), ()), (105.0, (0,))])
def test_a_pair_is_hurt_by_any_loss_but_rounding(allocated: float, hurt: tuple[int, ...]) -> None:
    """Of two tunnels over links of 100 Mbit/s one fails: the other one carries all, but for 5 of 105."""
    traffic = PlannedTraffic.of(parallel_plan([0.5, 0.5], allocated))
    (found,) = what_if([Contender(Rescaling(), traffic)], [cut(1)])
    assert found.hurt == hurt


@pytest.mark.slow
@given(plans(), st.booleans())
def test_the_classes_together_are_what_arrives(plan: Plan, elastic: bool) -> None:  # noqa: FBT001  # hypothesis passes it
    traffic = PlannedTraffic.of(plan)
    failures = tuple(single_links(traffic.plan.topology))
    model = FailureModel(traffic, elastic=elastic)
    for failure, found in zip(
        failures, what_if([Contender(Kuijia(), traffic)], failures, elastic=elastic), strict=True
    ):
        goodput = sum(found.total(priority=priority).goodput for priority in traffic.classes)
        alone = model.impact(Kuijia().reroute(traffic, failure))
        assert goodput == pytest.approx(alone.pair_goodput.sum(), rel=1e-9, abs=1e-9)
