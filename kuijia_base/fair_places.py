"""A limited number of places for connections, shared fairly between the addresses from which they come; pure."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_SUBNET_BITS = 64
"""Prefix of IPv6 that a single customer gets, and with it any number of addresses (RFC 6177)."""


def origin_of(host: str) -> str:
    """Return whom an address belongs to: itself for IPv4, its subnet of 64 bits for IPv6."""
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address) >> _SUBNET_BITS << _SUBNET_BITS, _SUBNET_BITS)))


class FairPlaces(Generic[Key]):
    """Places of connections, each identified by a key; all steps take constant time.

    When there are too many, the oldest connection of the origin with the most has to go: one origin cannot keep out
    another one that has fewer.
    """

    def __init__(self, most: int, most_of_origin: int) -> None:
        self._most = most
        self._most_of_origin = most_of_origin
        self._origins: dict[Key, str] = {}
        self._keys: defaultdict[str, dict[Key, None]] = defaultdict(dict)
        self._with: defaultdict[int, dict[str, None]] = defaultdict(dict)
        """Origins by the number of their connections, those first that have had this number for longest."""
        self._highest = 0

    def __len__(self) -> int:
        return len(self._origins)

    def __contains__(self, key: object) -> bool:
        return key in self._origins

    def take(self, key: Key, origin: str) -> Key | None:
        """Give a new connection a place; return the connection that must close for it, if any.

        That one keeps its place until `leave` is called.
        """
        self._origins[key] = origin
        self._count(origin, 1)
        self._keys[origin][key] = None
        if len(self._keys[origin]) > self._most_of_origin:
            return next(iter(self._keys[origin]))
        if len(self._origins) > self._most:
            return next(iter(self._keys[next(iter(self._with[self._highest]))]))
        return None

    def leave(self, key: Key) -> None:
        """Free a place; has no effect a second time."""
        origin = self._origins.pop(key, None)
        if origin is not None:
            self._count(origin, -1)
            del self._keys[origin][key]
            if not self._keys[origin]:
                del self._keys[origin]

    def rank(self, key: Key) -> int:
        """Return how many connections the origin of a connection has, 0 for one without a place."""
        origin = self._origins.get(key)
        return 0 if origin is None else len(self._keys[origin])

    def oldest(self, count: int) -> list[Key]:
        """Return the connections that came first, at most so many."""
        return [key for key, _ in zip(self._origins, range(count), strict=False)]

    def _count(self, origin: str, step: int) -> None:
        """Note that an origin gets one connection more or fewer."""
        before = len(self._keys[origin])
        after = before + step
        if before:
            del self._with[before][origin]
            if not self._with[before]:
                del self._with[before]
        if after:
            self._with[after][origin] = None
        if after > self._highest or (before == self._highest and before not in self._with):
            self._highest = after
