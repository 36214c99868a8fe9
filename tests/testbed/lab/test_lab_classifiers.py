"""Real packets without any mark: the ports of two flows of one pair decide which keeps its rate after a cut."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from te_solver.model.plan import Plan
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.traffic.iperf import IperfFlow, IperfRun
from testbed.traffic.ticks import TickFlow
from tests.kuijia_app.plans import motivation_plan

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.slow]

CAPACITY, RATE = 10.0, 7.0
"""Mbit/s: a link carries one of the flows, but not both."""

HIGH_PORT, LOW_PORT = 5301, 5302
SECONDS, SETTLE, WINDOW = 40, 2.0, 3.0

LAYOUT = f"""\
base: four
classifiers:
  - {{class: 0, protocol: udp, destination_port: {HIGH_PORT}}}
  - {{class: 0, protocol: tcp, destination_port: {HIGH_PORT}}}
"""

REVERSED = f"""\
base: four
classifiers:
  - {{class: 1, protocol: tcp, destination_port: 80}}
  - {{class: 1, source: 10.0.9.0/24}}
  - {{class: 1, protocol: udp, destination_port: {LOW_PORT}}}
  - {{class: 0, protocol: udp, destination_port: 5303}}
unmatched: 0
"""


def plan() -> Plan:
    """Return a plan for figure 1 without s3: high traffic on the direct link, low traffic over s2."""
    whole = motivation_plan()
    (pair,) = whole.pairs
    over_s2, direct, _ = pair.tunnels
    high = (replace(over_s2, weight=0.0, rate=0.0), replace(direct, weight=1.0, rate=RATE))
    low = (replace(over_s2, weight=1.0, rate=RATE), replace(direct, weight=0.0, rate=0.0))
    pairs = (replace(pair, tunnels=high), replace(pair, tunnels=low, priority=1))
    return replace(whole, topology=whole.topology.with_capacity(CAPACITY), pairs=pairs)


def rates(run: IperfRun) -> dict[str, float]:
    """Return the goodput of a window, in Mbit/s."""
    time.sleep(SETTLE)
    run.live_goodput()
    time.sleep(WINDOW)
    return run.live_goodput()


def test_of_two_flows_of_a_pair_that_share_a_full_link_that_of_the_higher_class_keeps_its_rate(tmp_path: Path) -> None:
    path = tmp_path / "ports.yaml"
    path.write_text(LAYOUT)
    flows = [
        IperfFlow(name, "s1", "s4", 40000 + port, port, "udp", RATE)
        for name, port in (("high", HIGH_PORT), ("low", LOW_PORT))
    ]
    with Lab(plan(), LabOptions(layout=str(path)), lambda _: None) as lab, IperfRun(lab.network, flows, SECONDS) as run:
        before = rates(run)
        lab.fail("s1", "s4")
        after = rates(run)
    assert min(before.values()) > 0.9 * RATE
    assert after["high"] > 0.9 * RATE
    assert after["low"] < 0.7 * RATE


def test_no_packet_is_lost_while_running_switches_change_to_another_table_of_classifiers(tmp_path: Path) -> None:
    path = tmp_path / "ports.yaml"
    path.write_text(LAYOUT)
    with Lab(plan(), LabOptions(layout=str(path)), lambda _: None) as lab, ExitStack() as stack:
        source, target = lab.network.host("s1"), lab.network.host("s4")
        flows = [
            stack.enter_context(TickFlow(source, target, str(source.address), 20000 + port, port, 0.002, 200))
            for port in (HIGH_PORT, LOW_PORT, 5303)
        ]
        for flow in flows:
            flow.start()
        for text in (REVERSED, LAYOUT):
            path.write_text(text)
            lab.restart_controller()
            time.sleep(1)
        records = [flow.stop() for flow in flows]
    for record in records:
        arrived = {number for number, _ in record.arrivals}
        assert [number for number in range(len(record.sent_at) - 100) if number not in arrived] == []
