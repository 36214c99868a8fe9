"""A simulated switch: tables, bundles and roles of OpenFlow 1.3 as Open vSwitch has them, or a lazier switch.

It takes a message in a wrong order for a violation, where a real switch refuses it or loses packets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Any, Protocol

from kuijia_app.control.reconciliation import (
    AddGroup,
    Change,
    DeleteFlow,
    DeleteGroup,
    FlowKey,
    ModifyGroup,
    PutFlow,
)
from kuijia_app.control.roles import UNDEFINED, is_later
from kuijia_app.control.snapshot import ForeignEntry, Poll, Room
from kuijia_app.tables.rules import FlowEntry, Group, SwitchTables, ToGroup
from tests.rehearsal.messages import Message, RehearsedKind, SimulatedRefusal, SimulatedRole

IS_SLAVE = "OFPET_BAD_REQUEST/OFPBRC_IS_SLAVE"
STALE = "OFPET_ROLE_REQUEST_FAILED/OFPRRFC_STALE"
NO_BUNDLES = "OFPET_BAD_REQUEST/OFPBRC_BAD_EXPERIMENTER"
_NO_BUNDLE = "OFPET_EXPERIMENTER/ONFERR_ET_BAD_ID"
_FAILED = "OFPET_EXPERIMENTER/ONFERR_ET_MSG_FAILED"
FULL = "OFPET_GROUP_MOD_FAILED/OFPGMFC_OUT_OF_GROUPS"
TABLE_FULL = "OFPET_FLOW_MOD_FAILED/OFPFMFC_TABLE_FULL"
_WHIM = "OFPET_BAD_REQUEST/OFPBRC_EPERM"
_EXISTS = "OFPET_GROUP_MOD_FAILED/OFPGMFC_GROUP_EXISTS"
_UNKNOWN = "OFPET_GROUP_MOD_FAILED/OFPGMFC_UNKNOWN_GROUP"
_NO_GROUP = "OFPET_BAD_ACTION/OFPBAC_BAD_OUT_GROUP"
_IN_USE = "it is still in use"
_LYING = 0.3
"""Share of changes that a switch refuses which lies about errors."""

_WRONG = frozenset({_NO_BUNDLE, _EXISTS, _UNKNOWN, _NO_GROUP, _IN_USE})
"""Problems of messages in a wrong order, unless others were refused before them."""


class Lie(Enum):
    """Subject of a switch's lie."""

    ROLES = "it refuses claims and changes as another controller's"
    IDS = "it tells any generation ids"
    ERRORS = "it refuses what it has done"


class ViolationError(Exception):
    """The controller, or a promise of the model, has been broken."""


class Owner(Protocol):
    """End of a connection at the switch."""

    owner: str


@dataclass
class SimulatedSwitch:
    """State of a switch between its connections.

    Attributes:
        changed: called with the switch's name after its tables have changed.
        ports: number to True for a live port.
        missing: ports that have been deleted.
        has_bundles: it takes bundles (ONF EXT-230).
        lazy: chance by which it changes groups and entries, each kind in order, only when a barrier or another request
            comes; None for a switch that does everything at once.
        is_full, is_table_full: it refuses new groups, or new entries.
        refuses_after: changes after which it refuses one, for no reason; None for never.
        generation: the greatest generation id that it has seen.
        excused: connections that may have messages in a wrong order, as others were refused or undone before.
        is_strange: a controller that is not modelled otherwise has left groups that refer to missing ones.
        foreign: entries with another cookie.
        masters: owner of the connection that was master by each generation id.
        lie: what it lies about now, with the chance for that; None for an honest switch.
    """

    name: str
    ports: dict[int, bool]
    changed: Callable[[str], None]
    has_bundles: bool = True
    lazy: Random | None = None
    is_full: bool = False
    is_table_full: bool = False
    refuses_after: int | None = None
    is_strange: bool = False
    generation: int | None = None
    missing: set[int] = field(default_factory=set)
    groups: dict[int, Group] = field(default_factory=dict)
    flows: dict[FlowKey, FlowEntry] = field(default_factory=dict)
    roles: dict[Owner, SimulatedRole] = field(default_factory=dict)
    masters: dict[int, str] = field(default_factory=dict)
    excused: set[Owner] = field(default_factory=set)
    foreign: list[ForeignEntry] = field(default_factory=list)
    lie: tuple[Lie, Random] | None = None
    _held: dict[Owner, list[Message]] = field(default_factory=dict)
    _bundles: dict[tuple[Owner, int], list[Message]] = field(default_factory=dict)

    @property
    def tables(self) -> SwitchTables:
        return SwitchTables(tuple(self.groups.values()), tuple(self.flows.values()))

    @property
    def open_bundles(self) -> int:
        return len(self._bundles)

    def restart(self, *, keeps_tables: bool = False) -> None:
        """Lose everything but the ports, and perhaps the tables."""
        if not keeps_tables:
            self.groups.clear()
            self.flows.clear()
            self.foreign.clear()
        self.roles.clear()
        self.masters.clear()
        self.excused.clear()
        self._held.clear()
        self._bundles.clear()
        self.generation = None
        self.changed(self.name)

    def joined(self, owner: Owner) -> None:
        self.roles[owner] = SimulatedRole.EQUAL

    def left(self, owner: Owner) -> None:
        list(self._caught_up(owner))  # nobody is left to hear of refusals
        self.roles.pop(owner, None)
        self.excused.discard(owner)
        for name in [name for name in self._bundles if name[0] is owner]:
            del self._bundles[name]

    def displaced_by(self, other: str, generation: int) -> None:
        """Be claimed by a controller that is not modelled otherwise."""
        self.generation = generation
        self.masters[generation] = other
        self.roles = {
            owner: SimulatedRole.SLAVE if role is SimulatedRole.MASTER else role for owner, role in self.roles.items()
        }
        self._forget_bundles_of_slaves()

    def _forget_bundles_of_slaves(self) -> None:
        """Forget bundles that nobody may commit any more; Open vSwitch does so after 10 s."""
        for name in [name for name in self._bundles if self.roles.get(name[0]) is SimulatedRole.SLAVE]:
            del self._bundles[name]

    def overwrite(self, changes: Iterable[Change]) -> None:
        """Apply changes of a controller that is not modelled otherwise; those that know nothing of it are excused."""
        self.excused.update(self.roles)
        self.is_strange = True
        for change in changes:
            self._apply(change)
        self.changed(self.name)

    def handle(self, owner: Owner, message: Message) -> Iterator[tuple[RehearsedKind, int, object] | SimulatedRefusal]:
        """Do what a message says; yield the answers, as kind, transaction id and content."""
        if message.kind is RehearsedKind.COUNT and self.roles[owner] is not SimulatedRole.SLAVE:
            return  # its counters are never late
        if (
            message.kind is RehearsedKind.CHANGE
            and self.lazy is not None
            and self.roles[owner] is not SimulatedRole.SLAVE
        ):
            self._held.setdefault(owner, []).append(message)
            return
        yield from self._caught_up(owner)
        answers = self._handle_now(owner, message)
        yield from answers if self.lie is None else self._lied(owner, message, answers, *self.lie)

    def _lied(
        self,
        owner: Owner,
        message: Message,
        answers: Iterator[tuple[RehearsedKind, int, object] | SimulatedRefusal],
        lie: Lie,
        random: Random,
    ) -> Iterator[tuple[RehearsedKind, int, object] | SimulatedRefusal]:
        """Handle a message as a switch does that lies, by the id of what it was sent."""
        is_change = message.kind in (
            RehearsedKind.CHANGE,
            RehearsedKind.OPEN,
            RehearsedKind.ADD,
            RehearsedKind.COMMIT,
            RehearsedKind.DISCARD,
        )
        if lie is Lie.ROLES and (
            is_change or (message.kind is RehearsedKind.ROLE and message.content is SimulatedRole.MASTER)
        ):
            self.excused.add(owner)
            yield SimulatedRefusal(message.xid, IS_SLAVE if is_change else STALE)
        elif lie is Lie.IDS and message.kind is RehearsedKind.ROLE:
            for answer in answers:
                is_told = not isinstance(answer, SimulatedRefusal)
                yield (RehearsedKind.ROLE, message.xid, random.getrandbits(64) % UNDEFINED) if is_told else answer
        else:
            yield from answers
            if lie is Lie.ERRORS and is_change and random.random() < _LYING:
                self.excused.add(owner)
                yield SimulatedRefusal(
                    message.xid, random.choice((IS_SLAVE, STALE, FULL, TABLE_FULL, _WHIM, _EXISTS, _FAILED))
                )

    def _caught_up(self, owner: Owner) -> Iterator[SimulatedRefusal]:
        """Make the changes that it has put off: those of groups and those of entries, each in their order."""
        held = self._held.pop(owner, [])
        kinds = [deque(each for each in held if _is_of_group(each) is of_group) for of_group in (True, False)]
        while any(kinds):
            assert self.lazy is not None
            kind = self.lazy.choice(kinds)
            if kind:
                for refusal in self._handle_now(owner, kind.popleft()):
                    assert isinstance(refusal, SimulatedRefusal)
                    yield refusal

    def _handle_now(
        self, owner: Owner, message: Message
    ) -> Iterator[tuple[RehearsedKind, int, object] | SimulatedRefusal]:
        match message.kind:
            case RehearsedKind.BARRIER:
                yield RehearsedKind.BARRIER, message.xid, None
            case RehearsedKind.ROLE:
                yield self._take_role(owner, message)
            case RehearsedKind.ASYNC | RehearsedKind.CATCH | RehearsedKind.FRAME:
                pass  # reports of ports always come, and no link is probed
            case RehearsedKind.POLL:
                yield message.kind, message.xid, self._polled(message.content)
            case RehearsedKind.PORTS | RehearsedKind.GROUPS | RehearsedKind.FLOWS:
                self.excused.discard(owner)
                yield message.kind, message.xid, self._described(message.kind)
            case _ if self.roles[owner] is SimulatedRole.SLAVE:
                yield SimulatedRefusal(message.xid, IS_SLAVE)
            case RehearsedKind.CHANGE:
                problem = self._problem(owner, message.content)
                if problem is not None:
                    yield self._refused(owner, message, problem)
                else:
                    self._apply(message.content)
                    self.changed(self.name)
            case _ if not self.has_bundles:
                yield SimulatedRefusal(message.xid, NO_BUNDLES)
            case _:
                yield from self._handle_bundle(owner, message)

    def _refused(self, owner: Owner, message: Message, problem: str) -> SimulatedRefusal:
        """Refuse a message; raises ViolationError if its order is wrong."""
        is_left_behind = problem == _NO_GROUP and self.is_strange  # the group was described with what it lacks
        if problem in _WRONG and owner not in self.excused and not is_left_behind:
            raise ViolationError(f"{self.name} gets a message in a wrong order: {message}: {problem}")
        self.excused.add(owner)
        return SimulatedRefusal(message.xid, problem)

    def _described(self, kind: RehearsedKind) -> list[object]:
        if kind is RehearsedKind.PORTS:
            return [(port, live) for port, live in self.ports.items() if port not in self.missing]
        return list(self.groups.values()) if kind is RehearsedKind.GROUPS else list(self.flows.items())

    def _polled(self, poll: Poll | Room) -> list[Any]:
        match poll:
            case Room():
                return [(0, len(self.flows) if poll is Room.OF_ENTRIES else len(self.groups))]
            case Poll.OWN_ENTRIES | Poll.OUR_ENTRIES:
                return list(self.flows.values())
            case Poll.ALL_ENTRIES:
                return [*self.flows.values(), *self.foreign]
            case Poll.GROUPS | Poll.GROUP_COUNTERS:
                return list(self.groups.values())
            case Poll.PORT_COUNTERS:
                return [port for port in self.ports if port not in self.missing]
            case Poll.QUEUE_COUNTERS | Poll.METERS:
                return []

    def _take_role(self, owner: Owner, message: Message) -> tuple[RehearsedKind, int, object] | SimulatedRefusal:
        role, generation = message.content, message.bundle_id
        if role in (SimulatedRole.MASTER, SimulatedRole.SLAVE):
            if self.generation is not None and is_later(self.generation, generation):
                return SimulatedRefusal(message.xid, STALE)
            self.generation = generation
            if role is SimulatedRole.MASTER:
                self._note_master(owner, generation)
                for other, its in self.roles.items():
                    if its is SimulatedRole.MASTER:
                        self.roles[other] = SimulatedRole.SLAVE
            self.roles[owner] = role
            self._forget_bundles_of_slaves()
        return RehearsedKind.ROLE, message.xid, self.generation

    def _note_master(self, owner: Owner, generation: int) -> None:
        before = self.masters.setdefault(generation, owner.owner)
        if before != owner.owner:
            raise ViolationError(f"{self.name} has two masters with generation {generation:#x}")

    def _handle_bundle(self, owner: Owner, message: Message) -> Iterator[SimulatedRefusal]:
        name = owner, message.bundle_id
        if message.kind is RehearsedKind.OPEN:
            self._bundles[name] = []
        elif name not in self._bundles and message.kind is RehearsedKind.DISCARD:
            yield SimulatedRefusal(message.xid, _NO_BUNDLE)  # forgotten while the controller was a slave
        elif name not in self._bundles:
            yield self._refused(owner, message, _NO_BUNDLE)
        elif message.kind is RehearsedKind.ADD:
            self._bundles[name].append(message)
        elif message.kind is RehearsedKind.DISCARD:
            del self._bundles[name]
        else:
            yield from self._commit(owner, self._bundles.pop(name), message)

    def _commit(self, owner: Owner, added: Iterable[Message], commit: Message) -> Iterator[SimulatedRefusal]:
        """Apply all messages of a bundle, or none."""
        groups, flows = dict(self.groups), dict(self.flows)
        for each in added:
            problem = self._problem(owner, each.content)
            if problem is not None:
                self.groups, self.flows = groups, flows
                yield self._refused(owner, each, problem)
                yield SimulatedRefusal(commit.xid, _FAILED)
                return
            self._apply(each.content)
        self.changed(self.name)

    def _problem(self, owner: Owner, change: Change) -> str | None:
        if self.refuses_after is not None:
            self.refuses_after -= 1
            if self.refuses_after < 0:
                self.refuses_after = None
                return _WHIM
        if isinstance(change, AddGroup | ModifyGroup):
            return self._problem_of_group(change)
        match change:
            case PutFlow(entry) if not self.groups.keys() >= set(_groups_of((*entry.actions, *entry.written))):
                return _NO_GROUP
            case PutFlow(entry) if self.is_table_full and FlowKey.of(entry) not in self.flows:
                return TABLE_FULL
            case DeleteGroup(group_id) if not self.is_strange and owner not in self.excused and self._is_used(group_id):
                return _IN_USE
        return None

    def _problem_of_group(self, change: AddGroup | ModifyGroup) -> str | None:
        is_new = isinstance(change, AddGroup)
        if is_new == (change.group.group_id in self.groups):
            return _EXISTS if is_new else _UNKNOWN
        return FULL if is_new and self.is_full else self._missing(change.group)

    def _is_used(self, group_id: int) -> bool:
        entries = ((*entry.actions, *entry.written) for entry in self.flows.values())
        return any(group_id in _groups_of(actions) for actions in entries) or any(
            bucket.watch_group == group_id or group_id in _groups_of(bucket.actions)
            for group in self.groups.values()
            if group.group_id != group_id
            for bucket in group.buckets
        )

    def _missing(self, group: Group) -> str | None:
        used = {each for bucket in group.buckets for each in _groups_of(bucket.actions)}
        if not self.is_strange:
            used.update(bucket.watch_group for bucket in group.buckets if bucket.watch_group is not None)
        return None if self.groups.keys() >= used else _NO_GROUP

    def _apply(self, change: Change) -> None:
        match change:
            case AddGroup(group) | ModifyGroup(group):
                self.groups[group.group_id] = group
            case DeleteGroup(group_id):
                self.groups.pop(group_id, None)
                users = [
                    key for key, entry in self.flows.items() if group_id in _groups_of((*entry.actions, *entry.written))
                ]
                for key in users:
                    del self.flows[key]
            case PutFlow(entry):
                self.flows[FlowKey.of(entry)] = entry
            case DeleteFlow(key):
                self.flows.pop(key, None)


def _is_of_group(message: Message) -> bool:
    return isinstance(message.content, AddGroup | ModifyGroup | DeleteGroup)


def _groups_of(actions: Iterable[object]) -> list[int]:
    return [action.group_id for action in actions if isinstance(action, ToGroup)]
