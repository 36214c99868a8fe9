"""The `ip` commands that turn an interface into the host of a site, as pure data."""

from __future__ import annotations

from collections.abc import Sequence


def site_commands(
    interface: str, address: str, prefix: str, neighbours: Sequence[tuple[str, str, str]]
) -> list[list[str]]:
    """Return the commands for the host's own network namespace: it answers to its prefix and knows others in advance.

    A prefix that is the address alone needs no route.

    Args:
        interface: interface cabled to the site's switch.
        address: the host's, with the length of the prefix that contains all sites.
        prefix: of the site.
        neighbours: address, MAC address and prefix of the other sites.
    """
    own = address.partition("/")[0]
    return [
        ["link", "set", "lo", "up"],
        ["address", "add", address, "dev", interface],
        ["link", "set", interface, "up"],
        *(
            ["neighbour", "replace", theirs, "lladdr", mac, "dev", interface, "nud", "permanent"]
            for theirs, mac, _ in neighbours
        ),
        *(
            ["route", "add", whole, "via", theirs, "dev", interface]
            for theirs, _, whole in neighbours
            if whole != f"{theirs}/32"
        ),
        *([["route", "add", "local", prefix, "dev", "lo"]] if prefix != f"{own}/32" else []),
    ]
