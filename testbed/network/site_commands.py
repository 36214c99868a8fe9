"""The `ip` commands that turn an interface into the host of a site, as pure data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_address, ip_interface, ip_network

from kuijia_app.tables.families import Address, Family, Prefix, family_of, first_of, whole
from kuijia_app.tables.neighbours import LINK_LOCAL_GATEWAY
from kuijia_app.tables.wiring import Site, Wiring

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
