"""Flows as switches tell them apart, and the entries by which the scheduler leads them; plain data."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address

TCP, UDP = 6, 17
"""IP protocol numbers."""


@dataclass(frozen=True, slots=True)
class FlowKey:
    """The five fields that all packets of a flow have in common."""

    source: IPv4Address
    target: IPv4Address
    protocol: int
    source_port: int
    target_port: int


@dataclass(frozen=True, slots=True)
class ScheduledEntry:
    """A switch hands the packets of a flow to a group, which has the port chosen for them and knows another way."""

    switch: str
    flow: FlowKey
    group_id: int
