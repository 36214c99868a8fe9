"""Small scenarios shared by several tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from simulator.packet.credited import ExpressPass, Finishing, FlashPass
from simulator.packet.faults import BlackHole, RandomDrop
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.packet.network import Network
from simulator.packet.queues import (
    Crosspoints,
    DropThresholds,
    Fifo,
    HashedCredits,
    Queueing,
    Red,
    RoundRobin,
    SharedBuffer,
    StrictPriority,
    Threshold,
    TokenBucket,
)
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import Bottleneck, LeafSpine, dumbbell, single_switch
from simulator.packet.transports import Congestion, ConstantRate, Tcp, Transport


def bottleneck(
    queueing: Queueing, *, pairs: int = 1, rate: float = 100.0, delay: float = 1e-3, loss: float = 0.0
) -> Network:
    """A dumbbell whose hosts are ten times as fast as the link between its switches."""
    return dumbbell(pairs, 10 * rate, delay / 2, Bottleneck(rate, delay, queueing, loss))


def bottleneck_link(network: Network) -> int:
    """The link that all data of a dumbbell crosses."""
    return len(network.links) - 2


def require_conserved(simulation: Simulation) -> None:
    """Assert that every packet has arrived, was dropped or lost, or is counted in flight."""
    totals = simulation.totals()
    links = simulation.link_results()
    assert totals.made == totals.arrived + totals.dropped + totals.lost + totals.in_flight
    assert totals.dropped == links.dropped_packets.sum()
    assert totals.lost == links.lost_packets.sum()
    assert (links.queued >= 0).all()
    assert (links.queued_peak >= links.queued).all()
    flows = simulation.flow_results()
    assert totals.data_arrived == flows.arrived.sum()
    assert (flows.sent >= flows.arrived + flows.dropped).all()
    if totals.in_flight == 0:
        assert (links.queued == 0).all()
        assert (links.on_link == 0).all()
        assert (flows.sent == flows.arrived + flows.dropped).all()


def queues() -> st.SearchStrategy[Fifo]:
    marking = st.sampled_from(
        [None, Threshold(3_000), Threshold(3_000, drops=True), Red(3_000, 20_000, weight=0.1), Red(1_000, 9_000)]
    )
    shaping = st.sampled_from([None, None, TokenBucket(50.0, 3_000)])
    return st.builds(
        Fifo,
        limit=st.sampled_from([1_600, 6_000, 40_000]),
        cell=st.sampled_from([1, 1, 64]),
        marking=marking,
        random_drop=st.booleans(),
        random_mark=st.booleans(),
        shaping=shaping,
    )


def queueings() -> st.SearchStrategy[Queueing]:
    several = st.lists(queues(), min_size=1, max_size=3)
    return st.one_of(
        queues(),
        st.builds(Crosspoints, queues(), st.booleans()),
        st.builds(HashedCredits, queues(), bins=st.integers(1, 3), hashed_anew_after=st.sampled_from([1e-5, 0.01])),
        st.builds(StrictPriority, several),
        st.builds(
            SharedBuffer, queues(), total=st.sampled_from([3_000, 50_000]), alpha=st.sampled_from([0.5, 1.0, 8.0])
        ),
        st.builds(DropThresholds, queues(), st.lists(st.sampled_from([1_600, 9_000]), min_size=1, max_size=3)),
        several.flatmap(
            lambda chosen: st.builds(
                RoundRobin,
                st.just(chosen),
                st.lists(st.integers(1, 3), min_size=len(chosen), max_size=len(chosen)),
            )
        ),
    )


def transports() -> st.SearchStrategy[Transport]:
    tcp = st.builds(
        lambda congestion, sack, **others: Tcp(congestion, sack or congestion is Congestion.BBR, **others),
        congestion=st.sampled_from(Congestion),
        sack=st.booleans(),
        handshake=st.booleans(),
        initial_window=st.sampled_from([1, 4, 10]),
        dctcp_least_window=st.sampled_from([0, 2]),
        first_timeout=st.just(0.05),
        min_timeout=st.sampled_from([0.0002, 0.01]),
        nic_packets=st.sampled_from([0, 1, 8]),
        grows_from=st.sampled_from([0.5, 1.0]),
        ack_every=st.integers(1, 3),
        ack_delay=st.just(0.001),
        copa_competes=st.booleans(),
        bbr_round_trip_window=st.sampled_from([0.01, 10.0]),
        bbr_probe=st.sampled_from([0.0, 0.002]),
        paced=st.booleans(),
        prior_acks=st.booleans(),
        resequencing=st.sampled_from([0.0, 0.0, 1e-4, 0.01]),
        in_order_hold=st.sampled_from([0.0, 5e-6, 0.001]),
        in_order_packets=st.sampled_from([1, 100]),
    )
    finishing = st.sampled_from(Finishing)
    flash = st.builds(
        FlashPass, timeout=st.just(0.01), early=st.booleans(), batch=st.sampled_from([1, 5]), finishing=finishing
    )
    express = st.builds(
        ExpressPass,
        timeout=st.just(0.01),
        early=st.booleans(),
        as_code=st.booleans(),
        floor=st.booleans(),
        counted=st.booleans(),
        early_stop=st.booleans(),
    )
    return (
        tcp
        | flash
        | express
        | st.builds(ConstantRate, rate=st.sampled_from([3.7, 90.0]), packet=st.sampled_from([100, 1500]))
    )


@st.composite
def simulations(draw: st.DrawFn, balancers: Sequence[str] = tuple(LOAD_BALANCERS)) -> Simulation:
    """Any queues, any transports, links that fail, load balancers of these names."""
    queueing = draw(queueings())
    network = draw(
        st.sampled_from(
            [
                single_switch(4, 100.0, 1e-5, queueing),
                LeafSpine(2, 2, 2, 100.0, 40.0, 3.3e-5).network(queueing),
            ]
        )
    )
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        count = draw(st.integers(1, 4))
        source = np.array(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
        groups.append(
            Flows.of(
                source,
                (source + draw(st.integers(1, 3))) % 4,
                draw(transports()),
                size=draw(st.lists(st.integers(1, 200_000), min_size=count, max_size=count)),
                start=draw(st.lists(st.sampled_from([0.0, 0.001, 0.0123]), min_size=count, max_size=count)),
                level=draw(st.lists(st.integers(0, 4), min_size=count, max_size=count)),
            )
        )
    outages = draw(
        st.lists(
            st.builds(
                Outage,
                link=st.integers(0, len(network.links) - 1),
                fails=st.sampled_from([0.0, 0.002, 0.01]),
                detected=st.sampled_from([0.0, 0.001]),
                heals=st.sampled_from([0.02, 0.5]),
            ),
            max_size=2,
        )
    )
    span = st.sampled_from([(0.0, 0.03), (0.002, 0.0105)])
    switch = st.integers(4, network.nodes - 1)
    dropping = st.builds(
        lambda of, share, when: RandomDrop(of, share, *when), switch, st.sampled_from([0.02, 1.0]), span
    )
    holes = st.builds(
        lambda of, pair, when: BlackHole(of, [pair], *when), switch, st.sampled_from([(0, 2), (3, 1)]), span
    )
    faults = draw(st.lists(dropping | holes, max_size=2))
    balancer = LOAD_BALANCERS[draw(st.sampled_from(balancers))]
    seed = draw(st.integers(0, 2**32))
    return Simulation(network, groups, Setting(seed, outages, load_balancer=balancer, faults=faults))
