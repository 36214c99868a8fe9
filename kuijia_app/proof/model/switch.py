"""An OpenFlow 1.3 switch that works on typed packets: tables, action sets, SELECT and FAST_FAILOVER groups.

Clauses are those of OpenFlow 1.3.5. Where it leaves a choice, this switch behaves like Open vSwitch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from kuijia_app.proof.model.flow_tables import FlowTables
from kuijia_app.proof.model.packet import Label, Packet, VlanTag
from kuijia_app.tables.rules import (
    ACTION_SET_ORDER,
    ETH_TYPE_MPLS,
    Action,
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    Output,
    PopLabel,
    PopVlan,
    PushLabel,
    PushVlan,
    SetDscp,
    SetEcn,
    SetQueue,
    SwitchTables,
    TagAction,
    ToGroup,
)


class FactSubject(Enum):
    """Subject of a fact."""

    PORT = "port"
    GROUP = "group"


class Fact(NamedTuple):
    """Part of a switch's state that decided about a packet: a port's liveness, or the content of a group."""

    switch: str
    kind: FactSubject
    number: int


@dataclass(frozen=True, slots=True)
class EntryStep:
    """A table was looked up; `entry` is None for a table miss."""

    table_id: int
    entry: FlowEntry | None


@dataclass(frozen=True, slots=True)
class GroupStep:
    """A group chose the bucket at `position`, None: none is alive. `dead` gives the reason for each one before it."""

    group: Group
    position: int | None
    dead: tuple[str, ...] = ()


Step = EntryStep | GroupStep


class BucketChoice(NamedTuple):
    """Bucket that a SELECT group used, at this position."""

    switch: str
    group: Group
    position: int


@dataclass(slots=True)
class ModelForwarding:
    """Treatment of one packet by one switch.

    Attributes:
        sent: output ports, with the packet as it left.
        steps: tables and groups in the order of use.
        problem: reason why nothing was sent, or behaviour that the specification leaves undefined; None if all is well.
        asked: state that this depends on.
        choices: choices of the SELECT groups.
    """

    sent: list[tuple[int, Packet]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    problem: str | None = None
    asked: set[Fact] = field(default_factory=set)
    choices: list[BucketChoice] = field(default_factory=list)

    @property
    def is_miss(self) -> bool:
        """True if no entry of a table matched, so that no counter counts the packet (5.4)."""
        return any(isinstance(step, EntryStep) and step.entry is None for step in self.steps)


class ModelSwitch:
    """One switch; `is_live` returns True for a live port.

    A packet that misses in a later table executes its action set so far if `misses_execute`, as in Open vSwitch;
    otherwise it is dropped, as in the specification (5.4).
    """

    def __init__(
        self, name: str, tables: SwitchTables, is_live: Callable[[int], bool], *, misses_execute: bool = False
    ) -> None:
        self.name = name
        self.groups = {group.group_id: group for group in tables.groups}
        self._flow_tables = FlowTables(tables.flows)
        self._is_live = is_live
        self._misses_execute = misses_execute

    def replace_flows(self, flows: tuple[FlowEntry, ...]) -> None:
        """Have these entries instead of all others."""
        self._flow_tables = FlowTables(flows)

    def modify_group(self, group: Group) -> None:
        """Replace a group; raises KeyError if there is none with its id (6.5)."""
        if group.group_id not in self.groups:
            raise KeyError(group.group_id)
        self.groups[group.group_id] = group

    def process(self, packet: Packet) -> ModelForwarding:
        """Take a packet through the pipeline, from table 0 on (5.1), and return its treatment.

        A switch looks at one VLAN tag, as Open vSwitch does by default (`vlan-limit`): what is behind two is hidden.
        """
        done = ModelForwarding()
        is_hidden = len(packet.vlans) > 1
        action_set: dict[type[Action], Action] = {}
        table_id: int | None = 0
        while table_id is not None:
            found = self._flow_tables.lookup(table_id, packet, is_hidden=is_hidden)
            done.steps.append(EntryStep(table_id, found.entry))
            if found.entry is None:
                done.problem = f"no entry of table {table_id} matches"
                if not self._misses_execute:
                    action_set.clear()
                break
            if found.rivals:
                done.problem = f"{len(found.rivals) + 1} entries of table {table_id} match at the same priority"
            packet = self._apply(found.entry.actions, packet, done, ())
            action_set.update((type(action), action) for action in found.entry.written)
            table_id = found.entry.goto_table
        self._apply(_in_order(action_set.values()), packet, done, ())
        if not done.sent and done.problem is None:
            found_any = any(isinstance(step, EntryStep) and step.entry and _acts(step.entry) for step in done.steps)
            done.problem = "no action outputs it to another port" if found_any else "the entry drops it"
        return done

    def _apply(
        self, actions: Iterable[Action], packet: Packet, done: ModelForwarding, through: tuple[int, ...]
    ) -> Packet:
        """Apply actions in order; return the packet for the next action. `through` are the enclosing groups."""
        for action in actions:
            match action:
                case Output(port) if port == packet.in_port:
                    pass  # only the reserved port IN_PORT does that (4.5); Open vSwitch skips it
                case Output(port):
                    done.sent.append((port, packet))
                case ToGroup(group_id):
                    self._execute_group(group_id, packet, done, through)
                case _:
                    packet = _changed(packet, action)
        return packet

    def _execute_group(self, group_id: int, packet: Packet, done: ModelForwarding, through: tuple[int, ...]) -> None:
        done.asked.add(Fact(self.name, FactSubject.GROUP, group_id))
        group = self.groups.get(group_id)
        if group is None or group_id in through:
            done.problem = f"group {group_id} {'does not exist' if group is None else 'leads to itself'}"
            return
        first = packet.slot % len(group.buckets) if group.buckets and group.group_type is GroupType.SELECT else 0
        dead: list[str] = []
        for offset in range(len(group.buckets)):
            position = (first + offset) % len(group.buckets)
            bucket = group.buckets[position]
            why_dead = self._why_dead(bucket, done.asked, ())
            if why_dead is not None:
                dead.append(f"bucket {position}: {why_dead}")
                continue
            done.steps.append(GroupStep(group, position, tuple(dead)))
            if group.group_type is GroupType.SELECT:
                done.choices.append(BucketChoice(self.name, group, position))
            self._apply(_in_order(bucket.actions), packet, done, (*through, group_id))
            return
        done.steps.append(GroupStep(group, None, tuple(dead)))
        done.problem = f"no bucket of group {group_id} is alive"

    def _why_dead(self, bucket: Bucket, asked: set[Fact], through: tuple[int, ...]) -> str | None:
        """Return why the bucket is dead, None if it is alive: it watches nothing, or something that is alive.

        Follows Open vSwitch (`bucket_is_alive` in ofproto-dpif-xlate.c); a group is alive if any of its buckets is.
        """
        reasons: list[str] = []
        if bucket.watch_port is not None:
            asked.add(Fact(self.name, FactSubject.PORT, bucket.watch_port))
            if self._is_live(bucket.watch_port):
                return None
            reasons.append(f"port {bucket.watch_port} is down")
        if bucket.watch_group is not None:
            why = self._why_group_dead(bucket.watch_group, asked, through)
            if why is None:
                return None
            reasons.append(why)
        return " and ".join(reasons) or None

    def _why_group_dead(self, group_id: int, asked: set[Fact], through: tuple[int, ...]) -> str | None:
        asked.add(Fact(self.name, FactSubject.GROUP, group_id))
        group = self.groups.get(group_id)
        if group is None or group_id in through:
            return f"group {group_id} {'does not exist' if group is None else 'watches itself'}"
        if not group.buckets:
            return f"group {group_id} is empty"
        reasons: list[str] = []
        for bucket in group.buckets:
            why = self._why_dead(bucket, asked, (*through, group_id))
            if why is None:
                return None
            reasons.append(why)
        return f"group {group_id} is dead ({', '.join(reasons)})"


def _acts(entry: FlowEntry) -> bool:
    return bool(entry.actions or entry.written)


def _in_order(actions: Iterable[Action]) -> list[Action]:
    """Return the actions of an action set in execution order: one of each kind, the last one given (5.10).

    With a group among them the output is ignored.
    """
    by_kind = {type(action): action for action in actions}
    if ToGroup in by_kind:
        by_kind.pop(Output, None)
    return [by_kind[kind] for kind in ACTION_SET_ORDER if kind in by_kind]


BROKEN = 0xFFFF
"""EtherType of a packet whose EtherType is not that of its bytes (reserved: RFC 1701)."""


def popped(packet: Packet, eth_type: int) -> Packet:
    """Return a packet without its outermost label; the switch believes that `eth_type` is under it."""
    if not packet.labels:
        return packet
    labels = packet.labels[1:]
    if eth_type != (ETH_TYPE_MPLS if labels else packet.eth_type):
        return replace(packet, labels=(), eth_type=BROKEN)
    return replace(packet, labels=labels)


def _retagged(packet: Packet, action: TagAction) -> Packet:
    match action:
        case PushLabel(label, traffic_class):
            return replace(packet, labels=(Label(label, traffic_class), *packet.labels))
        case PopLabel(eth_type):
            return popped(packet, eth_type)
        case PushVlan(vid, pcp, eth_type):
            return replace(packet, vlans=(VlanTag(vid, pcp, eth_type), *packet.vlans))
        case PopVlan():
            return replace(packet, vlans=packet.vlans[1:])


def _changed(packet: Packet, action: Action) -> Packet:
    match action:
        case PushLabel() | PopLabel() | PushVlan() | PopVlan():
            return _retagged(packet, action)
        case SetDscp(dscp):
            # The IP header is out of reach under labels.
            return packet if packet.labels else replace(packet, dscp=dscp)
        case SetEcn(ecn):
            return packet if packet.labels else replace(packet, ecn=ecn)
        case SetQueue(queue_id):
            return replace(packet, queue=queue_id)
    return packet
