"""The `ip` commands that turn an interface into the host of a site, as pure data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from kuijia_app.tables.wiring import Site, Wiring

_USUAL = IPv4Network("10.0.0.0/8")
"""Prefix that contains all sites unless a wiring file states others."""


@dataclass(frozen=True, slots=True)
class SiteHostSettings:
    """Settings of a host, in words for `ip`.

    Attributes:
        address: the host's, with the length of the prefix that is reached without a router.
        prefixes: of the site, to all of whose addresses it answers, without those of gateways.
        neighbours: address, MAC address and a prefix of other sites; those with several prefixes have one row for each.
        gateway: address of its router, empty if it knows all others in advance.
    """

    address: str
    prefixes: tuple[str, ...]
    neighbours: tuple[tuple[str, str, str], ...] = ()
    gateway: str = ""


def site_host(site: Site, wiring: Wiring, macs: Mapping[str, str]) -> SiteHostSettings:
    """Return the host of a site: it has a gateway, or knows the MAC addresses of the other sites, by their names."""
    gateways = wiring.gateways(site.switch)
    if gateways:
        own = next(prefix for prefix in site.prefixes if site.address in prefix)
        address = f"{site.address}/{own.prefixlen}"
        not_his = (*gateways, own.broadcast_address)  # the kernel has a route of its own for the latter
        answered = [each for prefix in site.prefixes for each in _without(prefix, not_his)]
        gateway = next((each for each in gateways if each in own), gateways[0])
        return SiteHostSettings(address, tuple(map(str, answered)), gateway=str(gateway))
    others = {other.name: other for other in wiring.sites}
    rows = (row for name, mac in macs.items() for row in neighbours_at(others[name], mac))
    return SiteHostSettings(own_address(site), tuple(map(str, site.prefixes)), tuple(rows))


def _without(prefix: IPv4Network, addresses: Iterable[IPv4Address]) -> list[IPv4Network]:
    """Return prefixes that contain all addresses of one but some."""
    left = [prefix]
    for address in map(IPv4Network, addresses):
        left = [part for each in left for part in _cut_out(each, address)]
    return left


def _cut_out(prefix: IPv4Network, address: IPv4Network) -> Iterable[IPv4Network]:
    return prefix.address_exclude(address) if address.subnet_of(prefix) else [prefix]


def own_address(site: Site) -> str:
    """Return the address of a site's host, with the length of the prefix that is reached without a router."""
    return f"{site.address}/{_USUAL.prefixlen if site.address in _USUAL else 32}"


def neighbours_at(site: Site, mac: str) -> Iterator[tuple[str, str, str]]:
    """Yield a host's address, its MAC address and a prefix of its site, for each of its prefixes."""
    yield from ((str(site.address), mac, str(prefix)) for prefix in site.prefixes)


def site_commands(interface: str, host: SiteHostSettings) -> list[list[str]]:
    """Return the commands for the host's own network namespace, on its interface cabled to the site's switch.

    A prefix that is the address alone needs no route.
    """
    own = IPv4Interface(host.address)
    others = {theirs: mac for theirs, mac, _ in host.neighbours}
    is_near = not host.gateway or IPv4Address(host.gateway) in own.network
    by_gateway = ["route", "add", "default", "via", host.gateway, "dev", interface, *([] if is_near else ["onlink"])]
    return [
        ["link", "set", "lo", "up"],
        ["address", "add", host.address, "dev", interface],
        ["link", "set", interface, "up"],
        *(
            ["neighbour", "replace", theirs, "lladdr", mac, "dev", interface, "nud", "permanent"]
            for theirs, mac in others.items()
        ),
        *(["route", "add", theirs, "dev", interface] for theirs in others if IPv4Address(theirs) not in own.network),
        *(
            ["route", "add", whole, "via", theirs, "dev", interface]
            for theirs, _, whole in host.neighbours
            if whole != f"{theirs}/32"
        ),
        *([by_gateway] if host.gateway else []),
        *(["route", "add", "local", prefix, "dev", "lo"] for prefix in host.prefixes if prefix != f"{own.ip}/32"),
    ]
