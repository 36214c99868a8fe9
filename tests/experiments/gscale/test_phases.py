"""Why single UDP runs under rescaling stray from the fluid model (docs/gscale.md): packets that come in step.

The full link 4-7 of the run that strays most, 2-3 down at a demand of 1.0: eight flows of 3.17 Mbit/s, which lose the
same share each in the model. A flow's packets are evenly spaced. If those of all flows are, each flow finds the queue
always full or always with room, depending on how the flows happened to start.
"""

from __future__ import annotations

import random
from itertools import chain
from statistics import fmean

from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.transports import ConstantRate

CAPACITY, FLOWS, OFFERED = 20.0, 8, 3.167
PROPORTIONAL = 1 - CAPACITY / (FLOWS * OFFERED)
STARTS = range(1, 6)


def losses(seed: int, apart: float) -> list[float]:
    """Return the loss of each flow in 5 s; rates are evenly spread, up to `apart` (a share) from the mean."""
    network, chance = Network(), random.Random(seed)
    near, far = network.add_switch(), network.add_switch()
    network.connect((near, far), CAPACITY, 1e-5, queueing=Fifo(limit=50 * 1518))
    network.connect((far, near), CAPACITY, 1e-5)
    rates = [OFFERED * (1 + apart * (2 * number / (FLOWS - 1) - 1)) for number in range(FLOWS)]
    groups = []
    for rate in rates:
        source, target = network.add_host(), network.add_host()
        for ends in ((source, near), (near, source), (far, target), (target, far)):
            network.connect(ends, 1000, 1e-5)
        groups.append(Flows.of(source, target, ConstantRate(rate), start=chance.uniform(0, 0.004)))
    simulation = Simulation(network, groups, Setting(seed=seed))
    simulation.run(2.0)
    before = simulation.flow_results().goodput.copy()
    simulation.run(7.0)
    got = (simulation.flow_results().goodput - before) * 8 / 1e6 / 5
    return [1 - float(each) / rate for each, rate in zip(got, rates, strict=True)]


def test_flows_in_step_lose_all_or_nothing_and_others_alike() -> None:
    in_step = [losses(seed, 0.0) for seed in STARTS]
    drifting = [losses(seed, 0.02) for seed in STARTS]
    for runs in (in_step, drifting):
        assert abs(fmean(chain(*runs)) - PROPORTIONAL) < 0.02  # together they lose the same
    assert all(max(run) - min(run) > 0.4 for run in in_step)  # measured on switches: from 0.02 to 0.63
    assert all(abs(loss - PROPORTIONAL) < 0.1 for loss in chain(*drifting))
