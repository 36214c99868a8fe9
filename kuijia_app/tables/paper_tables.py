"""The flow tables of the paper's figures 6 and 7 for any number of priorities, and the growth of their memory.

A *priority* means the same as in the paper: a value of the traffic class, with a queue of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Network
from statistics import linear_regression

from kuijia_app.tables.decomposition import decompose
from kuijia_app.tables.field_counts import count_fields
from kuijia_app.tables.rules import (
    ETH_TYPE_IPV4,
    ETH_TYPE_MPLS,
    FlowEntry,
    Match,
    Output,
    PopLabel,
    SetQueue,
    ToGroup,
)

_ENTRY_PRIORITY = 100
_INGRESS_PRIORITY = 50
_TUNNEL_THROUGH = {"s2": 1, "s3": 3}
_PREFIXES = {"s1": IPv4Network("10.0.0.0/21"), "s4": IPv4Network("10.0.8.0/21")}
_HOST_PORT = 4

HOSTS_PRIORITIES = frozenset({0, 1, 2, 3, 4, 6})
"""Priorities, among the eight queues of section 4.3, of packets from hosts; 5 and 7 are for victims alone, which get
theirs in a group."""


class Memory(Enum):
    """The three ways to store the same entries, as in figures 6(a), 6(b) and 6(c)."""

    REPLICATED = "one table, entries replicated"
    SPLIT = "greedy splitting"
    DECOMPOSED = "greedy splitting and correspondence"


def figure_6(priorities: int) -> tuple[FlowEntry, ...]:
    """Return figure 6(a): s1 sends label 1 from port 1 to port 2 and back, in each priority to its queue."""
    return tuple(
        _labelled(1, in_port, out_port, each) for in_port, out_port in _BOTH_WAYS for each in range(priorities)
    )


def figure_7(priorities: int, from_hosts: Collection[int] = HOSTS_PRIORITIES) -> dict[str, tuple[FlowEntry, ...]]:
    """Return the switches of figure 1 with traffic between s1 and s4, as in section 4.3 and figure 2.

    s2 and s3 forward by label and in port. s1 and s4 deliver by destination prefix, whatever tunnel packets come from.
    As in the paper, that match looks at a prefix under a label, which no switch could match. They also send the packets
    of each priority in `from_hosts` to its group.
    """
    tables = {
        switch: tuple(
            _labelled(label, in_port, out_port, each) for in_port, out_port in _BOTH_WAYS for each in range(priorities)
        )
        for switch, label in _TUNNEL_THROUGH.items()
    }
    for switch, other in (("s1", "s4"), ("s4", "s1")):
        sending = tuple(_ingress(other, each) for each in range(priorities) if each in from_hosts)
        tables[switch] = (*(_delivering(switch, each) for each in range(priorities)), *sending)
    return tables


def stored(entries: Sequence[FlowEntry], memory: Memory) -> tuple[FlowEntry, ...]:
    """Return the same entries as `memory` stores them."""
    if memory is Memory.REPLICATED:
        return tuple(entries)
    return decompose(entries, correspondence=memory is Memory.DECOMPOSED)


@dataclass(frozen=True)
class FieldGrowth:
    """Fields needed for 1, 2, ... priorities, replicated and decomposed: figure 8."""

    replicated: tuple[int, ...]
    decomposed: tuple[int, ...]

    @property
    def slope_ratio(self) -> float:
        """Slope of the decomposed tables relative to that of the replicated ones, by least squares."""
        priorities = range(len(self.decomposed))
        decomposed, replicated = (linear_regression(priorities, each) for each in (self.decomposed, self.replicated))
        return decomposed.slope / replicated.slope

    @property
    def last_saving(self) -> float:
        """Share of fields saved with the most priorities."""
        return 1 - self.decomposed[-1] / self.replicated[-1]


def figure_8(
    most_priorities: int = 8, from_hosts: Collection[int] = HOSTS_PRIORITIES, *, goto_counts: bool = False
) -> FieldGrowth:
    """Return the growth of figure 7's tables; published: slope ratio about 0.36, over half saved at 8 priorities.

    The paper does not say what counts as an action, nor which entries count. With the ingress entries of the priorities
    that hosts use, and without counting table jumps, the ratio is 0.366.
    """

    def fields(memory: Memory) -> Iterator[int]:
        for priorities in range(1, most_priorities + 1):
            tables = figure_7(priorities, from_hosts).values()
            yield sum(count_fields(stored(entries, memory), goto_counts=goto_counts) for entries in tables)

    return FieldGrowth(tuple(fields(Memory.REPLICATED)), tuple(fields(Memory.DECOMPOSED)))


_BOTH_WAYS = ((1, 2), (2, 1))


def _labelled(label: int, in_port: int, out_port: int, priority: int) -> FlowEntry:
    match = Match(in_port=in_port, eth_type=ETH_TYPE_MPLS, mpls_label=label, mpls_tc=priority)
    return FlowEntry(_ENTRY_PRIORITY, match, (SetQueue(priority), Output(out_port)))


def _delivering(switch: str, priority: int) -> FlowEntry:
    match = Match(eth_type=ETH_TYPE_MPLS, ipv4_dst=_PREFIXES[switch], mpls_tc=priority)
    return FlowEntry(_ENTRY_PRIORITY, match, (PopLabel(), SetQueue(priority), Output(_HOST_PORT)))


def _ingress(egress: str, priority: int) -> FlowEntry:
    match = Match(eth_type=ETH_TYPE_IPV4, ipv4_dst=_PREFIXES[egress], ip_dscp=priority)
    return FlowEntry(_INGRESS_PRIORITY, match, (ToGroup(priority),))
