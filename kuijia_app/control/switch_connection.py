"""One connected switch: reads back its tables and sends what it lacks, at the pace of its acknowledgements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from kuijia_app.control.port_states import PortState
from kuijia_app.control.reconciliation import (
    AddGroup,
    Change,
    DeleteFlow,
    FlowKey,
    IndexedTables,
    KnownTables,
    ModifyGroup,
    PutFlow,
)
from kuijia_app.control.roles import DENIALS, UNDEFINED
from kuijia_app.control.sender import BATCH, Batch, Name, Sender
from kuijia_app.control.snapshot import Poll, Room, Snapshot
from kuijia_app.control.switch_messages import SwitchMessages
from kuijia_app.control.table_differences import TableDifferences, differences
from kuijia_app.control.table_polls import TablePolls
from kuijia_app.framework.switch_limits import (
    MOST_UNKNOWN_ENTRIES,
    REREADS_BURST,
    REREADS_RATE,
    Patience,
    SwitchFaultError,
)
from kuijia_app.gate.frames import FIRST_POLL_XID, LAST_POLL_XID
from kuijia_app.gate.limits import Allowance
from kuijia_app.tables.identifiers import path_id_of_liveness_group
from kuijia_app.tables.rules import FlowEntry, Group, Match, SwitchTables

Then = Callable[[], None]

FIRST_PROBE_XID, LAST_PROBE_XID = 1 << 29, (1 << 30) - 1
"""Transaction ids of messages that probe links."""

FIRST_NEIGHBOUR_XID, LAST_NEIGHBOUR_XID = 1 << 28, (1 << 29) - 1
"""Transaction ids of messages for hosts that are learned."""


@dataclass
class ReadBack:
    """Tables that a switch reports.

    Attributes:
        ports: the state of each port, by its number.
        emptied: path ids of the tunnels whose liveness groups exist, but are empty.
    """

    tables: KnownTables = field(default_factory=KnownTables)
    ports: dict[int, PortState] = field(default_factory=dict)
    emptied: set[int] = field(default_factory=set)


@dataclass
class _Reading:
    """An unfinished description of the switch: its parts so far, and the transaction ids of the requests.

    The framework asks for ports, too; the answer to either request is used.
    """

    found: ReadBack = field(default_factory=ReadBack)
    groups_xid: int = 0
    flows_xid: int = 0
    entries: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class Reports:
    """Calls to the owner of a connection.

    Attributes:
        read: the switch has described its tables; `want` takes effect from now on.
        done: it has acknowledged these tables, the last that were given to `want`; others may be wanted by now.
        group_done: it has acknowledged a change of one group, or a new group without buckets.
        refused: it has refused a message on its way to these tables, for the given reason, and is read again; None if
            it was given no tables, or has refused an entry of `want_besides`.
        displaced: another controller is its master now, as it says for the given reason; nothing more is sent.
        role_told: it has told the greatest generation id that it has seen, None if it has seen none; `start` or
            `yield_to_other` or `stand_by` must follow.
        ports_told: it has described its ports to a controller that stands by.
        room_told: it has answered `ask_for_room`: the most that fits, by tables or types of groups; nothing if it
            refuses.
        probe_refused: it has refused a message that probes links, for the given reason.
        neighbour_refused: it has refused a message for hosts that are learned, for the given reason.
        polled: a poll has found this, and these differences from the tables that the switch has acknowledged; None if
            that cannot be said, as it was not given any.
        at_fault: it breaks the rules, in words: its connection must be dropped.
        owns: returns True for the id of a group that only we may use; other groups are left alone.
    """

    read: Callable[[ReadBack], None]
    done: Callable[[SwitchTables], None]
    group_done: Callable[[Group], None]
    refused: Callable[[SwitchTables | None, str], None]
    displaced: Callable[[str], None]
    role_told: Callable[[int | None], None]
    ports_told: Callable[[dict[int, PortState]], None]
    room_told: Callable[[Room, Mapping[int, int]], None]
    probe_refused: Callable[[str], None]
    neighbour_refused: Callable[[str], None]
    polled: Callable[[Snapshot, TableDifferences | None], None]
    at_fault: Callable[[str], None]
    owns: Callable[[int], bool]


class SwitchConnection:
    """A connection of either framework. Call all methods in the application's thread.

    Attributes:
        switch: its name.
        datapath: the framework's connection.
        messages: builds and reads the messages of this connection.
        seen: the greatest generation id that the switch has told of.
        is_given_up: True when it is about to be closed; messages are neither handled nor sent.
    """

    def __init__(
        self,
        datapath: Any,
        switch: str,
        reports: Reports,
        expected: SwitchTables | None,
        most_entries: int,
        later: Callable[[Iterator[None]], None],
        messages: SwitchMessages,
    ) -> None:
        """Make a connection that does nothing yet.

        Args:
            datapath: the framework's connection.
            switch: its name.
            reports: the owner's callbacks.
            expected: the tables that the switch will probably have.
            most_entries: ports, groups and entries that the switch may describe at a time.
            later: takes tasks of long work in short steps, and runs them in order as time permits.
            messages: builds and reads the messages of this connection.
        """
        self.switch = switch
        self.datapath = datapath
        self.is_given_up = False
        self._expected = {} if expected is None else IndexedTables.of(expected).entry_of
        self._most_entries = most_entries
        self._later = later
        self._patience = Patience()
        self._answers = 0
        self.messages = self._messages = messages
        self._owns = reports.owns
        self._reports = reports
        # Not the framework's ids: they may repeat, as several threads increment them.
        self._last_id = self._read_after = 0
        self._waiting: dict[int, Then] = {}
        self._ids_besides: set[int] = set()
        self._role_query: int | None = None
        self._generation: int | None = None
        self.seen: int | None = None
        self._reading: _Reading | None = None
        self._sender: Sender | None = None
        self._next_wanted: SwitchTables | None = None
        self._bundles = True
        self._bundle_probe: int | None = None
        self._open_bundle: int | None = None
        self._last_probe = FIRST_PROBE_XID - 1
        self._last_neighbour = FIRST_NEIGHBOUR_XID - 1
        self._rereads = Allowance(REREADS_RATE, REREADS_BURST, 0.0)
        self._is_read_due = False
        self._looked_at = 0.0
        self._is_displaced = False
        self._was_done = False
        self._stands_by = self._is_to_be_slave = False
        self._polls = TablePolls(switch, messages, most_entries, self._ask, self._polled)
        self._last_poll = FIRST_POLL_XID - 1
        self._room_asked: dict[int, Room] = {}
        self._uncertain: Collection[Name] = ()
        self._unnamed: set[FlowKey] = set()

    def hears(self, datapath: Any) -> bool:
        """Return True if this is the framework's connection, and it is not given up."""
        return self.datapath is datapath and not self.is_given_up

    def give_up(self) -> None:
        """Stop handling and sending messages: the connection is about to be closed."""
        self.is_given_up = True
        self._reading = self._sender = self._next_wanted = None
        self._waiting.clear()
        self._polls.end()

    def lost_patience(self, now: float) -> str | None:
        """Return in words what the switch has owed for too long, None if nothing; call this at regular intervals.

        A switch that refuses messages without end is read again here, once in a while.
        """
        self._looked_at = now
        if self._is_read_due and not self._is_displaced and self._rereads.take(now):
            self._read()
        is_owed = bool(self._waiting)
        return self._patience.lost(now, self._answers, is_owed=is_owed, is_reading=self._reading is not None)

    def ask_for_role(self) -> None:
        """Ask for the greatest generation id that the switch has seen; one that does not tell has seen none."""
        query = self._role_query = self._next_id()
        self._transmit(self._messages.ask_for_role(), query)

        def answered() -> None:
            if self._role_query == query:
                self._role_query = None
                reported, self._generation = self._generation, None
                self._reports.role_told(reported)

        self._send([], then=answered)

    def role_told(self, xid: int, generation: int) -> None:
        """Take in the answer to `ask_for_role`; ignore other role replies."""
        if 0 < xid <= self._last_id:
            self.seen = None if generation == UNDEFINED else generation
            self._become_slave()
        if xid == self._role_query:
            self._generation = self.seen

    def start(self, generation: int) -> None:
        """Become the switch's master, find out whether it has bundles, and read its tables."""
        self._generation = generation
        self._role_query = None
        self._is_displaced = self._was_done = self._stands_by = self._is_to_be_slave = False
        self._waiting.clear()
        self._send([self._messages.claim_role(generation)])
        probe = self._messages.open_bundle(self._next_id())
        self._bundle_probe = probe.bundle_id
        self._transmit(probe, probe.bundle_id)
        self._transmit(self._messages.discard_bundle(probe.bundle_id), probe.bundle_id)
        self._read()

    def stand_by(self) -> None:
        """Be the switch's slave, and read its ports only."""
        self.yield_to_other()
        self._waiting.clear()
        self._role_query = None
        self._stands_by = self._is_to_be_slave = True
        self._become_slave()
        self._send([self._messages.reports_of_ports()])
        under_way = self._reading = _Reading()

        def whole() -> None:
            if self._reading is under_way:
                self._reading = None
                self._reports.ports_told(under_way.found.ports)

        self._send([self._messages.port_descriptions()], then=whole)

    def _become_slave(self) -> None:
        """Claim the role of slave if that is due; a switch that no controller has claimed yet has no id for it."""
        if self._is_to_be_slave and self.seen is not None:
            self._is_to_be_slave = False
            self._send([self._messages.claim_slave(self.seen)])

    def poll_role(self) -> None:
        """Ask for the generation id again; `seen` will be the answer."""
        if not self.is_given_up and self._role_query is None:
            self._send([self._messages.ask_for_role()])

    def claim_again(self, generation: int, then: Then | None = None) -> None:
        """Claim the role of master by a greater generation id, if it was claimed before.

        `then` is called once the switch has taken the claim, and not if it refuses it.
        """
        if self._generation is not None and self._role_query is None and not (self.is_given_up or self._is_displaced):
            self._generation = generation
            taken = None if then is None else partial(self._unless_displaced, then)
            self._send([self._messages.claim_role(generation)], taken)

    def _unless_displaced(self, then: Then) -> None:
        if not self._is_displaced:
            then()

    def yield_to_other(self) -> None:
        """Send nothing more: another controller is the switch's master."""
        self._is_displaced = True
        self._generation = None
        self._reading = self._sender = self._next_wanted = None
        self._polls.end()

    def want(self, tables: SwitchTables) -> None:
        """Bring the switch to these tables; without effect until the switch has been read."""
        if self._sender is not None:
            self._was_done = False
            is_waiting, self._next_wanted = self._next_wanted is not None, tables
            if not is_waiting:
                self._later(self._heading(self._sender))

    def want_instead(self, group_id: int, group: Group | None) -> None:
        """See `Sender.want_instead`; without effect until the switch has been read, and until `proceed` is called."""
        if self._sender is not None:
            self._sender.want_instead(group_id, group)

    def want_besides(self, entries: Mapping[FlowKey, FlowEntry]) -> None:
        """See `Sender.want_besides`; otherwise as `want_instead`."""
        if self._sender is not None:
            self._sender.want_besides(entries)

    @property
    def is_ready(self) -> bool:
        """True while the switch is ours to change, has described its tables, and has been given some."""
        return self._sender is not None and self._sender.wanted is not None

    def is_settled(self, name: Name) -> bool:
        """See `Sender.is_settled`; False until the switch has been read."""
        return self._sender is not None and self._sender.is_settled(name)

    def acknowledged(self, xid: int) -> bool:
        """Handle the reply to a barrier; return False, and do nothing, for one that was never sent."""
        then = self._waiting.pop(xid, None)
        if then is not None:
            self._answers += 1
            then()
        return then is not None

    def port_changed(self, state: PortState, *, is_there: bool) -> None:
        """Take in that a port has changed, which a description that is under way may have come too early for."""
        if self._reading is not None and is_there:
            self._reading.found.ports[state.number] = state
        elif self._reading is not None:
            self._reading.found.ports.pop(state.number, None)

    def ports_described(self, ports: Sequence[Any]) -> None:
        """Handle a part of the switch's port list; raise SwitchFaultError if the list is too long."""
        if self._reading is not None:
            self._count(self._reading, ports)
            states = map(self._messages.port, ports)
            self._reading.found.ports.update((state.number, state) for state in states)

    def groups_described(self, xid: int, descriptions: Sequence[Any]) -> None:
        """Handle a part of the answer to our request for groups; raise SwitchFaultError if it is too long."""
        if self._reading is None or xid != self._reading.groups_xid:
            return
        self._count(self._reading, descriptions)
        found = self._reading.found
        for each in filter(None, map(self._messages.group, descriptions)):
            group_id, group, is_empty = each
            if not self._owns(group_id):
                continue
            found.tables.groups[group_id] = group
            path_id = path_id_of_liveness_group(group_id)
            if path_id is not None and is_empty:
                found.emptied.add(path_id)

    def flows_described(self, xid: int, statistics: Sequence[Any]) -> None:
        """Handle a part of the answer to our request for entries; raise SwitchFaultError if it is too long."""
        if self._reading is None or xid != self._reading.flows_xid:
            return
        self._count(self._reading, statistics)
        for key, entry in filter(None, map(self._messages.own_flow, statistics)):
            if not isinstance(key.match, Match):
                self._reading.unknown += 1
                if self._reading.unknown > MOST_UNKNOWN_ENTRIES:
                    raise SwitchFaultError(f"it describes more than {MOST_UNKNOWN_ENTRIES} entries unlike our rules")
                if not self._messages.can_name(key):
                    self._unnamed.add(key)
                    continue
            expected = self._expected.get(key)
            # The expected object makes the comparison with the wanted tables fast.
            self._reading.found.tables.flows[key] = expected if expected == entry else entry

    def error(self, message: Any) -> None:
        """Handle a refusal of a message; ignore one of a message that was never sent."""
        if FIRST_PROBE_XID <= message.xid <= self._last_probe:
            self._reports.probe_refused(self._messages.error_name(message))
        if FIRST_NEIGHBOUR_XID <= message.xid <= self._last_neighbour:
            self._reports.neighbour_refused(self._messages.error_name(message))
        if FIRST_POLL_XID <= message.xid <= LAST_POLL_XID:
            self._poll_refused(message.xid)
        if not 0 < message.xid <= self._last_id:
            return
        name = self._messages.error_name(message)
        if message.xid == self._bundle_probe:
            self._bundles = False
        elif name in DENIALS:
            self._is_to_be_slave = self._stands_by  # the switch has met a greater id since it told us its last one
            if not self._is_displaced:
                self.yield_to_other()
                self._reports.displaced(name)
        elif self._sender is not None and message.xid > self._read_after:
            # Its tables are uncertain now: it may have applied some of the changes.
            headed_for = None if message.xid in self._ids_besides else self._sender.wanted
            self._sender = self._next_wanted = None
            self._ids_besides.clear()
            self._reports.refused(headed_for, name)
            if self._rereads.take(self._looked_at):
                self._read()
            else:
                self._is_read_due = True

    def read_again(self) -> None:
        """Read the tables again if the switch is ours; `want` is without effect until then."""
        if self._sender is not None:
            self._sender = self._next_wanted = None
            self._read()

    def poll(self, now: float, *, everything: bool, meters: bool) -> bool:
        """Begin to poll the switch's tables and counters, entries of others and meters too if they are asked for.

        It takes the place of a poll under way. Return False if that has to wait: the switch is not ours, or being read.
        """
        if self._sender is None or self.is_given_up or self._is_displaced:
            return False
        self._uncertain = self._sender.begin_poll()
        self._polls.begin(now, everything=everything, meters=meters)
        return True

    def bring_counters_up_to_date(self, now: float) -> bool:
        """Make the switch count what has passed until now, for a `poll` soon; return False if that has to wait."""
        if self._sender is None or self.is_given_up or self._is_displaced or self._polls.is_under_way:
            return False
        self._transmit(self._messages.count_now(), self._next_id())
        self._polls.begin_early(now)
        return True

    def poll_answered(self, xid: int, answer: Any, clock: Callable[[], float]) -> None:
        """Handle the answer to a question of a poll, as time permits; ignore one that was never asked."""
        self._polls.arrived(xid)
        room = self._room_asked.pop(xid, None)
        self._later(self._taking_poll(xid, answer, clock) if room is None else self._taking_room(room, answer))

    def _poll_refused(self, xid: int) -> None:
        self._polls.refused(xid)
        room = self._room_asked.pop(xid, None)
        if room is not None:
            self._reports.room_told(room, {})

    def ask_for_room(self, room: Room) -> None:
        """Ask how much the switch can hold, unless it was asked and has not answered."""
        if room not in self._room_asked.values() and not self.is_given_up:
            self._transmit(self._messages.ask_for_room(room), xid := self._next_poll_id())
            self._room_asked[xid] = room

    def _taking_room(self, room: Room, answer: Any) -> Iterator[None]:
        sizes: dict[int, int] = {}
        try:
            for kind, most in self._messages.room(room, answer):
                sizes[kind] = most
                yield
        except SwitchFaultError as error:
            self._reports.at_fault(str(error))
            return
        self._reports.room_told(room, sizes)

    def unanswered_polls(self, now: float) -> frozenset[Poll]:
        """See `TablePolls.unanswered`."""
        return self._polls.unanswered(now)

    def _taking_poll(self, xid: int, answer: Any, clock: Callable[[], float]) -> Iterator[None]:
        try:
            yield from self._polls.taken(xid, answer, clock)
        except SwitchFaultError as error:
            self._reports.at_fault(str(error))

    def _ask(self, poll: Poll) -> int:
        self._transmit(self._messages.poll(poll), xid := self._next_poll_id())
        return xid

    def _next_poll_id(self) -> int:
        self._last_poll = self._last_poll + 1 if self._last_poll < LAST_POLL_XID else FIRST_POLL_XID
        return self._last_poll

    def _polled(self, snapshot: Snapshot) -> None:
        sender = self._sender
        if sender is None or self.is_given_up:
            return
        found = None
        if sender.wanted is not None:
            left_out = {*self._uncertain, *self._unnamed}
            found = differences(self._owns, sender.present, snapshot, left_out)
            if not found:
                self._polls.share(sender.present)
        self._reports.polled(snapshot, found)

    def _read(self) -> None:
        messages = self._messages
        ports, groups, flows = messages.port_descriptions(), messages.group_descriptions(), messages.own_flows()
        under_way = self._reading = _Reading()
        self._is_read_due = False
        if self._open_bundle is not None:
            # Open vSwitch drops a bundle that was given up after 10 s, others may keep it for ever.
            self._transmit(messages.discard_bundle(self._open_bundle), self._next_id())
            self._open_bundle = None
        # What was sent before is done or void, and the bundle may be gone already.
        self._read_after = self._last_id
        self._unnamed.clear()
        self._polls.end()

        def whole() -> None:
            if self._reading is under_way and not self._is_displaced:
                self._reading = None
                self._sender = Sender(under_way.found.tables)
                self._reports.read(under_way.found)

        self._send([ports])
        under_way.groups_xid = self._next_id()
        self._transmit(groups, under_way.groups_xid)
        under_way.flows_xid = self._next_id()
        self._transmit(flows, under_way.flows_xid)
        self._send([], then=whole)

    def _count(self, under_way: _Reading, part: Sequence[Any]) -> None:
        self._answers += 1
        under_way.entries += max(1, len(part))  # empty parts count, too: there could be any number of them
        if under_way.entries > self._most_entries:
            raise SwitchFaultError(f"it describes more than {self._most_entries} ports, groups and entries")

    def catch_probes(self, matches: Sequence[Match], then: Then) -> None:
        """Have the switch send frames with these matches to the controller; call `then` once it does."""
        if self._may_probe:
            self._send_probing(map(self._messages.catch_probes, matches), then)

    def send_frames(self, frames: Sequence[tuple[int, bytes]], queue_id: int, then: Then) -> None:
        """Send frames out of ports; call `then` once the switch has done so."""
        if self._may_probe:
            self._send_probing([self._messages.send_frame(port, frame, queue_id) for port, frame in frames], then)

    def send_for_hosts(self, messages: Iterable[Any], then: Then | None = None) -> None:
        """Send messages for hosts that are learned; call `then` once the switch has acknowledged them."""
        if not self._may_probe:
            return
        for message in messages:
            is_last = self._last_neighbour == LAST_NEIGHBOUR_XID
            self._last_neighbour = FIRST_NEIGHBOUR_XID if is_last else self._last_neighbour + 1
            self._transmit(message, self._last_neighbour)
        if then is not None:
            self._send([], then=then)

    @property
    def _may_probe(self) -> bool:
        return self._generation is not None and not (self.is_given_up or self._is_displaced)

    def _send_probing(self, messages: Iterable[Any], then: Then) -> None:
        """Send messages whose refusal says nothing of the tables; call `then` once the switch has acknowledged them."""
        for message in messages:
            self._last_probe = self._last_probe + 1 if self._last_probe < LAST_PROBE_XID else FIRST_PROBE_XID
            self._transmit(message, self._last_probe)
        self._send([], then=then)

    def proceed(self) -> None:
        """Send the messages that may be sent now."""
        sender = self._sender
        if sender is None:
            return
        while (batch := sender.urgent_batch()) is not None:
            self._send_urgent(sender, batch)
        if self._next_wanted is not None:
            return
        while (batch := self._next_batch(sender)) is not None:
            self._later(self._sending(sender, batch))
        if sender.is_done and sender.wanted is not None and not self._was_done:
            self._was_done = True
            self._reports.done(sender.wanted)

    def _send_urgent(self, sender: Sender, batch: Batch) -> None:
        first, taking = self._last_id + 1, self._taking(sender, batch)
        is_besides = isinstance(batch.changes[0], PutFlow | DeleteFlow)
        its = range(first, first + len(batch.changes)) if is_besides else range(0)
        self._ids_besides.update(its)

        def done() -> None:
            self._ids_besides.difference_update(its)
            taking()

        self._send(map(self._messages.change, batch.changes), then=done)

    def _next_batch(self, sender: Sender) -> Batch | None:
        # Also a single change waits for a bundle: it would be done before what is still to be committed.
        return sender.all_at_once() if self._bundles else sender.next_batch()

    def _heading(self, sender: Sender) -> Iterator[None]:
        """Return the task that starts towards the tables given to `want`."""
        if sender is self._sender and self._next_wanted is not None:
            tables, self._next_wanted = self._next_wanted, None
            sender.want(tables)
            yield
            if sender is self._sender:
                self.proceed()

    def _taking(self, sender: Sender, batch: Batch) -> Then:
        """Return the action after the switch has acknowledged a batch."""

        def done() -> None:
            if sender is self._sender:
                sender.acknowledged(batch.number)
                for change in batch.changes:
                    self._report_group(change)
                self.proceed()

        return done

    def _sending(self, sender: Sender, batch: Batch) -> Iterator[None]:
        messages, done = map(self._messages.change, batch.changes), self._taking(sender, batch)
        if self._bundles and len(batch.changes) > 1:
            return self._sending_in_bundle(sender, messages, len(batch.changes), done)
        return self._sending_part(sender, messages, lambda: self._send([], then=done))

    def _sending_part(self, sender: Sender, messages: Iterable[Any], sent: Then) -> Iterator[None]:
        """Send messages, each built in its turn; call `sent` once all of them are on their way."""
        for message in messages:
            if sender is not self._sender:
                return
            self._transmit(message, self._next_id())
            yield
        if sender is self._sender:
            sent()

    def _report_group(self, change: Change) -> None:
        # A new group with buckets is no change of liveness, so it is not reported.
        if isinstance(change, ModifyGroup) or (isinstance(change, AddGroup) and not change.group.buckets):
            self._reports.group_done(change.group)

    def _sending_in_bundle(self, sender: Sender, messages: Iterator[Any], count: int, done: Then) -> Iterator[None]:
        """Send a bundle, which the switch applies as a whole, in parts: each after the one before is acknowledged."""
        bundle = self._next_id()
        added = (self._messages.in_bundle(bundle, message) for message in messages)

        def part(left: int) -> Iterator[None]:
            def sent() -> None:
                if left > BATCH:
                    self._send([], then=lambda: self._later(part(left - BATCH)))
                else:
                    self._open_bundle = None
                    self._send([self._messages.commit_bundle(bundle)], then=done)

            return self._sending_part(sender, islice(added, BATCH), sent)

        if sender is self._sender:
            self._open_bundle = bundle
            self._transmit(self._messages.open_bundle(bundle), self._next_id())
        yield from part(count)

    def _send(self, messages: Iterable[Any], then: Then | None = None) -> None:
        """Send messages; call `then` once the switch has acknowledged all of them."""
        for message in messages:
            self._transmit(message, self._next_id())
        if then is not None:
            xid = self._next_id()
            # Registered before it is sent: the reply may arrive first, on another thread.
            self._waiting[xid] = then
            self._transmit(self._messages.barrier(), xid)

    def _transmit(self, message: Any, xid: int) -> None:
        message.set_xid(xid)
        self.datapath.send_msg(message)

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id
