"""Messages of OpenFlow 1.3 as plain values: a model needs no bytes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from kuijia_app.control.port_states import PortState
from kuijia_app.control.reconciliation import Change, FlowKey
from kuijia_app.control.snapshot import ForeignEntry, Poll, PortCounters, QueueCounters, Room
from kuijia_app.tables.rules import FlowEntry, Group, Match


class RehearsedKind(Enum):
    """Request to a switch, its answer, or its report of removed entries."""

    CHANGE = "change"
    BARRIER = "barrier"
    ROLE = "role"
    ASYNC = "async"
    PORTS = "ports"
    GROUPS = "groups"
    FLOWS = "flows"
    CATCH = "catch"
    FRAME = "frame"
    POLL = "poll"
    COUNT = "count"
    REMOVED = "removed"
    OPEN = "open"
    ADD = "add"
    COMMIT = "commit"
    DISCARD = "discard"


class SimulatedRole(Enum):
    """Role of a connection (OpenFlow 1.3.5, 6.3.5); as a request, UNCHANGED only asks."""

    EQUAL = "equal"
    MASTER = "master"
    SLAVE = "slave"
    UNCHANGED = "unchanged"


@dataclass(slots=True)
class Message:
    """A request; `bundle_id` is also the generation id of a request for a role."""

    kind: RehearsedKind
    content: Any = None
    bundle_id: int = 0
    xid: int = 0

    def set_xid(self, xid: int) -> None:
        self.xid = xid


@dataclass(frozen=True, slots=True)
class SimulatedRefusal:
    """Error of a switch: the id of the refused request, and the name of the error."""

    xid: int
    name: str


class PlainMessages:
    """Builds and reads plain messages, in the place of `kuijia_app.control.openflow.Messages`."""

    def change(self, change: Change) -> Message:
        return Message(RehearsedKind.CHANGE, change)

    def can_name(self, key: FlowKey) -> bool:
        return bool(key)

    def count_now(self) -> Message:
        return Message(RehearsedKind.COUNT)

    def barrier(self) -> Message:
        return Message(RehearsedKind.BARRIER)

    def ask_for_role(self) -> Message:
        return Message(RehearsedKind.ROLE, SimulatedRole.UNCHANGED)

    def claim_role(self, generation: int) -> Message:
        return Message(RehearsedKind.ROLE, SimulatedRole.MASTER, generation)

    def claim_slave(self, generation: int) -> Message:
        return Message(RehearsedKind.ROLE, SimulatedRole.SLAVE, generation)

    def reports_of_ports(self) -> Message:
        return Message(RehearsedKind.ASYNC)

    def port_descriptions(self) -> Message:
        return Message(RehearsedKind.PORTS)

    def group_descriptions(self) -> Message:
        return Message(RehearsedKind.GROUPS)

    def own_flows(self) -> Message:
        return Message(RehearsedKind.FLOWS)

    def catch_probes(self, match: Match) -> Message:
        return Message(RehearsedKind.CATCH, match)

    def send_frame(self, port: int, frame: bytes, queue_id: int | None = None) -> Message:
        return Message(RehearsedKind.FRAME, (port, frame, queue_id))

    def put_neighbour(self, entry: FlowEntry, lifetime: int, meter: int | None) -> Message:
        return Message(RehearsedKind.CATCH, (entry, lifetime, meter))

    def delete_neighbour(self, entry: FlowEntry) -> Message:
        return Message(RehearsedKind.CATCH, entry)

    def put_meter(self, number: int, rate: int, burst: int) -> tuple[Message]:
        return (Message(RehearsedKind.CATCH, (number, rate, burst)),)

    def open_bundle(self, bundle_id: int) -> Message:
        return Message(RehearsedKind.OPEN, bundle_id=bundle_id)

    def commit_bundle(self, bundle_id: int) -> Message:
        return Message(RehearsedKind.COMMIT, bundle_id=bundle_id)

    def discard_bundle(self, bundle_id: int) -> Message:
        return Message(RehearsedKind.DISCARD, bundle_id=bundle_id)

    def in_bundle(self, bundle_id: int, message: Message) -> Message:
        return Message(RehearsedKind.ADD, message.content, bundle_id)

    def port(self, description: tuple[int, bool]) -> PortState:
        number, live = description
        return PortState(number, is_up=live)

    def group(self, description: Group) -> tuple[int, Group, bool]:
        return description.group_id, description, not description.buckets

    def own_flow(self, statistics: tuple[FlowKey, FlowEntry]) -> tuple[FlowKey, FlowEntry]:
        return statistics

    def poll(self, poll: Poll) -> Message:
        return Message(RehearsedKind.POLL, poll)

    def ask_for_room(self, room: Room) -> Message:
        return Message(RehearsedKind.POLL, room)

    def room(self, room: Room, answer: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        del room
        return iter(answer)

    def polled_entries(self, answer: Iterable[FlowEntry | ForeignEntry]) -> Iterator[tuple[Hashable, int]]:
        return ((entry, 0) for entry in answer)

    def is_own(self, entry: FlowEntry | ForeignEntry) -> bool:
        return isinstance(entry, FlowEntry)

    def polled_entry(self, entry: FlowEntry) -> tuple[FlowKey, FlowEntry]:
        return FlowKey.of(entry), entry

    def is_of_application(self, entry: FlowEntry | ForeignEntry) -> bool:
        del entry
        return False

    def is_for_hosts(self, entry: FlowEntry | ForeignEntry) -> bool:
        del entry
        return False  # no hosts are learned

    def polled_host_entry(self, entry: FlowEntry) -> tuple[FlowKey, tuple[FlowEntry, int | None]]:
        return FlowKey.of(entry), (entry, None)

    def polled_foreign(self, entry: ForeignEntry) -> ForeignEntry:
        return entry

    def polled_groups(self, answer: Iterable[Group]) -> Iterator[Group]:
        return iter(answer)

    def polled_group(self, group: Group) -> tuple[int, Group]:
        return group.group_id, group

    def entry_shape(self, answer: Iterable[FlowEntry | ForeignEntry]) -> None:
        """Return nothing: entries that are no bytes are read fast."""

    def bucket_shape(self, answer: Iterable[Group]) -> None:
        """Return nothing likewise."""

    def polled_buckets(self, answer: Iterable[Group]) -> Iterator[tuple[int, tuple[int, ...]]]:
        return ((group.group_id, (0,) * len(group.buckets)) for group in answer)

    def polled_ports(self, answer: Iterable[int]) -> Iterator[tuple[int, PortCounters]]:
        return ((port, PortCounters(0, 0, 0, 0, 0, 0, 0)) for port in answer)

    def polled_queues(self, answer: Iterable[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], QueueCounters]]:
        return ((queue, QueueCounters(0, 0)) for queue in answer)

    def polled_meters(self, answer: Iterable[int]) -> Iterator[tuple[int, tuple[int, int] | None]]:
        return ((number, None) for number in answer)

    def error_name(self, error: SimulatedRefusal) -> str:
        return error.name
