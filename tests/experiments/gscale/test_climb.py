"""TCP after a failure in the fluid model climbs as fast as additive increase does on links of 1 Gbit/s."""

from __future__ import annotations

import pytest

from experiments.experiment import Settings
from experiments.gscale.cases import LINKS, Case, grid
from experiments.gscale.exhibits import exhibits_of
from experiments.gscale.models import AFTER, BACKOFF, CUT, climbs, compute
from experiments.gscale.table4 import convergence_seconds
from simulator.flow.model import FluidFlows

SETTINGS = Settings("flow", 20.0, "os-ken", 64, 1, quick=False, seed=1)


@pytest.mark.parametrize("capacity", [20.0, 1000.0])
@pytest.mark.parametrize("round_trip", [0.02, 0.03])
def test_what_a_victim_lost_comes_back_by_a_segment_for_each_round_trip(capacity: float, round_trip: float) -> None:
    planned, rerouted = (FluidFlows.of([[link]], capacity / 2) for link in (0, 1))
    (series,) = climbs([capacity, capacity], [0], planned, rerouted, round_trip)
    whole = next(
        start
        for start, goodput in zip(series.start, series.goodput, strict=True)
        if start > CUT and goodput > 0.998 * capacity / 2
    )
    climbed = (1 - BACKOFF) * 500  # Mbit/s of links of 1 Gbit/s
    segment = 1460 * 8 / 1e6
    assert whole - CUT == pytest.approx(climbed / (segment / round_trip**2), abs=0.5)
    assert series.goodput[0] == pytest.approx(capacity / 2)


def test_flows_come_to_the_rates_that_losses_are_told_from_and_settle() -> None:
    for scheme in ("rescaling", "kuijia"):
        result = compute(Case("tcp", 1.6, LINKS[0], scheme, 1), SETTINGS)
        for flow in result.flows:
            assert flow.series.goodput[0] == pytest.approx(flow.before, rel=1e-3)
            assert flow.series.goodput[-1] == pytest.approx(flow.after, rel=1e-2, abs=0.01)
        seconds = convergence_seconds(result)
        assert seconds is not None
        assert seconds < AFTER.end - CUT


def test_table_4_has_rescaling_take_long_and_kuijia_not_where_demands_overload() -> None:
    runs = [compute(case, SETTINGS) for case in grid(("tcp",), (1.6,), repetitions=1)]
    (table,) = exhibits_of(runs, ["table4-roles"])
    times = {line.label: line.at(1.6).value for line in table.lines}
    for link in LINKS:
        rescaling, kuijia = (times[f"{scheme}, {'-'.join(link)}"] for scheme in ("rescaling", "kuijia"))
        assert rescaling is not None
        assert kuijia is not None
        assert rescaling > kuijia + 1
    assert any("round trip of 20 ms" in remark for remark in table.remarks)


def test_udp_and_two_classes_have_no_way_to_go() -> None:
    assert compute(Case("udp", 1.2, LINKS[0], "kuijia", 1), SETTINGS).flows[0].series.start == ()
