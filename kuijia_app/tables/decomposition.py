"""Splits one table of flow entries into several equivalent ones with fewer fields (the paper's section 4.3).

*Greedy splitting*: entries that match the same fields, and differ in every combination of them, can be looked up in two
steps: a first table matches all fields but one and goes to a table that matches the remaining one. Where several
entries of the first table go to equal tables, one is enough. The split that saves most is made, and repeated until none
saves.

*Correspondence*: an action that follows from the first table's fields alone moves there, for instance the out port if
the in port determines it. The remaining tables are then equal more often.

Packets that match no entry are dropped before and after. For other packets, the last table executes the action set
that the tables have written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from kuijia_app.tables.field_counts import MATCH_FIELDS, match_fields
from kuijia_app.tables.rules import (
    ACTION_SET_ORDER,
    ANY_VLAN,
    Action,
    FlowEntry,
    Match,
    Output,
    PopLabel,
    PopVlan,
    PushVlan,
    SetDscp,
    SetEcn,
    SetQueue,
)

MAX_TABLES = 254
"""Open vSwitch has 255 tables and reserves the last one."""

_MAY_WAIT = frozenset({PopLabel, PopVlan, PushVlan, SetDscp, SetEcn, SetQueue, Output})
"""Actions that may wait in the action set."""

_REQUIRED: dict[str, dict[str, Any]] = {"vlan_pcp": {"vlan_vid": ANY_VLAN}}
"""Fields without which no match on a field is allowed, apart from the EtherType (OpenFlow 1.3.5, 7.2.3.8)."""


def decompose(
    entries: Iterable[FlowEntry],
    separable: Collection[str] = MATCH_FIELDS,
    *,
    correspondence: bool = True,
    max_tables: int = MAX_TABLES,
) -> tuple[FlowEntry, ...]:
    """Return entries in any number of tables from 0 on that treat every packet like the given entries of table 0.

    Args:
        entries: must not go to tables themselves.
        separable: fields that may be looked up in their own table.
        correspondence: True to move actions to the table that determines them.
        max_tables: tables that may be used.

    Some entries stay as they are: those whose actions would change their order in the action set, and those whose
    packets would no longer fall through to other entries of the same or a lower priority.
    """
    families: dict[tuple[int, frozenset[str], int | None, bool], list[FlowEntry]] = {}
    for entry in entries:
        if entry.table_id or entry.goto_table is not None or entry.written:
            raise ValueError(f"an entry of table {entry.table_id} that is decomposed already, expected one of table 0")
        kind = entry.priority, match_fields(entry.match), entry.match.eth_type, _may_wait(entry.actions)
        families.setdefault(kind, []).append(entry)
    as_they_are = [entry for family in families.values() if not _is_separable(family) for entry in family]
    roots: list[_Table] = []
    for family in families.values():
        if not _is_separable(family):
            continue
        others = [entry for other in families.values() if other is not family for entry in other]
        root = _Table(tuple(_Row(entry.priority, entry.match, entry.actions) for entry in family))
        used = _distinct(roots)
        forest = _Splitting(separable, others, correspondence=correspondence, max_tables=max_tables - len(used))
        roots.append(forest.best(root))
    return (*as_they_are, *_entries(roots))


@dataclass(frozen=True)
class _Row:
    """A flow entry during splitting: its actions go into the action set if a table follows."""

    priority: int
    match: Match
    actions: tuple[Action, ...]
    following: _Table | None = None

    @property
    def field_count(self) -> int:
        return len(match_fields(self.match)) + len(self.actions) + (self.following is not None)


@dataclass(frozen=True)
class _Table:
    """Rows that match the same fields; no packet matches two of them."""

    rows: tuple[_Row, ...]

    @cached_property
    def _hash(self) -> int:
        return hash(self.rows)

    def __hash__(self) -> int:
        return self._hash

    @property
    def fields(self) -> frozenset[str]:
        return match_fields(self.rows[0].match)

    @property
    def field_count(self) -> int:
        return sum(row.field_count for row in self.rows)


class _Splitting:
    """The greedy search among ways to split the tables below one root."""

    def __init__(
        self, separable: Collection[str], others: list[FlowEntry], *, correspondence: bool, max_tables: int
    ) -> None:
        self._separable = [name for name in MATCH_FIELDS if name in separable]
        self._others: dict[int | None, list[FlowEntry]] = {}
        for entry in others:
            self._others.setdefault(entry.match.in_port, []).append(entry)
        self._correspondence = correspondence
        self._max_tables = max_tables

    def best(self, root: _Table) -> _Table:
        while True:
            candidates = [
                _replaced(root, table, self._split(table, name))
                for table in _distinct([root])
                for name in self._separable
                if name in table.fields and len(table.fields) > 1
            ]
            now = _total(root)
            better = [
                candidate
                for candidate in candidates
                if _total(candidate) < now
                and len(_distinct([candidate])) <= self._max_tables
                and not self._hides_others(candidate)
            ]
            if not better:
                return root
            root = min(better, key=_total)

    def _split(self, table: _Table, name: str) -> _Table:
        """Return the table without the field `name`; each row goes to a table with that field alone."""
        parts: dict[Match, list[_Row]] = {}
        for row in table.rows:
            parts.setdefault(replace(row.match, **{name: None}), []).append(row)
        first = []
        for match, rows in parts.items():
            moved = _common(rows) if self._correspondence else ()
            left = tuple(
                replace(
                    row,
                    match=_only(row.match, name),
                    actions=tuple(action for action in row.actions if action not in moved),
                )
                for row in rows
            )
            first.append(_Row(rows[0].priority, match, moved, _Table(tuple(sorted(left, key=_order)))))
        return _Table(tuple(first))

    def _hides_others(self, root: _Table) -> bool:
        """Return True if packets meant for another entry would end in the split tables."""
        return any(
            entry.priority <= row.priority and _overlap(entry.match, row.match)
            for row in root.rows
            for entry in self._perhaps_overlapping(row.match.in_port)
        )

    def _perhaps_overlapping(self, in_port: int | None) -> Iterator[FlowEntry]:
        if in_port is None:
            for entries in self._others.values():
                yield from entries
        else:
            yield from self._others.get(in_port, ())
            yield from self._others.get(None, ())


def _is_separable(family: list[FlowEntry]) -> bool:
    matches = {entry.match for entry in family}
    prefix_lengths = {
        tuple(prefix and prefix.prefixlen for prefix in (match.destination, match.source)) for match in matches
    }
    if len(matches) < len(family) or len(prefix_lengths) > 1:
        return False
    return all(_may_wait(entry.actions) for entry in family)


def _may_wait(actions: tuple[Action, ...]) -> bool:
    """Return True if an action set executes these actions in this order, and drops the packet if there are none."""
    kinds = [type(action) for action in actions]
    return bool(kinds) and _MAY_WAIT.issuperset(kinds) and [kind for kind in ACTION_SET_ORDER if kind in kinds] == kinds


def _common(rows: list[_Row]) -> tuple[Action, ...]:
    return tuple(action for action in rows[0].actions if all(action in row.actions for row in rows))


def _only(match: Match, name: str) -> Match:
    eth_type = match.eth_type if name != "in_port" else None
    return Match(eth_type=eth_type, **{**_REQUIRED.get(name, {}), name: getattr(match, name)})


def _order(row: _Row) -> str:
    return repr(row.match)


def _overlap(one: Match, other: Match) -> bool:
    """Return True if some packet matches both."""
    for each in fields(Match):
        a, b = getattr(one, each.name), getattr(other, each.name)
        if a is None or b is None:
            continue
        if each.name in {"ipv4_dst", "ipv6_dst", "ipv4_src", "ipv6_src"}:
            if not a.overlaps(b):
                return False
        elif a != b:
            return False
    return True


def _replaced(root: _Table, old: _Table, new: _Table) -> _Table:
    if root == old:
        return new
    rows = tuple(
        row if row.following is None else replace(row, following=_replaced(row.following, old, new))
        for row in root.rows
    )
    return _Table(rows)


def _distinct(roots: Iterable[_Table]) -> dict[_Table, int]:
    """Return every table below and including the roots, with the longest way to it."""
    depth: dict[_Table, int] = {}

    def visit(table: _Table, level: int) -> None:
        if depth.get(table, -1) >= level:
            return
        depth[table] = level
        for following in dict.fromkeys(row.following for row in table.rows):
            if following is not None:
                visit(following, level + 1)

    for root in roots:
        visit(root, 0)
    return depth


def _total(root: _Table) -> int:
    return sum(table.field_count for table in _distinct([root]))


def _entries(roots: list[_Table]) -> Iterator[FlowEntry]:
    """Yield the entries: roots form table 0; other tables are numbered after all tables that go to them."""
    depth = _distinct(roots)
    following = sorted((table for table in depth if depth[table] > 0), key=lambda table: depth[table])
    number = {table: position for position, table in enumerate(following, start=1)}
    for root in roots:
        yield from _rows(root, 0, number)
    for table in following:
        yield from _rows(table, number[table], number)


def _rows(table: _Table, table_id: int, number: dict[_Table, int]) -> Iterator[FlowEntry]:
    for row in table.rows:
        if table_id == 0 and row.following is None:
            yield FlowEntry(row.priority, row.match, row.actions)
        else:
            goto = None if row.following is None else number[row.following]
            yield FlowEntry(row.priority, row.match, table_id=table_id, written=row.actions, goto_table=goto)
