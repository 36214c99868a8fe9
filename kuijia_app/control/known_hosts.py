"""The known hosts of a site, in little memory; pure."""

from __future__ import annotations

import math
import struct
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Final, NamedTuple

_REST: Final = struct.Struct("!6sId")
"""The end of a host's record: Ethernet address, port, and when its entry was put on the switch."""

_LOOKED_EVERY: Final = 0.1
"""Seconds between two looks at all hosts for quiet ones."""


class KnownHost(NamedTuple):
    """A host of a site.

    Attributes:
        packed: its address in bytes.
        mac, port: where it is.
        put_at: when its entry was put on the switch last.
    """

    packed: bytes
    mac: bytes
    port: int
    put_at: float


class KnownHosts:
    """The hosts of one site, each with the time at which it is quiet unless it is heard of before.

    There may be ten thousand. So a host is no object but a record in a sorted list, and two numbers: a third of what a
    dictionary takes, and a search in a full site takes a microsecond.
    """

    def __init__(self) -> None:
        """Begin without a host."""
        self._records: list[bytes] = []
        self._quiet_at = array("d")
        self._cards = array("Q")
        self._next_look = math.inf

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[KnownHost]:
        """Yield all hosts; they may come, move and go meanwhile."""
        for record in tuple(self._records):
            host = self.get(_host(record).packed)
            if host is not None:
                yield host

    def get(self, packed: bytes) -> KnownHost | None:
        place = self._place(packed)
        return None if place is None else _host(self._records[place])

    def of_card(self, mac: bytes) -> int:
        """Return how many addresses an Ethernet address has."""
        card = int.from_bytes(mac, "big")
        return bisect_right(self._cards, card) - bisect_left(self._cards, card)

    def put(self, host: KnownHost, quiet_at: float) -> None:
        """Add a host, or replace what is known of it."""
        self.remove(host.packed)
        record = _key(host.packed) + _REST.pack(*host[1:])
        place = bisect_left(self._records, record)
        self._records.insert(place, record)
        self._quiet_at.insert(place, quiet_at)
        insort(self._cards, int.from_bytes(host.mac, "big"))
        self._next_look = min(self._next_look, quiet_at)

    def note_put(self, host: KnownHost, now: float) -> None:
        """Note that the entry of a host is put on the switch."""
        place = self._place(host.packed)
        if place is not None:
            self._records[place] = _key(host.packed) + _REST.pack(host.mac, host.port, now)

    def remove(self, packed: bytes) -> None:
        """Forget a host, if it is known."""
        place = self._place(packed)
        if place is not None:
            mac = _host(self._records.pop(place)).mac
            del self._quiet_at[place], self._cards[bisect_left(self._cards, int.from_bytes(mac, "big"))]

    def take_quiet(self, now: float, until: float) -> list[KnownHost]:
        """Return the hosts that are quiet; they count as heard of `until` then."""
        if now < self._next_look:
            return []
        places = [place for place, quiet_at in enumerate(self._quiet_at) if quiet_at <= now]
        for place in places:
            self._quiet_at[place] = until
        self._next_look = max(min(self._quiet_at, default=math.inf), now + _LOOKED_EVERY)
        return [_host(self._records[place]) for place in places]

    def clear(self) -> None:
        for each in (self._records, self._quiet_at, self._cards):
            del each[:]

    def _place(self, packed: bytes) -> int | None:
        key = _key(packed)
        place = bisect_left(self._records, key)
        is_there = place < len(self._records) and self._records[place].startswith(key)
        return place if is_there else None


def _key(packed: bytes) -> bytes:
    """Return how the record of an address begins: with its length, as addresses of IPv6 begin with others of IPv4."""
    return bytes((len(packed),)) + packed


def _host(record: bytes) -> KnownHost:
    return KnownHost(record[1 : -_REST.size], *_REST.unpack(record[-_REST.size :]))
