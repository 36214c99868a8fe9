"""Is the gateway of sites over the connections of their switches; `kuijia_app.control.neighbours` decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from kuijia_app.control.findings import FindingKey, FindingKind, Findings, SwitchFinding
from kuijia_app.control.host_frames import tagged, untagged
from kuijia_app.control.neighbours import LIFETIME, PORT_BURST, PORT_RATE, LearnedHosts, NeighbourStep
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.roles import DENIALS
from kuijia_app.control.switch_connection import SwitchConnection
from kuijia_app.control.switch_messages import SwitchMessages
from kuijia_app.tables.neighbours import Segment, meters_of, standing_entries
from kuijia_app.tables.rules import FlowEntry

_METER = "OFPET_METER_MOD_FAILED/"
_METER_EXISTS = "OFPET_METER_MOD_FAILED/OFPMMFC_METER_EXISTS"

_NO_METER = "OFPET_METER_MOD_FAILED/OFPMMFC_UNKNOWN_METER"

RENEWED = 1.5
"""Seconds after which standing entries, and those of some hosts, are put on a switch again: somebody may have deleted
or changed them."""

HOSTS_RENEWED = 20
"""Hosts of a switch whose entries are put on it again at a time."""

_METERLESS = ("OFPBIC_UNSUP_INST", "OFPFMFC_UNKNOWN", "OFPFMFC_BAD_COMMAND", "OFPBRC_BAD_TYPE")
"""Ends of the names of errors by which a switch without meters refuses one, or an entry that uses it."""


class Gateway:
    """The gateway of all sites whose hosts one controller learns."""

    def __init__(
        self,
        neighbours: LearnedHosts,
        connections: Mapping[str, SwitchConnection],
        findings: Findings,
        clock: Callable[[], float],
    ) -> None:
        """Begin with no host known.

        Args:
            neighbours: the sites and their hosts.
            connections: the present ones, by switch.
            findings: what is wrong now.
            clock: returns seconds of any clock that nobody sets.
        """
        self._neighbours = neighbours
        self._connections = connections
        self._findings = findings
        self._clock = clock
        self._without_meters: set[str] = set()
        self._renewed_at: dict[str, float] = {}
        self._next_host: dict[str, int] = {}

    def entries(self, switch: str) -> dict[FlowKey, FlowEntry]:
        """Return the entries for hosts that a switch is to have."""
        segment = self._neighbours.segment(switch)
        if segment is None:
            return {}
        standing = (each.entry for each in standing_entries(segment))
        return {FlowKey.of(entry): entry for entry in (*standing, *self._neighbours.entries(switch))}

    def read(self, switch: str) -> None:
        """Put all that a switch lacks perhaps on it: it has just been read."""
        segment = self._neighbours.segment(switch)
        connection = self._connections[switch]
        if segment is None:
            return
        self._findings.gone(FindingKey(FindingKind.HOSTS_UNANSWERED, switch), self._clock())
        self._without_meters.discard(switch)
        self._put_meters(connection, segment)

    def _put_meters(self, connection: SwitchConnection, segment: Segment) -> None:
        messages = connection.messages
        meters = [messages.put_meter(number, int(PORT_RATE), int(PORT_BURST)) for number in meters_of(segment)]
        connection.send_for_hosts([messages.reports_of_ports(), *meters], partial(self._put_all, connection))

    def _put_all(self, connection: SwitchConnection) -> None:
        """Put the entries on a switch once it has answered whether it has meters."""
        self._put_standing(connection)
        entries = self._neighbours.entries(connection.switch)
        connection.send_for_hosts(connection.messages.put_neighbour(entry, LIFETIME, None) for entry in entries)

    def _put_standing(self, connection: SwitchConnection) -> None:
        segment = self._neighbours.segment(connection.switch)
        assert segment is not None
        self._renewed_at[connection.switch] = self._clock()
        has_meters = connection.switch not in self._without_meters
        connection.send_for_hosts(
            connection.messages.put_neighbour(each.entry, 0, each.meter if has_meters else None)
            for each in standing_entries(segment)
        )

    def _put_some_hosts(self, connection: SwitchConnection) -> None:
        """Put the entries of the next hosts on a switch again, and begin with the first after the last."""
        switch, first = connection.switch, self._next_host.get(connection.switch, 0)
        entries = self._neighbours.entries(switch, first, HOSTS_RENEWED)
        connection.send_for_hosts(connection.messages.put_neighbour(entry, LIFETIME, None) for entry in entries)
        following = first + HOSTS_RENEWED
        self._next_host[switch] = following if following < self._neighbours.known(switch) else 0

    def refused(self, switch: str, reason: str) -> None:
        """Take in that a switch refuses a message for its hosts."""
        if reason in DENIALS or reason == _METER_EXISTS or reason.endswith("OFPBAC_BAD_OUT_PORT"):
            return  # another controller acts now, or the meter is ours already, or the port has gone a moment ago
        segment, connection = self._neighbours.segment(switch), self._connections.get(switch)
        if segment is None or connection is None:
            return
        if reason == _NO_METER:
            if self._renewed_at.pop(switch, None) is not None:  # once for all entries of a turn
                self._put_meters(connection, segment)
            return
        if reason.startswith(_METER) or reason.endswith(_METERLESS):
            if switch not in self._without_meters:
                self._without_meters.add(switch)
                self._put_standing(connection)
            return
        key = FindingKey(FindingKind.HOSTS_UNANSWERED, switch)
        self._findings.found(SwitchFinding(key, f"it refuses an entry for hosts: {reason}"), self._clock())

    def arrived(self, switch: str, port: int, frame: bytes) -> None:
        """Take in a frame that a switch has sent to the controller, whatever it is."""
        segment = self._neighbours.segment(switch)
        own = frame if segment is None or segment.vlan is None else untagged(frame, segment.vlan)
        self._do(self._neighbours.arrived(switch, port, own, self._clock()))

    def port_went_down(self, switch: str, port: int) -> None:
        """Take in that a port of the network went down."""
        self._neighbours.port_went_down(switch, port, self._clock())

    def tend(self) -> None:
        """Ask, age and renew what is due; call this at regular intervals while this controller acts."""
        now = self._clock()
        self._do(self._neighbours.look(now))
        for switch, before in self._renewed_at.items():
            if now - before >= RENEWED and switch in self._connections:
                self._put_standing(self._connections[switch])
                self._put_some_hosts(self._connections[switch])
                break  # one switch a time: another one has its turn at the next look

    def forget(self) -> None:
        """Forget all hosts: another controller has acted."""
        self._neighbours.forget()
        self._renewed_at.clear()

    def _do(self, step: NeighbourStep) -> None:
        """Put entries before frames are sent: the answer to a frame may come at once."""
        concerned = dict.fromkeys([switch for switch, _ in (*step.deleted, *step.put)])
        for switch in {**concerned, **dict.fromkeys(each.switch for each in step.frames)}:
            connection = self._connections.get(switch)
            if connection is not None:
                segment = self._neighbours.segment(switch)
                vlan = None if segment is None else segment.vlan
                connection.send_for_hosts(_messages(connection.messages, switch, step, vlan))


def _messages(messages: SwitchMessages, switch: str, step: NeighbourStep, vlan: int | None) -> Iterator[Any]:
    for its, entry in step.deleted:
        if its == switch:
            yield messages.delete_neighbour(entry)
    for its, entry in step.put:
        if its == switch:
            yield messages.put_neighbour(entry, LIFETIME, None)
    for each in step.frames:
        if each.switch == switch:
            yield messages.send_frame(each.port, each.frame if vlan is None else tagged(each.frame, vlan))
