"""Reasons why boxes cannot become a testbed, in words: derived from facts alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kuijia_app.tables.needs import HOST_MTU
from testbed.boxes.changes import Facts
from testbed.boxes.inventory import Box, HostBox, SwitchBox
from testbed.boxes.ssh import NEEDED_PYTHON
from testbed.machine.ovs import Datapath
from testbed.machine.versions import OLDEST_IPERF, OLDEST_OVS, dotted, is_older
from testbed.network.bridges import LINK_MTU

Cable = tuple[tuple[str, str], tuple[str, str]]
Heard = Mapping[str, Mapping[str, Sequence[Sequence[str]]]]
"""Box to its interfaces to the boxes and interfaces received there."""


def box_faults(
    box: Box, facts: Facts, namespace: str | None = None, *, changed: Collection[str] | None, tls: bool = False
) -> Iterator[str]:
    """Yield the faults of a box.

    Args:
        box: the box.
        facts: of the box.
        namespace: the network namespace to be created there.
        changed: interfaces with recorded changes, which are hidden or in use by us; other objects on such a box are
            ours, too. None if nothing is recorded.
        tls: True if the switch is to connect to the controller by TLS.
    """
    if not facts["is_root"]:
        yield "the user is not root: user root, or sudo without a password (`sudo: true`), is needed"
    yield from _program_faults(box, facts)
    if facts["programs"]["ip"] is None or facts["programs"]["tc"] is None:
        return  # the rest is found out by them
    yield from _management_faults(box, facts)
    ours = changed is not None
    for name in box.interfaces:
        if name not in (changed or ()):
            is_to_host = isinstance(box, HostBox) or name == box.host
            yield from _interface_faults(name, HOST_MTU if is_to_host else LINK_MTU, facts)
    if not ours:
        yield from _queue_faults(box, facts)
        if namespace in facts["namespaces"]:
            yield f"there is a network namespace {namespace} already"
    if isinstance(box, SwitchBox):
        yield from _switch_faults(box, facts, ours=ours)
        if tls and not facts.get("switch", {}).get("tls", True):
            yield "Open vSwitch has no key and certificates for TLS: `ovs-vsctl set-ssl KEY CERTIFICATE CA`"


def amiss(box: Box, facts: Facts) -> Iterator[str]:
    """Yield the recorded changes of a box that are no longer in effect."""
    if isinstance(box, HostBox):
        if box.interface in facts["interfaces"]:
            yield f"{box.interface} is not in the host's namespace"
        return
    ports = facts.get("switch", {}).get("bridges", {}).get(box.bridge, ())
    for name in box.interfaces:
        found = facts["interfaces"].get(name)
        if name not in ports:
            yield f"{name} is not a port of {box.bridge}"
        elif found is None:
            yield f"there is no interface {name}"
        elif not found["up"]:
            yield f"{name} is down"
        elif not found["own_queues"]:
            yield f"{name} has lost its queues"


def cable_faults(cables: Iterable[Cable], heard: Heard, asleep: Iterable[tuple[str, str]] = ()) -> list[str]:
    """Return the cables that do not lead where they should.

    Args:
        cables: expected cables.
        heard: the received probe frames.
        asleep: box and interface of ends that were down; their cables are not judged.
    """
    sleeping = set(asleep)
    faults = []
    for near, far in cables:
        if near in sleeping or far in sleeping:
            continue
        for here, there in ((near, far), (far, near)):
            found = [(str(box), str(interface)) for box, interface in heard[here[0]][here[1]]]
            if found != [there]:
                seen = ", ".join(" ".join(each) for each in found) or "nothing"
                faults.append(f"{' '.join(here)} receives from {seen} instead of {' '.join(there)}")
    return faults


def _program_faults(box: Box, facts: Facts) -> Iterator[str]:
    needed = ["ip", "tc", "ethtool", "sysctl", "ovs-vsctl" if isinstance(box, SwitchBox) else "iperf3"]
    missing = [name for name in needed if facts["programs"][name] is None]
    if missing:
        yield f"{', '.join(missing)} not found"
    if is_older(facts["python"], NEEDED_PYTHON):
        yield f"Python {facts['python']} is older than {dotted(NEEDED_PYTHON)}"
    iperf = facts["programs"]["iperf3"]
    if isinstance(box, HostBox) and iperf is not None and is_older(iperf, OLDEST_IPERF):
        yield f"iperf3 {iperf} is older than {dotted(OLDEST_IPERF)}"


def _management_faults(box: Box, facts: Facts) -> Iterator[str]:
    reached_by = facts["reached_by"]
    if reached_by is None:
        yield "the interface of the SSH connection is unknown, so it cannot be left alone"
    elif reached_by != box.management:
        yield f"SSH uses {reached_by}, but the management interface in the inventory is {box.management}"
    if reached_by in box.interfaces:
        yield f"{reached_by} is cabled in the inventory, but SSH uses it"


def _interface_faults(name: str, mtu: int, facts: Facts) -> Iterator[str]:
    found = facts["interfaces"].get(name)
    if found is None:
        yield f"there is no interface {name}"
        return
    if found["mac"] is None:
        yield f"{name} has no Ethernet address"
    if found["addresses"]:
        yield f"{name} is in use: it has the address {', '.join(found['addresses'])}"
    if found["master"]:
        yield f"{name} is in use: it is a port of {found['master']}"
    if found["carries"]:
        yield f"{name} is in use: {', '.join(found['carries'])} is built on it"
    if found["own_queues"]:
        yield f"{name} already has queues ({', '.join(found['own_queues'])})"
    if found["up"] and not found["carrier"]:
        yield f"{name} has no carrier"
    if 0 < found["max_mtu"] < mtu:
        yield f"{name} carries packets of {found['max_mtu']} bytes at most (`ip -details link`), {mtu} are needed"


def _queue_faults(box: Box, facts: Facts) -> Iterator[str]:
    needed = ["htb", "u32"]  # hosts limit their flows by both
    if isinstance(box, SwitchBox):
        needed = ["htb", "pfifo_head_drop", *(["u32"] if box.datapath is Datapath.USERSPACE else [])]
    lacking = [kind for kind in needed if not facts["queues"].get(kind, False)]
    if facts["queues"] and lacking:
        yield f"the kernel has no {', '.join(lacking)}"


def _switch_faults(box: SwitchBox, facts: Facts, *, ours: bool) -> Iterator[str]:
    switch = facts.get("switch")
    if switch is None:
        return
    if "fault" in switch:
        yield f"Open vSwitch at {box.ovs_directory} does not answer: {switch['fault']}"
        return
    if is_older(switch["version"], OLDEST_OVS):
        yield f"Open vSwitch {switch['version']} is older than {dotted(OLDEST_OVS)}"
    if box.datapath.value not in switch["datapaths"]:
        yield f"Open vSwitch has no datapath {box.datapath.value}, only {', '.join(switch['datapaths'])}"
    if not ours:
        yield from _taken_names(box, facts)


def _taken_names(box: SwitchBox, facts: Facts) -> Iterator[str]:
    bridges = facts["switch"]["bridges"]
    if box.bridge in bridges:
        yield f"there is a bridge {box.bridge} already"
    elif box.bridge in facts["devices"]:
        yield f"there is a device {box.bridge} already, so the bridge cannot have this name"
    for bridge, ports in bridges.items():
        for name in box.interfaces:
            if name in ports:
                yield f"{name} is in use: it is a port of bridge {bridge}"
