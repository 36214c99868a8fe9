"""The queues of a switch port as an HTB tree: the commands that build it, as pure data.

One tree per port: a root class with the port's capacity and one leaf per queue. A leaf has a tiny guaranteed rate and
may borrow up to the whole capacity; HTB lends to the leaves in order of `prio`, which makes them strict priorities.
The class numbers are those of Open vSwitch's `linux-htb` (queue n is class 1:n+1 below 1:fffe), so that both datapaths
build the same tree:

- On the userspace datapath an OpenFlow `set_queue` reaches no qdisc. `htb_commands` builds the tree and u32 filters
  that read the MPLS traffic class themselves.
- On the kernel datapath Open vSwitch builds the tree (`qos_arguments`), `set_queue` chooses the leaf and
  `leaf_commands` gives the leaves their buffers.

The leaves drop at the head: a tail drop makes the packet socket of the userspace datapath return ENOBUFS, and Open
vSwitch then throws away the rest of its batch, packets of higher priority among it.
"""

from __future__ import annotations

from kuijia_app.queues import Queue, QueueLayout

ROOT_CLASS = "1:fffe"
GUARANTEED_KBIT = 12
"""Per leaf; the least that Open vSwitch's linux-htb takes (1500 byte/s). It comes before the higher priorities."""

MAX_FRAME = 1522
"""Bytes: 1500 of IP, Ethernet's 14, two MPLS labels; the quantum of a leaf and the burst of its guaranteed rate."""

BURST_SECONDS = 0.005
"""A port makes up for what a late timer kept it from sending, as far as this time's worth."""

Command = list[str]


def leaf_class(queue: Queue) -> str:
    return f"1:{queue.queue_id + 1:x}"


def htb_commands(interface: str, capacity: float, layout: QueueLayout, buffer_packets: int) -> list[Command]:
    """Arguments of the `tc` commands that give `interface` its queues on the userspace datapath.

    Args:
        interface: name of the port's network device, without a root qdisc.
        capacity: rate of the port in Mbit/s.
        layout: the queues.
        buffer_packets: length of each leaf.
    """
    burst = max(4 * MAX_FRAME, round(capacity * 1e6 / 8 * BURST_SECONDS))
    full = f"ceil {_kbit(capacity)} cburst {burst} quantum {MAX_FRAME}"
    commands = [
        f"qdisc add dev {interface} root handle 1: htb default {layout.normal.queue_id + 1:x}",
        f"class add dev {interface} parent 1: classid {ROOT_CLASS} htb rate {_kbit(capacity)} burst {burst} {full}",
        *(
            f"class add dev {interface} parent {ROOT_CLASS} classid {leaf_class(queue)} htb rate {GUARANTEED_KBIT}kbit "
            f"burst {MAX_FRAME} prio {priority} {full}"
            for priority, queue in enumerate(layout.queues)
        ),
        # First word of the label stack entry (RFC 3032): label 20 bits, traffic class 3, bottom of stack 1, TTL 8.
        *(
            f"filter add dev {interface} parent 1: protocol mpls_uc prio 1 u32 "
            f"match u32 {queue.traffic_class << 9:#x} 0xe00 at 0 flowid {leaf_class(queue)}"
            for queue in layout.queues
        ),
    ]
    return [command.split() for command in commands] + leaf_commands(interface, layout, buffer_packets)


def leaf_commands(interface: str, layout: QueueLayout, buffer_packets: int) -> list[Command]:
    """Arguments of the `tc` commands that give the leaves of an HTB tree their buffers."""
    return [
        f"qdisc replace dev {interface} parent {leaf_class(queue)} handle {0x10 + queue.queue_id:x}: "
        f"pfifo_head_drop limit {buffer_packets}".split()
        for queue in layout.queues
    ]


def qos_arguments(interface: str, capacity: float, layout: QueueLayout) -> list[str]:
    """Arguments of one `ovs-vsctl` that give the port of `interface` the same tree on the kernel datapath.

    Packets without a `set_queue` go to queue 0 there (ovs-vswitchd.conf.db(5)).
    """
    rate = f"other_config:max-rate={round(capacity * 1e6)}"
    references = ",".join(f"{queue.queue_id}=@{interface}-q{queue.queue_id}" for queue in layout.queues)
    arguments = [*("--", "set", "Port", interface, f"qos=@{interface}-qos")]
    arguments += ["--", f"--id=@{interface}-qos", "create", "QoS", "type=linux-htb", rate, f"queues={references}"]
    for priority, queue in enumerate(layout.queues):
        arguments += ["--", f"--id=@{interface}-q{queue.queue_id}", "create", "Queue", rate]
        arguments += [f"other_config:min-rate={GUARANTEED_KBIT * 1000}", f"other_config:priority={priority}"]
    return arguments


def _kbit(capacity: float) -> str:
    return f"{round(capacity * 1000)}kbit"
