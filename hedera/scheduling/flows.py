"""Flows as switches distinguish them, and the scheduler's entries for them; plain data."""

from __future__ import annotations

from dataclasses import dataclass

from kuijia_app.tables.families import Address

TCP, UDP = 6, 17
"""IP protocol numbers."""


@dataclass(frozen=True, slots=True)
class FlowKey:
    """The 5-tuple that all packets of a flow share."""

    source: Address
    target: Address
    protocol: int
    source_port: int
    target_port: int


@dataclass(frozen=True, slots=True)
class ScheduledEntry:
    """An entry that sends a flow's packets to a group: first the chosen port, then another path if that port fails."""

    switch: str
    flow: FlowKey
    group_id: int
