"""Gaps in probes: any order of arrival gives the packets that never came, and when they were sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from testbed.chaos.oracle import Loss, ProbeFlow
from testbed.chaos.probes import Probe, ProbeCount, probe_result, without_probe
from testbed.traffic.recorder_program import FlowRecord
from tests.kuijia_app.plans import motivation_plan

arrivals = st.lists(st.integers(0, 30), min_size=1, max_size=60)


def recorded(numbers: list[int]) -> FlowRecord:
    record = FlowRecord(numbers[0], numbers[0] * 1000)
    for number in numbers[1:]:
        record.add(number, number * 1000)
    return record


@given(arrivals)
def test_gaps_are_exactly_what_never_came(numbers: list[int]) -> None:
    record = recorded(numbers)
    first = numbers[0]
    came = {number for number in numbers if number >= first}
    missing = {number for low, high, *_ in record.gaps for number in range(low, high + 1)}
    assert missing == set(range(first, max(came) + 1)) - came
    assert record.came == len(came)
    assert record.came + record.twice == sum(number >= first for number in numbers)
    assert all(before < low * 1000 and high * 1000 < after for low, high, before, after in record.gaps)


def test_losses_have_the_times_at_which_they_were_sent() -> None:
    record = recorded([2, 3, 6])
    found = probe_result({4: 9, 5: 3}, {4: record.as_json()}, ended_at=9e-6)
    assert found.counts == (ProbeCount(4, 9, 3, 0, 0), ProbeCount(5, 3, 0, 0, 0))
    assert [(loss.flow, loss.packets) for loss in found.losses] == [(4, 2), (4, 2), (4, 2), (5, 3)]
    assert found.losses[1] == Loss(4, 4e-6, 5e-6, 2)
    assert found.losses[2] == Loss(4, 7e-6, 8e-6, 2)


def test_tunnels_that_no_flow_is_hashed_to_are_told() -> None:
    plan = motivation_plan()
    probes = [
        Probe(ProbeFlow(number, "s1", "s4", 0, tunnel.nodes), "10.0.1.2", 30000, 0)
        for number, tunnel in enumerate(plan.tunnels)
    ]
    assert without_probe(plan, probes) == ()
    assert without_probe(plan, probes[1:]) == ("s1-s2-s4 of class 0",)
