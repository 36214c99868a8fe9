"""Classifiers: a user's rules that put packets of hosts into classes of traffic, by more than code points; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from kuijia_app.tables.families import Family, Prefix, families_of
from kuijia_app.tables.rules import ETH_TYPE_OF, TCP, UDP, Match
from kuijia_base.errors import UnsoundError

MOST_CLASSIFIERS = 64
MOST_CLASSIFIER_ENTRIES = 1024
"""Flow entries of all classifiers in a switch, per version of IP: OpenFlow 1.3 matches no range of ports."""

PROTOCOLS = {"icmp": 1, "icmpv6": 58, "tcp": TCP, "udp": UDP}
"""Numbers of protocols in headers of IP (IANA), by the names in files."""

LAST_PROTOCOL = 0xFF
LAST_TRANSPORT_PORT = 0xFFFF


@dataclass(frozen=True, slots=True)
class PortRange:
    """Ports of TCP or UDP from `first` to `last`, both included."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __contains__(self, port: int) -> bool:
        return self.first <= port <= self.last

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1))


@dataclass(frozen=True, slots=True)
class Classifier:
    """A rule: packets with all its fields are of the class of `priority`; a field that is None matches anything.

    Attributes:
        priority: of a class of the layout.
        dscp: code point that hosts set.
        source: prefix; a rule with one takes no packets of the other version of IP.
        destination: likewise; of the same version as the source.
        protocol: number in the header of IP.
        source_port: ports of TCP or UDP.
        destination_port: likewise.
    """

    priority: int
    dscp: int | None = None
    source: Prefix | None = None
    destination: Prefix | None = None
    protocol: int | None = None
    source_port: PortRange | None = None
    destination_port: PortRange | None = None

    @property
    def entry_count(self) -> int:
        """Number of flow entries per version of IP: one for each combination of ports."""
        return _count(self.source_port) * _count(self.destination_port)

    @property
    def prefixes(self) -> tuple[Prefix, ...]:
        """Those that it has."""
        return tuple(each for each in (self.source, self.destination) if each is not None)

    def matches(self, family: Family) -> Iterator[Match]:
        """Yield the matches of its packets of one version of IP; no packet has two."""
        if any(each is not family for each in families_of(self.prefixes)):
            return
        ends = {"src": self.source, "dst": self.destination}
        prefixes: dict[str, Any] = {f"ipv{family.value}_{end}": prefix for end, prefix in ends.items()}
        for source_port, destination_port in product(self.source_port or (None,), self.destination_port or (None,)):
            ports: dict[str, Any] = {}
            if self.protocol == TCP:
                ports = {"tcp_src": source_port, "tcp_dst": destination_port}
            elif self.protocol == UDP:
                ports = {"udp_src": source_port, "udp_dst": destination_port}
            yield Match(
                eth_type=ETH_TYPE_OF[family],
                ip_dscp=self.dscp,
                ip_proto=self.protocol,
                **prefixes,
                **ports,
            )

    def covers(self, other: Classifier) -> bool:
        """Return True if every packet of another rule is one of this rule, too."""
        return (
            self.dscp in {None, other.dscp}
            and self.protocol in {None, other.protocol}
            and all(
                wide is None or (narrow is not None and _is_part(narrow, wide))
                for wide, narrow in ((self.source, other.source), (self.destination, other.destination))
            )
            and all(
                wide is None or (narrow is not None and narrow.first in wide and narrow.last in wide)
                for wide, narrow in (
                    (self.source_port, other.source_port),
                    (self.destination_port, other.destination_port),
                )
            )
        )


@dataclass(frozen=True, slots=True)
class Classifiers:
    """All classifiers of a layout: the first rule with a packet decides.

    Packets of no rule are of the class that claims their code point, all others of the class of priority `unmatched`.

    Attributes:
        rules: in the order in which they are tried.
        unmatched: None without rules.
    """

    rules: tuple[Classifier, ...] = ()
    unmatched: int | None = None

    @property
    def are_used(self) -> bool:
        """True if they say anything."""
        return self.unmatched is not None


NO_CLASSIFIERS = Classifiers()


def require_sound_classifiers(classifiers: Classifiers, priorities: Sequence[int]) -> None:
    """Check the invariants of classifiers for classes with these priorities.

    Raises:
        UnsoundError: at the first fault; `where` is `unmatched`, or leads to a key of an item of `classifiers`.
    """
    known = f"one of the layout: {', '.join(map(str, priorities))}"
    if classifiers.unmatched is not None and classifiers.unmatched not in priorities:
        raise UnsoundError(("unmatched",), f"there is no class {classifiers.unmatched}", known)
    rules = classifiers.rules
    if len(rules) > MOST_CLASSIFIERS:
        raise UnsoundError(("classifiers",), f"{len(rules)} classifiers", f"at most {MOST_CLASSIFIERS}")
    entries = 0
    for position, rule in enumerate(rules):
        where = ("classifiers", position)
        if rule.priority not in priorities:
            raise UnsoundError((*where, "class"), f"there is no class {rule.priority}", known)
        _require_sound_rule(rule, where)
        hiding = next((earlier for earlier in range(position) if rules[earlier].covers(rule)), None)
        if hiding is not None:
            problem = f"classifier {position + 1} never decides, as classifier {hiding + 1} takes all its packets"
            raise UnsoundError((*where, "class"), problem, "the narrower one first")
        entries += rule.entry_count
        if entries > MOST_CLASSIFIER_ENTRIES:
            problem = f"classifiers need {entries} flow entries up to number {position + 1}"
            expected = f"at most {MOST_CLASSIFIER_ENTRIES}: each port of a range needs one"
            raise UnsoundError((*where, "class"), problem, expected)


def _require_sound_rule(rule: Classifier, where: tuple[str | int, ...]) -> None:
    if len(families_of(rule.prefixes)) > 1:
        problem = f"destination {rule.destination} is not of the same version of IP as source {rule.source}"
        raise UnsoundError((*where, "destination"), problem, "both of IPv4, or both of IPv6")
    if rule.protocol is not None and not 0 <= rule.protocol <= LAST_PROTOCOL:
        raise UnsoundError((*where, "protocol"), f"protocol {rule.protocol}", f"0 to {LAST_PROTOCOL}")
    for key, ports in (("source_port", rule.source_port), ("destination_port", rule.destination_port)):
        if ports is None:
            continue
        if rule.protocol not in {TCP, UDP}:
            raise UnsoundError((*where, key), f"{key} without a protocol that has ports", "protocol: tcp or udp")
        # Fragments have port 0 in Open vSwitch (ovs-ofctl(8), set-frags), and no application uses it.
        if not 1 <= ports.first <= ports.last <= LAST_TRANSPORT_PORT:
            problem = f"{key} {ports.first}-{ports.last}"
            raise UnsoundError((*where, key), problem, f"1 to {LAST_TRANSPORT_PORT}, the first one first")


def _is_part(narrow: Prefix, wide: Prefix) -> bool:
    return narrow.version == wide.version and narrow.network_address in wide and narrow.prefixlen >= wide.prefixlen


def _count(ports: PortRange | None) -> int:
    return 1 if ports is None else len(ports)
