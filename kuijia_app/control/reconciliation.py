"""Computes the changes that bring a switch to its wanted tables, in an order that never breaks traffic; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kuijia_app.tables.rules import Bucket, FlowEntry, Group, Match, SwitchTables, ToGroup

UnknownMatch = tuple[tuple[str, object], ...]
"""Fields and values of a match that no rule of ours has."""


@dataclass(frozen=True, slots=True)
class FlowKey:
    """Identity of a flow entry in a switch (OpenFlow 1.3.5, 6.4: a new entry with the same identity replaces it)."""

    table_id: int
    priority: int
    match: Match | UnknownMatch

    @classmethod
    def of(cls, entry: FlowEntry) -> FlowKey:
        return cls(entry.table_id, entry.priority, entry.match)


@dataclass(frozen=True, slots=True)
class AddGroup:
    """Add a group that the switch does not have."""

    group: Group


@dataclass(frozen=True, slots=True)
class ModifyGroup:
    """Replace the buckets of a group in one step."""

    group: Group


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """Delete a group that nothing uses any longer."""

    group_id: int


@dataclass(frozen=True, slots=True)
class PutFlow:
    """Add an entry, or replace the one with the same key."""

    entry: FlowEntry


@dataclass(frozen=True, slots=True)
class DeleteFlow:
    """Delete the entry with this key."""

    key: FlowKey


Change = AddGroup | ModifyGroup | DeleteGroup | PutFlow | DeleteFlow


@dataclass
class Tables:
    """Known groups and flow entries of a switch; None stands for one that is not one of our rules."""

    groups: dict[int, Group | None] = field(default_factory=dict)
    flows: dict[FlowKey, FlowEntry | None] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: SwitchTables) -> Tables:
        return cls(
            {group.group_id: group for group in tables.groups}, {FlowKey.of(entry): entry for entry in tables.flows}
        )

    def apply(self, change: Change) -> None:
        """Apply a change as a switch does; deleting a group deletes the entries that use it."""
        match change:
            case AddGroup(group) | ModifyGroup(group):
                self.groups[group.group_id] = group
            case DeleteGroup(group_id):
                self.groups.pop(group_id, None)
                users = [key for key, entry in self.flows.items() if entry is not None and _uses(entry, group_id)]
                for key in users:
                    del self.flows[key]
            case PutFlow(entry):
                self.flows[FlowKey.of(entry)] = entry
            case DeleteFlow(key):
                self.flows.pop(key, None)

    def copy(self) -> Tables:
        return Tables(dict(self.groups), dict(self.flows))


def difference(present: Tables, wanted: SwitchTables) -> list[Change]:
    """Return the changes that turn `present` into `wanted`, grouped by kind; none if they are equal.

    A switch may process messages in any order unless it has acknowledged those of one kind before the next is sent. New
    groups come first, each after the groups that it uses, then changed groups, then entries. Deletions come last:
    entries, then the groups that nothing uses any longer, each before the groups that it uses.
    """
    groups = {group.group_id: group for group in wanted.groups}
    flows = {FlowKey.of(entry): entry for entry in wanted.flows}
    added = [AddGroup(group) for group_id, group in groups.items() if group_id not in present.groups]
    modified = [
        ModifyGroup(group)
        for group_id, group in groups.items()
        if group_id in present.groups and present.groups[group_id] != group
    ]
    put = [PutFlow(entry) for key, entry in flows.items() if present.flows.get(key) != entry]
    deleted = [DeleteFlow(key) for key in present.flows if key not in flows]
    stale = {group_id: group for group_id, group in present.groups.items() if group_id not in groups}
    removed = [DeleteGroup(group_id) for group_id in _users_first(stale)]
    return [*added, *modified, *put, *deleted, *removed]


def _uses(entry: FlowEntry, group_id: int) -> bool:
    return ToGroup(group_id) in entry.actions or ToGroup(group_id) in entry.written


def _users_first(groups: Mapping[int, Group | None]) -> list[int]:
    """Return the groups in an order in which each comes before those that its buckets use or watch."""
    order: list[int] = []
    seen: set[int] = set()
    for start in groups:
        # Depth first, without recursion: chains of groups may be long.
        stack: list[tuple[int, bool]] = [(start, False)]
        while stack:
            group_id, is_done = stack.pop()
            if is_done:
                order.append(group_id)
            elif group_id in groups and group_id not in seen:
                seen.add(group_id)
                stack.append((group_id, True))
                stack.extend((used, False) for used in _used_by(groups[group_id]))
    return order[::-1]


def _used_by(group: Group | None) -> list[int]:
    return [] if group is None else [used for bucket in group.buckets for used in _used_by_bucket(bucket)]


def _used_by_bucket(bucket: Bucket) -> list[int]:
    used = [action.group_id for action in bucket.actions if isinstance(action, ToGroup)]
    return used if bucket.watch_group is None else [*used, bucket.watch_group]
