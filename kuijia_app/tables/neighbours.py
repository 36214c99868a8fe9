"""Entries for hosts that the controller learns by ARP: what sends their packets to it, and what delivers to them; pure.

They belong to no plan and carry a cookie of their own. A plan's tables lead packets that leave a tunnel into a table of
hosts at the egress (`HOST_TABLE`), instead of out of the site's port. That table has an entry for each known host; it
writes the Ethernet addresses and lowers the TTL. Packets to unknown hosts go to the controller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network

from kuijia_app.tables import identifiers
from kuijia_app.tables.rules import (
    ETH_TYPE_ARP,
    ETH_TYPE_IPV4,
    IN_PORT,
    FlowEntry,
    LowerTtl,
    Match,
    Output,
    SetEthernet,
    SwitchTables,
    ToController,
)
from kuijia_app.tables.wiring import Wiring

GATEWAY_MAC = "02:4b:55:49:4a:47"
"""Locally administered address of all gateways: a host that moves to another site need not learn it again."""

_NEVER_ROUTED = IPv4Network("224.0.0.0/3")
"""Multicast, reserved and broadcast addresses (RFC 1112, section 4; RFC 919)."""


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
    """

    switch: str
    ports: tuple[int, ...]
    prefixes: tuple[IPv4Network, ...]
    gateways: tuple[IPv4Address, ...]
    router: IPv4Address | None = None
    table_id: int = identifiers.HOST_TABLE

    def has(self, address: IPv4Address) -> bool:
        """Return True for an address of the site."""
        return any(address in prefix for prefix in self.prefixes)

    @cached_property
    def on_cable(self) -> tuple[IPv4Network, ...]:
        """The prefixes whose hosts answer ARP themselves."""
        return tuple(each for each in self.prefixes if self.router is None or self.router in each)

    @cached_property
    def behind_router(self) -> tuple[IPv4Network, ...]:
        """The other prefixes."""
        return tuple(each for each in self.prefixes if each not in self.on_cable)

    def next_hop(self, address: IPv4Address) -> IPv4Address | None:
        """Return whose Ethernet address packets to an address of the site need; None for any other address."""
        if any(address in prefix for prefix in self.on_cable):
            return address
        return self.router if self.has(address) else None

    def gateway_for(self, address: IPv4Address) -> IPv4Address | None:
        """Return the gateway that an address sees: the one in its prefix, or else any."""
        near = (each for prefix in self.prefixes if address in prefix for each in self.gateways if each in prefix)
        return next(near, self.gateways[0] if self.gateways else None)


@dataclass(frozen=True, slots=True)
class Standing:
    """An entry that stays, whoever is known; `meter` limits its packets, None for no limit."""

    entry: FlowEntry
    meter: int | None = None


def segment_of(wiring: Wiring, switch: str) -> Segment | None:
    """Return the site of a switch if its hosts are learned."""
    gateways = wiring.gateways(switch) if wiring.has_host(switch) else ()
    if not gateways:
        return None
    return Segment(switch, wiring.host_ports(switch), wiring.prefixes(switch), gateways, wiring.router(switch))


def segments_of(wiring: Wiring) -> tuple[Segment, ...]:
    """Return all sites whose hosts are learned."""
    return tuple(filter(None, (segment_of(wiring, switch) for switch in wiring.topology.nodes)))


def standing_entries(segment: Segment) -> Iterator[Standing]:
    """Yield what leads ARP, packets to the gateway and packets to unknown hosts to the controller.

    A meter has the number of its port; the one for packets out of tunnels has that of no port.
    """
    to_controller = (ToController(),)
    for port in segment.ports:
        arp = Match(in_port=port, eth_type=ETH_TYPE_ARP)
        yield Standing(FlowEntry(identifiers.GATEWAY_PRIORITY, arp, to_controller), port)
        for gateway in segment.gateways:
            match = Match(in_port=port, eth_type=ETH_TYPE_IPV4, ipv4_dst=IPv4Network(gateway))
            yield Standing(FlowEntry(identifiers.GATEWAY_PRIORITY, match, to_controller), port)
        if segment.table_id == identifiers.HOST_TABLE:
            yield from _beside_plan(segment, port)
    tunnels = identifiers.LAST_PORT + 1
    for gateway in segment.gateways:
        match = Match(eth_type=ETH_TYPE_IPV4, ipv4_dst=IPv4Network(gateway))
        entry = FlowEntry(identifiers.LOCAL_PRIORITY, match, to_controller, segment.table_id)
        yield Standing(entry, tunnels)
    for prefix in segment.prefixes:
        match = Match(eth_type=ETH_TYPE_IPV4, ipv4_dst=prefix)
        entry = FlowEntry(identifiers.UNRESOLVED_PRIORITY, match, to_controller, segment.table_id)
        yield Standing(entry, tunnels)


def _beside_plan(segment: Segment, port: int) -> Iterator[Standing]:
    """Yield what becomes of a host's packets to its own site, and to nowhere."""
    for prefix in segment.prefixes:
        # Only what was sent to the gateway: an Ethernet switch of the site may flood frames to this port, too.
        match = Match(in_port=port, eth_type=ETH_TYPE_IPV4, ipv4_dst=prefix, eth_dst=GATEWAY_MAC)
        yield Standing(FlowEntry(identifiers.LOCAL_PRIORITY, match, goto_table=segment.table_id))
    never = Match(in_port=port, eth_type=ETH_TYPE_IPV4, ipv4_dst=_NEVER_ROUTED)
    yield Standing(FlowEntry(identifiers.UNRESOLVED_PRIORITY, never))
    rest = Match(in_port=port, eth_type=ETH_TYPE_IPV4, eth_dst=GATEWAY_MAC)
    yield Standing(FlowEntry(identifiers.UNKNOWN_PRIORITY, rest, (ToController(),)), port)


def meters_of(segment: Segment) -> tuple[int, ...]:
    """Return the numbers of the meters of a site's standing entries."""
    return tuple(dict.fromkeys(each.meter for each in standing_entries(segment) if each.meter is not None))


def host_entries(segment: Segment, address: IPv4Address, mac: str, port: int) -> Iterator[FlowEntry]:
    """Yield the entries that deliver packets to a host at a port, and to all behind it if it is the router."""
    prefixes = [IPv4Network(address)]
    if address == segment.router:
        prefixes += segment.behind_router
    rewrite = (LowerTtl(), SetEthernet(GATEWAY_MAC, mac))
    for prefix in prefixes:
        match = Match(eth_type=ETH_TYPE_IPV4, ipv4_dst=prefix)
        yield FlowEntry(identifiers.HOST_PRIORITY, match, (*rewrite, Output(port)), segment.table_id)
        if len(segment.prefixes) > 1:  # otherwise hosts at one port need no gateway between them
            turned = Match(in_port=port, eth_type=ETH_TYPE_IPV4, ipv4_dst=prefix)
            yield FlowEntry(identifiers.TURNED_PRIORITY, turned, (*rewrite, Output(IN_PORT)), segment.table_id)


def with_known_hosts(tables: Mapping[str, SwitchTables], wiring: Wiring) -> dict[str, SwitchTables]:
    """Return the tables of switches as they are once all hosts of sites are known, at the first port of each site."""
    known = dict(tables)
    for segment in segments_of(wiring):
        its = known[segment.switch]
        rewrite = LowerTtl(), SetEthernet(GATEWAY_MAC, GATEWAY_MAC)
        delivered = tuple(
            FlowEntry(
                identifiers.HOST_PRIORITY,
                Match(eth_type=ETH_TYPE_IPV4, ipv4_dst=prefix),
                (*rewrite, Output(segment.ports[0])),
                segment.table_id,
            )
            for prefix in segment.prefixes
        )
        known[segment.switch] = SwitchTables(its.groups, (*its.flows, *delivered))
    return known
