"""Which packets of its host the tables of an ingress tell apart: one value of each kind for every header field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import islice

from kuijia_app.rules import ETH_TYPE_IPV4, FlowEntry


@dataclass(frozen=True, slots=True)
class HeaderValues:
    """What entries ask for in packets of one port.

    Attributes:
        code_points: DSCP values.
        ecn: the two bits beside them.
        bounds: addresses at which a prefix begins, or that follow its last; without what follows 255.255.255.255.
    """

    code_points: frozenset[int] = frozenset()
    ecn: frozenset[int] = frozenset()
    bounds: frozenset[int] = frozenset()

    def addresses_in(self, prefix: IPv4Network, host: IPv4Address) -> Iterator[IPv4Address]:
        """One address of each range inside the prefix; in the host's range the host's, which comes first."""
        starts = {int(prefix.network_address)} | {bound for bound in self.bounds if IPv4Address(bound) in prefix}
        of_host = max(start for start in starts if start <= int(host))
        yield host
        yield from (IPv4Address(start) for start in sorted(starts - {of_host}))

    def addresses_outside(self, prefixes: Iterable[IPv4Network]) -> Iterator[IPv4Address]:
        """One address of each range that is in none of the prefixes."""
        known = list(prefixes)
        for start in sorted({0} | self.bounds | prefix_bounds(known)):
            if not any(IPv4Address(start) in prefix for prefix in known):
                yield IPv4Address(start)


def values_told_apart(entries: Iterable[FlowEntry], in_port: int) -> HeaderValues:
    """What entries, of whatever table, ask for in IPv4 packets that came in by this port."""
    matches = [entry.match for entry in entries]
    met = [each for each in matches if each.in_port in {None, in_port} and each.eth_type in {None, ETH_TYPE_IPV4}]
    return HeaderValues(
        frozenset(match.ip_dscp for match in met if match.ip_dscp is not None),
        frozenset(match.ip_ecn for match in met if match.ip_ecn is not None),
        prefix_bounds(match.ipv4_dst for match in met if match.ipv4_dst is not None),
    )


def prefix_bounds(prefixes: Iterable[IPv4Network]) -> frozenset[int]:
    """Where, in the order of addresses, prefixes begin and where what follows them does."""
    ends = {end for each in prefixes for end in (int(each.network_address), int(each.broadcast_address) + 1)}
    return frozenset(end for end in ends if end < 1 << 32)


def with_another(values: Iterable[int], bits: int) -> list[int]:
    """The values and, where a field of so many bits has one, another one; in their order."""
    asked = set(values)
    others = (value for value in range(min(len(asked) + 1, 1 << bits)) if value not in asked)
    return sorted(asked | set(islice(others, 1)))
