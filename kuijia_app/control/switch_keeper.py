"""Keeps one connection for each switch of a network; pure: events and the time are passed in."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kuijia_app.control.findings import FindingKey, FindingKind, Findings, SwitchFinding
from kuijia_app.control.flap_damping import FlapDamping
from kuijia_app.control.foreign_entries import DefeatingEntries, defeat
from kuijia_app.control.gateway import Gateway
from kuijia_app.control.identity import are_identical
from kuijia_app.control.link_prober import LinkProber
from kuijia_app.control.liveness import Edge, Port, Tunnel
from kuijia_app.control.loss_watch import SETTLED, LossWatch
from kuijia_app.control.neighbours import LearnedHosts
from kuijia_app.control.network_log import NetworkLog, TunnelStates
from kuijia_app.control.openflow import Messages
from kuijia_app.control.port_states import PortState, PortStates
from kuijia_app.control.probe_frames import ProbeForm
from kuijia_app.control.role_verification import RoleVerification
from kuijia_app.control.roles import DENIALS, Claims, room_lacking, room_text, shortage
from kuijia_app.control.sliced_work import SlicedWork
from kuijia_app.control.snapshot import ForeignEntry, Poll, Room, Snapshot
from kuijia_app.control.switch_connection import ReadBack, Reports, SwitchConnection
from kuijia_app.control.switch_messages import SwitchMessages
from kuijia_app.control.switch_metrics import SwitchMetrics
from kuijia_app.control.table_differences import TableDifferences
from kuijia_app.control.table_watch import TablesVerdict, TableWatch, silence
from kuijia_app.framework import event_log
from kuijia_app.framework.switch_limits import ENTRIES_PER_WANTED, MOST_ENTRIES, BackOff, SwitchFaultError, repeated
from kuijia_app.tables.identifiers import LINK_PROBE_COOKIE, NEIGHBOUR_COOKIE
from kuijia_app.tables.neighbours import Segment
from kuijia_app.tables.rules import Group, SwitchTables
from kuijia_app.tables.stated_wiring import datapath_text
from kuijia_app.tables.wiring import Wiring

MOST_ERRORS = 16
"""Different errors of one switch that are reported one by one; a switch can invent four thousand million."""

MOST_UNKNOWN_NAMED = 16
"""Unknown datapath ids that are reported one by one."""

_OTHER_ERRORS = "other errors"


class SwitchKeeper(ABC):
    """Keeps one connection for each switch of a network, and drops switches that break the rules.

    Subclasses decide what follows from messages. All methods are for one thread, one event after another.

    Attributes:
        logger: for messages to people.
        _wiring: numbers of the switches and ports, given by `_serve`.
        _network_log: lines about links, ports and switches.
        _prober: probes of links, made by `_probe_links`.
        _gateway: the gateway of hosts, made by `_learn_hosts`.
        _log: for events.
        _reports: limits how often events are repeated.
        _sliced_work: long work.
        _metrics: counts what happens.
        _roles: what switches say of other masters.
        _findings: what is wrong now.
    """

    _unwatched_cookies: Collection[int] = ()
    """Cookies of entries that an application puts on switches in addition to their tables, and that no poll reads."""

    _own_cookies: Collection[int] = (LINK_PROBE_COOKIE,)
    """Cookies of further entries of its own, which polls read as if they were somebody else's."""

    logger: logging.Logger
    _wiring: Wiring
    _network_log: NetworkLog
    _prober: LinkProber
    _gateway: Gateway
    _log: event_log.Log
    _reports: BackOff
    _sliced_work: SlicedWork

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        self._metrics = SwitchMetrics("kuijia", self._now)
        self._connections: dict[str, SwitchConnection] = {}
        self._held: dict[str, tuple[int, int]] = {}
        self._lacks_room: dict[str, SwitchTables] = {}
        self._claims = Claims()
        self._roles = RoleVerification()
        self._is_displaced = False
        self._noted_errors: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._noted_unknown: set[int] = set()
        self._noted_ports: dict[tuple[str, int], bool] = {}
        self._damping: FlapDamping[tuple[str, int]] = FlapDamping()
        self._findings = Findings()
        self._port_states = PortStates()
        self._table_watch = TableWatch()
        self._host_watch = TableWatch("entries for hosts", is_lack=False)
        self._wrong_tables: set[str] = set()
        self._unanswered: dict[str, frozenset[Poll]] = {}
        self._compared: dict[str, tuple[object, ...]] = {}

    def _serve(self, wiring: Wiring) -> None:
        """Keep the switches of a network from now on."""
        self._wiring = wiring
        self._network_log = NetworkLog(wiring, self._now())

    @abstractmethod
    def _now(self) -> float:
        """Return seconds of a clock that nobody sets."""

    @abstractmethod
    def _close(self, datapath: Any) -> None:
        """End a connection soon."""

    def _messages_for(self, datapath: Any) -> SwitchMessages:
        """Return the builder of messages for a connection."""
        return Messages(datapath, self._unwatched_cookies, self._own_cookies)

    def _connected(self, datapath_id: int, datapath: Any) -> None:
        """Take in a new connection, which names its switch."""
        switch = self._wiring.switch_of(datapath_id)
        if switch is None:
            self._note_other(datapath_id, datapath)
            return
        before = self._owner(datapath)
        if before is not None and before.switch != switch:
            raise SwitchFaultError("it gives its connection a second datapath id")
        reports = Reports(
            read=partial(self._read, switch),
            done=partial(self._installed, switch),
            group_done=partial(self._group_done, switch),
            refused=partial(self._refused_by, switch),
            displaced=partial(self._displaced, switch),
            role_told=partial(self._role_told, switch),
            ports_told=partial(self._ports_described, switch),
            room_told=partial(self._room_told, switch),
            probe_refused=partial(self._probe_refused, switch),
            neighbour_refused=lambda reason: self._gateway.refused(switch, reason),
            polled=partial(self._tables_polled, switch),
            at_fault=partial(self._drop, datapath),
            owns=self._owns_group,
        )
        replaced = self._connections.get(switch)
        if replaced is not None:
            replaced.give_up()
        self._begun(switch)
        self._table_watch.begun(switch, self._now())
        self._host_watch.begun(switch, self._now())
        self._metrics.began(switch)
        self._network_log.connected(switch, _host(datapath), self._now())
        wanted = self._wanted(switch)
        most = max(MOST_ENTRIES, ENTRIES_PER_WANTED * (len(wanted.groups) + len(wanted.flows)))
        connection = self._connections[switch] = SwitchConnection(
            datapath,
            switch,
            reports,
            wanted,
            most,
            self._sliced_work.add,
            self._messages_for(datapath),
        )
        connection.ask_for_role()

    def _owns_group(self, group_id: int) -> bool:
        """Return True for the id of a group that only we may use; all others are left alone."""
        del group_id
        return True

    def _stands_by(self, switch: str, reported: int | None) -> bool:
        """Return True if this controller does not claim a switch that has told its generation id now."""
        del switch, reported
        return False

    def _ports_told(self, switch: str, ports: Mapping[int, PortState]) -> None:
        """Take in the ports of a switch while this controller stands by."""
        del switch, ports  # only pairs stand by

    def _probe_links(self, form: ProbeForm, sizes: Mapping[Port, int]) -> None:
        """Probe links from now on with frames of these bytes after the Ethernet header, by ports."""
        self._prober = LinkProber(self._wiring, form, sizes, self._connections, self._port_states, self._now)

    def _links_not_carrying(self) -> frozenset[Edge]:
        """Return the links that probes call lossy, and those with a port that is up and drops frames as it says."""
        ends = ((switch, self._wiring.neighbour_at(switch, port)) for switch, port in self._port_states.dropping)
        dropping = (frozenset((switch, neighbour)) for switch, neighbour in ends if neighbour is not None)
        return self._prober.probes.lossy.union(dropping)

    def _forget_probes(self, switch: str) -> None:
        """Forget what probes of a switch's links have shown, as it has gone or a new connection begins."""
        self._prober.probes.left(switch)
        self._findings.gone(FindingKey(FindingKind.SWITCH_UNPROBED, switch), self._now())

    def _probe_anew(self, switch: str) -> None:
        """Probe the links of a switch that has been read, even if it has refused that before."""
        self._prober.probes.connected(switch)
        self._findings.gone(FindingKey(FindingKind.SWITCH_UNPROBED, switch), self._now())

    def _probe_refused(self, switch: str, reason: str) -> None:
        """Take in that a switch refuses a message that probes links."""
        if reason in DENIALS or reason.endswith("OFPBAC_BAD_OUT_PORT"):
            return  # another controller acts now, or the port has gone a moment ago
        self._prober.probes.left(switch)
        key = FindingKey(FindingKind.SWITCH_UNPROBED, switch)
        self._findings.found(SwitchFinding(key, f"it refuses what probes its links: {reason}"), self._now())

    def _learn_hosts(self, segments: Collection[Segment]) -> None:
        """Learn the hosts of sites from now on, and be their gateway."""
        prefixes = [prefix for site in self._wiring.sites for prefix in site.prefixes]
        prefixes += [prefix for segment in segments for prefix in segment.prefixes]
        learned = LearnedHosts(segments, prefixes, self._now())
        self._metrics.follow_hosts(learned)
        self._gateway = Gateway(learned, self._connections, self._findings, self._now, self._sliced_work.add)

    def _packet_arrived(self, switch: str, port: int, frame: bytes, cookie: int) -> None:
        """Take in a frame that a switch has sent to the controller, as one of our entries says."""
        if cookie == NEIGHBOUR_COOKIE:
            self._gateway.arrived(switch, port, frame)
        else:
            self._prober.arrived(switch, port, frame)

    def _disconnected(self, datapath: Any) -> None:
        """Forget a connection that has ended."""
        connection = self._owner(datapath)
        if connection is not None:
            connection.give_up()  # sliced work for it may be left
            del self._connections[connection.switch]
            self._roles.left(connection.switch)
            self._port_states.forget(connection.switch)
            self._table_watch.ended(connection.switch)
            self._wrong_tables.discard(connection.switch)
            self._findings.exactly(FindingKind.SWITCH_UNWATCHED, connection.switch, (), self._now())
            self._unanswered.pop(connection.switch, None)
            self._log.write(event_log.SWITCH_GONE, switch=connection.switch)
            self._network_log.disconnected(connection.switch, self._now())
            self._ended(connection.switch)

    def _role_told(self, switch: str, reported: int | None) -> None:
        """Claim the role of master of a switch, which has told the greatest generation id that it has seen.

        A switch that says that it has met a later controller since it was ours is left alone while the others are
        asked. One that is met for the first time may have any generation id: ours is then raised above it.
        """
        if self._stands_by(switch, reported):
            self._connections[switch].stand_by()
            return
        now, before = self._now(), self._claims.generation
        is_ours, reason = self._claims.met(switch, reported), f"generation id {reported or 0:016x}"
        if self._is_displaced:
            if is_ours:
                self._roles.vouched(switch, now)
            else:
                self._roles.denied(switch, reason, now)
            return
        if not is_ours:
            self._displaced(switch, reason)
            return
        if self._claims.generation != before:
            for other, connection in self._connections.items():
                connection.claim_again(self._claims.of(other))
        self._start(switch, now)

    def _start(self, switch: str, now: float) -> None:
        """Claim a switch from now on, and read it."""
        self._roles.claimed(switch, now)
        self._connections[switch].start(self._claims.of(switch))

    def _tend_roles(self, now: float) -> None:
        """Verify what switches say of other masters; call this regularly, and when one has said something new."""
        connections = {switch: each for switch, each in self._connections.items() if not each.is_given_up}
        if self._is_displaced:
            if self._roles.is_to_look_again(now):
                for connection in connections.values():
                    connection.ask_for_role()
            if self._roles.is_wrong(connections, now):
                self._come_back(now)
            return
        if self._roles.is_to_be_asked(now):
            for switch, connection in connections.items():
                if not self._roles.is_denying(switch):
                    connection.claim_again(self._claims.of(switch), partial(self._obeyed, switch, now))
        if self._roles.is_lost(connections, now):
            self._lose_role(self._roles.denials(connections), now)
            return
        for switch in self._roles.due(connections, now):
            self._claims.left(switch)  # whatever id it tells, it is claimed above that
            self._begun(switch)
            self._metrics.began(switch)
            connections[switch].ask_for_role()

    def _obeyed(self, switch: str, claimed_at: float) -> None:
        self._roles.obeyed(switch, claimed_at)
        self._tend_roles(self._now())

    def _read(self, switch: str, has: ReadBack) -> None:
        self._network_log.ports(switch, self._live_ports(switch, has.ports), self._now())
        self._held[switch] = len(has.tables.flows), len(has.tables.groups)
        self._table_watch.read(switch)
        self._switch_read(switch, has)

    def _refused_by(self, switch: str, tables: SwitchTables | None, error: str) -> None:
        room = None if tables is None else room_lacking(error)
        if room is not None and tables is not None:
            self._lacks_room[switch] = tables
            self._connections[switch].ask_for_room(room)
        self._switch_refused(switch, tables, shortage(error, tables, *self._held[switch]))

    def _room_told(self, switch: str, room: Room, sizes: Mapping[int, int]) -> None:
        """Say how much fits into a switch that was full, once for the same tables."""
        needed = self._lacks_room.pop(switch, None)
        if needed is not None:
            self.logger.error("switch %s: %s", switch, room_text(room, sizes, needed))

    def _ports_described(self, switch: str, ports: Mapping[int, PortState]) -> None:
        self._network_log.ports(switch, self._live_ports(switch, ports), self._now())
        self._ports_told(switch, ports)

    def _report_network(self, now: float) -> None:
        """Log what has happened to links, ports, switches and tunnels; call this often."""
        for level, line in self._network_log.lines(now, self._tunnel_states):
            self.logger.log(level, "%s", line)

    def _tunnel_states(self) -> TunnelStates:
        """Return which tunnels are dead; there may be none."""
        return TunnelStates()

    def _installed(self, switch: str, tables: SwitchTables) -> None:
        self._metrics.installed(switch, tables)
        self._table_watch.ready(switch, self._now())
        self._wrong_tables.discard(switch)
        self._switch_done(switch, tables)

    def _is_known(self, datapath_id: int) -> bool:
        return self._wiring.switch_of(datapath_id) is not None

    @abstractmethod
    def _wanted(self, switch: str) -> SwitchTables:
        """Return the tables that the switch should have now."""

    @abstractmethod
    def _begun(self, switch: str) -> None:
        """Forget the switch's earlier connection: a new one begins."""

    @abstractmethod
    def _ended(self, switch: str) -> None:
        """React to the end of the switch's connection."""

    @abstractmethod
    def _left_to_other(self, switch: str) -> None:
        """React to a switch that says that another controller is its master: it is not programmed for now."""

    @abstractmethod
    def _answered(self) -> None:
        """Continue after a switch's answer, which its connection has handled."""

    @abstractmethod
    def _switch_read(self, switch: str, has: ReadBack) -> None:
        """See `Reports.read`."""

    @abstractmethod
    def _switch_done(self, switch: str, tables: SwitchTables) -> None:
        """See `Reports.done`."""

    @abstractmethod
    def _group_done(self, switch: str, group: Group) -> None:
        """See `Reports.group_done`."""

    @abstractmethod
    def _switch_refused(self, switch: str, tables: SwitchTables | None, reason: str) -> None:
        """See `Reports.refused`."""

    def _displaced(self, switch: str, reason: str) -> None:
        """Take in that a switch says that it has another master: leave it alone until the others have answered."""
        now, connection = self._now(), self._connections.get(switch)
        if self._is_displaced:
            return
        if connection is not None:
            connection.yield_to_other()  # some applications send it messages of their own
        self._roles.denied(switch, reason, now)
        times = self._reports.occurred((event_log.ROLE_DENIED, switch), now)
        if times is not None:
            self._log.write(event_log.ROLE_DENIED, switch=switch, reason=reason, times=times)
            words = "switch %s says that it has another master (%s)%s: others are asked"
            self.logger.warning(words, switch, reason, repeated(times))
        self._metrics.left_to_peer(switch)
        self._left_to_other(switch)
        self._tend_roles(now)

    def _lose_role(self, denials: Mapping[str, str], now: float) -> None:
        """Stand down: most of the switches that answer say that they have another master, for the given reasons."""
        del now  # pairs note it
        self._is_displaced = True
        switch, reason = min(denials.items())
        self._log.write(event_log.ROLE_LOST, switch=switch, error=reason, switches=len(denials))
        self.logger.error("this controller stays quiet: %s", others_have(denials, len(self._connections)))
        for connection in self._connections.values():
            connection.yield_to_other()

    def _come_back(self, now: float) -> None:
        """Act again, as at most half of the switches say that they have another master."""
        self._is_displaced = False
        self._log.write(event_log.ROLE_TAKEN, generation=self._claims.generation)
        self.logger.warning("most switches have no other master: this controller acts again")
        self._claim_all(now)

    def _claim_all(self, now: float) -> None:
        """Claim all switches and read them, but for those that deny this controller their role."""
        for switch in self._connections:
            self._metrics.began(switch)
            self._begun(switch)
            if not self._roles.is_denying(switch):
                self._start(switch, now)

    def _changed_port(self, datapath: Any, state: PortState, *, is_there: bool) -> tuple[str, bool] | None:
        """Take in a port-status; return the switch and True if the port is live, None if the port is none of ours."""
        connection = self._connection(datapath)
        if connection is None:
            return None
        may_matter = self._port_states.may_come(connection.switch, state.number)
        if not may_matter and state.number not in self._ports_of(connection.switch):
            return None
        connection.port_changed(state, is_there=is_there)
        live = self._port_states.changed(connection.switch, state, self._now(), is_there=is_there)
        if state.number not in self._wiring.ports(connection.switch):
            return None
        self._network_log.port(connection.switch, state.number, self._now(), live=live)
        if not live:
            self._gateway.port_went_down(connection.switch, state.number)
        return connection.switch, live

    def _ports_of(self, switch: str) -> Collection[int]:
        """Return the numbers of all ports of a switch that matter, those of sessions too."""
        return self._wiring.ports(switch)

    def _live_ports(self, switch: str, states: Mapping[int, PortState]) -> dict[int, bool]:
        return self._port_states.described(switch, states, self._ports_of(switch), self._now())

    def _believed_ports(self, switch: str, states: Mapping[int, PortState]) -> dict[int, bool]:
        """Return which of its ports are live by a switch's description; one of the network's that it lacks is not."""
        ports = self._live_ports(switch, states)
        return {
            port: self._damping.described((switch, port), live=ports.get(port, False))
            for port in {*ports, *self._wiring.ports(switch)}
        }

    def _note_port(self, switch: str, port: int, *, live: bool, is_damped: bool) -> None:
        """Log a port-status that says something new, but none of a port that is held down: it may go on without end."""
        if not is_damped and self._noted_ports.get((switch, port)) != live:
            self._noted_ports[switch, port] = live
            self._log.write(event_log.PORT_STATUS, switch=switch, port=port, live=live)

    def _watch_tables(self, now: float) -> None:
        """Poll the switches that are due, and try again where a rest is over; call this regularly."""
        for switch in self._table_watch.ended_rests(now):
            self._put_tables_right(switch)
        for switch in self._host_watch.ended_rests(now):
            self._gateway.put_again(switch)
        for switch, everything in self._table_watch.due(now):
            meters = self._gateway.has_meters(switch)
            if self._connections[switch].poll(now, everything=everything, meters=meters):
                self._table_watch.asked(switch, now)
            else:
                self._table_watch.put_off(switch, now)
        for switch, connection in self._connections.items():
            unanswered = connection.unanswered_polls(now)
            if unanswered != self._unanswered.get(switch, frozenset()):
                self._unanswered[switch] = unanswered
                self._findings.exactly(FindingKind.SWITCH_UNWATCHED, switch, silence(switch, unanswered), now)

    def _begin_round(self, watch: LossWatch, now: float, dead: frozenset[Tunnel]) -> Iterator[None]:
        """Have all switches count up to now, and poll them together; return the task that judges the round before."""
        counted = [switch for switch, each in self._connections.items() if each.bring_counters_up_to_date(now)]
        self._table_watch.poll_together(counted, now + SETTLED)
        return watch.begin(now, counted, dead)

    def _state_losses(self, watch: LossWatch, now: float) -> None:
        """State which packets vanish between switches."""
        by_switch: defaultdict[str, list[SwitchFinding]] = defaultdict(list)
        for finding in watch.findings():
            by_switch[finding.key.switch].append(finding)
        for switch in self._wiring.topology.nodes:
            self._findings.exactly(FindingKind.PACKETS_VANISH, switch, by_switch[switch], now)

    def _entries_removed(self, switch: str) -> None:
        """Take in that a switch has removed entries of ours, perhaps as it was told to."""
        self._table_watch.soon(switch, self._now())
        self._watch_tables(self._now())

    def _tables_polled(self, switch: str, snapshot: Snapshot, found: TableDifferences | None) -> None:
        self._table_watch.answered(switch, len(snapshot.entries) + len(snapshot.groups) + len(snapshot.hosts))
        self._snapshot_taken(replace(snapshot, hosts={}))  # others keep it, and hosts are many
        if snapshot.foreign is not None:
            self._look_at_foreign(snapshot.foreign, snapshot)
        if found is None:
            return
        if found:
            self._tables_wrong(snapshot, found, self._now())
        else:
            self._table_watch.right(switch, self._now())
            if self._gateway.is_watching(switch):
                self._sliced_work.add(self._comparing_hosts(snapshot, self._connections[switch]))
        self._state_troubles(switch)

    def _state_troubles(self, switch: str) -> None:
        """State that somebody keeps changing the tables of a switch, or its entries for hosts."""
        troubles = [*self._table_watch.troubles(switch), *self._host_watch.troubles(switch)]
        self._findings.exactly(FindingKind.TABLES_CHANGED, switch, troubles, self._now())

    def _comparing_hosts(self, snapshot: Snapshot, connection: SwitchConnection) -> Iterator[None]:
        """Put the entries of a switch for hosts right, or leave them for now if somebody keeps changing them."""
        try:
            entries = yield from self._gateway.compared(snapshot, connection.messages)
        except SwitchFaultError as error:
            self._drop(connection.datapath, str(error))
            return
        switch, watch, now = snapshot.switch, self._host_watch, self._now()
        self._metrics.dropped(switch, self._gateway.refused_packets(switch))
        if not connection.is_ready or self._connections.get(switch) is not connection:
            return
        if not entries:
            watch.right(switch, now)
        else:
            verdict = watch.wrong(switch, now)
            self._tell_wrong(event_log.HOSTS_WRONG, switch, TableDifferences(entries), watch, verdict)
            if verdict is TablesVerdict.REPAIR:
                self._metrics.tables_put_right(switch)
                self._gateway.put_again(switch)
        self._state_troubles(switch)

    def _snapshot_taken(self, snapshot: Snapshot) -> None:
        """Take in the tables and counters of a switch."""
        del snapshot  # some applications count nothing

    def _tables_wrong(self, snapshot: Snapshot, found: TableDifferences, now: float) -> None:
        """Put the tables of a switch right, which somebody else has changed, or leave them if that keeps happening."""
        switch = snapshot.switch
        self._wrong_tables.add(switch)
        verdict = self._table_watch.wrong(switch, now)
        self._tell_wrong(event_log.TABLES_WRONG, switch, found, self._table_watch, verdict)
        if verdict is TablesVerdict.REST:
            self._metrics.tables_left(switch, len(snapshot.entries), len(snapshot.groups))
            self._leave_tables(switch)
        elif verdict is TablesVerdict.REPAIR:
            self._metrics.tables_put_right(switch)
            self._put_tables_right(switch)

    def _tell_wrong(
        self, event: str, switch: str, found: TableDifferences, watch: TableWatch, verdict: TablesVerdict
    ) -> None:
        """Log what somebody has changed at a switch, and what follows, within limits if that happens often."""
        if verdict is TablesVerdict.NOTHING:
            return
        times = self._reports.occurred((event, switch), self._now()) if watch.is_often(switch) else 1
        if times is None:
            return
        is_left = verdict is TablesVerdict.REST
        self._log.write(event, switch=switch, problem=str(found), put_right=not is_left, times=times)
        done = "left as they are for now" if is_left else "put right"
        named = datapath_text(self._wiring.datapath_id(switch))
        words = "switch %s (datapath id %s): somebody has changed its %s, %s%s: %s"
        self.logger.warning(words, switch, named, watch.subject, done, repeated(times), found)

    def _put_tables_right(self, switch: str) -> None:
        """Read a switch again, and give it what it lacks."""
        connection = self._connections.get(switch)
        if connection is not None:
            connection.read_again()

    def _leave_tables(self, switch: str) -> None:
        """Leave the tables of a switch as they are for now, as somebody keeps changing them."""
        del switch  # some applications have nothing to avoid

    def _look_at_foreign(self, foreign: tuple[ForeignEntry, ...], snapshot: Snapshot) -> None:
        """Name the entries of others that defeat ours, as time permits, if anything has changed."""
        compared = foreign, snapshot.entries, self._claims.generation
        if not are_identical(compared, self._compared.get(snapshot.switch, ())):
            self._compared[snapshot.switch] = compared
            self._sliced_work.add(self._naming_foreign(snapshot.switch, compared))

    def _naming_foreign(self, switch: str, compared: tuple[Any, ...]) -> Iterator[None]:
        foreign, own = compared[:2]
        # There may be ten thousand hosts: their entries are gathered only for something to be compared with.
        is_needed = any(each.cookie not in self._own_cookies for each in foreign)
        hosts = (yield from self._gateway.entries(switch)) if is_needed else {}
        search = DefeatingEntries(foreign, {**own, **hosts}, self._own_cookies)
        yield from search.steps()
        if self._compared.get(switch) is compared:  # else a later search says more, or another controller acts now
            findings = [defeat(switch, entry) for entry in search.found]
            self._findings.exactly(FindingKind.FOREIGN_ENTRY, switch, findings, self._now())

    def _report_findings(self, now: float) -> None:
        """Log the news of what is wrong, in events and in words; call this after statements, and regularly."""
        reports = self._findings.reports(now)
        for each in reports:
            finding, key = each.finding, each.finding.key
            named = {"port": key.port, "detail": key.detail}
            place = {name: value for name, value in named.items() if value not in (None, "")}
            details = {"kind": key.kind.value, "switch": key.switch, **place, "problem": finding.text}
            datapath_id = datapath_text(self._wiring.datapath_id(key.switch))
            if each.is_open:
                self._log.write(event_log.PROBLEM_FOUND, **details, what_to_do=finding.what_to_do, times=each.changes)
                self.logger.warning("switch %s (datapath id %s): %s", key.switch, datapath_id, finding.line)
            else:
                self._log.write(event_log.PROBLEM_GONE, **details, times=each.changes)
                self.logger.info("switch %s (datapath id %s): no longer: %s", key.switch, datapath_id, finding.text)
        if self._findings.take_changed():
            self._metrics.has(self._findings)

    def _note_other(self, datapath_id: int, datapath: Any) -> None:
        """Log that a switch is not ours, or not in the network, within limits: a peer may claim any datapath id."""
        is_listed = self._wiring.is_not_ours(datapath_id)
        kind = event_log.SWITCH_NOT_OURS if is_listed else event_log.SWITCH_UNKNOWN
        if len(self._noted_unknown) < MOST_UNKNOWN_NAMED:
            self._noted_unknown.add(datapath_id)
        named = datapath_id if datapath_id in self._noted_unknown else None
        times = self._reports.occurred((kind, named), self._now())
        if times is None:
            return
        identity = datapath_text(datapath_id)
        self._log.write(kind, datapath_id=identity, times=times)
        level, what = (logging.INFO, "is not ours") if is_listed else (logging.WARNING, "is not in the network")
        self.logger.log(level, "switch %s at %s %s: left alone%s", identity, _host(datapath), what, repeated(times))

    def _note_refusal(self, kind: str, switch: str, error: str) -> None:
        """Log that the switch refuses a message, in an event of a kind, within limits: it may repeat that."""
        noted = self._noted_errors[kind, switch]
        if len(noted) < MOST_ERRORS:
            noted.add(error)
        times = self._reports.occurred((kind, switch, error if error in noted else _OTHER_ERRORS), self._now())
        if times is not None:
            self._log.write(kind, switch=switch, error=error, times=times)
            self.logger.error("switch %s refused a message%s: %s", switch, repeated(times), error)

    def _connection(self, datapath: Any) -> SwitchConnection | None:
        """Return the connection if it is its switch's present one and not given up, else None."""
        switch = self._wiring.switch_of(datapath.id or 0)
        connection = None if switch is None else self._connections.get(switch)
        return connection if connection is not None and connection.hears(datapath) else None

    def _owner(self, datapath: Any) -> SwitchConnection | None:
        """Return the same even if it is given up or the switch has changed its datapath id meanwhile."""
        return next((each for each in self._connections.values() if each.datapath is datapath), None)

    def _want(self, switches: Iterable[str]) -> None:
        """Bring switches to their wanted tables, one after the other as time permits."""
        with self._sliced_work.gathered():
            for switch in switches:
                connection = self._connections.get(switch)
                if connection is not None:
                    self._metrics.wants(switch)
                    connection.want(self._wanted(switch))

    def _drop_silent(self, now: float) -> None:
        """Drop the connections of switches that have owed an answer for too long: they connect again."""
        for connection in self._connections.values():
            trouble = None if connection.is_given_up else connection.lost_patience(now)
            if trouble is not None:
                self._drop(connection.datapath, f"it {trouble}")

    def _drop(self, datapath: Any, reason: str) -> None:
        connection = self._owner(datapath)
        switch = None
        if connection is not None:
            connection.give_up()
            switch = connection.switch
        times = self._reports.occurred(("dropped", switch), self._now())
        if times is not None:
            self._log.write(event_log.SWITCH_DROPPED, switch=switch, reason=reason, times=times)
            self.logger.error("connection of switch %s is dropped%s: %s", switch, repeated(times), reason)
        self._close(datapath)


def others_have(denials: Mapping[str, str], connected: int) -> str:
    """Return in words how many switches have another master, with the first of their reasons."""
    switch, reason = min(denials.items())
    return f"{len(denials)} of {connected} switches have another master (switch {switch}: {reason})"


def _host(datapath: Any) -> str:
    """Return the address of a switch, without the port."""
    return str(datapath.address[0])
