"""Entries for hosts that the controller learns by ARP and neighbour discovery; pure.

Some send packets to the controller, some deliver to hosts. They belong to no plan and carry a cookie of their own. A
plan's tables lead packets that leave a tunnel into a table of hosts at the egress (`HOST_TABLE`), instead of out of the
site's port. That table has an entry for each known host; it writes the Ethernet addresses and lowers the TTL. Packets
to unknown hosts go to the controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import IPv4Network, IPv6Address, IPv6Network

from kuijia_app.tables import identifiers
from kuijia_app.tables.families import Address, Family, Prefix, families_of, family_of, first_of, whole
from kuijia_app.tables.rules import (
    ETH_TYPE_ARP,
    ETH_TYPE_OF,
    IN_PORT,
    NO_VLAN,
    TOO_LONG,
    Action,
    FlowEntry,
    LookUpAgain,
    LowerTtl,
    Match,
    Measure,
    Output,
    PopVlan,
    SetEthernet,
    SwitchTables,
    ToController,
    into_vlan,
)
from kuijia_app.tables.wiring import Wiring

GATEWAY_MAC = "02:4b:55:49:4a:47"
"""Locally administered address of all gateways: a host that moves to another site need not learn it again."""

LINK_LOCAL_GATEWAY = IPv6Address("fe80::4b:55ff:fe49:4a47")
"""The gateway's address in IPv6 at every site, by which it asks for hosts (RFC 4291, 2.5.6 and appendix A)."""

ALL_NODES = IPv6Address("ff02::1")
SOLICITED_NODES = IPv6Network("ff02::1:ff00:0/104")
"""Groups of those who may have an address that somebody asks for (RFC 4291, section 2.7.1)."""

_ETHERNET_BYTES = 14
"""Of the header of a frame without a tag (IEEE 802.3)."""

LONGEST_MEASURED = 0xFFFF - _ETHERNET_BYTES
"""Bytes of the longest packet that `Measure` can tell from longer ones."""

_NEVER_ROUTED: dict[Family, tuple[Prefix, ...]] = {
    Family.IPV4: (IPv4Network("224.0.0.0/3"),),
    Family.IPV6: (IPv6Network("ff00::/8"), IPv6Network("fe80::/10")),
}
"""Multicast, reserved and broadcast addresses of IPv4 (RFC 1112, section 4; RFC 919); multicast and link-local ones of
IPv6 (RFC 4291)."""


@dataclass(frozen=True)
class Segment:
    """The hosts at some ports of one switch, which find their gateway there.

    Attributes:
        switch: where the ports are.
        ports: ports to the hosts.
        prefixes: addresses of the hosts, and of those behind their router.
        gateways: addresses at which the gateway answers.
        router: the hosts' own router, None if all prefixes are on the cable.
        table_id: table in which packets for the hosts end.
        vlan: VLAN of the hosts at the ports, None if their packets have no tag.
        is_beside: True if a port leads to another site, too, whose packets have a tag.
        nearby: prefixes of the other sites at the switch whose hosts are learned.
    """

    switch: str
    ports: tuple[int, ...]
    prefixes: tuple[Prefix, ...]
    gateways: tuple[Address, ...]
    router: Address | None = None
    table_id: int = identifiers.HOST_TABLE
    vlan: int | None = None
    is_beside: bool = False
    nearby: tuple[Prefix, ...] = ()

    def has(self, address: Address) -> bool:
        """Return True for an address of the site."""
        return any(address in prefix for prefix in self.prefixes)

    @cached_property
    def on_cable(self) -> tuple[Prefix, ...]:
        """The prefixes whose hosts answer ARP themselves: all without a router, else those with it or a gateway."""
        own = (self.router, *self.gateways)
        return tuple(each for each in self.prefixes if self.router is None or any(one in each for one in own))

    @cached_property
    def behind_router(self) -> tuple[Prefix, ...]:
        """The other prefixes."""
        return tuple(each for each in self.prefixes if each not in self.on_cable)

    def next_hop(self, address: Address) -> Address | None:
        """Return whose Ethernet address packets to an address of the site need; None for any other address."""
        if any(address in prefix for prefix in self.on_cable):
            return address
        return self.router if self.has(address) else None

    def gateway_for(self, address: Address) -> Address | None:
        """Return the gateway that an address sees: the one in its prefix, or else any."""
        family = family_of(address)
        near = (each for prefix in self.prefixes if address in prefix for each in self.gateways if each in prefix)
        own = next(near, first_of(family, self.gateways))
        return LINK_LOCAL_GATEWAY if own is None and family is Family.IPV6 else own

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The families of its prefixes."""
        return families_of(self.prefixes)

    @property
    def untag(self) -> tuple[Action, ...]:
        """The actions that remove the tag of the hosts' VLAN from their packets."""
        return () if self.vlan is None else (PopVlan(),)

    @property
    def arriving(self) -> int | None:
        """VLAN id that a match for packets of the hosts needs, None if it needs none."""
        return NO_VLAN if self.vlan is None and self.is_beside else self.vlan

    @property
    def retag(self) -> tuple[Action, ...]:
        """The actions that put packets for the hosts into their VLAN."""
        return into_vlan(self.vlan)

    def is_broadcast(self, address: Address) -> bool:
        """Return True for the address of all hosts on the cable (RFC 919), which routers drop (RFC 2644)."""
        found = (each for each in self.on_cable if isinstance(each, IPv4Network) and each.prefixlen < 31)
        return any(address == each.broadcast_address for each in found)

    def is_gateway(self, address: Address) -> bool:
        """Return True for an address at which the gateway answers."""
        return address in self.gateways or (address == LINK_LOCAL_GATEWAY and Family.IPV6 in self.families)


@dataclass(frozen=True, slots=True)
class Standing:
    """An entry that stays, whoever is known.

    Attributes:
        meter: number of the meter that limits its packets, None for no limit.
        refuses: True if nothing carries its packets.
        measures: True if it is for the length of packets, which not every switch can find out.
    """

    entry: FlowEntry
    meter: int | None = None
    refuses: bool = False
    measures: bool = False


def segments_of(wiring: Wiring) -> tuple[Segment, ...]:
    """Return all sites whose hosts are learned."""
    return tuple(each for switch in wiring.topology.nodes for each in _segments_at(wiring, switch))


def _segments_at(wiring: Wiring, switch: str) -> Iterator[Segment]:
    learned = [end for end in wiring.host_ends(switch) if end.gateways]
    shared = {entrance.port for entrance in wiring.entrances(switch) if entrance.vlan is not None}
    for end in learned:
        nearby = tuple(prefix for other in learned if other is not end for prefix in other.prefixes)
        is_beside = not shared.isdisjoint(end.ports)
        stated = end.ports, end.prefixes, end.gateways, end.router
        yield Segment(switch, *stated, vlan=end.vlan, is_beside=is_beside, nearby=nearby)


def standing_entries(segment: Segment, mtu: int | None = None) -> Iterator[Standing]:
    """Yield what leads ARP, neighbour discovery, packets to the gateway and to unknown hosts to the controller.

    With `mtu`, so do hosts' packets of more bytes to sites elsewhere. A meter has the number of its port; the one for
    packets out of tunnels has that of no port.
    """
    to_controller = (ToController(),)
    for port in segment.ports:
        vlan, has_arp = segment.arriving, Family.IPV4 in segment.families
        matches = [Match(in_port=port, eth_type=ETH_TYPE_ARP, vlan_vid=vlan)] if has_arp else []
        matches += (Match.to(whole(gateway), in_port=port, vlan_vid=vlan) for gateway in segment.gateways)
        if Family.IPV6 in segment.families:
            groups = (SOLICITED_NODES, whole(ALL_NODES), whole(LINK_LOCAL_GATEWAY))
            matches += (Match.to(group, in_port=port, vlan_vid=vlan) for group in groups)
        for match in matches:
            yield Standing(FlowEntry(identifiers.GATEWAY_PRIORITY, match, to_controller), port)
        if segment.table_id == identifiers.HOST_TABLE:
            yield from _beside_plan(segment, port)
            if mtu is not None:
                yield from _measuring(segment, port, mtu)
    tunnels = identifiers.LAST_PORT + 1
    for gateway in segment.gateways:
        entry = FlowEntry(identifiers.LOCAL_PRIORITY, Match.to(whole(gateway)), to_controller, segment.table_id)
        yield Standing(entry, tunnels)
    for prefix in segment.prefixes:
        entry = FlowEntry(identifiers.UNRESOLVED_PRIORITY, Match.to(prefix), to_controller, segment.table_id)
        yield Standing(entry, tunnels)


def _beside_plan(segment: Segment, port: int) -> Iterator[Standing]:
    """Yield what becomes of a host's packets to its own site, and to nowhere."""
    for prefix in (*segment.prefixes, *segment.nearby):
        # Only what was sent to the gateway: an Ethernet switch of the site may flood frames to this port, too.
        match = Match.to(prefix, in_port=port, eth_dst=GATEWAY_MAC, vlan_vid=segment.arriving)
        yield Standing(FlowEntry(identifiers.LOCAL_PRIORITY, match, segment.untag, goto_table=segment.table_id))
    for family in segment.families:
        for never in _NEVER_ROUTED[family]:
            match = Match.to(never, in_port=port, vlan_vid=segment.arriving)
            yield Standing(FlowEntry(identifiers.UNRESOLVED_PRIORITY, match), refuses=True)
        rest = Match(in_port=port, eth_type=ETH_TYPE_OF[family], eth_dst=GATEWAY_MAC, vlan_vid=segment.arriving)
        yield Standing(FlowEntry(identifiers.UNKNOWN_PRIORITY, rest, (ToController(),)), port, refuses=True)


def _measuring(segment: Segment, port: int, mtu: int) -> Iterator[Standing]:
    """Yield what becomes of a host's packets that links do not carry, and what lets those pass that need no link."""
    at_port = Match(in_port=port, eth_dst=GATEWAY_MAC, vlan_vid=segment.arriving)
    for prefix in (*segment.prefixes, *segment.nearby):
        near = Match.to(prefix, in_port=port, eth_dst=GATEWAY_MAC, vlan_vid=segment.arriving)
        to_hosts = FlowEntry(identifiers.NEAR_PRIORITY, near, segment.untag, goto_table=segment.table_id)
        yield Standing(to_hosts, measures=True)
    for family in segment.families:
        unmeasured = replace(at_port, eth_type=ETH_TYPE_OF[family], metadata=0)
        measure = (*segment.untag, Measure(_ETHERNET_BYTES + mtu), *segment.retag, LookUpAgain())
        yield Standing(FlowEntry(identifiers.MEASURED_PRIORITY, unmeasured, measure), measures=True)
    too_long = replace(at_port, metadata=TOO_LONG)
    yield Standing(FlowEntry(identifiers.MEASURED_PRIORITY, too_long, (ToController(),)), port, measures=True)


def meters_of(segment: Segment) -> tuple[int, ...]:
    """Return the numbers of the meters of a site's standing entries."""
    return tuple(dict.fromkeys(each.meter for each in standing_entries(segment) if each.meter is not None))


def host_entries(segment: Segment, address: Address, mac: str, port: int) -> Iterator[FlowEntry]:
    """Yield the entries that deliver packets to a host at a port, and to all behind it if it is the router."""
    prefixes = [whole(address)]
    if address == segment.router:
        prefixes += segment.behind_router
    # Hosts at one port need no gateway between them, unless some have been at another port.
    is_turned = len(segment.prefixes) > 1 or bool(segment.nearby) or len(segment.ports) > 1
    yield from _deliveries(segment, prefixes, mac, port, is_turned=is_turned)


def outdated_entries(segment: Segment) -> Iterator[FlowEntry]:
    """Yield the entries that a controller may have left for which prefixes on the cable were behind a router."""
    prefixes = [prefix for prefix in segment.on_cable if prefix.num_addresses > 1]
    for port in segment.ports:
        yield from _deliveries(segment, prefixes, GATEWAY_MAC, port, is_turned=True)


def _deliveries(
    segment: Segment, prefixes: Iterable[Prefix], mac: str, port: int, *, is_turned: bool
) -> Iterator[FlowEntry]:
    rewrite = (LowerTtl(), SetEthernet(GATEWAY_MAC, mac), *segment.retag)
    for prefix in prefixes:
        yield FlowEntry(identifiers.HOST_PRIORITY, Match.to(prefix), (*rewrite, Output(port)), segment.table_id)
        if is_turned:
            turned = Match.to(prefix, in_port=port)
            yield FlowEntry(identifiers.TURNED_PRIORITY, turned, (*rewrite, Output(IN_PORT)), segment.table_id)


def with_known_hosts(tables: Mapping[str, SwitchTables], wiring: Wiring) -> dict[str, SwitchTables]:
    """Return the tables of switches as they are once all hosts of sites are known, at the first port of each site."""
    known = dict(tables)
    for segment in segments_of(wiring):
        its = known[segment.switch]
        rewrite = LowerTtl(), SetEthernet(GATEWAY_MAC, GATEWAY_MAC), *segment.retag
        delivered = tuple(
            FlowEntry(
                identifiers.HOST_PRIORITY,
                Match.to(prefix),
                (*rewrite, Output(segment.ports[0])),
                segment.table_id,
            )
            for prefix in segment.prefixes
        )
        known[segment.switch] = SwitchTables(its.groups, (*its.flows, *delivered))
    return known
