"""A run by several threads: results of one thread to the bit, and refusals of what cannot be parted."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import astuple, replace

import numpy as np
import pytest

from kuijia_base.errors import UnsoundError
from simulator.packet.credited import ExpressPass, FlashPass, Ports
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Red, Threshold
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.transports import Congestion, ConstantRate, Tcp, Transport
from tests.sanitized import COMPILER
from tests.simulator.packet.parts import compare

SETTING = Setting(seed=3, own_streams=True)

TRANSPORTS: dict[str, Transport] = {
    "flashpass": FlashPass(wait=0.03),
    "flashpass-early": FlashPass(wait=0.03, early=True),
    "cubic": Tcp(Congestion.CUBIC),
    "new-reno": Tcp(Congestion.NEW_RENO, sack=False, handshake=True),
    "bbr": Tcp(Congestion.BBR),
    "dctcp": Tcp(Congestion.DCTCP, ack_every=2),
}

SITES, HOSTS, FLOWS = 3, 4, 60


def of_wan(name: str, load: float, setting: Setting) -> Simulation:
    """Return flows between the hosts of three sites, 5 to 10 ms apart, that offer `load` on average for 0.4 s."""
    network = Network()
    routers = [network.add_switch() for _ in range(SITES)]
    hosts = [network.add_host() for _ in range(SITES * HOSTS)]
    queueing = Fifo(60_000, Threshold(20_000) if name == "dctcp" else None)
    for place, host in enumerate(hosts):
        for ends in ((host, routers[place % SITES]), (routers[place % SITES], host)):
            network.connect(ends, 100.0, 1e-5, queueing=queueing)
    for one in range(SITES):
        for other in set(range(SITES)) - {one}:
            network.connect((routers[one], routers[other]), 300.0, 5e-3 * max(1, one + other - 1), queueing=queueing)
    transport = TRANSPORTS[name]
    if isinstance(transport, FlashPass):
        network = Ports().on(network)
    drawn = np.random.default_rng(setting.seed)
    source = drawn.integers(len(hosts), size=FLOWS)
    target = (source + drawn.integers(1, len(hosts), size=FLOWS)) % len(hosts)
    size = drawn.exponential(load * len(hosts) * 100e6 / 8 * 0.4 / FLOWS, FLOWS).astype(np.int64) + 1
    start = drawn.uniform(0, 0.3, FLOWS)
    nodes = np.array(hosts)
    return Simulation(network, [Flows.of(nodes[source], nodes[target], transport, size=size, start=start)], setting)


def pair(transport: Transport, queueing: Fifo | None = None, loss: float = 0.0) -> tuple[Network, Flows]:
    """Return two hosts at the ends of a link of 1 ms, and two flows between them."""
    network = Network()
    one, other = network.add_host(), network.add_host()
    for ends in ((one, other), (other, one)):
        network.connect(ends, 100.0, 1e-3, queueing=queueing or Fifo(100_000), loss=loss)
    return network, Flows.of(np.array([one, other]), np.array([other, one]), transport, size=500_000)


def digest(simulation: Simulation) -> str:
    """Return a digest of all results that are the same for any number of threads."""
    found = hashlib.sha256()
    results = (
        simulation.flow_results(),
        simulation.link_results(),
        simulation.flow_states(),
        simulation.credit_results(),
    )
    for column in (column for result in results for column in astuple(result)):
        found.update(np.ascontiguousarray(column).tobytes())
    totals = replace(simulation.totals(), allocated=0)
    found.update(repr((simulation.now, simulation.unfinished, totals)).encode())
    return found.hexdigest()


@pytest.mark.parametrize("load", [0.4, 0.9])
@pytest.mark.parametrize("name", TRANSPORTS)
def test_two_threads_give_the_results_of_one_to_the_bit(name: str, load: float) -> None:
    one, two = (of_wan(name, load, replace(SETTING, threads=threads)) for threads in (1, 2))
    for until in (0.05, 0.31415, 0.4):
        assert one.run(until)
        assert two.run(until)
        assert digest(one) == digest(two)
    assert one.totals().data_arrived > 1_000


def test_two_threads_run_until_nothing_is_left_as_one_does() -> None:
    network, flows = pair(Tcp(first_timeout=0.1), Fifo(20_000))
    one, two = (Simulation(network, [flows], replace(SETTING, threads=threads)) for threads in (1, 2))
    assert one.run()
    assert two.run()
    assert two.unfinished == 0
    assert digest(one) == digest(two)


def test_a_receiver_does_not_answer_what_comes_after_its_sender_has_ended_far_away() -> None:
    """A segment sent again 1.15 ms after the first one arrives 0.15 ms after the end of the sender, 1 ms away."""
    network, flows = pair(Tcp(first_timeout=1.15e-3, min_timeout=1e-3))
    short = replace(flows, size=np.full(2, 1_000))
    one, two = (Simulation(network, [short], replace(SETTING, threads=threads)) for threads in (1, 2))
    assert one.run()
    assert two.run()
    assert one.flow_results().retransmitted.tolist() == [1, 1]
    assert one.totals().made == 2 * 3  # the segment, its copy, one acknowledgement
    assert digest(one) == digest(two)


def test_flows_with_streams_of_their_own_draw_the_same_beside_others() -> None:
    network, both = pair(FlashPass(wait=0.01))
    first = Flows.of(both.source[:1], both.target[:1], both.transport, size=both.size[:1])
    completions = []
    for flows in (both, first):
        simulation = Simulation(network, [flows], SETTING)
        assert simulation.run()
        completions.append(simulation.flow_results().completion[0])
    assert completions[0] == completions[1]


@pytest.mark.parametrize(
    ("setting", "transport", "queueing", "loss", "why"),
    [
        (SETTING, ExpressPass(), None, 0.0, "ends of the transport"),
        (replace(SETTING, own_streams=False), FlashPass(wait=0.01), None, 0.0, "one stream"),
        (SETTING, Tcp(), Fifo(100_000, Red(5_000, 50_000)), 0.0, "at random"),
        (SETTING, Tcp(), Fifo(100_000, random_drop=True), 0.0, "at random"),
        (SETTING, Tcp(), None, 0.01, "lossy"),
        (replace(SETTING, load_balancer=LOAD_BALANCERS["ecmp"]), Tcp(), None, 0.0, "load balancer"),
        (replace(SETTING, probed=[0], probe_every=0.1), Tcp(), None, 0.0, "sampled"),
        (replace(SETTING, outages=[Outage(0, 0.01)]), Tcp(), None, 0.0, "fails"),
    ],
)
def test_what_cannot_be_parted_is_refused(
    setting: Setting, transport: Transport, queueing: Fifo | None, loss: float, why: str
) -> None:
    network, flows = pair(transport, queueing, loss)
    with pytest.raises(UnsoundError, match=why):
        Simulation(network, [flows], replace(setting, threads=2))


def test_a_network_without_long_links_is_refused() -> None:
    network, flows = pair(ConstantRate(10.0))
    near = replace(network, links=[replace(link, delay=1e-6) for link in network.links])
    with pytest.raises(UnsoundError, match=r"0\.1 ms"):
        Simulation(near, [flows], replace(SETTING, threads=2))


def test_a_run_in_parts_is_not_steered() -> None:
    network, flows = pair(Tcp())
    simulation = Simulation(network, [flows], replace(SETTING, threads=2))
    for steer in (lambda: simulation.fail(0), lambda: simulation.add_flows(flows), simulation.flow_counters):
        with pytest.raises(UnsoundError, match="steered"):
            steer()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed")
def test_threads_do_not_race_and_agree_with_one_on_arbitrary_networks() -> None:
    assert compare(60).startswith("60 cases, ")
