"""Crosspoints and Hashed Credits Fair, compared packet by packet with slow references, and claims of the papers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_base.errors import UnsoundError
from simulator.packet import _core
from simulator.packet.flows import Flows
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
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.transports import Packets
from tests.simulator.packet.disciplines import (
    Buffer,
    CrosspointColumn,
    Discipline,
    Memory,
    Packet,
    SharedOutput,
    SingleQueue,
    Thresholds,
    TwoQueues,
    drawing,
    serve,
)
from tests.simulator.packet.step_references import Red as RedReference

INPUTS = 3
OUTPUTS = 2
RATE = 100.0
_PS_PER_BYTE = 80_000
_FAST = 1e6
"""Mbit/s into the switch, where a byte takes 8 ps."""

EGRESS = INPUTS


def switch(queueing: Queueing, outputs: int = 1) -> Network:
    """Hosts 0 to 2 send through a switch to host 3 and, with more outputs, 4 and so on; link 3 is the one to host 3."""
    network = Network()
    hosts = [network.add_host() for _ in range(INPUTS + outputs)]
    node = network.add_switch()
    for host in hosts[:INPUTS]:
        network.connect((host, node), _FAST, 0.0)
    for host in hosts[INPUTS:]:
        network.connect((node, host), RATE, 0.0, queueing=queueing)
    for host in hosts[INPUTS:]:
        network.connect((host, node), RATE, 0.0)
    for host in hosts[:INPUTS]:
        network.connect((node, host), RATE, 0.0)
    return network


Fate = tuple[int | None, bool]


def simulated(queueing: Queueing, packets: list[Packet], seed: int) -> list[Fate]:
    """Return when each packet, a flow of its own, began to be sent (None if dropped), and True if it was marked."""
    flows = [
        Flows.of(
            packet.input,
            INPUTS + packet.output,
            Packets(np.array([packet.time / 1e12]), np.array([packet.size]), ecn=True),
            level=packet.level,
        )
        for packet in packets
    ]
    simulation = Simulation(switch(queueing, OUTPUTS), flows, Setting(seed=seed))
    simulation.run()
    results = simulation.flow_results()
    left = [
        round(time * 1e12) - packet.size * _PS_PER_BYTE if np.isfinite(time) else None
        for time, packet in zip(results.finished, packets, strict=True)
    ]
    assert simulation.totals().dropped == left.count(None)
    return list(zip(left, (results.marked > 0).tolist(), strict=True))


def sending(packet: Packet) -> int:
    """Return the picoseconds for which a packet is sent."""
    return packet.size * _PS_PER_BYTE


def at_the_switch(packets: list[Packet]) -> list[Packet]:
    """Return the packets with the times at which they reach the switch."""
    arriving = list(packets)
    free = [0] * INPUTS
    for packet in sorted(packets, key=lambda each: each.time):
        free[packet.input] = max(free[packet.input], packet.time) + 8 * packet.size
        arriving[packet.number] = replace(packet, time=free[packet.input])
    return arriving


def referred(queueing: Queueing, packets: list[Packet], seed: int) -> list[Fate]:
    """Return the same from the reference."""
    draw = drawing(seed)
    disciplines: list[Discipline]
    if isinstance(queueing, Crosspoints):
        disciplines = [CrosspointColumn(queueing, INPUTS + OUTPUTS, draw, sending) for _ in range(OUTPUTS)]
    elif isinstance(queueing, HashedCredits):
        disciplines = [TwoQueues(queueing, draw, seed ^ ((EGRESS + 1 + port) << 32)) for port in range(OUTPUTS)]
    elif isinstance(queueing, SharedBuffer):
        memory = Memory(queueing.total, queueing.alpha)
        disciplines = [SharedOutput(queueing, memory, draw) for _ in range(OUTPUTS)]
    elif isinstance(queueing, Fifo):
        disciplines = [SingleQueue(queueing, draw) for _ in range(OUTPUTS)]
    else:
        assert isinstance(queueing, DropThresholds)
        disciplines = [Thresholds(queueing, draw) for _ in range(OUTPUTS)]
    at_switch = at_the_switch(packets)
    serve(disciplines, at_switch, sending)
    return [(packet.left, packet.left is not None and packet.marked) for packet in at_switch]


@st.composite
def arrivals(draw: st.DrawFn) -> list[Packet]:
    """Packets at a load of about two; no two reach the switch at one moment, as only the core knows their order."""
    count = draw(st.integers(1, 60))
    packets = []
    for number in range(count):
        size = draw(st.sampled_from([40, 64, 65, 500, 1000, 1500]))
        slot = draw(st.integers(0, count))
        time = slot * 20_000_000 + number * 1_000_003
        level, output = draw(st.integers(0, 2)), draw(st.integers(0, OUTPUTS - 1))
        packets.append(Packet(number, time, draw(st.integers(0, INPUTS - 1)), size, level, output))
    return packets


def buffers() -> st.SearchStrategy[Fifo]:
    return st.builds(
        Fifo,
        limit=st.sampled_from([1_536, 3_000, 5_000, 9_000]),
        cell=st.sampled_from([1, 2, 40, 64]),
        marking=st.sampled_from([None, Threshold(1_000), Threshold(0)]),
        random_drop=st.booleans(),
        random_mark=st.booleans(),
    ).filter(lambda queue: queue.limit // queue.cell * queue.cell >= 1_500)


@settings(max_examples=100, deadline=None)
@given(buffers(), arrivals(), st.integers(0, 2**31))
def test_a_queue_alone_does_as_the_reference_does(queue: Fifo, packets: list[Packet], seed: int) -> None:
    assert simulated(queue, packets, seed) == referred(queue, packets, seed)


@pytest.mark.parametrize("seed", range(3))
def test_each_byte_of_a_full_queue_is_drawn_alike(seed: int) -> None:
    """With packets of one to three bytes a draw is as often the first or last byte of one as any other."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 4, 400).tolist()
    packets = [Packet(number, 60_013 * number, number % INPUTS, size) for number, size in enumerate(sizes)]
    queue = Fifo(limit=8, marking=Threshold(5), random_drop=True, random_mark=True)
    assert simulated(queue, packets, seed) == referred(queue, packets, seed)


@settings(max_examples=100, deadline=None)
@given(st.builds(Crosspoints, buffers(), st.booleans()), arrivals(), st.integers(0, 2**31))
def test_crosspoints_do_as_the_reference_does(queueing: Crosspoints, packets: list[Packet], seed: int) -> None:
    assert simulated(queueing, packets, seed) == referred(queueing, packets, seed)


@settings(max_examples=100, deadline=None)
@given(buffers(), arrivals(), st.integers(0, 2**31), st.integers(1, 4), st.integers(0, 3), st.sampled_from([1e-4, 1.0]))
def test_hashed_credits_do_as_the_reference_does(
    queue: Fifo, packets: list[Packet], seed: int, bins: int, credit: int, period: float
) -> None:
    queueing = HashedCredits(queue, bins, credit, period)
    assert simulated(queueing, packets, seed) == referred(queueing, packets, seed)


@settings(max_examples=100, deadline=None)
@given(buffers(), arrivals(), st.integers(0, 2**31), st.integers(1_536, 12_000), st.sampled_from([0.25, 1.0, 8.0]))
def test_a_shared_buffer_does_as_the_reference_does(
    queue: Fifo, packets: list[Packet], seed: int, total: int, alpha: float
) -> None:
    queueing = SharedBuffer(queue, total, alpha)
    assert simulated(queueing, packets, seed) == referred(queueing, packets, seed)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    buffers(),
    arrivals(),
    st.integers(0, 2**31),
    st.lists(st.sampled_from([1_536, 4_000, 9_000]), min_size=1, max_size=3),
)
def test_drop_thresholds_do_as_the_reference_does(
    queue: Fifo, packets: list[Packet], seed: int, limits: list[int]
) -> None:
    queueing = DropThresholds(queue, limits)
    assert simulated(queueing, packets, seed) == referred(queueing, packets, seed)


def judged_by_red(rules: Red, packets: list[Packet], seed: int) -> list[Fate]:
    """Return the fates of packets at one output, whose queue is idle from the end of its last transmission on."""
    red = RedReference(rules.low, rules.high, rules.probability, rules.weight, _core.Random(seed))
    arriving = at_the_switch(packets)
    free = 0
    for packet in sorted(arriving, key=lambda each: each.time):
        waiting = sum(each.size for each in arriving if each.left is not None and each.left > packet.time)
        idle = max(0, packet.time - free)
        verdict = red.judge(1, waiting, idle // (500 * _PS_PER_BYTE))
        if verdict < 2:
            packet.left, packet.marked = max(free, packet.time), verdict == 1
            free = packet.left + sending(packet)
    return [(packet.left, packet.marked) for packet in arriving]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "of",
    [lambda queue: queue, lambda queue: replace(queue, cell=2), lambda queue: StrictPriority([queue, Fifo()])],
    ids=["foreseen", "in cells", "first of two"],
)
def test_red_counts_as_idle_only_the_time_in_which_nothing_is_sent(of: Callable[[Fifo], Queueing], seed: int) -> None:
    """Floyd and Jacobson, 1993, section 4: as many small packets as could have been sent while the queue was empty."""
    rules = Red(500, 2_500, probability=0.5, weight=0.3)
    draw = np.random.default_rng(seed)
    times = np.cumsum(draw.exponential(9e7, 400)).astype(np.int64)
    sizes = draw.choice([500, 1_000, 1_500], 400)
    packets = [
        Packet(number, int(time), number % INPUTS, int(size))
        for number, (time, size) in enumerate(zip(times, sizes, strict=True))
    ]
    fates = simulated(of(Fifo(marking=rules)), packets, seed)
    assert fates == judged_by_red(rules, packets, seed)
    assert any(left is None for left, _ in fates)
    assert any(marked for _, marked in fates)


def test_red_does_not_let_more_wait_than_there_is_room_for() -> None:
    """One packet is sent and three wait, far below what the average must be for a mark."""
    flow = Flows.of(0, INPUTS, Packets(np.zeros(9), np.full(9, 1_000)))
    for queue in (Fifo(3_000, Red(10_000, 20_000)), Fifo(3_000, Red(10_000, 20_000), cell=2)):
        simulation = Simulation(switch(queue), [flow])
        simulation.run()
        assert simulation.flow_results().dropped.tolist() == [5]


def test_one_busy_output_leaves_a_part_of_the_memory_free() -> None:
    """With alpha 1 the threshold of a single queue is where it equals what is free: half of the memory."""
    sizes = np.full(200, 1_000)
    flow = Flows.of(0, INPUTS, Packets(np.linspace(0.0, 2e-5, 200), sizes))
    simulation = Simulation(switch(SharedBuffer(Fifo(), 100_000)), [flow])
    simulation.run(3e-5)
    assert simulation.link_results().queued_peak[EGRESS] == 50_000


def test_a_packet_may_take_all_that_is_left_of_a_shared_memory() -> None:
    flow = Flows.of(0, INPUTS, Packets(np.zeros(9), np.full(9, 1_000)))
    simulation = Simulation(switch(SharedBuffer(Fifo(), 3_000, alpha=1e6)), [flow])
    simulation.run()
    assert simulation.link_results().queued_peak[EGRESS] == 3_000


def test_droppable_packets_are_lost_first() -> None:
    times = np.linspace(0.0, 1e-5, 100)
    flows = [Flows.of(host, INPUTS, Packets(times, np.full(100, 1_000)), level=host) for host in (0, 1)]
    simulation = Simulation(switch(DropThresholds(Fifo(), [200_000, 8_000])), flows)
    simulation.run()
    dropped = simulation.flow_results().dropped
    assert dropped[0] == 0
    assert dropped[1] > 80


def test_victims_are_drawn_by_their_cells() -> None:
    """Two packets of one cell each wait; one of two cells needs room: it is dropped half of the time."""
    queue = Fifo(limit=3 * 64, cell=64, random_drop=True)
    draw = drawing(1)
    fates = []
    for _ in range(4_000):
        buffer = Buffer(queue, draw, [Packet(0, 0, 0, 1), Packet(1, 0, 0, 64)])
        new = Packet(2, 0, 0, 65)
        buffer.arrive(new)
        fates.append(new in buffer.packets)
    assert np.mean(fates) == pytest.approx(0.5, abs=0.03)


def test_a_flow_keeps_its_order_through_hashed_credits() -> None:
    """Four flows of packets distinguished by size, more than fit; each flow's packets arrive in order."""
    random = np.random.default_rng(5)
    packets = [
        Packet(number % 4, 7_000_000 * number, number % INPUTS, int(random.integers(64, 1500))) for number in range(300)
    ]
    two = TwoQueues(HashedCredits(Fifo(6_000), bins=3, hashed_anew_after=1e-5), drawing(1), 1)
    serve([two], packets, lambda packet: packet.size * _PS_PER_BYTE)
    assert any(packet.left is None for packet in packets)
    for flow in range(4):
        left = [packet.left for packet in packets if packet.number == flow and packet.left is not None]
        assert left == sorted(left)


def test_a_flow_keeps_its_order_when_the_first_of_two_queues_waits_for_tokens() -> None:
    """Packets with credits spend the tokens of one queue; those behind them find a full bucket in the other one."""
    sizes = 1_000 + np.arange(8)
    queue = Fifo(shaping=TokenBucket(10.0, 1_500))
    flow = Flows.of(0, INPUTS, Packets(np.linspace(0.0, 1e-5, 8), sizes))
    simulation = Simulation(switch(HashedCredits(queue, bins=1, credits=3)), [flow])
    goodput = [0]
    for until in np.linspace(0.0, 0.01, 200):
        simulation.run(until)
        goodput.append(int(simulation.flow_results().goodput[0]))
    arrived = np.diff(goodput)
    assert arrived[arrived > 0].tolist() == sizes.tolist()


def test_a_packet_that_waited_for_tokens_does_not_begin_while_another_is_sent() -> None:
    """Its tokens are there after 1,200 us; from 1,150 to 1,270 us the link sends a packet of another queue."""
    shaped = Fifo(shaping=TokenBucket(10.0, 1_500))
    flows = [
        Flows.of(0, INPUTS, Packets(np.array([0.0, 1e-6]), np.array([1_500, 1_500])), level=0),
        Flows.of(1, INPUTS, Packets(np.array([1.15e-3]), np.array([1_500])), level=1),
    ]
    simulation = Simulation(switch(RoundRobin([shaped, Fifo()], [1, 1])), flows)
    simulation.run()
    assert simulation.flow_results().finished == pytest.approx([1.39e-3, 1.27e-3], abs=1e-7)


ROOM = Fifo(4_000)


@pytest.mark.parametrize(
    "queueing",
    [
        *(ROOM, StrictPriority([ROOM] * 2), RoundRobin([ROOM], [1]), Crosspoints(ROOM), DropThresholds(ROOM, [4_000])),
        *(Crosspoints(ROOM, held_while_sent=True), HashedCredits(ROOM, bins=1, credits=2)),
        SharedBuffer(Fifo(), 4_000, alpha=1e6),
    ],
    ids=lambda queueing: type(queueing).__name__,
)
def test_what_waits_when_a_link_fails_is_lost_and_leaves_room_for_as_much(queueing: Queueing) -> None:
    """One packet is sent and four wait, or three if it holds its memory: all that the queue takes, then and later."""
    fits = 4 if isinstance(queueing, Crosspoints) and queueing.held_while_sent else 5
    offered = 5 if isinstance(queueing, HashedCredits) else 6  # as its second queue would take more
    flow = Flows.of(0, INPUTS, Packets(np.repeat([0.0, 1.0], offered), np.full(2 * offered, 1_000)))
    simulation = Simulation(switch(queueing), [flow])
    simulation.run(1e-5)
    simulation.fail(EGRESS)
    simulation.heal(EGRESS)
    simulation.run()
    totals = simulation.totals()
    assert (totals.lost, totals.arrived) == (fits, fits)


def test_each_queue_sends_as_many_packets_in_its_turn_as_its_weight() -> None:
    """Packets of levels without a queue go to the last one."""
    levels = (0, 1, 0, 2, 0, 3)
    packets = [Packet(number, 1_000_003 * number, number % INPUTS, 1_000, levels[number % 6]) for number in range(12)]
    fates = simulated(RoundRobin([Fifo(), Fifo()], [2, 1]), packets, 1)
    order = sorted(packets, key=lambda packet: fates[packet.number][0] or 0)
    assert [min(packet.level, 1) for packet in order] == [0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1, 1]


def test_the_last_input_has_a_crosspoint_of_its_own() -> None:
    """While packets of host 0 are sent, one each of hosts 4 and 5 comes; a crosspoint has room for one."""
    one = Packets(np.zeros(1), np.full(1, 1_000))
    flows = [
        Flows.of(0, INPUTS, Packets(np.zeros(3), np.full(3, 1_000))),
        *(Flows.of(host, INPUTS, one) for host in (4, 5)),
    ]
    simulation = Simulation(switch(Crosspoints(Fifo(1_000)), outputs=3), flows)
    simulation.run()
    assert simulation.flow_results().dropped.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("extreme", "beyond"),
    [
        (Fifo(limit=1), Fifo(limit=0)),
        (Fifo(limit=2**30), Fifo(limit=2**30 + 1)),
        (Fifo(cell=1), Fifo(cell=0)),
        (Fifo(cell=2**20), Fifo(cell=2**20 + 1)),
        (Fifo(marking=Threshold(0)), Fifo(marking=Threshold(-1))),
        (Fifo(marking=Threshold(2**30)), Fifo(marking=Threshold(2**30 + 1))),
        (Fifo(marking=Red(0, 1)), Fifo(marking=Red(-1, 1))),
        (Fifo(marking=Red(0, 2**30)), Fifo(marking=Red(0, 2**30 + 1))),
        (Fifo(marking=Red(0, 1, probability=1.0)), Fifo(marking=Red(0, 1, probability=1.1))),
        (Fifo(marking=Red(0, 1, weight=1.0)), Fifo(marking=Red(0, 1, weight=0.0))),
        (Fifo(marking=Red(0, 1, weight=1.0)), Fifo(marking=Red(0, 1, weight=1.1))),
        (Fifo(shaping=TokenBucket(10.0, 1)), Fifo(shaping=TokenBucket(10.0, 0))),
        (Fifo(shaping=TokenBucket(10.0, 2**20)), Fifo(shaping=TokenBucket(10.0, 2**20 + 1))),
    ],
)
def test_rules_of_queues_end_where_their_message_says(extreme: Fifo, beyond: Fifo) -> None:
    flow = Flows.of(0, INPUTS, Packets(np.zeros(1), np.ones(1, np.int64)))
    Simulation(switch(extreme), [flow])
    with pytest.raises(UnsoundError, match=r"must be|less than a packet"):
        Simulation(switch(beyond), [flow])


def test_thresholds_of_red_that_are_equal_are_told_so() -> None:
    flow = Flows.of(0, INPUTS, Packets(np.zeros(1), np.ones(1, np.int64)))
    with pytest.raises(UnsoundError, match="high threshold must be above the low one"):
        Simulation(switch(Fifo(marking=Red(0, 0))), [flow])
