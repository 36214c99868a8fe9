"""A simulated switch: tables, bundles and roles of OpenFlow 1.3 as Open vSwitch has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from kuijia_app.control.reconciliation import (
    AddGroup,
    Change,
    DeleteFlow,
    DeleteGroup,
    FlowKey,
    ModifyGroup,
    PutFlow,
)
from kuijia_app.control.roles import is_later
from kuijia_app.rehearsal.messages import Kind, Message, Refusal, Role
from kuijia_app.tables.rules import FlowEntry, Group, SwitchTables, ToGroup

IS_SLAVE = "OFPET_BAD_REQUEST/OFPBRC_IS_SLAVE"
STALE = "OFPET_ROLE_REQUEST_FAILED/OFPRRFC_STALE"
NO_BUNDLES = "OFPET_BAD_REQUEST/OFPBRC_BAD_EXPERIMENTER"
_NO_BUNDLE = "OFPET_EXPERIMENTER/ONFERR_ET_BAD_ID"
_FAILED = "OFPET_EXPERIMENTER/ONFERR_ET_MSG_FAILED"
FULL = "OFPET_GROUP_MOD_FAILED/OFPGMFC_OUT_OF_GROUPS"
_EXISTS = "OFPET_GROUP_MOD_FAILED/OFPGMFC_GROUP_EXISTS"
_UNKNOWN = "OFPET_GROUP_MOD_FAILED/OFPGMFC_UNKNOWN_GROUP"
_NO_GROUP = "OFPET_BAD_ACTION/OFPBAC_BAD_OUT_GROUP"


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
        has_bundles: it takes bundles (ONF EXT-230).
        is_full: it refuses new groups.
        generation: the greatest generation id that it has seen.
    """

    name: str
    ports: dict[int, bool]
    changed: Callable[[str], None]
    has_bundles: bool = True
    is_full: bool = False
    generation: int | None = None
    groups: dict[int, Group] = field(default_factory=dict)
    flows: dict[FlowKey, FlowEntry] = field(default_factory=dict)
    roles: dict[Owner, Role] = field(default_factory=dict)
    masters: dict[int, str] = field(default_factory=dict)
    _bundles: dict[tuple[int, int], list[Message]] = field(default_factory=dict)

    @property
    def tables(self) -> SwitchTables:
        return SwitchTables(tuple(self.groups.values()), tuple(self.flows.values()))

    def restart(self) -> None:
        """Lose everything but the ports."""
        self.groups.clear()
        self.flows.clear()
        self.roles.clear()
        self.masters.clear()
        self._bundles.clear()
        self.generation = None
        self.changed(self.name)

    def joined(self, owner: Owner) -> None:
        self.roles[owner] = Role.EQUAL

    def left(self, owner: Owner) -> None:
        self.roles.pop(owner, None)
        for name in [name for name in self._bundles if name[0] == id(owner)]:
            del self._bundles[name]

    def handle(self, owner: Owner, message: Message) -> Iterator[tuple[Kind, int, object] | Refusal]:
        """Do what a message says; yield the answers, as kind, transaction id and content."""
        match message.kind:
            case Kind.BARRIER:
                yield Kind.BARRIER, message.xid, None
            case Kind.ROLE:
                yield self._take_role(owner, message)
            case Kind.ASYNC:
                pass  # reports of ports always come
            case Kind.PORTS | Kind.GROUPS | Kind.FLOWS:
                yield message.kind, message.xid, self._described(message.kind)
            case _ if self.roles[owner] is Role.SLAVE:
                yield Refusal(message.xid, IS_SLAVE)
            case Kind.CHANGE:
                problem = self._problem(message.content)
                if problem is not None:
                    yield Refusal(message.xid, problem)
                else:
                    self._apply(message.content)
                    self.changed(self.name)
            case _ if not self.has_bundles:
                yield Refusal(message.xid, NO_BUNDLES)
            case _:
                yield from self._handle_bundle(owner, message)

    def _described(self, kind: Kind) -> list[object]:
        if kind is Kind.PORTS:
            return list(self.ports.items())
        return list(self.groups.values()) if kind is Kind.GROUPS else list(self.flows.items())

    def _take_role(self, owner: Owner, message: Message) -> tuple[Kind, int, object] | Refusal:
        role, generation = message.content, message.bundle_id
        if role in (Role.MASTER, Role.SLAVE):
            if self.generation is not None and is_later(self.generation, generation):
                return Refusal(message.xid, STALE)
            self.generation = generation
            if role is Role.MASTER:
                self._note_master(owner, generation)
                for other, its in self.roles.items():
                    if its is Role.MASTER:
                        self.roles[other] = Role.SLAVE
            self.roles[owner] = role
        return Kind.ROLE, message.xid, self.generation

    def _note_master(self, owner: Owner, generation: int) -> None:
        before = self.masters.setdefault(generation, owner.owner)
        if before != owner.owner:
            raise ViolationError(f"{self.name} has two masters with generation {generation:#x}")

    def _handle_bundle(self, owner: Owner, message: Message) -> Iterator[Refusal]:
        name = id(owner), message.bundle_id
        if message.kind is Kind.OPEN:
            self._bundles[name] = []
        elif name not in self._bundles:
            yield Refusal(message.xid, _NO_BUNDLE)
        elif message.kind is Kind.ADD:
            self._bundles[name].append(message)
        elif message.kind is Kind.DISCARD:
            del self._bundles[name]
        else:
            yield from self._commit(self._bundles.pop(name), message)

    def _commit(self, added: Iterable[Message], commit: Message) -> Iterator[Refusal]:
        """Apply all messages of a bundle, or none."""
        groups, flows = dict(self.groups), dict(self.flows)
        for each in added:
            problem = self._problem(each.content)
            if problem is not None:
                self.groups, self.flows = groups, flows
                yield Refusal(each.xid, problem)
                yield Refusal(commit.xid, _FAILED)
                return
            self._apply(each.content)
        self.changed(self.name)

    def _problem(self, change: Change) -> str | None:
        match change:
            case AddGroup(group):
                if group.group_id in self.groups:
                    return _EXISTS
                return FULL if self.is_full else self._missing(group)
            case ModifyGroup(group):
                return self._missing(group) if group.group_id in self.groups else _UNKNOWN
            case PutFlow(entry) if not self.groups.keys() >= set(_groups_of((*entry.actions, *entry.written))):
                return _NO_GROUP
        return None

    def _missing(self, group: Group) -> str | None:
        used = {each for bucket in group.buckets for each in _groups_of(bucket.actions)}
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


def _groups_of(actions: Iterable[object]) -> list[int]:
    return [action.group_id for action in actions if isinstance(action, ToGroup)]
