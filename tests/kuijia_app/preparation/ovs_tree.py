"""The queues that Open vSwitch 3.1 builds on a device for a QoS of type `linux-htb`."""

from __future__ import annotations

from kuijia_app.preparation.queues import OVS_ROOT_CLASS, Command, leaf_class
from kuijia_app.tables.queues import QueueLayout


def tree_of_ovs(interface: str, layout: QueueLayout) -> list[Command]:
    """Return the arguments of the `tc` commands that build the same tree."""
    commands = [
        f"qdisc add dev {interface} root handle 1: htb default 1",
        f"class add dev {interface} parent 1: classid {OVS_ROOT_CLASS} htb rate 20mbit",
    ]
    for queue in layout.queues:
        own = f"parent {OVS_ROOT_CLASS} classid {leaf_class(queue)} htb rate 12kbit ceil 20mbit"
        commands.append(f"class add dev {interface} {own}")
    return [command.split() for command in commands]
