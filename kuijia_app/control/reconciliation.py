"""Computes the changes that bring a switch to its wanted tables, in an order that never breaks traffic; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from kuijia_app.tables.identifiers import DROP_GROUP, is_of_classification
from kuijia_app.tables.rules import Bucket, FlowEntry, Group, Match, SwitchTables, ToGroup

Rule = TypeVar("Rule", Group, FlowEntry)

UnknownMatch = tuple[tuple[str, object], ...]
"""Fields and values of a match that none of our rules has."""


@dataclass(frozen=True, slots=True)
class FlowKey:
    """Identity of a flow entry in a switch (OpenFlow 1.3.5, 6.4: a new entry with the same identity replaces it)."""

    table_id: int
    priority: int
    match: Match | UnknownMatch
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Kept, as a plan's keys are looked up many times, and hashing a match takes microseconds.
        object.__setattr__(self, "_hash", hash((self.table_id, self.priority, self.match)))

    def __hash__(self) -> int:
        return self._hash

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
    """Add an entry, or replace the one with the same key; pass the key if it is known, as making it takes long."""

    entry: FlowEntry
    known_key: FlowKey | None = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> FlowKey:
        return FlowKey.of(self.entry) if self.known_key is None else self.known_key


@dataclass(frozen=True, slots=True)
class DeleteFlow:
    """Delete the entry with this key."""

    key: FlowKey


Change = AddGroup | ModifyGroup | DeleteGroup | PutFlow | DeleteFlow


class IndexedTables(SwitchTables):
    """Tables of a switch, with groups by id and entries by key; both dictionaries are made once.

    Dictionaries are compared and merged fast, because Python skips keys and values that are the same objects.
    """

    @classmethod
    def of(cls, tables: SwitchTables) -> IndexedTables:
        return tables if isinstance(tables, cls) else cls(tables.groups, tables.flows)

    @classmethod
    def from_index(cls, groups: dict[int, Group], flows: dict[FlowKey, FlowEntry]) -> IndexedTables:
        """Return the tables of these groups and entries, in the same order."""
        made = cls(tuple(groups.values()), tuple(flows.values()))
        vars(made).update(group_of=groups, entry_of=flows)
        return made

    @cached_property
    def group_of(self) -> dict[int, Group]:
        """Each group by its id."""
        return {group.group_id: group for group in self.groups}

    @cached_property
    def entry_of(self) -> dict[FlowKey, FlowEntry]:
        """Each entry by its key."""
        return {FlowKey.of(entry): entry for entry in self.flows}

    @cached_property
    def transit(self) -> dict[FlowKey, FlowEntry]:
        """The entries that lead no traffic into groups, besides the one that drops it, nor into classification."""
        return {key: entry for key, entry in self.entry_of.items() if _is_transit(entry)}

    def is_same(self, other: IndexedTables) -> bool:
        """Return True if both mean the same to a switch: the order does not matter."""
        return self is other or (self.group_of == other.group_of and self.entry_of == other.entry_of)

    def sharing_with(self, other: IndexedTables) -> IndexedTables:
        """Return equal tables that share all equal objects with `other`."""
        keys = dict(zip(other.entry_of, other.entry_of, strict=True))
        groups = {group_id: _same(other.group_of.get(group_id), group) for group_id, group in self.group_of.items()}
        flows = {keys.get(key, key): _same(other.entry_of.get(key), entry) for key, entry in self.entry_of.items()}
        shared = IndexedTables.from_index(groups, flows)
        return other if shared.is_same(other) else shared


@dataclass
class KnownTables:
    """Known groups and flow entries of a switch; None stands for one that is not our rule."""

    groups: dict[int, Group | None] = field(default_factory=dict)
    flows: dict[FlowKey, FlowEntry | None] = field(default_factory=dict)
    _users: defaultdict[int, set[FlowKey]] | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, tables: SwitchTables) -> KnownTables:
        indexed = IndexedTables.of(tables)
        return cls(dict(indexed.group_of), dict(indexed.entry_of))

    def apply(self, change: Change) -> None:
        """Apply a change as a switch does; deleting a group deletes the entries that use it.

        After the first deleted group, only this method may change the tables.
        """
        match change:
            case AddGroup(group) | ModifyGroup(group):
                self.groups[group.group_id] = group
            case DeleteGroup(group_id):
                self.groups.pop(group_id, None)
                if self._users is None:
                    self._users = _users_of_groups(self.flows)
                for key in self._users.pop(group_id, ()):
                    entry = self.flows.get(key)
                    if entry is not None and group_id in _groups_of(entry):
                        del self.flows[key]
            case PutFlow(entry):
                key = change.key
                self.flows[key] = entry
                if self._users is not None:
                    for group_id in _groups_of(entry):
                        self._users[group_id].add(key)
            case DeleteFlow(key):
                self.flows.pop(key, None)

    def copy(self) -> KnownTables:
        return KnownTables(dict(self.groups), dict(self.flows))


def _is_transit(entry: FlowEntry) -> bool:
    leads_on = entry.goto_table is not None and is_of_classification(entry.goto_table)
    return not leads_on and set(_groups_of(entry)) <= {DROP_GROUP}


def difference(present: KnownTables, wanted: SwitchTables) -> list[Change]:
    """Return the changes that turn `present` into `wanted`, grouped by kind; none if they are equal.

    A switch may process messages in any order unless it has acknowledged those of one kind before the next is sent. New
    groups come first, each after the groups that it uses, then changed groups, then entries. Deletions come last:
    entries, then the groups that nothing uses any longer, each before the groups that it uses.
    """
    indexed = IndexedTables.of(wanted)
    groups, flows = indexed.group_of, indexed.entry_of
    added = [AddGroup(group) for group_id, group in groups.items() if group_id not in present.groups]
    modified = [
        ModifyGroup(group)
        for group_id, group in groups.items()
        if group_id in present.groups and not _are_equal(present.groups[group_id], group)
    ]
    put: list[Change] = []
    deleted: list[Change] = []
    if present.flows != flows:
        put += [PutFlow(entry, key) for key, entry in flows.items() if not _are_equal(present.flows.get(key), entry)]
        deleted += [DeleteFlow(key) for key in present.flows if key not in flows]
    stale = {group_id: group for group_id, group in present.groups.items() if group_id not in groups}
    removed = [DeleteGroup(group_id) for group_id in _users_first(stale)]
    return [*added, *modified, *put, *deleted, *removed]


def _are_equal(one: Group | FlowEntry | None, other: Group | FlowEntry) -> bool:
    """Return the same as `==`, but at once for the same object, which data classes compare field by field."""
    return one is other or one == other


def _same(present: Rule | None, rule: Rule) -> Rule:
    return present if present is not None and _are_equal(present, rule) else rule


def _users_of_groups(flows: Mapping[FlowKey, FlowEntry | None]) -> defaultdict[int, set[FlowKey]]:
    users: defaultdict[int, set[FlowKey]] = defaultdict(set)
    for key, entry in flows.items():
        for group_id in () if entry is None else _groups_of(entry):
            users[group_id].add(key)
    return users


def _groups_of(entry: FlowEntry) -> Iterable[int]:
    return [action.group_id for action in (*entry.actions, *entry.written) if isinstance(action, ToGroup)]


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
                stack.extend((used, False) for used in used_by(groups[group_id]))
    return order[::-1]


def used_by(group: Group | None) -> list[int]:
    """Return the groups that the buckets of a group use or watch."""
    return [] if group is None else [used for bucket in group.buckets for used in _used_by_bucket(bucket)]


def _used_by_bucket(bucket: Bucket) -> list[int]:
    used = [action.group_id for action in bucket.actions if isinstance(action, ToGroup)]
    return used if bucket.watch_group is None else [*used, bucket.watch_group]
