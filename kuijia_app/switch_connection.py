"""One connected switch: reads back what it has and sends what it lacks, at the pace of its acknowledgements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from kuijia_app import openflow_reading as reading
from kuijia_app.identifiers import liveness_label
from kuijia_app.openflow import Messages
from kuijia_app.reconciliation import AddGroup, Change, ModifyGroup, Tables
from kuijia_app.roles import DENIALS
from kuijia_app.rules import Group, SwitchTables
from kuijia_app.sender import BATCH, Batch, Sender

Then = Callable[[], None]


@dataclass
class ReadBack:
    """What a switch says that it has.

    Attributes:
        ports: number of each of its ports to whether it is live.
        emptied: the labels of the tunnels whose liveness groups are there, but empty.
    """

    tables: Tables = field(default_factory=Tables)
    ports: dict[int, bool] = field(default_factory=dict)
    emptied: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Reports:
    """What the owner of a connection is told of.

    Attributes:
        read: the switch has said what it has; the tables that are wanted of it may be given.
        done: it has acknowledged to have what is wanted.
        group_done: it has acknowledged this change of one group, or to have got it empty.
        refused: it has refused a message, for the reason named; it is read again.
        displaced: another controller is its master now, for the reason named; nothing more is sent.
    """

    read: Callable[[ReadBack], None]
    done: Then
    group_done: Callable[[Group], None]
    refused: Callable[[str], None]
    displaced: Callable[[str], None]


class SwitchConnection:
    """A connection of either framework. All methods are to be called in the application's own thread."""

    def __init__(self, datapath: Any, switch: str, reports: Reports) -> None:
        self.switch = switch
        self._datapath = datapath
        self._messages = Messages(datapath)
        self._reports = reports
        # Ids of our own: those of the framework may repeat, as several threads count them up.
        self._ids = count(1)
        self._waiting: dict[int, Then] = {}
        self._read_back: ReadBack | None = None
        self._sender: Sender | None = None
        self._bundles = True
        self._bundle_probe: int | None = None
        self._is_displaced = False
        self._was_done = False

    def owns(self, datapath: Any) -> bool:
        return self._datapath is datapath

    def start(self, generation: int) -> None:
        """Become the switch's master, find out whether it knows bundles, and read it."""
        self._send([self._messages.claim_role(generation)])
        probe = self._messages.open_bundle(self._next_id())
        self._bundle_probe = probe.bundle_id
        self._transmit(probe, probe.bundle_id)
        self._transmit(self._messages.discard_bundle(probe.bundle_id), probe.bundle_id)
        self._read()

    def want(self, tables: SwitchTables) -> None:
        """Head for these tables; without effect until the switch has been read."""
        if self._sender is not None:
            self._was_done = False
            self._sender.want(tables)
            self._proceed()

    def want_instead(self, group_id: int, group: Group | None) -> None:
        """See `Sender.want_instead`; without effect until the switch has been read."""
        if self._sender is not None:
            self._sender.want_instead(group_id, group)
            self._proceed()

    def acknowledged(self, xid: int) -> None:
        """A barrier has been replied to."""
        then = self._waiting.pop(xid, None)
        if then is not None:
            then()

    def ports_described(self, ports: Iterable[Any]) -> None:
        """A part of the switch's port list."""
        if self._read_back is not None:
            self._read_back.ports.update((port.port_no, is_live(self._datapath.ofproto, port)) for port in ports)

    def groups_described(self, descriptions: Iterable[Any]) -> None:
        """A part of its list of groups."""
        if self._read_back is None:
            return
        for description in descriptions:
            self._read_back.tables.groups[description.group_id] = reading.read_group(
                self._datapath.ofproto, description
            )
            label = liveness_label(description.group_id)
            if label is not None and not description.buckets:
                self._read_back.emptied.add(label)

    def flows_described(self, statistics: Iterable[Any]) -> None:
        """A part of its list of flow entries."""
        if self._read_back is not None:
            entries = (reading.read_flow(self._datapath.ofproto, each) for each in statistics if reading.is_ours(each))
            self._read_back.tables.flows.update(entries)

    def error(self, message: Any) -> None:
        """The switch has refused a message."""
        name = reading.error_name(self._datapath.ofproto, message)
        if message.xid == self._bundle_probe:
            self._bundles = False
        elif name in DENIALS:
            if not self._is_displaced:
                self._is_displaced = True
                self._sender = None
                self._reports.displaced(name)
        elif self._sender is not None:
            # What it has now is uncertain: it did some of what it was asked.
            self._sender = None
            self._reports.refused(name)
            self._read()

    def _read(self) -> None:
        read_back = self._read_back = ReadBack()

        def whole() -> None:
            if self._read_back is read_back and not self._is_displaced:
                self._read_back = None
                self._sender = Sender(read_back.tables)
                self._reports.read(read_back)

        messages = self._messages
        self._send([messages.port_descriptions(), messages.group_descriptions(), messages.own_flows()], then=whole)

    def _proceed(self) -> None:
        sender = self._sender
        if sender is None:
            return
        while (batch := self._next_batch(sender)) is not None:
            self._send_batch(sender, batch)
        if sender.is_done and not self._was_done:
            self._was_done = True
            self._reports.done()

    def _next_batch(self, sender: Sender) -> Batch | None:
        return sender.all_at_once() if self._bundles and sender.left > 1 else sender.next_batch()

    def _send_batch(self, sender: Sender, batch: Batch) -> None:
        def done() -> None:
            if sender is self._sender:
                sender.acknowledged(batch.number)
                for change in batch.changes:
                    self._report_group(change)
                self._proceed()

        messages = [self._messages.change(change) for change in batch.changes]
        if self._bundles and len(messages) > 1:
            self._send_in_bundle(sender, messages, done)
        else:
            self._send(messages, then=done)

    def _report_group(self, change: Change) -> None:
        # A new group that has buckets is nothing that anybody was to be told.
        if isinstance(change, ModifyGroup) or (isinstance(change, AddGroup) and not change.group.buckets):
            self._reports.group_done(change.group)

    def _send_in_bundle(self, sender: Sender, messages: Sequence[Any], done: Then) -> None:
        """Have the switch do all or nothing; it is given no more at a time than it has acknowledged to have got."""
        bundle = self._next_id()
        added = [self._messages.in_bundle(bundle, message) for message in messages]
        parts = [added[start : start + BATCH] for start in range(0, len(added), BATCH)]
        parts[0] = [self._messages.open_bundle(bundle), *parts[0]]
        parts[-1] = [*parts[-1], self._messages.commit_bundle(bundle)]

        def send_part(number: int) -> None:
            if sender is not self._sender:
                return
            then = done if number == len(parts) - 1 else lambda: send_part(number + 1)
            self._send(parts[number], then=then)

        send_part(0)

    def _send(self, messages: Iterable[Any], then: Then | None = None) -> None:
        """Send messages; call `then` once the switch has acknowledged all of them."""
        for message in messages:
            self._transmit(message, self._next_id())
        if then is not None:
            xid = self._next_id()
            # Registered before it is sent: the reply may overtake us on another thread.
            self._waiting[xid] = then
            self._transmit(self._messages.barrier(), xid)

    def _transmit(self, message: Any, xid: int) -> None:
        message.set_xid(xid)
        self._datapath.send_msg(message)

    def _next_id(self) -> int:
        return next(self._ids)


def is_live(ofproto: Any, port: Any) -> bool:
    """Whether a port is neither switched off nor without a carrier."""
    return not (port.state & ofproto.OFPPS_LINK_DOWN or port.config & ofproto.OFPPC_PORT_DOWN)
