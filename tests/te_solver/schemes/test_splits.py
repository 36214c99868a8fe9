"""The failover order of pre-cut hash ranges: the ideal split for one failed tunnel, and exactly described for more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from te_solver.model.plan import Plan
from te_solver.schemes.models.interface import Scheme
from te_solver.schemes.models.rerouting import failover_order
from te_solver.schemes.models.rescaling import Kuijia, Rescaling
from te_solver.schemes.models.traffic import PlannedTraffic
from tests.te_solver.random_plans import failures, plans
from tests.te_solver.schemes.cases import about, cut, parallel, sub_flows


@pytest.mark.parametrize("scheme", [Kuijia(failover_order), Rescaling(failover_order)])
def test_what_was_promised_to_a_dead_tunnel_goes_to_the_heaviest(scheme: Scheme) -> None:
    # Of tunnel 1, 3/6 were promised to 2, 2/6 to 3, 1/6 to 4; of tunnel 2, 4/7 to 1, 2/7 to 3, 1/7 to 4.
    answer = scheme.reroute(parallel(0.4, 0.3, 0.2, 0.1), cut(1, 2))
    assert sub_flows(answer) == about(
        {(3, 3): 20, (4, 4): 10, (1, 3): 40 * 5 / 6, (1, 4): 40 / 6, (2, 3): 30 * 6 / 7, (2, 4): 30 / 7}
    )


def test_of_equally_heavy_tunnels_the_first_in_the_plan_serves() -> None:
    traffic = parallel(0.5, 0.5, 0, 0)
    assert Kuijia(failover_order).reroute(traffic, cut(1, 2)).tunnel_rates.tolist() == pytest.approx([0, 0, 100, 0])
    assert Kuijia().reroute(traffic, cut(1, 2)).tunnel_rates.tolist() == pytest.approx([0, 0, 50, 50])


@given(plans(), st.data())
def test_with_one_failed_tunnel_in_a_pair_it_is_the_split_by_original_weights(plan: Plan, data: st.DataObject) -> None:
    traffic = PlannedTraffic.of(plan)
    failure = data.draw(failures(plan.topology))
    ideal, ordered = Kuijia().reroute(traffic, failure), Kuijia(failover_order).reroute(traffic, failure)
    dead_in_pair = traffic.tunnels.sums((~ideal.damage.alive).astype(float))[traffic.tunnels.pair]
    one = dead_in_pair <= 1
    np.testing.assert_allclose(ordered.tunnel_rates[one], ideal.tunnel_rates[one], rtol=1e-9, atol=1e-9)


@given(plans(), st.data())
def test_every_failed_tunnel_s_traffic_arrives_somewhere_while_its_pair_has_a_tunnel(
    plan: Plan, data: st.DataObject
) -> None:
    traffic = PlannedTraffic.of(plan)
    answer = Kuijia(failover_order).reroute(traffic, data.draw(failures(plan.topology)))
    arrived = np.bincount(answer.origin, answer.offered, minlength=traffic.sent.size)
    cut_off = (answer.cut_off > 0)[traffic.tunnels.pair]
    np.testing.assert_allclose(arrived, np.where(cut_off, 0, traffic.sent), rtol=1e-9, atol=1e-9)
