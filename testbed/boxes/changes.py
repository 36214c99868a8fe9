"""The changes that turn a box into a switch or a host, as pure data: commands, each with those that undo it.

A step exists only if the box's state makes it necessary; its undo commands come from that state, too. No command names
an interface that is not in the inventory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

Command = tuple[str, ...]
Facts = Mapping[str, Any]
"""Facts from `testbed.boxes.survey`."""

COMPLETE_QUEUES = "complete-queues"
"""First word of a built-in command; argument: the two lists of `kuijia_app.preparation.completion`, as JSON."""

REMOVE_BRIDGE = "remove-bridge"
"""First word of a built-in undo command; arguments: directory of the Open vSwitch, bridge, mark. It removes the bridge
if it has the mark, and everything else with the mark."""


REMOVE_CABLES = "remove-cables"
"""Likewise; arguments: directory of the Open vSwitch, bridge. It removes all cables of BFD sessions."""

REMOVE_QUEUES = "remove-queues"
"""Likewise; argument: interface. It removes our queues from it."""

LEAVE_NAMESPACE = "leave-namespace"
"""Likewise; arguments: network namespace, interface. It moves the interface out."""

REMOVE_NAMESPACE = "remove-namespace"
"""Likewise; arguments: network namespace, the interface that must have left it."""

RESTORE_SETTINGS = "restore-settings"
"""Likewise; argument: path to text in /proc/sys/net, as JSON."""


@dataclass(frozen=True)
class BoxStep:
    """One change.

    Attributes:
        do: commands, in order.
        undo: commands that undo it, in order; none where another step's undo covers it. Repeated, as after a killed
            `down`, they change nothing and do not fail.
        lasting: True if the change survives a restart of the box.
    """

    do: tuple[Command, ...]
    undo: tuple[Command, ...] = ()
    lasting: bool = False

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class PortPlan:
    """Target state of a switch port; `queue_commands` are those of `COMPLETE_QUEUES`."""

    interface: str
    mtu: int
    queue_commands: str


@dataclass(frozen=True)
class HostPlan:
    """Target state of a host: its interface is moved into its own namespace and set up there by `ip`."""

    namespace: str
    interface: str
    mtu: int
    site_commands: tuple[Command, ...]


def wake_steps(interfaces: Iterable[str], facts: Facts) -> list[BoxStep]:
    """Return the steps that bring interfaces up, without IPv6, so that their cabling can be examined.

    Interfaces that were up before stay up afterwards: links are cut in between.
    """
    steps = []
    for name in interfaces:
        found = facts["interfaces"][name]
        if found["ipv6"]:
            key = f"net/ipv6/conf/{name}/disable_ipv6"
            steps.append(BoxStep((("sysctl", "-q", "-w", f"{key}=1"),), (("sysctl", "-q", "-w", f"{key}=0"),)))
        if found["up"]:
            steps.append(BoxStep((), (_link(name, "up"),)))
        else:
            steps.append(BoxStep((_link(name, "up"),), (_link(name, "down"),)))
    return steps


def switch_steps(
    ports: Iterable[PortPlan], bridge_command: Command, removals: tuple[Command, ...], facts: Facts
) -> list[BoxStep]:
    """Return the steps that make a bridge of ports with queues, after `wake_steps`.

    Args:
        ports: of the bridge.
        bridge_command: creates the bridge.
        removals: remove it with all that was added to it since, see `REMOVE_BRIDGE`.
        facts: state of the box before.
    """
    ports = tuple(ports)
    steps = []
    for port in ports:
        found = facts["interfaces"][port.interface]
        if found["mtu"] != port.mtu:
            steps.append(_mtu_step(port.interface, port.mtu, found["mtu"]))
        steps += _offload_steps(port.interface, ("lro", "gro"), found)
        if not found["promiscuous"]:  # a killed daemon leaves its ports promiscuous
            steps.append(BoxStep((), (("ip", "link", "set", "dev", port.interface, "promisc", "off"),)))
        # The bridge makes them, again after a restart, and leaves them when it is removed.
        steps.append(BoxStep((), ((REMOVE_QUEUES, port.interface),), lasting=True))
    steps.append(BoxStep((bridge_command,), removals, lasting=True))
    return [*steps, *(BoxStep(((COMPLETE_QUEUES, port.queue_commands),)) for port in ports)]


def host_steps(plan: HostPlan, facts: Facts) -> list[BoxStep]:
    """Return the steps that turn an interface into a separate host, after `wake_steps`.

    The namespace keeps the box's own addresses and routes, including SSH's, out of reach. Interfaces return from it
    down, without addresses and with the kernel's default settings; the undo commands restore the former ones.
    """
    name = plan.interface
    found = facts["interfaces"][name]
    steps = []
    if found["mtu"] != plan.mtu:
        steps.append(_mtu_step(name, plan.mtu, found["mtu"]))
    # Segments without a checksum must not leave a host: nothing completes them on virtual cables.
    steps += _offload_steps(name, ("lro", "gro", "gso", "tso", "rx", "tx"), found)
    steps.append(BoxStep((), (("ip", "link", "set", "dev", name, "gso_max_segs", str(found["gso_max_segs"])),)))
    back = ((LEAVE_NAMESPACE, plan.namespace, name), (RESTORE_SETTINGS, json.dumps(found["settings"])))
    steps += [
        BoxStep((("ip", "netns", "add", plan.namespace),), ((REMOVE_NAMESPACE, plan.namespace, name),)),
        BoxStep((("ip", "link", "set", "dev", name, "netns", plan.namespace),), back),
    ]
    inside = ("ip", "netns", "exec", plan.namespace, "sysctl", "-q", "-w")
    quiet = tuple((*inside, f"net/ipv6/conf/{scope}/disable_ipv6=1") for scope in ("all", "default") if found["ipv6"])
    site = tuple(("ip", "-n", plan.namespace, *command) for command in plan.site_commands)
    steps.append(BoxStep((*quiet, *site)))
    return steps


def _link(name: str, state: str) -> Command:
    return ("ip", "link", "set", "dev", name, state)


def _mtu_step(name: str, wanted: int, before: int) -> BoxStep:
    command = ("ip", "link", "set", "dev", name, "mtu")
    return BoxStep(((*command, str(wanted)),), ((*command, str(before)),))


def _offload_steps(name: str, features: Iterable[str], found: Facts) -> list[BoxStep]:
    """Return a step for each feature, undone in reverse order; a feature must precede those that it depends on.

    The kernel refuses `tso` without `tx` (netdev_fix_features in net/core/dev.c), drivers refuse `lro` without `rx`.
    """
    command = ("ethtool", "-K", name)
    return [
        BoxStep(((*command, feature, "off"),), ((*command, feature, "on"),))
        for feature in features
        if feature in found["offloads"]
    ]
