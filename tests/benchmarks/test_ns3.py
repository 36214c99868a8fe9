"""The packet model and ns-3 agree, where ns-3 is installed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.ns3.agreement import GOODPUT, QUEUE, agreements, loaded, scenarios
from benchmarks.ns3.peer import Ns3MissingError, Ns3Program, program
from benchmarks.ns3.scenes import measured
from simulator.packet.transports import Congestion


@pytest.fixture(scope="module")
def ns3() -> Iterator[Ns3Program]:
    try:
        with program() as built:
            yield built
    except Ns3MissingError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("name", ["deep-newreno-1", "deep-cubic-2", "deep-dctcp-1", "deep-dctcp-2"])
def test_goodput_and_mean_queue_of_a_dumbbell_are_those_of_ns_3(ns3: Ns3Program, name: str) -> None:
    scenario = next(scenario for scenario in scenarios() if scenario.name == name)
    short = replace(scenario, scenes=[replace(scene, warm_up=5.0, until=20.0) for scene in scenario.scenes])
    found = list(agreements(short, ns3))
    assert {agreement.quantity for agreement in found} == {GOODPUT, QUEUE}
    assert [agreement for agreement in found if not agreement.met] == []


def test_dctcp_flows_of_a_leaf_spine_network_complete_when_they_do_in_ns_3(ns3: Ns3Program) -> None:
    scene = loaded(Congestion.DCTCP, seed=1)
    scene = replace(scene, flows=scene.flows[:300])
    ours, theirs = measured(scene).completion, np.array(scene.in_ns3(ns3).completion)
    assert min(ours.min(), theirs.min()) > 0
    assert np.median(ours) == pytest.approx(np.median(theirs), rel=0.05)
    assert ours.mean() == pytest.approx(theirs.mean(), rel=0.1)
