"""Packets of its host that the tables of an ingress distinguish: one value of each kind for every header field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from kuijia_app.tables.families import Address, Family, Prefix, families_of, family_of
from kuijia_app.tables.rules import ETH_TYPE_OF, FlowEntry, Match


@dataclass(frozen=True, slots=True)
class HeaderValues:
    """Values that entries match in packets of one port.

    Attributes:
        code_points: DSCP values.
        ecn: values of the two ECN bits.
        bounds: first address of each prefix, and the one after its last, if there is one.
        conversations: matches on sources, protocols and ports, if there are any.
    """

    code_points: frozenset[int] = frozenset()
    ecn: frozenset[int] = frozenset()
    bounds: frozenset[Address] = frozenset()
    conversations: tuple[Match, ...] = ()

    def addresses_in(self, prefix: Prefix, hosts: Iterable[Address]) -> Iterator[Address]:
        """Yield one address of each range inside the prefix, that of a host for its range, and first, if it is there.

        `hosts` has one address of each family.
        """
        starts = {int(bound) for bound in (prefix.network_address, *self.bounds) if bound in prefix}
        for host in hosts:
            if host in prefix:
                starts.remove(max(start for start in starts if start <= int(host)))
                yield host
        yield from map(family_of(prefix).address, sorted(starts))

    def addresses_outside(self, prefixes: Iterable[Prefix]) -> Iterator[Address]:
        """Yield one address of each range that is in none of the prefixes, of IPv4 and of the families met."""
        known = list(prefixes)
        bounds = self.bounds | prefix_bounds(known)
        for family in families_of({Family.IPV4.unspecified, *bounds}):
            own = {int(bound) for bound in bounds if family_of(bound) is family}
            for start in map(family.address, sorted({0} | own)):
                if not any(start in prefix for prefix in known):
                    yield start


def values_told_apart(entries: Iterable[FlowEntry], *in_ports: int) -> HeaderValues:
    """Return the values that entries, in any table, match in packets of IP from these ports."""
    matches = [entry.match for entry in entries]
    eth_types = {None, *ETH_TYPE_OF.values()}
    met = [each for each in matches if each.in_port in {None, *in_ports} and each.eth_type in eth_types]
    return HeaderValues(
        frozenset(match.ip_dscp for match in met if match.ip_dscp is not None),
        frozenset(match.ip_ecn for match in met if match.ip_ecn is not None),
        prefix_bounds(match.destination for match in met if match.destination is not None),
        tuple(match for match in met if match.source is not None or match.ip_proto is not None),
    )


def prefix_bounds(prefixes: Iterable[Prefix]) -> frozenset[Address]:
    """Return the first address of each prefix, and the address after its last, if there is one."""
    found: set[Address] = set()
    for each in prefixes:
        family, after = family_of(each), int(each.broadcast_address) + 1
        found.add(each.network_address)
        if not after >> family.bits:
            found.add(family.address(after))
    return frozenset(found)


def with_another(values: Iterable[int], bits: int) -> list[int]:
    """Return the values in order, with another one if the field of this many bits has one left."""
    asked = set(values)
    others = (value for value in range(min(len(asked) + 1, 1 << bits)) if value not in asked)
    return sorted(asked | set(islice(others, 1)))
