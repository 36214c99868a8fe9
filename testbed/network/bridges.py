"""The parts of an emulated network as pure data: options, names, limits of links, commands for bridges and hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_address, ip_interface, ip_network
from typing import Literal

from kuijia_app.preparation.queues import MAX_CAPACITY, MAX_FRAME, MIN_CAPACITY, qos_arguments
from kuijia_app.tables.families import Address, Family, Prefix, family_of, first_of, whole
from kuijia_app.tables.needs import HOST_MTU, label_bytes
from kuijia_app.tables.neighbours import LINK_LOCAL_GATEWAY
from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queues import PLAIN_LAYOUT, Queue, QueueLayout
from kuijia_app.tables.wiring import Site, Wiring
from kuijia_base.errors import InputError
from te_solver.model.topology import Topology
from testbed.machine.ovs import Datapath
from testbed.machine.run_directory import LAB_VARIABLE


@dataclass(frozen=True)
class NetworkOptions:
    """Options beyond the topology.

    Attributes:
        layout: the queues of every port.
        tagging: place of the queue's tag in packets, for datapaths on which `set_queue` has no effect.
        buffer_packets: length of every queue.
        datapath: type of datapath; None selects the kernel's if it has one.
        system_ovs: True to use the machine's running Open vSwitch, in the machine's own namespace.
    """

    layout: QueueLayout = PLAIN_LAYOUT
    tagging: Tagging = Tagging.MPLS
    buffer_packets: int = 100
    datapath: Datapath | None = None
    system_ovs: bool = False


LINK_MTU = HOST_MTU + label_bytes(Tagging.MPLS, labelled_hosts=True)
"""MTU of a link: a host's packet, which may be labelled already, and our label."""


def require_possible_links(topology: Topology) -> None:
    """Raise InputError if a link is one-way, or too slow or too fast for queues."""
    for a, b in topology.edges:
        if not (topology.has_link(a, b) and topology.has_link(b, a)):
            raise InputError(topology.name, f"link {a}-{b}", "the link goes in one direction only", "one each way")
    for link in topology.links:
        if not MIN_CAPACITY <= link.capacity <= MAX_CAPACITY:
            problem = f"{link.capacity:g} Mbit/s cannot be emulated"
            expected = f"{MIN_CAPACITY:g} to {MAX_CAPACITY:g} Mbit/s"
            raise InputError(topology.name, f"link {link.source}-{link.target}", problem, expected)


def interface_rate_commands(interface: str, capacity: float, buffer_packets: int) -> list[list[str]]:
    """Return the arguments of the `tc` commands that limit a host to `capacity` Mbit/s through `interface`."""
    rate = f"{round(capacity * 1000)}kbit"
    burst = f"burst {MAX_FRAME} cburst {MAX_FRAME} quantum {MAX_FRAME}"
    commands = [
        f"qdisc add dev {interface} root handle 1: htb default 1",
        f"class add dev {interface} parent 1: classid 1:1 htb rate {rate} ceil {rate} {burst}",
        f"qdisc add dev {interface} parent 1:1 pfifo limit {buffer_packets}",
    ]
    return [command.split() for command in commands]


def bridge_name(wiring: Wiring, switch: str) -> str:
    return f"s{wiring.number(switch)}"


def port_name(wiring: Wiring, switch: str, port: int) -> str:
    return f"{bridge_name(wiring, switch)}-eth{port}"


def host_name(number: int) -> str:
    """Return the name of the host at this position in the wiring's sites, counted from 1."""
    return f"h{number}"


def host_interface(number: int) -> str:
    return f"{host_name(number)}-eth0"


LAB_KEY = LAB_VARIABLE.lower().replace("_", "-")
"""Key in a bridge's external_ids that names the lab it belongs to."""

_INACTIVITY_PROBE_MS = 5000


@dataclass(frozen=True)
class Port:
    """A port of a bridge.

    Attributes:
        interface: its device.
        mtu: bytes of the largest IP packet with labels that it carries.
        rate: Mbit/s of its queues.
        internal: True if it has no device until Open vSwitch creates it; such a port has no queues.
    """

    interface: str
    number: int
    mtu: int
    rate: float
    internal: bool = False


@dataclass(frozen=True)
class Bridge:
    """A bridge and its ports in the order of their numbers."""

    name: str
    datapath_id: int
    ports: tuple[Port, ...]


def bridge_arguments(bridge: Bridge, datapath: Datapath, lab_id: str, queues: Sequence[Queue]) -> list[str]:
    """Return the arguments of one `ovs-vsctl` that creates the bridge with its ports and their queues.

    Without a controller it drops packets that match no flow entry (fail mode `secure`). OpenFlow 1.5 is enabled for our
    own look at groups; a controller that speaks 1.3 gets 1.3.
    """
    mark = f"external_ids:{LAB_KEY}={lab_id}"
    settings = [
        f"datapath_type={datapath.value}",
        "fail_mode=secure",
        "protocols=OpenFlow13,OpenFlow15",
        f"other_config:datapath-id={bridge.datapath_id:016x}",
        "other_config:disable-in-band=true",
        mark,
    ]
    arguments = ["--", "add-br", bridge.name, "--", "set", "Bridge", bridge.name, *settings]
    rates = dict.fromkeys(port.rate for port in bridge.ports if not port.internal)
    names = {rate: f"{bridge.name}-qos-{number}" for number, rate in enumerate(rates, start=1)}
    for rate, name in names.items():
        arguments += qos_arguments(name, rate, queues, mark)
    for port in bridge.ports:
        arguments += ["--", "add-port", bridge.name, port.interface]
        arguments += [] if port.internal else ["--", "set", "Port", port.interface, f"qos=@{names[port.rate]}"]
        arguments += ["--", "set", "Interface", port.interface]
        arguments += [f"ofport_request={port.number}", f"mtu_request={port.mtu}"]
        arguments += ["type=internal"] if port.internal else []
    return arguments


def controller_arguments(
    bridge: Bridge,
    port: int,
    host: str = "127.0.0.1",
    protocol: Literal["tcp", "ssl"] = "tcp",
    others: Sequence[int] = (),
) -> list[str]:
    """Return the arguments of one `ovs-vsctl` that connects the bridge to a controller, and to others beside it."""
    name = f"@{bridge.name}-controller"
    names = [name, *(f"{name}-{number}" for number in range(2, len(others) + 2))]
    arguments = ["--", "set", "Bridge", bridge.name, f"controller={','.join(names)}"]
    for each, its_port in zip(names, (port, *others), strict=True):
        arguments += ["--", f"--id={each}", "create", "Controller", f'target="{protocol}:{host}:{its_port}"']
        arguments.append(f"inactivity_probe={_INACTIVITY_PROBE_MS}")
    return arguments


_USUAL = IPv4Network("10.0.0.0/8")
"""Prefix that contains all sites unless a wiring file states others."""


@dataclass(frozen=True, slots=True)
class SiteHostSettings:
    """Settings of a host, in words for `ip`.

    Attributes:
        addresses: the host's, one for each family, with the length of the prefix that is reached without a router.
        prefixes: of the site, to all of whose addresses it answers, without those of gateways.
        neighbours: address, MAC address and a prefix of other sites; those with several prefixes have one row for each.
        gateways: addresses of its router, at most one for each family; none if it knows all others in advance.
    """

    addresses: tuple[str, ...]
    prefixes: tuple[str, ...]
    neighbours: tuple[tuple[str, str, str], ...] = ()
    gateways: tuple[str, ...] = ()

    @property
    def has_ipv6(self) -> bool:
        return any(":" in address for address in self.addresses)


def site_host(site: Site, wiring: Wiring, macs: Mapping[str, str]) -> SiteHostSettings:
    """Return the host of a site: it has a gateway, or knows the MAC addresses of the other sites, by their names."""
    gateways = wiring.gateways(site.switch)
    if gateways:
        own = {address: next(each for each in site.prefixes if address in each) for address in site.addresses}
        addresses = tuple(f"{address}/{prefix.prefixlen}" for address, prefix in own.items())
        # The kernel has a route of its own for the last address of a prefix of IPv4.
        not_his = (*gateways, *(each.broadcast_address for each in own.values()))
        answered = [each for prefix in site.prefixes for each in _without(prefix, not_his)]
        nearest = tuple(str(each) for each in (_gateway(gateways, *its) for its in own.items()) if each)
        return SiteHostSettings(addresses, tuple(map(str, answered)), gateways=nearest)
    others = {other.name: other for other in wiring.sites}
    rows = (row for name, mac in macs.items() for row in neighbours_at(others[name], mac))
    return SiteHostSettings(own_addresses(site), tuple(map(str, site.prefixes)), tuple(rows))


def _gateway(gateways: tuple[Address, ...], address: Address, prefix: Prefix) -> Address | None:
    """Return the gateway of an address: one in its prefix, or else any of its family."""
    family = family_of(address)
    found = next((each for each in gateways if each in prefix), first_of(family, gateways))
    return LINK_LOCAL_GATEWAY if found is None and family is Family.IPV6 else found


def _without(prefix: Prefix, addresses: Iterable[Address]) -> list[Prefix]:
    """Return prefixes that contain all addresses of one but some."""
    left = [prefix]
    for address in addresses:
        left = [part for each in left for part in (_cut_out(each, address) if address in each else [each])]
    return left


def _cut_out(prefix: Prefix, address: Address) -> list[Prefix]:
    """Return prefixes with all addresses of one but this one: at each length the half that it is not in."""
    family, left = family_of(prefix), []
    for length in range(prefix.prefixlen + 1, family.bits + 1):
        bit = 1 << family.bits - length
        left.append(family.prefix((int(address) ^ bit) >> family.bits - length << family.bits - length, length))
    return left


def own_addresses(site: Site) -> tuple[str, ...]:
    """Return the addresses of a site's host, with the length of the prefix that is reached without a router."""
    return tuple(f"{each}/{_USUAL.prefixlen if each in _USUAL else family_of(each).bits}" for each in site.addresses)


def neighbours_at(site: Site, mac: str) -> Iterator[tuple[str, str, str]]:
    """Yield a host's address, its MAC address and a prefix of its site, for each of its prefixes."""
    for prefix in site.prefixes:
        address = first_of(family_of(prefix), site.addresses)
        yield str(address), mac, str(prefix)


def site_commands(interface: str, host: SiteHostSettings) -> list[list[str]]:
    """Return the commands for the host's own network namespace, on its interface cabled to the site's switch.

    A prefix that is the address alone needs no route. Addresses of IPv6 are used at once: the host's are stated, and
    nobody else has them.
    """
    own = [ip_interface(address) for address in host.addresses]
    others = {theirs: mac for theirs, mac, _ in host.neighbours}

    def is_near(address: str) -> bool:
        return any(ip_address(address) in each.network for each in own)

    return [
        ["link", "set", "lo", "up"],
        *(["address", "add", each, "dev", interface, *(["nodad"] if ":" in each else [])] for each in host.addresses),
        ["link", "set", interface, "up"],
        *(
            ["neighbour", "replace", theirs, "lladdr", mac, "dev", interface, "nud", "permanent"]
            for theirs, mac in others.items()
        ),
        *(["route", "add", theirs, "dev", interface] for theirs in others if not is_near(theirs)),
        *(
            ["route", "add", prefix, "via", theirs, "dev", interface]
            for theirs, _, prefix in host.neighbours
            if ip_network(prefix) != whole(ip_address(theirs))
        ),
        *(
            ["route", "add", "default", "via", each, "dev", interface, *([] if is_near(each) else ["onlink"])]
            for each in host.gateways
        ),
        *(
            ["route", "add", "local", prefix, "dev", "lo"]
            for prefix in host.prefixes
            if ip_network(prefix) not in {whole(each.ip) for each in own}
        ),
    ]
