"""Classes of packets by a layout's classifiers, found without any table, and packets that tell classifiers apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

from kuijia_app.proof.model.packet import ORDINARY_TRANSPORT, Packet, Transport
from kuijia_app.tables.classifiers import LAST_PROTOCOL, LAST_TRANSPORT_PORT, Classifier, PortRange
from kuijia_app.tables.families import Address, Prefix, family_of
from kuijia_app.tables.queues import QueueLayout, TrafficClass
from kuijia_app.tables.rules import TCP, UDP, Match


@dataclass(frozen=True, slots=True)
class Conversation:
    """Fields of a packet that only classifiers look at; `source` None: the address of the host that sends it."""

    source: Address | None = None
    transport: Transport = ORDINARY_TRANSPORT

    def of(self, packet: Packet) -> Packet:
        """Return a host's packet as one of this conversation."""
        source = packet.source
        if self.source is not None and self.source.version == source.version:
            source = self.source
        return replace(packet, source=source, transport=self.transport)

    def __str__(self) -> str:
        source = "" if self.source is None else f", from {self.source}"
        if self.transport == ORDINARY_TRANSPORT:
            return source
        transport = self.transport
        ports = f" ports {transport.source_port} to {transport.destination_port}"
        return f"{source}, protocol {transport.protocol}{ports if transport.protocol in {TCP, UDP} else ''}"


ORDINARY = Conversation()
"""Stands for all that no classifier tells apart."""


def class_of(packet: Packet, layout: QueueLayout, planned: list[TrafficClass]) -> TrafficClass:
    """Return the planned class that a host's packet, no control packet, is due; classes not planned give the last."""
    decided = next((rule.priority for rule in layout.classifiers.rules if _takes(rule, packet)), None)
    if decided is None:
        claimed = (each.priority for each in layout.classes if packet.dscp in each.code_points)
        decided = next(claimed, layout.classifiers.unmatched)
    return next((each for each in planned if each.priority == decided), planned[-1])


def conversations(layout: QueueLayout, matches: Iterable[Match]) -> list[Conversation]:
    """Return conversations that classifiers, or entries with these matches, tell apart, the ordinary one first.

    These are some of each rule, some just outside it in one field, and some of every two rules that share packets.
    """
    rules = layout.classifiers.rules
    shared = (_common(one, other) for one, other in combinations(rules, 2))
    asked = (*rules, *filter(None, shared), *map(_as_rule, matches))
    return list(dict.fromkeys((ORDINARY, *(each for rule in dict.fromkeys(asked) for each in _around(rule)))))


def _takes(rule: Classifier, packet: Packet) -> bool:
    transport = packet.transport
    return (
        rule.dscp in {None, packet.dscp}
        and (rule.source is None or packet.source in rule.source)
        and (rule.destination is None or packet.destination in rule.destination)
        and rule.protocol in {None, transport.protocol}
        and (rule.source_port is None or transport.source_port in rule.source_port)
        and (rule.destination_port is None or transport.destination_port in rule.destination_port)
    )


def _as_rule(match: Match) -> Classifier:
    source_port, destination_port = (
        None if port is None else PortRange(port, port)
        for port in (
            match.tcp_src if match.ip_proto == TCP else match.udp_src,
            match.tcp_dst if match.ip_proto == TCP else match.udp_dst,
        )
    )
    return Classifier(0, None, match.source, None, match.ip_proto, source_port, destination_port)


def _common(one: Classifier, other: Classifier) -> Classifier | None:
    """Return a rule for the conversations of both rules; None if there are none."""
    if None not in {one.protocol, other.protocol} and one.protocol != other.protocol:
        return None
    protocol = other.protocol if one.protocol is None else one.protocol
    sources = [each for each in (one.source, other.source) if each is not None]
    if len(sources) > 1 and not sources[0].overlaps(sources[1]):
        return None
    source = max(sources, key=lambda prefix: prefix.prefixlen, default=None)
    ports: list[PortRange | None] = []
    for pair in ((one.source_port, other.source_port), (one.destination_port, other.destination_port)):
        given = [each for each in pair if each is not None]
        if not given:
            ports.append(None)
            continue
        both = reduce(lambda a, b: PortRange(max(a.first, b.first), min(a.last, b.last)), given)
        if both.first > both.last:
            return None
        ports.append(both)
    return Classifier(0, None, source, None, protocol, *ports)


def _around(rule: Classifier) -> Iterator[Conversation]:
    """Yield a conversation of the rule, then some that differ from it in one field."""
    choices: tuple[Sequence[Any], ...] = (
        _sources(rule.source),
        _protocols(rule.protocol),
        _ports(rule.source_port, ORDINARY_TRANSPORT.source_port),
        _ports(rule.destination_port, ORDINARY_TRANSPORT.destination_port),
    )
    inside = [choice[0] for choice in choices]
    for place, choice in enumerate(choices):
        for value in choice:
            fields: list[Any] = [*inside[:place], value, *inside[place + 1 :]]
            source, protocol = fields[:2]
            ports = fields[2:] if protocol in {TCP, UDP} else (0, 0)
            yield Conversation(source, Transport(protocol, *ports))


def _sources(prefix: Prefix | None) -> list[Address | None]:
    if prefix is None:
        return [None]
    around = (int(prefix.network_address) - 1, int(prefix.broadcast_address) + 1)
    outside = (family_of(prefix).address(number) for number in around if 0 <= number < 1 << prefix.max_prefixlen)
    return [prefix.network_address, prefix.broadcast_address, *outside]


def _protocols(protocol: int | None) -> list[int]:
    if protocol is None:
        return [TCP]
    return [protocol, {TCP: UDP, UDP: TCP}.get(protocol, (protocol + 1) % (LAST_PROTOCOL + 1))]


def _ports(ports: PortRange | None, ordinary: int) -> list[int]:
    if ports is None:
        return [ordinary]
    near = (ports.first, ports.last, ports.first - 1, ports.last + 1)
    return [port for port in dict.fromkeys(near) if 1 <= port <= LAST_TRANSPORT_PORT]
