"""Questions of a poll of a switch, and its tables and counters as the answers show them; data alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.tables.rules import FlowEntry, Group

MOST_FOREIGN = 500
"""Entries with other cookies that are read at a switch; more are only counted."""


class Room(Enum):
    """A question how much a switch can hold."""

    OF_ENTRIES = auto()
    OF_GROUPS = auto()


class Poll(Enum):
    """A question of a poll."""

    OWN_ENTRIES = auto()
    """Those of our tables."""

    OUR_ENTRIES = auto()
    """Those for hosts, too, and whatever else has a cookie of ours."""

    ALL_ENTRIES = auto()
    GROUPS = auto()
    GROUP_COUNTERS = auto()
    PORT_COUNTERS = auto()
    QUEUE_COUNTERS = auto()
    METERS = auto()


@dataclass(frozen=True, slots=True)
class ForeignEntry:
    """A flow entry with a cookie that is not ours.

    Attributes:
        key: its identity; a match with fields that none of our rules has is a tuple of names and values.
        groups: ids of the groups that it uses.
    """

    cookie: int
    key: FlowKey
    groups: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class PortCounters:
    """Packets of a port, and the bytes that it sent, since the switch began to count (OpenFlow 1.3.5, 7.3.5.6)."""

    received: int
    sent: int
    sent_bytes: int
    received_dropped: int
    sent_dropped: int
    received_errors: int
    sent_errors: int


@dataclass(frozen=True, slots=True)
class QueueCounters:
    """Packets of a queue since the switch began to count; errors are those that it dropped as it was full."""

    sent: int
    errors: int


@dataclass(frozen=True)
class Snapshot:
    """Tables and counters of a switch, as one poll found them.

    `entries`, `groups` and `foreign` are the same objects as in the snapshot before if nothing in them has changed.

    Attributes:
        asked_at, time: seconds of the application's clock before the first question, and after the last answer.
        entries: our flow entries; None for one that is not as any of our rules.
        packets: packets that each of them has matched since it was installed or replaced.
        groups: all groups; None for one that is not as any of our rules.
        buckets: packets of each bucket of a group, in the order of its buckets.
        ports: counters of each port, by its number.
        queues: counters of each queue, by its port and its id; None if the switch does not count queues.
        foreign: entries of others; None if this poll did not ask for them.
        more_foreign: entries of others beyond `MOST_FOREIGN`.
        hosts: number of entries for hosts that are learned.
        answer: the answer with these, as it came, as there may be ten thousand; empty if there are none, None if this
            poll did not ask for them.
        meters: rate and burst of each meter, in packets a second and packets; None for one that is not as any of ours,
            and for all if this poll did not ask for them, or the switch has none.
    """

    switch: str
    asked_at: float
    time: float
    entries: Mapping[FlowKey, FlowEntry | None]
    packets: Mapping[FlowKey, int]
    groups: Mapping[int, Group | None]
    buckets: Mapping[int, tuple[int, ...]]
    ports: Mapping[int, PortCounters]
    queues: Mapping[tuple[int, int], QueueCounters] | None
    foreign: tuple[ForeignEntry, ...] | None = None
    more_foreign: int = 0
    hosts: int = 0
    answer: object = None
    meters: Mapping[int, tuple[int, int] | None] | None = None
