"""Conventional rescaling, in both ways of moving the hash ranges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from te_solver.model.plan import Plan
from te_solver.schemes.models.rescaling import Kuijia, RenormalisedRescaling, Rescaling
from te_solver.schemes.models.traffic import PlannedTraffic
from tests.te_solver.random_plans import failures, plans
from tests.te_solver.schemes.cases import about, cut, parallel, sub_flows


def test_the_papers_example_leaves_weights_of_six_and_four_tenths_of_one_priority() -> None:
    answer = Rescaling().reroute(parallel(0.5, 0.3, 0.2), cut(1))
    assert answer.tunnel_rates.tolist() == pytest.approx([0, 60, 40])
    assert sub_flows(answer) == about({(2, 2): 30, (3, 3): 20, (1, 2): 30, (1, 3): 20})
    assert answer.victim.tolist() == [False, False, True, True]
    assert answer.level.tolist() == [0, 0, 0, 0]


def test_renormalised_ranges_also_move_flows_whose_tunnel_is_alive() -> None:
    # Before: [0, .5) [.5, .8) [.8, 1); after: tunnel 2 has [0, .6), tunnel 3 the rest.
    answer = RenormalisedRescaling().reroute(parallel(0.5, 0.3, 0.2), cut(1))
    assert answer.tunnel_rates.tolist() == pytest.approx([0, 60, 40])
    assert sub_flows(answer) == about({(2, 2): 10, (3, 3): 20, (1, 2): 50, (2, 3): 20})
    assert answer.moved.tolist() == [False, False, True, True]
    assert answer.victim.tolist() == [False, False, True, False]


def test_a_range_in_the_middle_is_filled_from_both_sides() -> None:
    # Before: [0, .2) [.2, .6) [.6, 1); after: tunnel 1 has [0, 1/3), tunnel 3 the rest.
    answer = RenormalisedRescaling().reroute(parallel(0.2, 0.4, 0.4), cut(2))
    assert sub_flows(answer) == about({(1, 1): 20, (3, 3): 40, (2, 1): 40 / 3, (2, 3): 80 / 3})


def test_alive_tunnels_without_weight_get_equal_ranges() -> None:
    answer = RenormalisedRescaling().reroute(parallel(1, 0, 0), cut(1))
    assert sub_flows(answer) == about({(2, 2): 0, (3, 3): 0, (1, 2): 50, (1, 3): 50})


@given(plans(), st.data())
def test_both_ways_and_kuijia_offer_every_tunnel_the_same(plan: Plan, data: st.DataObject) -> None:
    traffic = PlannedTraffic.of(plan)
    failure = data.draw(failures(plan.topology))
    pre_split = Rescaling().reroute(traffic, failure).tunnel_rates
    renormalised = RenormalisedRescaling().reroute(traffic, failure).tunnel_rates
    np.testing.assert_array_equal(Kuijia().reroute(traffic, failure).tunnel_rates, pre_split)
    np.testing.assert_allclose(renormalised, pre_split, rtol=1e-9, atol=1e-9)


@given(plans(), st.data())
def test_nobody_is_demoted(plan: Plan, data: st.DataObject) -> None:
    traffic = PlannedTraffic.of(plan)
    failure = data.draw(failures(plan.topology))
    for scheme in (Rescaling(), RenormalisedRescaling()):
        assert not scheme.reroute(traffic, failure).demoted.any()
