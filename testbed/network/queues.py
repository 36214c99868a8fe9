"""The queues of a switch port as an HTB tree: the commands that build it, as pure data.

One tree per port: a root class with the port's capacity and one leaf per queue. A leaf has a tiny guaranteed rate and
may borrow up to the whole capacity; HTB lends to the leaves in order of `prio`, which makes them strict priorities.

The class numbers are those of Open vSwitch's own `linux-htb` (queue n is class 1:n+1 below 1:fffe). On the kernel
datapath `set_queue` writes that class into the packet's priority, whatever built the tree. On the userspace datapath
`set_queue` reaches no qdisc, and u32 filters that read the packet's tag take its place. Open vSwitch does not build the
tree itself, as its root class could not have a burst: a port would lose the rate that late timers cost it, a tenth on a
slow machine.

The leaves drop at the head: a tail drop makes the packet socket of the userspace datapath return ENOBUFS, and Open
vSwitch then discards the rest of its batch, including packets of higher priority.
"""

from __future__ import annotations

import math

from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queues import Queue, QueueLayout
from kuijia_base.errors import UnsoundError, quoted

ROOT_CLASS = "1:fffe"
GUARANTEED_KBIT = 12
"""Least guaranteed rate of each leaf: one packet a second, which precedes the higher priorities."""

MIN_CAPACITY, MAX_CAPACITY = 0.1, 100_000.0
"""Mbit/s of a link: below, the guarantees of the lower queues would be a large part of it; above, tc overflows."""

MAX_FRAME = 1522
"""Bytes: 1500 of IP, Ethernet's 14, two MPLS labels; the quantum of a leaf and the burst of its guaranteed rate."""

BURST_SECONDS = 0.005
"""Longest delay by a late timer that a port makes up for."""

Command = list[str]


def leaf_class(queue: Queue) -> str:
    return f"1:{queue.queue_id + 1:x}"


def burst_bytes(capacity: float) -> int:
    """Return the burst of a port with this rate in Mbit/s."""
    return max(4 * MAX_FRAME, round(capacity * 1e6 / 8 * BURST_SECONDS))


def htb_commands(
    interface: str, capacity: float, layout: QueueLayout, buffer_packets: int, delay: float = 0.0
) -> list[Command]:
    """Return the arguments of the `tc` commands that create the queues of `interface`.

    Args:
        interface: name of the port's network device, without a root qdisc.
        capacity: rate of the port in Mbit/s.
        layout: the queues.
        buffer_packets: length of each leaf.
        delay: seconds that every packet waits in its leaf before it may be sent; such leaves have more room, for the
            packets under way, and drop at the tail.
    """
    under_way = math.ceil(capacity * 1e6 / 8 * delay / MAX_FRAME)
    kind = f"netem delay {round(delay * 1e6)}us" if delay > 0 else "pfifo_head_drop"
    rate = f"{round(capacity * 1000)}kbit"
    burst = burst_bytes(capacity)
    full = f"ceil {rate} cburst {burst} quantum {MAX_FRAME}"
    commands = [
        f"qdisc add dev {interface} root handle 1: htb default {layout.default.queue_id + 1:x}",
        f"class add dev {interface} parent 1: classid {ROOT_CLASS} htb rate {rate} burst {burst} {full}",
    ]
    for priority, queue in enumerate(layout.queues):
        leaf = leaf_class(queue)
        guaranteed = max(GUARANTEED_KBIT, round(queue.guaranteed * capacity * 1000))
        own = f"rate {guaranteed}kbit burst {MAX_FRAME} prio {priority} {full}"
        commands += [
            f"class add dev {interface} parent {ROOT_CLASS} classid {leaf} htb {own}",
            f"qdisc add dev {interface} parent {leaf} {kind} limit {buffer_packets + under_way}",
        ]
    return [command.split() for command in commands]


def interface_rate_commands(interface: str, capacity: float, buffer_packets: int) -> list[Command]:
    """Return the arguments of the `tc` commands that limit a host to `capacity` Mbit/s through `interface`."""
    rate = f"{round(capacity * 1000)}kbit"
    burst = f"burst {MAX_FRAME} cburst {MAX_FRAME} quantum {MAX_FRAME}"
    commands = [
        f"qdisc add dev {interface} root handle 1: htb default 1",
        f"class add dev {interface} parent 1: classid 1:1 htb rate {rate} ceil {rate} {burst}",
        f"qdisc add dev {interface} parent 1:1 pfifo limit {buffer_packets}",
    ]
    return [command.split() for command in commands]


def tag_filter_commands(interface: str, layout: QueueLayout, tagging: Tagging) -> list[Command]:
    """Return the arguments of the `tc` commands that select queues by tags; labels select them with any tagging.

    Raises:
        UnsoundError: the layout has no tag for a queue.
    """
    matches = [(_traffic_class_match(queue), queue) for queue in layout.queues]
    if tagging is Tagging.DSCP_ECN:
        matches += [(_ecn_match(queue), queue) for queue in layout.queues]
    return [
        f"filter add dev {interface} parent 1: {match} flowid {leaf_class(queue)}".split() for match, queue in matches
    ]


def _traffic_class_match(queue: Queue) -> str:
    # First word of the label stack entry (RFC 3032): label 20 bits, traffic class 3, bottom of stack 1, TTL 8.
    return f"protocol mpls_uc prio 1 u32 match u32 {queue.traffic_class << 9:#x} 0xe00 at 0"


def _ecn_match(queue: Queue) -> str:
    if queue.ecn is None:
        raise UnsoundError(
            (), f"queue {quoted(queue.name)} has no ECN bits", f"some with tagging {Tagging.DSCP_ECN.value}"
        )
    # The byte after version and length of the IPv4 header: code point 6 bits, ECN 2 (RFC 3168, section 5).
    return f"protocol ip prio 2 u32 match u8 {queue.ecn:#x} 0x3 at 1"
