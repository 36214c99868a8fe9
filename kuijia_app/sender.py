"""What to send to one switch next: the way from the tables it has to the wanted ones, paced by its answers; pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import count

from kuijia_app.reconciliation import AddGroup, Change, ModifyGroup, Tables, difference
from kuijia_app.rules import Group, SwitchTables

BATCH = 200
"""Messages that one barrier acknowledges."""

IN_FLIGHT = 2
"""Batches that may wait for their barrier at a time."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes of one phase that the switch is to acknowledge together.

    `number` names the batch when it is acknowledged.
    """

    number: int
    changes: tuple[Change, ...]


class Sender:
    """Follows one switch towards its wanted tables, which may change at any time.

    A change of a later phase is not sent before all of the earlier ones are acknowledged, and never more than
    `IN_FLIGHT` batches wait for an answer. What is wanted is looked at anew whenever it changes, so that what is urgent
    waits for no more than the batches in flight.
    """

    def __init__(self, present: Tables, batch: int = BATCH, in_flight: int = IN_FLIGHT) -> None:
        """`present` is what the switch was read to have."""
        self.present = present
        self._batch = batch
        self._in_flight = in_flight
        self._numbers = count(1)
        self._wanted: SwitchTables | None = None
        self._wanted_groups: dict[int, Group] = {}
        self._instead: dict[int, Group] = {}
        self._left: deque[Change] = deque()
        self._unacknowledged: dict[int, type] = {}

    def want(self, tables: SwitchTables) -> None:
        """Head for these tables, with the groups in the place of theirs that `want_instead` has been told of."""
        if tables is not self._wanted:
            self._wanted = tables
            self._wanted_groups = {group.group_id: group for group in tables.groups}
            groups = tuple(self._instead.get(group.group_id, group) for group in tables.groups)
            self._left = deque(difference(self.present, SwitchTables(groups, tables.flows)))

    def want_instead(self, group_id: int, group: Group | None) -> None:
        """Have this group in the place of the wanted one with the same id, until told otherwise (None).

        What of it is to be sent goes first. It costs little even where tables are large.
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
        if self.present.groups.get(group_id) != wanted:
            self._left.appendleft(ModifyGroup(wanted))

    @property
    def is_done(self) -> bool:
        """Whether the switch has acknowledged to have what is wanted."""
        return self._wanted is not None and not self._left and not self._unacknowledged

    @property
    def left(self) -> int:
        """How many changes are still to be sent."""
        return len(self._left)

    def next_batch(self) -> Batch | None:
        """What may be sent now; None while answers must come first, and when nothing is left to be sent."""
        if not self._left or len(self._unacknowledged) >= self._in_flight:
            return None
        phase = type(self._left[0])
        if any(other is not phase for other in self._unacknowledged.values()):
            return None
        changes: list[Change] = []
        while self._left and len(changes) < self._batch and type(self._left[0]) is phase:
            change = self._left.popleft()
            self.present.apply(change)
            changes.append(change)
        batch = Batch(next(self._numbers), tuple(changes))
        self._unacknowledged[batch.number] = phase
        return batch

    def all_at_once(self) -> Batch | None:
        """Everything that is left, for a switch that does it in one step; None while an answer must come first."""
        if not self._left or self._unacknowledged:
            return None
        changes = tuple(self._left)
        self._left.clear()
        for change in changes:
            self.present.apply(change)
        batch = Batch(next(self._numbers), changes)
        self._unacknowledged[batch.number] = type(changes[-1])
        return batch

    def acknowledged(self, number: int) -> None:
        """The switch has done all of this batch."""
        self._unacknowledged.pop(number, None)
