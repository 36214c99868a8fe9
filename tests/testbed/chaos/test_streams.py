"""Flows beside the probes leave room for them, and their samples tell what they got."""

from __future__ import annotations

import pytest

from kuijia_app.tables.queues import PLAIN_LAYOUT
from testbed.chaos.load import Stream, streams_of
from testbed.traffic.iperf import IperfFlow
from tests.kuijia_app.plans import motivation_plan


def test_all_flows_together_take_a_tenth_of_the_smallest_link() -> None:
    plan = motivation_plan()
    streams = streams_of(plan, PLAIN_LAYOUT)
    assert {stream.kind for stream in streams} == {"tcp", "udp"}
    smallest = min(link.capacity for link in plan.topology.links)
    assert sum(stream.rate for stream in streams) == pytest.approx(smallest / 10)


def test_a_flow_without_samples_got_nothing() -> None:
    stream = Stream("s1", "s4", "tcp", 1.0, 0)
    assert (stream.mean, stream.silent) == (0.0, 0)
    stream.samples += [(1.0, 0.0), (2.0, 1.0)]
    assert (stream.mean, stream.silent) == (0.5, 1)


def test_tcp_keeps_to_its_pace_and_udp_has_none() -> None:
    command = IperfFlow("f", "s1", "s4", 1, 2, pace=1.5).client_command("10.0.0.1", 5, 1)
    assert command[command.index("--fq-rate") + 1] == "1500000"
    with pytest.raises(ValueError, match="takes no pace"):
        IperfFlow("f", "s1", "s4", 1, 2, "udp", 1.0, pace=1.0)
