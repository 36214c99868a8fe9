"""The changes that make a box a switch or a host, as pure data: commands, each with those that put it back.

A step is there only if what the box is like makes it necessary; what a step's undoing says comes from there too. No
command names an interface that the inventory does not name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

Command = tuple[str, ...]
Facts = Mapping[str, Any]
"""What `testbed.boxes.survey` found."""

REMOVE_BRIDGE = "remove-bridge"
"""The first word of an undoing that no program does: directory of the Open vSwitch, bridge, mark. It takes the bridge
away if it has the mark, with all that has the mark."""


REMOVE_CABLES = "remove-cables"
"""Likewise: directory of the Open vSwitch, bridge. It takes away the cables of BFD sessions, whichever there are."""

REMOVE_QUEUES = "remove-queues"
"""Likewise: interface. It takes away the queues that were made there."""

LEAVE_NAMESPACE = "leave-namespace"
"""Likewise: network namespace, interface. It moves the interface out."""

REMOVE_NAMESPACE = "remove-namespace"
"""Likewise: network namespace, the interface that it must not have any more."""

RESTORE_SETTINGS = "restore-settings"
"""Likewise: path to text in /proc/sys/net, as JSON."""


@dataclass(frozen=True)
class Step:
    """One change.

    Attributes:
        do: commands, in order.
        undo: commands that put it back, in order; none where another step's undoing does that. Done once more, as after
            a `down` that was killed, they change nothing and do not fail.
        lasting: whether it survives a restart of the box.
    """

    do: tuple[Command, ...]
    undo: tuple[Command, ...] = ()
    lasting: bool = False

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class PortPlan:
    """What a port of a switch is to be: commands of `tc` make its queues."""

    interface: str
    mtu: int
    queue_commands: tuple[Command, ...]


@dataclass(frozen=True)
class HostPlan:
    """What a host is to be: its interface is moved into a namespace of its own and set up there by `ip`."""

    namespace: str
    interface: str
    mtu: int
    site_commands: tuple[Command, ...]


def wake_steps(interfaces: Iterable[str], facts: Facts) -> list[Step]:
    """Bring interfaces up, silent in IPv6, so that their cabling can be looked at.

    Those that are up already are to be so afterwards, too: links are cut in between.
    """
    steps = []
    for name in interfaces:
        found = facts["interfaces"][name]
        if found["ipv6"]:
            key = f"net/ipv6/conf/{name}/disable_ipv6"
            steps.append(Step((("sysctl", "-q", "-w", f"{key}=1"),), (("sysctl", "-q", "-w", f"{key}=0"),)))
        if found["up"]:
            steps.append(Step((), (_link(name, "up"),)))
        else:
            steps.append(Step((_link(name, "up"),), (_link(name, "down"),)))
    return steps


def switch_steps(
    ports: Iterable[PortPlan], bridge_command: Command, removals: tuple[Command, ...], facts: Facts
) -> list[Step]:
    """Make a bridge of ports with queues, after `wake_steps`.

    Args:
        ports: of the bridge.
        bridge_command: makes it.
        removals: take it away with all it may have got since, see `REMOVE_BRIDGE`.
        facts: the box as it was before.
    """
    ports = tuple(ports)
    steps = []
    for port in ports:
        found = facts["interfaces"][port.interface]
        if found["mtu"] != port.mtu:
            steps.append(_mtu_step(port.interface, port.mtu, found["mtu"]))
        steps += _offload_steps(port.interface, ("lro", "gro"), found)
        if not found["promiscuous"]:  # a daemon that is killed leaves its ports so
            steps.append(Step((), (("ip", "link", "set", "dev", port.interface, "promisc", "off"),)))
    steps.append(Step((bridge_command,), removals, lasting=True))
    for port in ports:
        make = tuple(("tc", *command) for command in port.queue_commands)
        steps.append(Step(make, ((REMOVE_QUEUES, port.interface),)))
    return steps


def host_steps(plan: HostPlan, facts: Facts) -> list[Step]:
    """Make an interface a host of its own, after `wake_steps`.

    The namespace keeps the box's own addresses and routes, the way SSH comes in among them, out of reach. Interfaces
    come back from it down, without addresses and with the kernel's own settings; what they had is part of the undoing.
    """
    name = plan.interface
    found = facts["interfaces"][name]
    steps = []
    if found["mtu"] != plan.mtu:
        steps.append(_mtu_step(name, plan.mtu, found["mtu"]))
    # Segments without a checksum must not leave a host: on virtual cables nothing completes them.
    steps += _offload_steps(name, ("lro", "gro", "gso", "tso", "rx", "tx"), found)
    steps.append(Step((), (("ip", "link", "set", "dev", name, "gso_max_segs", str(found["gso_max_segs"])),)))
    back = ((LEAVE_NAMESPACE, plan.namespace, name), (RESTORE_SETTINGS, json.dumps(found["settings"])))
    steps += [
        Step((("ip", "netns", "add", plan.namespace),), ((REMOVE_NAMESPACE, plan.namespace, name),)),
        Step((("ip", "link", "set", "dev", name, "netns", plan.namespace),), back),
    ]
    inside = ("ip", "netns", "exec", plan.namespace, "sysctl", "-q", "-w")
    quiet = tuple((*inside, f"net/ipv6/conf/{scope}/disable_ipv6=1") for scope in ("all", "default") if found["ipv6"])
    site = tuple(("ip", "-n", plan.namespace, *command) for command in plan.site_commands)
    steps.append(Step((*quiet, *site)))
    return steps


def _link(name: str, state: str) -> Command:
    return ("ip", "link", "set", "dev", name, state)


def _mtu_step(name: str, wanted: int, before: int) -> Step:
    command = ("ip", "link", "set", "dev", name, "mtu")
    return Step(((*command, str(wanted)),), ((*command, str(before)),))


def _offload_steps(name: str, features: Iterable[str], found: Facts) -> list[Step]:
    """A step for each, undone in reverse order; one that needs others must come before them.

    The kernel refuses `tso` without `tx` (netdev_fix_features in net/core/dev.c), drivers refuse `lro` without `rx`.
    """
    command = ("ethtool", "-K", name)
    return [
        Step(((*command, feature, "off"),), ((*command, feature, "on"),))
        for feature in features
        if feature in found["offloads"]
    ]
