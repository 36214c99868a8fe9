"""Runs that differ only in the link and the protocol are measured in one lab."""

from __future__ import annotations

from dataclasses import replace

from experiments.gscale.bench import BenchKey
from experiments.gscale.cases import Case


def test_links_and_protocols_share_a_lab_but_not_demands_schemes_and_queues() -> None:
    case = Case("tcp", 1.2, ("7", "9"), "kuijia", 1)
    key = BenchKey.of(case)
    assert BenchKey.of(replace(case, traffic="udp", link=("2", "3"))) == key
    for other in (replace(case, traffic="priorities"), replace(case, demand=1.0), replace(case, scheme="rescaling")):
        assert BenchKey.of(other) != key
