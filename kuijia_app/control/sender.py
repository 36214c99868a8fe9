"""Decides what to send to one switch next, on its way to the wanted tables, paced by its answers; pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice

from kuijia_app.control.reconciliation import (
    AddGroup,
    Change,
    DeleteFlow,
    DeleteGroup,
    FlowKey,
    IndexedTables,
    KnownTables,
    ModifyGroup,
    PutFlow,
    difference,
    used_by,
)
from kuijia_app.tables.rules import FlowEntry, Group, SwitchTables

BATCH = 200
"""Messages that one barrier acknowledges."""

IN_FLIGHT = 2
"""Batches that may await their barrier at a time."""

Name = int | FlowKey
"""A group's id, or an entry's key."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes of one phase that the switch acknowledges together.

    `number` names the batch in its acknowledgement.
    """

    number: int
    changes: tuple[Change, ...]


class Sender:
    """Brings one switch to its wanted tables, which may change at any time.

    A change of a later phase is not sent before all earlier ones are acknowledged, and never more than `IN_FLIGHT`
    batches await an answer, and as many urgent ones. The changes are recomputed whenever the wanted tables change;
    urgent ones wait only for batches in flight that change the same groups or entries.
    """

    def __init__(self, present: KnownTables, batch: int = BATCH, in_flight: int = IN_FLIGHT) -> None:
        """Start from `present`, the tables read from the switch."""
        self.present = present
        self._batch = batch
        self._in_flight = in_flight
        self._numbers = count(1)
        self._wanted: SwitchTables | None = None
        self._wanted_groups: Mapping[int, Group] = {}
        self._wanted_entries: Mapping[FlowKey, FlowEntry] = {}
        self._instead: dict[int, Group] = {}
        self._besides: Mapping[FlowKey, FlowEntry] = {}
        self._left: deque[Change] = deque()
        self._unacknowledged: dict[int, type] = {}
        self._touched: dict[int, frozenset[Name]] = {}
        self._urgent: dict[int, None] = {}
        self._urgent_entries: dict[FlowKey, Change] = {}
        self._urgent_in_flight: set[int] = set()
        self._uncertain: set[Name] = set()

    def want(self, tables: SwitchTables) -> None:
        """Set the wanted tables.

        Groups given to `want_instead` replace those of the same id if the tables have all groups that they use, entries
        given to `want_besides` come on top.
        """
        if tables is not self._wanted:
            self._wanted = tables
            indexed = IndexedTables.of(tables)
            self._wanted_groups, self._wanted_entries = indexed.group_of, indexed.entry_of
            instead = {group_id: each for group_id, each in self._instead.items() if self._is_usable(each)}
            if instead or self._besides:
                groups, entries = {**indexed.group_of, **instead}, {**indexed.entry_of, **self._on_top()}
                indexed = IndexedTables.from_index(groups, entries)
            self._left = deque(difference(self.present, indexed))
            self._urgent.clear()
            self._urgent_entries.clear()
            self._take_from_left(self._on_top())

    def want_instead(self, group_id: int, group: Group | None) -> None:
        """Want this group instead of the wanted one with the same id, or that one again (None).

        Its change is sent first, and groups with buckets before empty ones: traffic has somewhere to go before it is
        sent away. One that uses groups which are still to be added comes after these, and one that uses groups which
        the wanted tables lack waits for tables that have them. This is cheap even for large tables.
        """
        if group is None:
            self._instead.pop(group_id, None)
        else:
            self._instead[group_id] = group
        wanted = self._instead.get(group_id, self._wanted_groups.get(group_id))
        if wanted is None or not self._is_usable(wanted):
            return
        for position, change in enumerate(self._left):
            if isinstance(change, AddGroup) and change.group.group_id == group_id:
                self._left[position] = AddGroup(wanted)
                return
            if isinstance(change, ModifyGroup) and change.group.group_id == group_id:
                del self._left[position]
                break
        self._urgent.pop(group_id, None)
        if self.present.groups.get(group_id) == wanted:
            return
        if any(used not in self.present.groups for used in used_by(wanted)):
            last = max(position for position, change in enumerate(self._left) if isinstance(change, AddGroup))
            self._left.insert(last + 1, ModifyGroup(wanted))
            return
        self._left.insert(0 if wanted.buckets else len(self._urgent), ModifyGroup(wanted))
        self._urgent[group_id] = None

    def _is_usable(self, group: Group) -> bool:
        """Return True if the wanted tables have a group of this id, and all groups that this one uses."""
        return self._wanted_groups.keys() >= {group.group_id, *used_by(group)}

    def want_besides(self, entries: Mapping[FlowKey, FlowEntry]) -> None:
        """Want these entries in addition to the wanted tables, in place of those given before; pass no dict twice.

        Their changes are sent first. An entry of the wanted tables with the same key goes before one of these.
        """
        changed = [key for key in {**self._besides, **entries} if self._besides.get(key) != entries.get(key)]
        self._besides = entries
        if self._wanted is None:
            return
        self._take_from_left(changed)

    def _on_top(self) -> dict[FlowKey, FlowEntry]:
        """Return the entries of `want_besides` whose keys the wanted tables do not have."""
        return {key: entry for key, entry in self._besides.items() if key not in self._wanted_entries}

    def _take_from_left(self, keys: Collection[FlowKey]) -> None:
        """Make the changes of some entries urgent, in the place of those that are left."""
        chosen = frozenset(key for key in keys if key not in self._wanted_entries)
        if not chosen:
            return
        if self._left:
            self._left = deque(
                each for each in self._left if not (isinstance(each, PutFlow | DeleteFlow) and each.key in chosen)
            )
        for key in keys:
            if key not in chosen:
                continue
            self._urgent_entries.pop(key, None)
            entry = self._besides.get(key)
            if entry is None and key in self.present.flows:
                self._urgent_entries[key] = DeleteFlow(key)
            elif entry is not None and self.present.flows.get(key) != entry:
                self._urgent_entries[key] = PutFlow(entry, key)

    def is_settled(self, name: Name) -> bool:
        """Return True once the switch has acknowledged what is wanted of this group or entry."""
        if self._wanted is None or any(name in touched for touched in self._touched.values()):
            return False
        if isinstance(name, int):
            return self.present.groups.get(name) == self._instead.get(name, self._wanted_groups.get(name))
        return self.present.flows.get(name) == self._wanted_entries.get(name, self._besides.get(name))

    @property
    def wanted(self) -> SwitchTables | None:
        """The wanted tables, as they were given last."""
        return self._wanted

    @property
    def is_done(self) -> bool:
        """True if the switch has acknowledged all wanted tables."""
        is_sent = not self._left and not self._urgent_entries
        return self._wanted is not None and is_sent and not self._unacknowledged

    @property
    def left(self) -> int:
        """Number of changes still to be sent."""
        return len(self._left) + len(self._urgent_entries)

    def next_batch(self) -> Batch | None:
        """Return the changes to send now; None if an answer must come first, or nothing is left to send."""
        if not self._left or len(self._unacknowledged) >= self._in_flight:
            return None
        phase = type(self._left[0])
        if any(other is not phase for other in self._unacknowledged.values()):
            return None
        changes: list[Change] = []
        while self._left and len(changes) < self._batch and type(self._left[0]) is phase:
            changes.append(self._left.popleft())
        return self._taken(tuple(changes))

    def urgent_batch(self) -> Batch | None:
        """Return changes by `want_instead` or `want_besides` that need not wait: no batch in flight changes the same.

        Groups come first. None if there are none, or while `IN_FLIGHT` batches like it await their answer.
        """
        if not (self._urgent or self._urgent_entries) or len(self._urgent_in_flight) >= self._in_flight:
            return None
        in_flight: frozenset[Name] = frozenset().union(*self._touched.values())
        urgent = self._urgent.keys() - in_flight
        first = islice(self._left, len(self._urgent))
        groups = [each for each in first if isinstance(each, ModifyGroup) and each.group.group_id in urgent]
        for change in groups[: self._batch]:
            self._left.remove(change)
        keys = [] if groups else [key for key in self._urgent_entries if key not in in_flight]
        entries = [self._urgent_entries.pop(key) for key in keys[: self._batch]]
        if not groups and not entries:
            return None
        batch = self._taken((*groups[: self._batch], *entries))
        self._urgent_in_flight.add(batch.number)
        return batch

    def all_at_once(self) -> Batch | None:
        """Return all remaining changes, for a switch that applies them at once; None if an answer must come first."""
        if not self._left or self._unacknowledged:
            return None
        changes = tuple(self._left)
        self._left.clear()
        return self._taken(changes)

    def acknowledged(self, number: int) -> None:
        """Record that the switch has applied this batch."""
        self._unacknowledged.pop(number, None)
        self._touched.pop(number, None)
        self._urgent_in_flight.discard(number)

    def begin_poll(self) -> Collection[Name]:
        """Return what a poll that begins now may find either way, as it is being changed; later changes add to it."""
        self._uncertain = set().union(*self._touched.values())
        return self._uncertain

    def _taken(self, changes: tuple[Change, ...]) -> Batch:
        """Remove changes from those left and return them as a batch; from now on they count as applied."""
        for change in changes:
            self.present.apply(change)
        batch = Batch(next(self._numbers), changes)
        self._unacknowledged[batch.number] = type(changes[-1])
        touched = self._touched[batch.number] = frozenset(_changed_by(changes))
        self._uncertain |= touched
        if self._urgent:
            self._urgent = {group_id: None for group_id in self._urgent if group_id not in self._touched[batch.number]}
        return batch


def _changed_by(changes: Iterable[Change]) -> Iterator[Name]:
    for change in changes:
        match change:
            case AddGroup(group) | ModifyGroup(group):
                yield group.group_id
            case DeleteGroup(group_id):
                yield group_id
            case PutFlow() | DeleteFlow():
                yield change.key
