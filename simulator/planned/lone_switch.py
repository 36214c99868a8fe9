"""One switch of the packet model by itself, for comparison with other models and with real switches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kuijia_app.tables.rules import Group, SwitchTables
from simulator.packet import _core
from simulator.planned.table_rows import group_rows, packed_label, table_rows

Labels = tuple[tuple[int, int], ...]
"""Labels with their traffic classes, the outermost first."""


@dataclass(frozen=True, slots=True)
class Headers:
    """Header values of an IPv4 packet that tables match or change: destination address, TOS byte, labels."""

    destination: int
    dscp: int
    ecn: int
    labels: Labels = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """A packet as it leaves a switch: out port, queue of that port (None: the default), headers."""

    port: int
    queue: int | None
    headers: Headers


class LoneSwitch:
    """A switch with these tables; all ports are live until `set_port` says otherwise."""

    def __init__(self, tables: SwitchTables) -> None:
        self._pipeline = _core.SwitchPipeline()
        self._pipeline.set_tables(table_rows(tables))

    def replace_groups(self, groups: Iterable[Group]) -> None:
        """Replace the groups with the same ids."""
        self._pipeline.set_groups(group_rows(groups))

    def set_port(self, port: int, *, live: bool) -> None:
        self._pipeline.set_port(port, live)

    def treat(self, in_port: int, headers: Headers, slot: int) -> Sent | None:
        """Return the packet as it leaves, None if the switch does not forward it; `slot` is the choice of the hash."""
        labels = [packed_label(*label) for label in headers.labels]
        left = self._pipeline.process(in_port, headers.destination, headers.dscp << 2 | headers.ecn, labels, slot)
        if left is None:
            return None
        port, queue, tos, labels = left
        stack = tuple((label >> 3, label & 7) for label in labels)
        return Sent(port, queue, Headers(headers.destination, tos >> 2, tos & 3, stack))
