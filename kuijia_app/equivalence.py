"""Whether two pipelines of flow entries treat every packet alike, decided by trying one packet of every kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import product

from kuijia_app.rules import (
    ETH_TYPE_IPV4,
    ETH_TYPE_MPLS,
    Action,
    FlowEntry,
    Match,
    Output,
    PopLabel,
    PushLabel,
    SetDscp,
    SetEcn,
    SetQueue,
    ToGroup,
)

Packet = dict[str, int]
"""Field of a match to value; an IPv4 address is a number."""

_FIELDS_OF = {
    ETH_TYPE_MPLS: ("mpls_label", "mpls_tc"),
    ETH_TYPE_IPV4: ("ipv4_dst", "ip_dscp", "ip_ecn"),
}
"""What only packets of an EtherType have (OpenFlow 1.3.5, 7.2.3.8)."""

_OTHER_ETH_TYPE = 0x88B5
"""For local experiments (IEEE 802)."""

_SET_ORDER = (PopLabel, PushLabel, SetDscp, SetEcn, SetQueue, ToGroup, Output)
"""How an action set is executed (OpenFlow 1.3.5, 5.10)."""


@dataclass(frozen=True)
class Difference:
    """A packet of which two pipelines make something else: the actions each of them executes, none when it drops it."""

    packet: Packet
    one: tuple[Action, ...]
    other: tuple[Action, ...]


def first_difference(
    one: Iterable[FlowEntry],
    other: Iterable[FlowEntry],
    *,
    empty_groups: Collection[int] = (),
    misses_execute: bool = False,
) -> Difference | None:
    """A packet that two pipelines treat differently, None when there is none of any kind.

    Tried is every combination of the values that some entry asks for and, per field, one that none asks for; of
    addresses, one of each range between the ends of the prefixes. Packets that the entries cannot tell apart are of one
    kind.

    Args:
        one: the entries of a pipeline, of any number of tables.
        other: those of the other.
        empty_groups: groups that drop what they are handed.
        misses_execute: whether a packet that misses in a later table gets what its action set holds by then, as Open
            vSwitch does, or is dropped, as OpenFlow says (1.3.5, 5.4).
    """
    pipelines = [_Pipeline(tuple(entries), empty_groups, misses_execute=misses_execute) for entries in (one, other)]
    matches = [entry.match for pipeline in pipelines for entry in pipeline.entries]
    for packet in packet_kinds(matches):
        outcomes = [pipeline.executed(packet) for pipeline in pipelines]
        if outcomes[0] != outcomes[1]:
            return Difference(packet, *outcomes)
    return None


def packet_kinds(matches: Sequence[Match]) -> Iterator[Packet]:
    """One packet of every kind that these matches tell apart, or more."""
    in_ports = _with_another({match.in_port for match in matches if match.in_port is not None})
    for eth_type in (*_FIELDS_OF, _OTHER_ETH_TYPE):
        names = ("in_port", *_FIELDS_OF.get(eth_type, ()))
        values = [in_ports, *(_values(matches, name) for name in names[1:])]
        for combination in product(*values):
            yield {"eth_type": eth_type, **dict(zip(names, combination, strict=True))}


def _values(matches: Sequence[Match], name: str) -> list[int]:
    asked = {getattr(match, name) for match in matches} - {None}
    if name != "ipv4_dst":
        return _with_another(asked)
    ends = {int(prefix.network_address) for prefix in asked} | {int(prefix.broadcast_address) + 1 for prefix in asked}
    return sorted({0, *(end for end in ends if end < 1 << 32)})


def _with_another(values: set[int]) -> list[int]:
    another = next(value for value in range(len(values) + 1) if value not in values)
    return [*sorted(values), another]


class _Pipeline:
    def __init__(self, entries: tuple[FlowEntry, ...], empty_groups: Collection[int], *, misses_execute: bool) -> None:
        self.entries = entries
        self._empty_groups = empty_groups
        self._misses_execute = misses_execute
        self._tables: dict[int, list[FlowEntry]] = {}
        for entry in sorted(entries, key=lambda entry: -entry.priority):
            self._tables.setdefault(entry.table_id, []).append(entry)

    def executed(self, packet: Packet) -> tuple[Action, ...]:
        """The actions executed, in order; none when the packet goes nowhere."""
        applied: list[Action] = []
        action_set: dict[type[Action], Action] = {}
        table: int | None = 0
        while table is not None:
            entry = next((each for each in self._tables.get(table, []) if _matches(each.match, packet)), None)
            if entry is None:
                if not self._misses_execute:
                    action_set.clear()
                break
            applied += entry.actions
            action_set.update({type(action): action for action in entry.written})
            table = entry.goto_table
        if ToGroup in action_set:
            action_set.pop(Output, None)
        done = (*applied, *(action_set[kind] for kind in _SET_ORDER if kind in action_set))
        return done if any(self._sends(action) for action in done) else ()

    def _sends(self, action: Action) -> bool:
        return isinstance(action, Output) or (isinstance(action, ToGroup) and action.group_id not in self._empty_groups)


def _matches(match: Match, packet: Packet) -> bool:
    prefix = match.ipv4_dst
    if prefix is not None and ("ipv4_dst" not in packet or IPv4Address(packet["ipv4_dst"]) not in prefix):
        return False
    exact = ("in_port", "eth_type", "ip_dscp", "ip_ecn", "mpls_label", "mpls_tc")
    asked = ((name, getattr(match, name)) for name in exact)
    return all(value is None or packet.get(name) == value for name, value in asked)
