"""The packet model and ns-3 agree, where ns-3 is installed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.ns3.peer import FlowLine, Ns3MissingError, Program, program
from benchmarks.ns3.scenes import Scene, measured
from simulator.packet.transports import Congestion


@pytest.fixture(scope="module")
def ns3() -> Iterator[Program]:
    try:
        with program() as built:
            yield built
    except Ns3MissingError as missing:
        pytest.skip(str(missing))


def dumbbell(congestion: Congestion, flows: int) -> Scene:
    return Scene(
        congestion=congestion,
        flows=[FlowLine(pair, flows + pair, 0, 0.013 * pair) for pair in range(flows)],
        hosts=flows,
        fabric=None,
        host_rate=200,
        rate=20,
        delay=5e-3,
        limit=100,
        threshold=20 if congestion is Congestion.DCTCP else 0,
        window=5000,
        ack_every=2,
        min_timeout=0.2,
        warm_up=5,
        until=20,
    )


@pytest.mark.parametrize("congestion", Congestion)
@pytest.mark.parametrize("flows", [1, 2])
def test_goodput_and_mean_queue_of_a_dumbbell_are_those_of_ns_3(
    ns3: Program, congestion: Congestion, flows: int
) -> None:
    scene = dumbbell(congestion, flows)
    ours, theirs = measured(scene), scene.in_ns3(ns3)
    assert ours.goodput.sum() == pytest.approx(np.sum(theirs.goodput), rel=0.02)
    assert ours.queue == pytest.approx(np.array(theirs.queue), rel=0.1)
