"""Decides what to send to one switch next, on its way to the wanted tables, paced by its answers; pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice

from kuijia_app.control.reconciliation import (
    AddGroup,
    Change,
    DeleteGroup,
    IndexedTables,
    ModifyGroup,
    Tables,
    difference,
)
from kuijia_app.tables.rules import Group, SwitchTables

BATCH = 200
"""Messages that one barrier acknowledges."""

IN_FLIGHT = 2
"""Batches that may await their barrier at a time."""


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
    batches await an answer, besides as many urgent ones. The changes are recomputed whenever the wanted tables change;
    urgent ones wait only for batches in flight that change the same groups.
    """

    def __init__(self, present: Tables, batch: int = BATCH, in_flight: int = IN_FLIGHT) -> None:
        """Start from `present`, the tables read from the switch."""
        self.present = present
        self._batch = batch
        self._in_flight = in_flight
        self._numbers = count(1)
        self._wanted: SwitchTables | None = None
        self._wanted_groups: Mapping[int, Group] = {}
        self._instead: dict[int, Group] = {}
        self._left: deque[Change] = deque()
        self._unacknowledged: dict[int, type] = {}
        self._touched: dict[int, frozenset[int]] = {}
        self._urgent: dict[int, None] = {}
        self._urgent_in_flight: set[int] = set()

    def want(self, tables: SwitchTables) -> None:
        """Set the wanted tables; groups given to `want_instead` replace those of the same id."""
        if tables is not self._wanted:
            self._wanted = tables
            indexed = IndexedTables.of(tables)
            self._wanted_groups = indexed.group_of
            instead = {group_id: each for group_id, each in self._instead.items() if group_id in indexed.group_of}
            if instead:
                indexed = IndexedTables.from_index({**indexed.group_of, **instead}, indexed.entry_of)
            self._left = deque(difference(self.present, indexed))
            self._urgent.clear()

    def want_instead(self, group_id: int, group: Group | None) -> None:
        """Want this group instead of the wanted one with the same id, or that one again (None).

        Its change is sent first, and groups with buckets before empty ones: traffic has somewhere to go before it is
        sent away. This is cheap even for large tables.
        """
        if group is None:
            self._instead.pop(group_id, None)
        else:
            self._instead[group_id] = group
        wanted = self._instead.get(group_id, self._wanted_groups.get(group_id))
        if wanted is None or group_id not in self._wanted_groups:
            return
        for position, change in enumerate(self._left):
            if isinstance(change, AddGroup) and change.group.group_id == group_id:
                self._left[position] = AddGroup(wanted)
                return
            if isinstance(change, ModifyGroup) and change.group.group_id == group_id:
                del self._left[position]
                break
        self._urgent.pop(group_id, None)
        if self.present.groups.get(group_id) != wanted:
            self._left.insert(0 if wanted.buckets else len(self._urgent), ModifyGroup(wanted))
            self._urgent[group_id] = None

    @property
    def wanted(self) -> SwitchTables | None:
        """The wanted tables, as they were given last."""
        return self._wanted

    @property
    def is_done(self) -> bool:
        """True if the switch has acknowledged all wanted tables."""
        return self._wanted is not None and not self._left and not self._unacknowledged

    @property
    def left(self) -> int:
        """Number of changes still to be sent."""
        return len(self._left)

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
        """Return changes by `want_instead` of groups that no batch in flight changes, and so need not wait.

        None if there are none, or while `IN_FLIGHT` batches like it await their answer.
        """
        if not self._urgent or len(self._urgent_in_flight) >= self._in_flight:
            return None
        urgent = self._urgent.keys() - frozenset().union(*self._touched.values())
        ready = (each for each in islice(self._left, len(self._urgent)) if isinstance(each, ModifyGroup))
        changes = [each for each in ready if each.group.group_id in urgent][: self._batch]
        if not changes:
            return None
        for change in changes:
            self._left.remove(change)
        batch = self._taken(tuple(changes))
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

    def _taken(self, changes: tuple[Change, ...]) -> Batch:
        """Remove changes from those left and return them as a batch; from now on they count as applied."""
        for change in changes:
            self.present.apply(change)
        batch = Batch(next(self._numbers), changes)
        self._unacknowledged[batch.number] = type(changes[-1])
        self._touched[batch.number] = frozenset(_groups_in(changes))
        if self._urgent:
            self._urgent = {group_id: None for group_id in self._urgent if group_id not in self._touched[batch.number]}
        return batch


def _groups_in(changes: Iterable[Change]) -> Iterator[int]:
    for change in changes:
        if isinstance(change, AddGroup | ModifyGroup):
            yield change.group.group_id
        elif isinstance(change, DeleteGroup):
            yield change.group_id
