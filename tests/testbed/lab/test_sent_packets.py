"""Probes of links are left out of what pings are counted by, and nothing else is."""

from __future__ import annotations

from collections import Counter

from tests.testbed.lab.sent_packets import PINGS, without_probes


def test_probes_are_left_out_of_control_queues_alone() -> None:
    counted = Counter({("s2", "control"): 2, ("s3", "victim"): 1, ("s4", "control"): PINGS + 1})
    assert without_probes(counted, "control") == {("s3", "victim"): 1, ("s4", "control"): PINGS}
