"""The queues of a switch port as an HTB tree: created through Open vSwitch's database, completed by `tc`; pure data.

One tree per port: a root class with the port's capacity and one leaf per queue. A leaf has a tiny guaranteed rate and
may borrow up to the whole capacity; HTB lends to the leaves in order of `prio`, which makes them strict priorities.

Open vSwitch creates the tree from a QoS of type `linux-htb` in its database: queue n is class 1:n+1 below 1:fffe. So
OpenFlow knows the queues with their counters, and they exist again after a restart of the machine. `tc` then completes
them:

- Its root class has a burst of one packet, so a port would lose the rate that late timers cost it, a tenth on a slow
  machine. The leaves are created again below a root class of our own. Open vSwitch sets rates and bursts of its classes
  at each change of its database or of a device, by class number alone, whatever their parents.
- Packets without a queue go to queue 0, that of control traffic. A filter sends them to the default queue.
- On the kernel datapath `set_queue` writes the class into the packet's priority, whatever the tree. On the userspace
  datapath it reaches no qdisc, and u32 filters that read the packet's tag take its place.
- The leaves drop at the head: a tail drop makes the packet socket of the userspace datapath return ENOBUFS, and Open
  vSwitch then discards the rest of its batch, including packets of higher priority.

All this survives restarts of Open vSwitch's daemons and a port that is removed and added again. It ends with the
network device.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queues import Queue, QueueLayout
from kuijia_app.tables.rules import ETH_TYPE_VLAN
from kuijia_base.errors import UnsoundError, quoted

QOS_TYPE = "linux-htb"
OVS_ROOT_CLASS = "1:fffe"
ROOT_CLASS = "1:fff0"
"""Our root class; Open vSwitch takes numbers up to 1:f000 for queues."""

GUARANTEED_KBIT = 12
"""Least guaranteed rate of each leaf: one packet a second, which precedes the higher priorities."""

MIN_CAPACITY, MAX_CAPACITY = 0.1, 100_000.0
"""Mbit/s of a link: below, the guarantees of the lower queues would be a large part of it; above, tc overflows."""

MAX_FRAME = 1522
"""Bytes: 1500 of IP, Ethernet's 14, two MPLS labels; the quantum of a leaf."""

BURST_SECONDS = 0.005
"""Longest delay by a late timer that a port makes up for."""

_MOST_BITS = 8 * 0xFFFF_FFFF
"""Most bits a second in Open vSwitch's requests up to 3.1, which hold 32 bits of bytes a second."""

Command = list[str]


def leaf_class(queue: Queue) -> str:
    return f"1:{queue.queue_id + 1:x}"


def burst_bytes(capacity: float) -> int:
    """Return the burst of a port with this rate in Mbit/s."""
    return max(4 * MAX_FRAME, round(capacity * 1e6 / 8 * BURST_SECONDS))


def qos_settings(capacity: float) -> dict[str, str]:
    """Return `other_config` of the QoS of a port with this rate in Mbit/s."""
    return {"max-rate": str(_bits(capacity))}


def queue_settings(capacity: float, queues: Sequence[Queue]) -> dict[int, dict[str, str]]:
    """Return `other_config` of each queue by its id, given the queues of the port in the order of service."""
    return {
        queue.queue_id: {
            "min-rate": str(_guaranteed_kbit(capacity, queue) * 1000),
            "max-rate": str(_bits(capacity)),
            "burst": str(burst_bytes(capacity) * 8),
            "priority": str(priority),
        }
        for priority, queue in enumerate(queues)
    }


def qos_arguments(name: str, capacity: float, queues: Sequence[Queue], mark: str) -> list[str]:
    """Return the arguments of `ovs-vsctl` that create a QoS with its queues.

    Args:
        name: of the QoS within the same call, without `@`.
        capacity: rate of the port in Mbit/s.
        queues: in the order of service.
        mark: `external_ids:KEY=VALUE` that all created rows get.
    """
    rows = queue_settings(capacity, queues)
    own = [f"queues:{number}=@{name}-{number}" for number in rows]
    arguments = [
        "--",
        f"--id=@{name}",
        "create",
        "QoS",
        f"type={QOS_TYPE}",
        *_config(qos_settings(capacity)),
        *own,
        mark,
    ]
    for number, settings in rows.items():
        arguments += ["--", f"--id=@{name}-{number}", "create", "Queue", *_config(settings), mark]
    return arguments


def _config(settings: dict[str, str]) -> list[str]:
    return [f"other_config:{key}={value}" for key, value in settings.items()]


def _bits(capacity: float) -> int:
    return min(round(capacity * 1e6), _MOST_BITS)


def _guaranteed_kbit(capacity: float, queue: Queue) -> int:
    return max(GUARANTEED_KBIT, round(queue.guaranteed * capacity * 1000))


def clearing_commands(interface: str, layout: QueueLayout, others: Iterable[str] = ()) -> list[Command]:
    """Return the arguments of the `tc` commands that remove leaves, filters and our root class, if they exist.

    Args:
        interface: name of the port's network device.
        layout: the queues.
        others: further classes below our root class, such as those of another layout: while they are there, it stays.
    """
    classes = [*dict.fromkeys((*map(leaf_class, layout.queues), *others)), ROOT_CLASS]
    commands = [
        f"filter del dev {interface} parent 1:",
        *(f"class del dev {interface} classid {each}" for each in classes),
    ]
    return [command.split() for command in commands]


def htb_commands(
    interface: str, capacity: float, layout: QueueLayout, buffer_packets: int, delay: float = 0.0
) -> list[Command]:
    """Return the arguments of the `tc` commands that complete the tree of Open vSwitch after `clearing_commands`.

    Args:
        interface: name of the port's network device.
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
    full = f"burst {burst} ceil {rate} cburst {burst} quantum {MAX_FRAME}"
    commands = [f"class add dev {interface} parent 1: classid {ROOT_CLASS} htb rate {rate} {full}"]
    for priority, queue in enumerate(layout.queues):
        leaf = leaf_class(queue)
        own = f"rate {_guaranteed_kbit(capacity, queue)}kbit prio {priority} {full}"
        commands += [
            f"class add dev {interface} parent {ROOT_CLASS} classid {leaf} htb {own}",
            f"qdisc add dev {interface} parent {leaf} {kind} limit {buffer_packets + under_way}",
        ]
    rest = f"protocol all prio {_REST_PRIORITY} u32 match u32 0 0 flowid {leaf_class(layout.default)}"
    commands.append(f"filter add dev {interface} parent 1: {rest}")
    return [command.split() for command in commands]


_LABEL_PRIORITY, _IP_PRIORITY, _VLAN_PRIORITY, _SERVICE_VLAN_PRIORITY, _IPV6_PRIORITY, _REST_PRIORITY = 1, 2, 3, 4, 6, 9
"""Order in which filters are tried; each needs a number of its own for its protocol."""


def tag_filter_commands(interface: str, layout: QueueLayout, tagging: Tagging) -> list[Command]:
    """Return the arguments of the `tc` commands that select queues by tags; labels select them with any tagging.

    Raises:
        UnsoundError: the layout has no tag for a queue.
    """
    matches = [(_traffic_class_match(queue), queue) for queue in layout.queues]
    if tagging is Tagging.DSCP_ECN:
        matches += [(match, queue) for queue in layout.queues for match in _ecn_matches(queue)]
    if tagging is Tagging.VLAN:
        matches += [(match, queue) for queue in layout.queues for match in _priority_matches(queue)]
    return [
        f"filter add dev {interface} parent 1: {match} flowid {leaf_class(queue)}".split() for match, queue in matches
    ]


def _traffic_class_match(queue: Queue) -> str:
    # First word of the label stack entry (RFC 3032): label 20 bits, traffic class 3, bottom of stack 1, TTL 8.
    return f"protocol mpls_uc prio {_LABEL_PRIORITY} u32 match u32 {queue.traffic_class << 9:#x} 0xe00 at 0"


def _priority_matches(queue: Queue) -> Iterator[str]:
    """Yield matches for the priority of the outermost VLAN tag: of a packet without other tags, or with one of a host.

    Linux counts from the end of the last tag, since version 6.0. A tag is two bytes, the first three bits of which are
    the priority, and the EtherType of what follows (IEEE 802.1Q, 9.6).
    """
    priority = queue.traffic_class << 29
    yield f"protocol 802.1Q prio {_VLAN_PRIORITY} u32 match u32 {priority:#x} 0xe0000000 at -4"
    of_tagged = f"match u32 {priority | ETH_TYPE_VLAN:#x} 0xe000ffff at -8"
    yield f"protocol 802.1ad prio {_SERVICE_VLAN_PRIORITY} u32 {of_tagged}"
    yield f"protocol 802.1ad prio {_SERVICE_VLAN_PRIORITY + 1} u32 match u32 {priority:#x} 0xe0000000 at -4"


def _ecn_matches(queue: Queue) -> tuple[str, str]:
    if queue.ecn is None:
        raise UnsoundError(
            (), f"queue {quoted(queue.name)} has no ECN bits", f"some with tagging {Tagging.DSCP_ECN.value}"
        )
    # The byte after version and length of the IPv4 header: code point 6 bits, ECN 2 (RFC 3168, section 5). In IPv6 the
    # same byte follows the version's four bits (RFC 8200, section 3).
    return (
        f"protocol ip prio {_IP_PRIORITY} u32 match u8 {queue.ecn:#x} 0x3 at 1",
        f"protocol ipv6 prio {_IPV6_PRIORITY} u32 match u32 {queue.ecn << 20:#x} 0x300000 at 0",
    )
