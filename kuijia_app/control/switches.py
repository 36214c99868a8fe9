"""Keeps one connection for each switch of a network; pure: events and the time are passed in."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

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
from kuijia_app.control.port_states import PortState, PortStates
from kuijia_app.control.probe_frames import ProbeForm
from kuijia_app.control.reconciliation import IndexedTables
from kuijia_app.control.roles import DENIALS, room_lacking, room_text, shortage
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


@dataclass
class Runtime:
    """Services of the process in which control runs: a framework's, or a simulated one.

    Attributes:
        now: returns seconds of a clock that nobody sets.
        close: ends a connection soon.
        messages_for: returns the builder of messages for a connection.
        log: for events.
        logger: for messages to people.
        reports: limits how often events are repeated.
        sliced_work: long work.
    """

    now: Callable[[], float]
    close: Callable[[Any], None]
    messages_for: Callable[[Any], SwitchMessages]
    log: event_log.Log
    logger: logging.Logger
    reports: BackOff
    sliced_work: SlicedWork


class SwitchPolicy(Protocol):
    """Decides what follows from the messages of switches."""

    def wanted(self, switch: str) -> SwitchTables:
        """Return the tables that the switch should have now."""

    def ports_of(self, switch: str) -> Collection[int]:
        """Return the numbers of all ports of a switch that matter, those of sessions too."""

    def owns_group(self, group_id: int) -> bool:
        """Return True for the id of a group that only we may use; all others are left alone."""

    def tunnel_states(self) -> TunnelStates:
        """Return which tunnels are dead; there may be none."""

    def begun(self, switch: str) -> None:
        """Forget the switch's earlier connection: a new one begins."""

    def ended(self, switch: str) -> None:
        """React to the end of the switch's connection."""

    def switch_read(self, switch: str, has: ReadBack) -> None:
        """See `Reports.read`."""

    def switch_done(self, switch: str, tables: SwitchTables) -> None:
        """See `Reports.done`."""

    def group_done(self, switch: str, group: Group) -> None:
        """See `Reports.group_done`."""

    def switch_refused(self, switch: str, tables: SwitchTables | None, reason: str) -> None:
        """See `Reports.refused`."""

    def ports_told(self, switch: str, ports: Mapping[int, PortState]) -> None:
        """Take in the ports of a switch while this controller stands by."""

    def snapshot_taken(self, snapshot: Snapshot) -> None:
        """Take in the tables and counters of a switch."""

    def foreign_told(self, foreign: tuple[ForeignEntry, ...], snapshot: Snapshot) -> None:
        """Take in the entries of a switch that are not of its tables."""

    def put_tables_right(self, switch: str) -> None:
        """Have a switch read again, which then gets what it lacks."""

    def leave_tables(self, switch: str) -> None:
        """Leave the tables of a switch as they are for now, as somebody keeps changing them."""


class SwitchRoles(Protocol):
    """Decides who is master of a switch."""

    @property
    def generation(self) -> int:
        """The generation id of this controller's latest claim."""

    def role_told(self, switch: str, reported: int | None) -> None:
        """See `Reports.role_told`."""

    def displaced(self, switch: str, reason: str) -> None:
        """See `Reports.displaced`."""

    def left(self, switch: str) -> None:
        """React to the end of the switch's connection."""


class ControlledSwitches:
    """Keeps one connection for each switch of a network, and drops switches that break the rules.

    A policy decides what follows from messages. All methods are for one thread, one event after another.

    Attributes:
        roles: decides who is master; set by the roles themselves.
        wiring: numbers of the switches and ports.
        metrics: counts what happens.
        connections: the present ones, by switch.
        network_log: lines about links, ports and switches.
        prober: probes of links, made by `probe_links`.
        gateway: the gateway of hosts, made by `learn_hosts`.
        damping: ports that flap.
        findings: what is wrong now.
        port_states: what switches say of their ports.
        table_watch: when tables are polled.
        wrong_tables: switches whose tables somebody has changed, until they are put right.
        unhindered: tables of switches while no link is avoided; entries of others that defeat these are named, too.
    """

    roles: SwitchRoles
    prober: LinkProber
    gateway: Gateway

    def __init__(
        self,
        runtime: Runtime,
        policy: SwitchPolicy,
        wiring: Wiring,
        metrics: SwitchMetrics,
        own_cookies: Collection[int] = (LINK_PROBE_COOKIE,),
    ) -> None:
        """Begin without a connection.

        Args:
            runtime: of the process.
            policy: decides what follows from messages.
            wiring: of the network.
            metrics: counts what happens.
            own_cookies: cookies of our own entries outside the tables, which polls report as foreign.
        """
        self._runtime = runtime
        self._policy = policy
        self._own_cookies = own_cookies
        self.wiring = wiring
        self.metrics = metrics
        self.network_log = NetworkLog(wiring, runtime.now())
        self.connections: dict[str, SwitchConnection] = {}
        self.damping: FlapDamping[tuple[str, int]] = FlapDamping()
        self.findings = Findings()
        self.port_states = PortStates()
        self.table_watch = TableWatch()
        self.wrong_tables: set[str] = set()
        self.unhindered: Mapping[str, SwitchTables] = {}
        self._host_watch = TableWatch("entries for hosts", is_lack=False)
        self._comparing: set[str] = set()
        self._held: dict[str, tuple[int, int]] = {}
        self._lacks_room: dict[str, SwitchTables] = {}
        self._noted_errors: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._noted_unknown: set[int] = set()
        self._noted_ports: dict[tuple[str, int], bool] = {}
        self._unanswered: dict[str, frozenset[Poll]] = {}
        self._compared: dict[str, tuple[object, ...]] = {}

    def connected(self, datapath_id: int, datapath: Any) -> None:
        """Take in a new connection, which names its switch."""
        switch = self.wiring.switch_of(datapath_id)
        if switch is None:
            self._note_other(datapath_id, datapath)
            return
        before = self._owner(datapath)
        if before is not None and before.switch != switch:
            raise SwitchFaultError("it gives its connection a second datapath id")
        reports = Reports(
            read=partial(self._read, switch),
            done=partial(self._installed, switch),
            group_done=partial(self._policy.group_done, switch),
            refused=partial(self._refused_by, switch),
            displaced=partial(self.roles.displaced, switch),
            role_told=partial(self.roles.role_told, switch),
            ports_told=partial(self._ports_described, switch),
            room_told=partial(self._room_told, switch),
            probe_refused=partial(self._probe_refused, switch),
            neighbour_refused=partial(self._neighbour_refused, switch),
            polled=partial(self._tables_polled, switch),
            at_fault=partial(self.drop, datapath),
            owns=self._policy.owns_group,
        )
        replaced = self.connections.get(switch)
        if replaced is not None:
            replaced.give_up()
        self._policy.begun(switch)
        self.table_watch.begun(switch, self._runtime.now())
        self._host_watch.begun(switch, self._runtime.now())
        self.metrics.began(switch)
        self.network_log.connected(switch, _host(datapath), self._runtime.now())
        wanted = self._policy.wanted(switch)
        most = max(MOST_ENTRIES, ENTRIES_PER_WANTED * (len(wanted.groups) + len(wanted.flows)))
        connection = self.connections[switch] = SwitchConnection(
            datapath,
            switch,
            reports,
            wanted,
            most,
            self._runtime.sliced_work.add,
            self._runtime.messages_for(datapath),
        )
        connection.ask_for_role()

    def probe_links(self, form: ProbeForm, sizes: Mapping[Port, int]) -> None:
        """Probe links from now on with frames of these bytes after the Ethernet header, by ports."""
        self.prober = LinkProber(self.wiring, form, sizes, self.connections, self.port_states, self._runtime.now)

    def links_not_carrying(self) -> frozenset[Edge]:
        """Return the links that probes call lossy, and those with a port that is up and drops frames as it says."""
        ends = ((switch, self.wiring.neighbour_at(switch, port)) for switch, port in self.port_states.dropping)
        dropping = (frozenset((switch, neighbour)) for switch, neighbour in ends if neighbour is not None)
        return self.prober.probes.lossy.union(dropping)

    def forget_probes(self, switch: str) -> None:
        """Forget what probes of a switch's links have shown, as it has gone or a new connection begins."""
        self.prober.probes.left(switch)
        self.findings.gone(FindingKey(FindingKind.SWITCH_UNPROBED, switch), self._runtime.now())

    def probe_anew(self, switch: str) -> None:
        """Probe the links of a switch that has been read, even if it has refused that before."""
        self.prober.probes.connected(switch)
        self.findings.gone(FindingKey(FindingKind.SWITCH_UNPROBED, switch), self._runtime.now())

    def _probe_refused(self, switch: str, reason: str) -> None:
        """Take in that a switch refuses a message that probes links."""
        if reason in DENIALS or reason.endswith("OFPBAC_BAD_OUT_PORT"):
            return  # another controller acts now, or the port has gone a moment ago
        self.prober.probes.left(switch)
        key = FindingKey(FindingKind.SWITCH_UNPROBED, switch)
        self.findings.found(SwitchFinding(key, f"it refuses what probes its links: {reason}"), self._runtime.now())

    def _neighbour_refused(self, switch: str, reason: str) -> None:
        """Take in that a switch refuses a message for hosts that are learned."""
        told = self.gateway.refused(switch, reason)
        if told is not None:
            self._runtime.logger.warning("switch %s: %s", switch, told)

    def learn_hosts(self, segments: Collection[Segment], mtu: int | None = None) -> None:
        """Learn the hosts of sites from now on, and be their gateway; `mtu` is as of `LearnedHosts`."""
        prefixes = [prefix for site in self.wiring.sites for prefix in site.prefixes]
        prefixes += [prefix for segment in segments for prefix in segment.prefixes]
        learned = LearnedHosts(segments, prefixes, self._runtime.now(), mtu)
        self.metrics.follow_hosts(learned)
        self.gateway = Gateway(
            learned, self.connections, self.findings, self._runtime.now, self._runtime.sliced_work.add
        )

    def packet_arrived(self, switch: str, port: int, frame: bytes, cookie: int) -> None:
        """Take in a frame that a switch has sent to the controller, as one of our entries says."""
        if cookie == NEIGHBOUR_COOKIE:
            self.gateway.arrived(switch, port, frame)
        else:
            self.prober.arrived(switch, port, frame)

    def disconnected(self, datapath: Any) -> None:
        """Forget a connection that has ended."""
        connection = self._owner(datapath)
        if connection is not None:
            connection.give_up()  # sliced work for it may be left
            del self.connections[connection.switch]
            self.roles.left(connection.switch)
            self.port_states.forget(connection.switch)
            self.table_watch.ended(connection.switch)
            self.wrong_tables.discard(connection.switch)
            self.findings.exactly(FindingKind.SWITCH_UNWATCHED, connection.switch, (), self._runtime.now())
            self._unanswered.pop(connection.switch, None)
            self._runtime.log.write(event_log.SWITCH_GONE, switch=connection.switch)
            self.network_log.disconnected(connection.switch, self._runtime.now())
            self._policy.ended(connection.switch)

    def _read(self, switch: str, has: ReadBack) -> None:
        self.network_log.ports(switch, self._live_ports(switch, has.ports), self._runtime.now())
        self._held[switch] = len(has.tables.flows), len(has.tables.groups)
        self.table_watch.read(switch)
        self._policy.switch_read(switch, has)

    def _refused_by(self, switch: str, tables: SwitchTables | None, error: str) -> None:
        room = None if tables is None else room_lacking(error)
        if room is not None and tables is not None:
            self._lacks_room[switch] = tables
            self.connections[switch].ask_for_room(room)
        self._policy.switch_refused(switch, tables, shortage(error, tables, *self._held[switch]))

    def _room_told(self, switch: str, room: Room, sizes: Mapping[int, int]) -> None:
        """Say how much fits into a switch that was full, once for the same tables."""
        needed = self._lacks_room.pop(switch, None)
        if needed is not None:
            self._runtime.logger.error("switch %s: %s", switch, room_text(room, sizes, needed))

    def _ports_described(self, switch: str, ports: Mapping[int, PortState]) -> None:
        self.network_log.ports(switch, self._live_ports(switch, ports), self._runtime.now())
        self._policy.ports_told(switch, ports)

    def report_network(self, now: float) -> None:
        """Log what has happened to links, ports, switches and tunnels; call this often."""
        for level, line in self.network_log.lines(now, self._policy.tunnel_states):
            self._runtime.logger.log(level, "%s", line)

    def _installed(self, switch: str, tables: SwitchTables) -> None:
        self.metrics.installed(switch, tables)
        self.table_watch.ready(switch, self._runtime.now())
        self.wrong_tables.discard(switch)
        self._policy.switch_done(switch, tables)

    def is_known(self, datapath_id: int) -> bool:
        return self.wiring.switch_of(datapath_id) is not None

    def changed_port(self, datapath: Any, state: PortState, *, is_there: bool) -> tuple[str, bool] | None:
        """Take in a port-status; return the switch and True if the port is live, None if the port is none of ours."""
        connection = self.connection(datapath)
        if connection is None:
            return None
        if not self.port_states.may_matter(connection.switch, state.number, self._policy.ports_of(connection.switch)):
            return None
        connection.port_changed(state, is_there=is_there)
        live = self.port_states.changed(connection.switch, state, self._runtime.now(), is_there=is_there)
        if state.number not in self.wiring.ports(connection.switch):
            return None
        self.network_log.port(connection.switch, state.number, self._runtime.now(), live=live)
        return connection.switch, live

    def _live_ports(self, switch: str, states: Mapping[int, PortState]) -> dict[int, bool]:
        return self.port_states.described(switch, states, self._policy.ports_of(switch), self._runtime.now())

    def believed_ports(self, switch: str, states: Mapping[int, PortState]) -> dict[int, bool]:
        """Return which of its ports are live by a switch's description; one of the network's that it lacks is not."""
        ports = self._live_ports(switch, states)
        return {
            port: self.damping.described((switch, port), live=ports.get(port, False))
            for port in {*ports, *self.wiring.ports(switch)}
        }

    def note_port(self, switch: str, port: int, *, live: bool, is_damped: bool) -> None:
        """Take in a port-status that says something new; those of a port that is held down may go on without end."""
        if not is_damped and self._noted_ports.get((switch, port)) != live:
            self._noted_ports[switch, port] = live
            self._runtime.log.write(event_log.PORT_STATUS, switch=switch, port=port, live=live)
            self.gateway.port_changed(switch, port, live=live)

    def watch_tables(self, now: float) -> None:
        """Poll the switches that are due, and try again where a rest is over; call this regularly."""
        for switch in self.table_watch.ended_rests(now):
            self._policy.put_tables_right(switch)
        for switch in self._host_watch.ended_rests(now):
            self.gateway.put_again(switch)
        for switch, everything in self.table_watch.due(now):
            meters = everything and self.gateway.has_meters(switch)
            # While an answer with many hosts is compared, another one would only wait, and take memory.
            is_free = not everything or switch not in self._comparing
            if is_free and self.connections[switch].poll(now, everything=everything, meters=meters):
                self.table_watch.asked(switch, now)
            else:
                self.table_watch.put_off(switch, now)
        for switch, connection in self.connections.items():
            unanswered = connection.unanswered_polls(now)
            if unanswered != self._unanswered.get(switch, frozenset()):
                self._unanswered[switch] = unanswered
                self.findings.exactly(FindingKind.SWITCH_UNWATCHED, switch, silence(switch, unanswered), now)

    def begin_round(self, watch: LossWatch, now: float, dead: frozenset[Tunnel]) -> Iterator[None]:
        """Have all switches count up to now, and poll them together; return the task that judges the round before."""
        counted = [switch for switch, each in self.connections.items() if each.bring_counters_up_to_date(now)]
        self.table_watch.poll_together(counted, now + SETTLED)
        return watch.begin(now, counted, dead)

    def state_losses(self, watch: LossWatch, now: float) -> None:
        """State which packets vanish between switches."""
        by_switch: defaultdict[str, list[SwitchFinding]] = defaultdict(list)
        for finding in watch.findings():
            by_switch[finding.key.switch].append(finding)
        for switch in self.wiring.topology.nodes:
            self.findings.exactly(FindingKind.PACKETS_VANISH, switch, by_switch[switch], now)

    def entries_removed(self, switch: str) -> None:
        """Take in that a switch has removed entries of ours, perhaps as it was told to."""
        self.table_watch.soon(switch, self._runtime.now())
        self.watch_tables(self._runtime.now())

    def _tables_polled(self, switch: str, snapshot: Snapshot, found: TableDifferences | None) -> None:
        size = len(snapshot.entries) + len(snapshot.groups) + snapshot.hosts
        self.table_watch.answered(switch, size, None if snapshot.answer is None else snapshot.hosts)
        self._policy.snapshot_taken(replace(snapshot, answer=None))  # others keep it, and hosts are many
        if snapshot.foreign is not None:
            self._look_at_foreign(snapshot.foreign, snapshot)
            self._policy.foreign_told(snapshot.foreign, snapshot)
        if found is None:
            return
        if found:
            self.tables_wrong(snapshot, found, self._runtime.now())
        else:
            self.table_watch.right(switch, self._runtime.now())
            if snapshot.answer is not None and self.gateway.is_watching(switch):
                self._comparing.add(switch)
                self._runtime.sliced_work.add(self._comparing_hosts(snapshot, self.connections[switch]))
        self._state_troubles(switch)

    def _state_troubles(self, switch: str) -> None:
        """State that somebody keeps changing the tables of a switch, or its entries for hosts."""
        troubles = [*self.table_watch.troubles(switch), *self._host_watch.troubles(switch)]
        self.findings.exactly(FindingKind.TABLES_CHANGED, switch, troubles, self._runtime.now())

    def _comparing_hosts(self, snapshot: Snapshot, connection: SwitchConnection) -> Iterator[None]:
        """Put the entries of a switch for hosts right, or leave them for now if somebody keeps changing them."""
        try:
            entries = yield from self.gateway.compared(snapshot, connection.messages)
        except SwitchFaultError as error:
            self.drop(connection.datapath, str(error))
            return
        finally:
            self._comparing.discard(snapshot.switch)
        switch, watch, now = snapshot.switch, self._host_watch, self._runtime.now()
        self.metrics.dropped(switch, self.gateway.refused_packets(switch))
        if not connection.is_ready or self.connections.get(switch) is not connection:
            return
        if not entries:
            watch.right(switch, now)
        else:
            verdict = watch.wrong(switch, now)
            self._tell_wrong(event_log.HOSTS_WRONG, switch, TableDifferences(entries), watch, verdict)
            if verdict is TablesVerdict.REPAIR:
                self.metrics.tables_put_right(switch)
                self.gateway.put_again(switch)
        self._state_troubles(switch)

    def tables_wrong(self, snapshot: Snapshot, found: TableDifferences, now: float) -> None:
        """Put the tables of a switch right, which somebody else has changed, or leave them if that keeps happening."""
        switch = snapshot.switch
        self.wrong_tables.add(switch)
        verdict = self.table_watch.wrong(switch, now)
        self._tell_wrong(event_log.TABLES_WRONG, switch, found, self.table_watch, verdict)
        if verdict is TablesVerdict.REST:
            self.metrics.tables_left(switch, len(snapshot.entries), len(snapshot.groups))
            self._policy.leave_tables(switch)
        elif verdict is TablesVerdict.REPAIR:
            self.metrics.tables_put_right(switch)
            self._policy.put_tables_right(switch)

    def _tell_wrong(
        self, event: str, switch: str, found: TableDifferences, watch: TableWatch, verdict: TablesVerdict
    ) -> None:
        """Log what somebody has changed at a switch, and what follows, within limits if that happens often."""
        if verdict is TablesVerdict.NOTHING:
            return
        times = self._runtime.reports.occurred((event, switch), self._runtime.now()) if watch.is_often(switch) else 1
        if times is None:
            return
        is_left = verdict is TablesVerdict.REST
        self._runtime.log.write(event, switch=switch, problem=str(found), put_right=not is_left, times=times)
        done = "left as they are for now" if is_left else "put right"
        named = datapath_text(self.wiring.datapath_id(switch))
        words = "switch %s (datapath id %s): somebody has changed its %s, %s%s: %s"
        self._runtime.logger.warning(words, switch, named, watch.subject, done, repeated(times), found)

    def read_again(self, switch: str) -> None:
        """Read a switch again, and give it what it lacks."""
        connection = self.connections.get(switch)
        if connection is not None:
            connection.read_again()

    def compare_foreign_anew(self) -> None:
        """Forget what was found among the entries of others, and all findings."""
        self.findings.clear(self._runtime.now())
        self._compared.clear()

    def _look_at_foreign(self, foreign: tuple[ForeignEntry, ...], snapshot: Snapshot) -> None:
        """Name the entries of others that defeat ours, as time permits, if anything has changed."""
        compared = foreign, snapshot.entries, self.roles.generation
        if not are_identical(compared, self._compared.get(snapshot.switch, ())):
            self._compared[snapshot.switch] = compared
            self._runtime.sliced_work.add(self._naming_foreign(snapshot.switch, compared))

    def _naming_foreign(self, switch: str, compared: tuple[Any, ...]) -> Iterator[None]:
        foreign, own = compared[:2]
        # There may be ten thousand hosts: their entries are gathered only for something to be compared with.
        is_needed = any(each.cookie not in self._own_cookies for each in foreign)
        hosts = (yield from self.gateway.entries(switch)) if is_needed else {}
        # What is avoided for such an entry may have none of its entries left, and is no better for that.
        avoided = IndexedTables.of(self.unhindered[switch]).entry_of if switch in self.unhindered else {}
        search = DefeatingEntries(foreign, {**own, **hosts, **avoided}, self._own_cookies)
        yield from search.steps()
        if self._compared.get(switch) is compared:  # else a later search says more, or another controller acts now
            findings = [defeat(switch, entry) for entry in search.found]
            self.findings.exactly(FindingKind.FOREIGN_ENTRY, switch, findings, self._runtime.now())

    def report_findings(self, now: float) -> None:
        """Log the news of what is wrong, in events and in words; call this after statements, and regularly."""
        reports = self.findings.reports(now)
        for each in reports:
            finding, key = each.finding, each.finding.key
            named = {"port": key.port, "detail": key.detail}
            place = {name: value for name, value in named.items() if value not in (None, "")}
            details = {"kind": key.kind.value, "switch": key.switch, **place, "problem": finding.text}
            datapath_id = datapath_text(self.wiring.datapath_id(key.switch))
            if each.is_open:
                self._runtime.log.write(
                    event_log.PROBLEM_FOUND, **details, what_to_do=finding.what_to_do, times=each.changes
                )
                self._runtime.logger.warning("switch %s (datapath id %s): %s", key.switch, datapath_id, finding.line)
            else:
                self._runtime.log.write(event_log.PROBLEM_GONE, **details, times=each.changes)
                self._runtime.logger.info(
                    "switch %s (datapath id %s): no longer: %s", key.switch, datapath_id, finding.text
                )
        if self.findings.take_changed():
            self.metrics.has(self.findings)

    def _note_other(self, datapath_id: int, datapath: Any) -> None:
        """Log that a switch is not ours, or not in the network, within limits: a peer may claim any datapath id."""
        is_listed = self.wiring.is_not_ours(datapath_id)
        kind = event_log.SWITCH_NOT_OURS if is_listed else event_log.SWITCH_UNKNOWN
        if len(self._noted_unknown) < MOST_UNKNOWN_NAMED:
            self._noted_unknown.add(datapath_id)
        named = datapath_id if datapath_id in self._noted_unknown else None
        times = self._runtime.reports.occurred((kind, named), self._runtime.now())
        if times is None:
            return
        identity = datapath_text(datapath_id)
        self._runtime.log.write(kind, datapath_id=identity, times=times)
        level, what = (logging.INFO, "is not ours") if is_listed else (logging.WARNING, "is not in the network")
        self._runtime.logger.log(
            level, "switch %s at %s %s: left alone%s", identity, _host(datapath), what, repeated(times)
        )

    def note_refusal(self, kind: str, switch: str, error: str) -> None:
        """Log that the switch refuses a message, in an event of a kind, within limits: it may repeat that."""
        noted = self._noted_errors[kind, switch]
        if len(noted) < MOST_ERRORS:
            noted.add(error)
        times = self._runtime.reports.occurred(
            (kind, switch, error if error in noted else _OTHER_ERRORS), self._runtime.now()
        )
        if times is not None:
            self._runtime.log.write(kind, switch=switch, error=error, times=times)
            self._runtime.logger.error("switch %s refused a message%s: %s", switch, repeated(times), error)

    def connection(self, datapath: Any) -> SwitchConnection | None:
        """Return the connection if it is its switch's present one and not given up, else None."""
        switch = self.wiring.switch_of(datapath.id or 0)
        connection = None if switch is None else self.connections.get(switch)
        return connection if connection is not None and connection.hears(datapath) else None

    def _owner(self, datapath: Any) -> SwitchConnection | None:
        """Return the same even if it is given up or the switch has changed its datapath id meanwhile."""
        return next((each for each in self.connections.values() if each.datapath is datapath), None)

    def want(self, switches: Iterable[str]) -> None:
        """Bring switches to their wanted tables, one after the other as time permits."""
        with self._runtime.sliced_work.gathered():
            for switch in switches:
                connection = self.connections.get(switch)
                if connection is not None:
                    self.metrics.wants(switch)
                    connection.want(self._policy.wanted(switch))

    def drop_silent(self, now: float) -> None:
        """Drop the connections of switches that have owed an answer for too long: they connect again."""
        for connection in self.connections.values():
            trouble = None if connection.is_given_up else connection.lost_patience(now)
            if trouble is not None:
                self.drop(connection.datapath, f"it {trouble}")

    def drop(self, datapath: Any, reason: str) -> None:
        connection = self._owner(datapath)
        switch = None
        if connection is not None:
            connection.give_up()
            switch = connection.switch
        times = self._runtime.reports.occurred(("dropped", switch), self._runtime.now())
        if times is not None:
            self._runtime.log.write(event_log.SWITCH_DROPPED, switch=switch, reason=reason, times=times)
            self._runtime.logger.error("connection of switch %s is dropped%s: %s", switch, repeated(times), reason)
        self._runtime.close(datapath)


def _host(datapath: Any) -> str:
    """Return the address of a switch, without the port."""
    return str(datapath.address[0])
