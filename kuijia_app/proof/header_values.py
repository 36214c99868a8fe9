"""Packets of its host that the tables of an ingress distinguish: one value of each kind for every header field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import islice

from kuijia_app.tables.rules import ETH_TYPE_IPV4, FlowEntry


@dataclass(frozen=True, slots=True)
class HeaderValues:
    """Values that entries match in packets of one port.

    Attributes:
        code_points: DSCP values.
        ecn: values of the two ECN bits.
        bounds: first address of each prefix, and the one after its last; without the one after 255.255.255.255.
    """

    code_points: frozenset[int] = frozenset()
    ecn: frozenset[int] = frozenset()
    bounds: frozenset[int] = frozenset()

    def addresses_in(self, prefix: IPv4Network, host: IPv4Address) -> Iterator[IPv4Address]:
        """Yield one address of each range inside the prefix, starting with the host's for its range if it is there."""
        starts = {int(prefix.network_address)} | {bound for bound in self.bounds if IPv4Address(bound) in prefix}
        if host in prefix:
            starts.remove(max(start for start in starts if start <= int(host)))
            yield host
        yield from map(IPv4Address, sorted(starts))

    def addresses_outside(self, prefixes: Iterable[IPv4Network]) -> Iterator[IPv4Address]:
        """Yield one address of each range that is in none of the prefixes."""
        known = list(prefixes)
        for start in sorted({0} | self.bounds | prefix_bounds(known)):
            if not any(IPv4Address(start) in prefix for prefix in known):
                yield IPv4Address(start)


def values_told_apart(entries: Iterable[FlowEntry], in_port: int) -> HeaderValues:
    """Return the values that entries, in any table, match in IPv4 packets from this port."""
    matches = [entry.match for entry in entries]
    met = [each for each in matches if each.in_port in {None, in_port} and each.eth_type in {None, ETH_TYPE_IPV4}]
    return HeaderValues(
        frozenset(match.ip_dscp for match in met if match.ip_dscp is not None),
        frozenset(match.ip_ecn for match in met if match.ip_ecn is not None),
        prefix_bounds(match.ipv4_dst for match in met if match.ipv4_dst is not None),
    )


def prefix_bounds(prefixes: Iterable[IPv4Network]) -> frozenset[int]:
    """Return the first address of each prefix, and the address after its last."""
    ends = {end for each in prefixes for end in (int(each.network_address), int(each.broadcast_address) + 1)}
    return frozenset(end for end in ends if end < 1 << 32)


def with_another(values: Iterable[int], bits: int) -> list[int]:
    """Return the values in order, with another one if the field of this many bits has one left."""
    asked = set(values)
    others = (value for value in range(min(len(asked) + 1, 1 << bits)) if value not in asked)
    return sorted(asked | set(islice(others, 1)))
