"""The `ip` commands that turn an interface into the host of a site, as pure data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from kuijia_app.tables.wiring import Site

_USUAL = IPv4Network("10.0.0.0/8")
"""Prefix that contains all sites unless a wiring file states others."""


def own_address(site: Site) -> str:
    """Return the address of a site's host, with the length of the prefix that is reached without a router."""
    return f"{site.address}/{_USUAL.prefixlen if site.address in _USUAL else 32}"


def neighbours_at(site: Site, mac: str) -> Iterator[tuple[str, str, str]]:
    """Yield a host's address, its MAC address and a prefix of its site, for each of its prefixes."""
    yield from ((str(site.address), mac, str(prefix)) for prefix in site.prefixes)


def site_commands(
    interface: str, address: str, prefixes: Sequence[str], neighbours: Sequence[tuple[str, str, str]]
) -> list[list[str]]:
    """Return the commands for the host's own network namespace: it answers to its prefixes and knows others in advance.

    A prefix that is the address alone needs no route.

    Args:
        interface: interface cabled to the site's switch.
        address: the host's, as `own_address` returns it.
        prefixes: of the site.
        neighbours: address, MAC address and prefix of the other sites; those with several have one row for each.
    """
    own = IPv4Interface(address)
    others = {theirs: mac for theirs, mac, _ in neighbours}
    return [
        ["link", "set", "lo", "up"],
        ["address", "add", address, "dev", interface],
        ["link", "set", interface, "up"],
        *(
            ["neighbour", "replace", theirs, "lladdr", mac, "dev", interface, "nud", "permanent"]
            for theirs, mac in others.items()
        ),
        *(["route", "add", theirs, "dev", interface] for theirs in others if IPv4Address(theirs) not in own.network),
        *(
            ["route", "add", whole, "via", theirs, "dev", interface]
            for theirs, _, whole in neighbours
            if whole != f"{theirs}/32"
        ),
        *(["route", "add", "local", prefix, "dev", "lo"] for prefix in prefixes if prefix != f"{own.ip}/32"),
    ]
