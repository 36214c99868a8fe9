"""Numbering of switch ports and addresses of sites: a pure function of the topology, unless a wiring file states it.

The controller and the testbed both derive it from the same Plan, and perhaps the same wiring file
(`kuijia_app.tables.stated_wiring`), so neither has to inform the other.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network

from kuijia_app.tables.families import Address, Family, Prefix, families_of, family_of, first_of
from kuijia_app.tables.rules import NO_VLAN
from te_solver.model.topology import Topology

MAX_SITES = 0xFFFF
"""Most sites, as each has a /24 of 10.0.0.0/8."""


class Neighbours(Enum):
    """Sites whose hosts the controller learns by ARP: those with a gateway in the wiring file, none, or all."""

    WIRING = "wiring"
    STATIC = "static"
    LEARNED = "learned"


def default_gateway(prefix: Prefix, hosts: Collection[Address]) -> Address | None:
    """Return the gateway of a prefix unless it is stated: its first address, or its last one if the first is a host's.

    None for a prefix of one address, which is the host's.
    """
    addresses = range(1, prefix.num_addresses - 1) or range(prefix.num_addresses)
    return next((each for place in (addresses[0], addresses[-1]) if (each := prefix[place]) not in hosts), None)


def default_gateways(prefixes: Iterable[Prefix], hosts: Collection[Address]) -> tuple[Address, ...]:
    """Return the gateways of a site's prefixes unless they are stated."""
    return tuple(filter(None, (default_gateway(prefix, hosts) for prefix in prefixes)))


@dataclass(frozen=True, slots=True)
class Site:
    """A host and its connection.

    Attributes:
        name: as users know it.
        switch, port: its port of the network.
        address: its own address.
        prefix: addresses it answers to.
        capacity: of its cable, in Mbit/s; None: it can receive all that its switch's links bring, and send without
            limit.
        more_prefixes: further addresses it answers to.
        more_ports: further ports of the same switch that lead to it.
        more_addresses: further addresses of its own, such as that of the other family.
        vlan: VLAN of its packets on its cable, None if they have no tag.
    """

    name: str
    switch: str
    port: int
    address: Address
    prefix: Prefix
    capacity: float | None = None
    more_prefixes: tuple[Prefix, ...] = ()
    more_ports: tuple[int, ...] = ()
    more_addresses: tuple[Address, ...] = ()
    vlan: int | None = None

    @property
    def ports(self) -> tuple[int, ...]:
        """All its ports of the network."""
        return (self.port, *self.more_ports)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """All its own addresses."""
        return (self.address, *self.more_addresses)

    @property
    def prefixes(self) -> tuple[Prefix, ...]:
        """All addresses it answers to."""
        return (self.prefix, *self.more_prefixes)

    @property
    def mac(self) -> str:
        """Locally administered address, 02:00 followed by the IPv4 address; without one, by a digest of the other."""
        address = first_of(Family.IPV4, self.addresses)
        last = hashlib.blake2b(self.address.packed, digest_size=4).digest() if address is None else address.packed
        return ":".join(f"{octet:02x}" for octet in (2, 0, *last))


@dataclass(frozen=True, slots=True)
class HostEnd:
    """A site at a switch: the port to its host, the host's address, and all prefixes of the site.

    Attributes:
        more_ports: further ports to the site.
        gateways: addresses at which the site finds its gateway; none if its hosts are not learned.
        router: the site's own router; prefixes with neither it nor a gateway are behind it.
        more_addresses: further addresses of the host: of each family of the prefixes it has one.
        vlan: VLAN of the site at its ports, which are trunks; None if its packets have no tag.
        tagged: True if packets of the site's hosts may have a VLAN tag of their own, with which they are delivered.
    """

    port: int
    address: Address
    prefixes: tuple[Prefix, ...]
    more_ports: tuple[int, ...] = ()
    gateways: tuple[Address, ...] = ()
    router: Address | None = None
    more_addresses: tuple[Address, ...] = ()
    vlan: int | None = None
    tagged: bool = False

    @property
    def ports(self) -> tuple[int, ...]:
        """All ports to the site."""
        return (self.port, *self.more_ports)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """All addresses of the host."""
        return (self.address, *self.more_addresses)

    def source_for(self, target: Address) -> Address:
        """Return the address that the host sends to a target from; the unspecified one, if it has none."""
        family = family_of(target)
        return first_of(family, self.addresses) or family.unspecified


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where packets of a site's hosts enter a switch.

    Attributes:
        port: one of the site's ports.
        vlan: VLAN of the packets; `NO_VLAN` if they have no tag, beside others that have one; None if the port leads to
            one site alone, whose packets have no tag of its own.
        is_tagged: True if packets may have a tag of their hosts'.
    """

    port: int
    vlan: int | None
    is_tagged: bool = False


@dataclass(frozen=True)
class Wiring:
    """Numbering of switches, ports and sites.

    Sites, datapath ids and ports count from 1 in topology order. Ports 1 to n of a switch lead to its n neighbours
    and port n + 1 to the site's host. Site number i owns the prefix 10.x.y.0/24 with 256 x + y = i, and its host has
    address .1 in it. `neighbours` decides which sites have gateways.
    """

    topology: Topology
    neighbours: Neighbours = field(default=Neighbours.WIRING, kw_only=True)

    def __post_init__(self) -> None:
        if len(self.topology.nodes) > MAX_SITES:
            raise ValueError(f"{len(self.topology.nodes)} switches, the address plan holds {MAX_SITES}")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {switch: number for number, switch in enumerate(self.topology.nodes, start=1)}

    def number(self, switch: str) -> int:
        """Return the position of a switch in the topology, counted from 1; names of devices and group ids use it."""
        return self._numbers[switch]

    def datapath_id(self, switch: str) -> int:
        return self.number(switch)

    def switch_of(self, datapath_id: int) -> str | None:
        """Return the switch with this datapath id, None if the topology has no such switch."""
        nodes = self.topology.nodes
        return nodes[datapath_id - 1] if 1 <= datapath_id <= len(nodes) else None

    def is_not_ours(self, datapath_id: int) -> bool:  # noqa: ARG002  # no number is reserved for others
        """Return True if the wiring says that a switch with this datapath id belongs to somebody else."""
        return False

    def port(self, switch: str, neighbour: str) -> int:
        """Return the port of `switch` that leads to `neighbour`; raises ValueError if they share no link."""
        return self.topology.neighbours[switch].index(neighbour) + 1

    def neighbour_at(self, switch: str, port: int) -> str | None:
        """Return the switch that `port` leads to, None for the host port and for unknown ports."""
        neighbours = self.topology.neighbours[switch]
        return neighbours[port - 1] if 1 <= port <= len(neighbours) else None

    def link_ports(self, switch: str) -> Sequence[int]:
        """Return the numbers of a switch's ports to its neighbours, in the order of the topology."""
        return range(1, len(self.topology.neighbours[switch]) + 1)

    def has_host(self, switch: str) -> bool:  # noqa: ARG002  # each switch has one
        return True

    def host_port(self, switch: str) -> int:
        """Return the port of the first site's host; raises KeyError if the switch has none."""
        return len(self.topology.neighbours[switch]) + 1

    def host_ports(self, switch: str) -> tuple[int, ...]:
        """Return all ports to sites, that of `host_port` first; raises KeyError if the switch has none."""
        return (self.host_port(switch),)

    def host_ends(self, switch: str) -> tuple[HostEnd, ...]:
        """Return the sites at a switch, each with its gateways if its hosts are learned; none if it only forwards."""
        (prefix, address), port = (self.prefix(switch), self.host_address(switch)), self.host_port(switch)
        is_learned = self.neighbours is Neighbours.LEARNED
        gateways = default_gateways((prefix,), (address,)) if is_learned else ()
        return (HostEnd(port, address, (prefix,), gateways=gateways),)

    def gateways(self, switch: str) -> tuple[Address, ...]:
        """Return the addresses at which sites find their gateways; none if no hosts there are learned."""
        return tuple(gateway for end in self.host_ends(switch) for gateway in end.gateways)

    def entrances(self, switch: str) -> tuple[Entrance, ...]:
        """Return where packets of a switch's sites enter it."""
        ends = self.host_ends(switch)
        tagged = {port for end in ends if end.vlan is not None for port in end.ports}
        beside = dict.fromkeys(tagged, NO_VLAN)
        return tuple(
            Entrance(port, beside.get(port) if end.vlan is None else end.vlan, end.tagged)
            for end in ends
            for port in end.ports
        )

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """All hosts; here one for each switch, with the switch's name."""
        return tuple(
            Site(switch, switch, self.host_port(switch), self.host_address(switch), self.prefix(switch))
            for switch in self.topology.nodes
        )

    def ports(self, switch: str) -> Sequence[int]:
        """Return the numbers of a switch's ports, those of hosts last."""
        return range(1, len(self.topology.neighbours[switch]) + self._host_counts[switch] + 1)

    @cached_property
    def _host_counts(self) -> Counter[str]:
        return Counter(site.switch for site in self.sites)

    def prefix(self, switch: str) -> Prefix:
        """Return the first prefix of the sites at a switch."""
        return IPv4Network((int(IPv4Address("10.0.0.0")) + (self.number(switch) << 8), 24))

    def prefixes(self, switch: str) -> tuple[Prefix, ...]:
        """Return all prefixes of the sites at a switch."""
        return (self.prefix(switch),)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The families of all sites' prefixes."""
        return families_of(prefix for site in self.sites for prefix in site.prefixes)

    def families_at(self, switch: str) -> tuple[Family, ...]:
        """Return the families of the prefixes of the sites at a switch; raises KeyError if it has none."""
        return families_of(self.prefixes(switch))

    def host_address(self, switch: str) -> Address:
        return self.prefix(switch)[1]

    def host_addresses(self, switch: str) -> tuple[Address, ...]:
        """Return the addresses of the sites' hosts, that of `host_address` first."""
        return (self.host_address(switch),)

    def require_hosts(self, switches: Iterable[str]) -> None:
        """Raise InputError if one of these switches has no host."""

    def require_ports_up_to(self, last: int, reason: str) -> None:
        """Raise InputError with the reason if a wiring file states a port number above `last`."""
