"""The Ryu application: ECMP in all switches, and better paths for elephants, chosen again in each round.

Runs under `ryu-manager --config-file FILE kuijia.hedera.scheduler` and `kuijia scheduler`; its options are in the
section [hedera] of the configuration file. Pure modules of `hedera.scheduling` make the decisions: `tables` (routes
around failures), `polling` (counters to rates), `elephant_schedule` (rates to entries). When it dies, the switches keep
their tables: ECMP, and the entries of elephants until these end.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from hedera.scheduling import events
from hedera.scheduling.elephant_schedule import ElephantSchedule
from hedera.scheduling.events import SchedulerMetrics
from hedera.scheduling.messages import (
    COUNTER_COOKIE,
    COUNTING_COOKIE,
    SCHEDULED_COOKIE,
    SchedulerMessages,
    placed,
    readings,
)
from hedera.scheduling.options import MISSING, SchedulerOptions, build, missing_option
from hedera.scheduling.polling import LinkCounters, Polls, ScheduledEntry
from hedera.scheduling.routes import Links, Routes, first_routing, routes_around
from hedera.scheduling.tables import Cable, is_own_group
from kuijia_app.control import link_probes, port_states
from kuijia_app.control.controller_roles import ControllerRoles
from kuijia_app.control.findings import FindingKind
from kuijia_app.control.loss_watch import GRAY_LOSS, LossWatch, gray_loss_of
from kuijia_app.control.network_log import TunnelStates, link_name, listed
from kuijia_app.control.openflow_reading import error_name
from kuijia_app.control.pair import Beat
from kuijia_app.control.peer_messages import decoded_beat, encoded
from kuijia_app.control.plan_checks import Missing
from kuijia_app.control.port_states import PortState
from kuijia_app.control.probe_frames import ProbeForm
from kuijia_app.control.roles import DENIALS
from kuijia_app.control.snapshot import ForeignEntry, Snapshot
from kuijia_app.control.switch_application import OUTLETS, PEER_OPTIONS, SwitchApplication, port_status_of
from kuijia_app.control.switch_connection import ReadBack
from kuijia_app.control.switches import ControlledSwitches
from kuijia_app.control.table_differences import Differing, TableDifferences
from kuijia_app.control.table_watch import CHANGED_MEANWHILE
from kuijia_app.framework import event_log
from kuijia_app.framework.ending import refuse_to_start
from kuijia_app.framework.guarded_app import background
from kuijia_app.framework.seam import (
    FRAMEWORK,
    Event,
    EventBase,
    Harm,
    apart,
    cfg,
    handler,
    ofp_event,
    ofproto,
    on,
    on_own,
)
from kuijia_app.framework.switch_limits import repeated
from kuijia_app.gate.server import stand_before
from kuijia_app.tables.families import families_of
from kuijia_app.tables.identifiers import COOKIE, LINK_PROBE_COOKIE, NEIGHBOUR_COOKIE
from kuijia_app.tables.needs import HOST_MTU, port_use
from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.rules import Group, SwitchTables
from kuijia_base.errors import KuijiaError

OPTION_GROUP = "hedera"
_DEFAULTS = SchedulerOptions()
OPTIONS = [
    cfg.IntOpt("fat_tree", default=_DEFAULTS.fat_tree, help="ports of a switch of a fat-tree"),
    cfg.StrOpt(
        "topology",
        default=_DEFAULTS.topology,
        help="instead of a fat-tree: a topology file; nodes with one neighbour are hosts",
    ),
    cfg.FloatOpt("nic_rate", default=_DEFAULTS.nic_rate, help="rate of all links of the fat-tree, in Mbit/s"),
    cfg.StrOpt("placement", default=_DEFAULTS.placement),
    cfg.FloatOpt("period", default=_DEFAULTS.period, help="seconds between two rounds"),
    cfg.IntOpt(
        "idle_timeout",
        default=_DEFAULTS.idle_timeout,
        help="seconds for which switches keep the entry of a flow that sends nothing",
    ),
    cfg.StrOpt("wiring", default=_DEFAULTS.wiring, help="file with the numbers of switches and ports"),
    cfg.StrOpt(
        "neighbours",
        default=_DEFAULTS.neighbours,
        help="edge switches whose hosts are learned: wiring, static, learned",
    ),
    cfg.StrOpt("gray_loss", default=GRAY_LOSS, help="share of lost frames above which a link is avoided, or off"),
    cfg.StrOpt("missing", default=MISSING[0].value, help="probe links (warn), or do not (ignore)"),
    cfg.IntOpt("host_mtu", default=HOST_MTU, help="bytes of the largest IP packet of hosts"),
    cfg.StrOpt("tls_bind", help="file that binds certificates to datapath ids"),
    *OUTLETS,
    *PEER_OPTIONS,
]
cfg.CONF.register_opts(OPTIONS, group=OPTION_GROUP)
cfg.CONF.set_default("echo_request_interval", 1.0)
cfg.CONF.set_default("maximum_unreplied_echo_requests", 10)

TICK = 0.02
"""Seconds between two looks at the clock."""

LOOK = 0.25
"""Seconds between two looks at all that may be wrong with switches."""

_CHECKED_KINDS = (*port_states.KINDS, *link_probes.KINDS)

PATIENCE = 5.0
"""Seconds after the start; from then on routes avoid switches that have not connected."""

_OPEN_POLLS = 8
"""Latest polls of a switch whose answers are accepted: a slow switch may answer after the next poll."""

_OWN_IDS = 1 << 30
"""First transaction id of the scheduler's own messages; those of `SwitchConnection` count from 1."""


class SchedulerTick(EventBase):  # type: ignore[misc]  # the base class is one of two untyped ones
    """Time has passed.

    Attributes:
        routes: the routes found meanwhile, if any.
    """

    def __init__(self, routes: Routes | None = None) -> None:
        super().__init__()
        self.routes = routes


class HederaScheduler(SwitchApplication):
    """Everything except the clock and the route search runs in the application's thread, one event after another."""

    OFP_VERSIONS = (ofproto.OFP_VERSION,)
    part = "scheduler"
    _unwatched_cookies = (COUNTING_COOKIE, COUNTER_COOKIE)
    _own_cookies = (LINK_PROBE_COOKIE, SCHEDULED_COOKIE)
    _metrics: SchedulerMetrics

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        given = cfg.CONF[OPTION_GROUP]
        try:
            self._options = SchedulerOptions(**{name: getattr(given, name) for name in vars(_DEFAULTS)})
            self._centre, placement = build(self._options)
            missing = missing_option(given.missing)
            gray_loss = gray_loss_of(given.gray_loss)
            self._metrics = SchedulerMetrics(time.monotonic)
            self._open_outlets(OPTION_GROUP)
            packets = {LINK_PROBE_COOKIE, NEIGHBOUR_COOKIE}
            stand_before(self, self._is_known, given.tls_bind, packets_of=packets, removals_of=COOKIE)
            self._listen_to_peers(given)
        except KuijiaError as error:
            refuse_to_start(error, OPTION_GROUP)
        self.switches = ControlledSwitches(self._runtime, self, self._centre.wiring, self._metrics, self._own_cookies)
        self.roles = ControllerRoles(self._runtime, self, self.switches)
        self._join_peers(given)
        self._metrics.expect(self.switches.wiring.topology.nodes)
        self._edges = self._centre.hosts_of.keys()
        self._uses = {switch: self._uses_of(switch) for switch in self.switches.wiring.topology.nodes}
        self._agreed = {"switches": len(self.switches.wiring.topology.nodes), "hosts": len(self.switches.wiring.sites)}
        self._links = Links(self.switches.wiring)
        probed = self.switches.wiring.topology.nodes if missing is Missing.WARN else ()
        full = {(switch, port): given.host_mtu for switch in probed for port in self.switches.wiring.link_ports(switch)}
        self.switches.probe_links(ProbeForm(Tagging.DSCP_ECN, PLAIN_LAYOUT.control), full)
        self.switches.learn_hosts(self._centre.segments)
        self._link_counters = LinkCounters(self.switches.wiring)
        self._loss_watch = LossWatch(gray_loss)
        self._loss_watch.follow(self._link_counters)
        self._next_look = 0.0
        self._polls = Polls.every(self._options.period, self._centre.fabric.nic_rate)
        self._routing = first_routing(self._centre)
        self._tables = self.switches.unhindered = self._routing.tables()
        self._schedule = ElephantSchedule(self._centre, placement, self._routing)
        self._sought: frozenset[Cable] | None = None
        self._has_sought = Event()
        self._settled: set[str] = set()
        self._refused: dict[str, SwitchTables] = {}
        self._awaited: set[str] = set()
        self._polled: dict[str, deque[int]] = {}
        self._placed_at: dict[str, float] = {}
        self._are_all_read = False
        self._last_own_id = _OWN_IDS
        self._is_routing = False
        self._next_routing = 0.0
        self._started_at = self._next_poll = self._runtime.now()

    def _uses_of(self, switch: str) -> dict[int, str]:
        """Return in words what each port of a switch leads to."""
        sites = self._centre.hosts_of.get(switch, ())
        neighbours = self.switches.wiring.topology.neighbours[switch]
        return {
            **{self.switches.wiring.port(switch, other): port_use(other, is_host=False) for other in neighbours},
            **{site.port: port_use(site.name, is_host=True) for site in sites},
        }

    @background
    def _watch_clock(self) -> None:
        self._tell_time(TICK, SchedulerTick)

    @background
    def _find_routes(self) -> None:
        # Takes seconds in a large network, so it does not block the event loop.
        while self.is_active:
            self._has_sought.wait(TICK)
            self._has_sought.clear()
            failed, self._sought = self._sought, None
            if failed is not None:
                self.send_event(self.name, SchedulerTick(apart(partial(routes_around, self._routing, failed))))

    @on_own(SchedulerTick)
    def time_passed(self, event: SchedulerTick) -> None:
        self._tick_handled()
        self._take_in_peers()
        now = self._runtime.now()
        self.roles.tend(now)
        for switch, port in self.switches.damping.released(now):
            self._links.port_changed(switch, port, live=True)
        if now - self._started_at > PATIENCE:
            self._links.expect_all()
        self.switches.drop_silent(now)
        self._check_switches(now)
        self._compare_counters(now)
        self.switches.watch_tables(now)
        self.switches.report_findings(now)
        self.switches.report_network(now)
        if event.routes is not None:
            self._follow(event.routes, now)
        self._route_around()
        if self._are_all_read:
            self._run_round()
        if now >= self._next_poll:
            self._next_poll = max(self._next_poll + self._options.period, now)
            if self._awaited:
                self._run_round()
            self._poll(now)

    def _check_switches(self, now: float) -> None:
        """Probe links, avoid those that carry nothing, and state what is wrong with ports and links."""
        if not self.roles.acts:
            return
        self.switches.prober.tend()
        self.switches.gateway.tend()
        silent = sorted(self.switches.links_not_carrying(), key=sorted)
        lossy = [*(frozenset({cable}) for cable in silent), *self._lossy_cables(), *self._defeated_cables()]
        self._links.avoid(lossy)
        if now < self._next_look:
            return
        self._next_look = now + LOOK
        for switch in filter(self.switches.port_states.has_described, self.switches.connections):
            found = [
                *self.switches.port_states.findings(switch, self._uses[switch], (), now),
                *self.switches.prober.probes.findings(switch),
            ]
            self.switches.findings.exactly(_CHECKED_KINDS, switch, found, now)

    def _compare_counters(self, now: float) -> None:
        """Begin to compare the counters of all cables, if it is time for that."""
        if self.roles.acts and self._loss_watch.is_due(now, self.switches.table_watch.period):
            judging = self.switches.begin_round(self._loss_watch, now, self._link_counters.uncounted)
            self._runtime.sliced_work.add(self._noting_losses(judging))

    def snapshot_taken(self, snapshot: Snapshot) -> None:
        counted = self._link_counters.counted(snapshot)
        judging = self._loss_watch.taken(counted, self._runtime.now(), self._link_counters.uncounted)
        if judging is not None:
            self._runtime.sliced_work.add(self._noting_losses(judging))

    def foreign_told(self, foreign: tuple[ForeignEntry, ...], snapshot: Snapshot) -> None:
        switch, found = snapshot.switch, placed(foreign)
        if self._placed_at.get(switch, 0.0) >= snapshot.asked_at:
            return  # they may not all have been there
        wanted = {flow: self._schedule.group_of(switch, flow) for flow in found}
        changed = [each.key for flow, each in found.items() if wanted[flow] not in (None, *each.groups)]
        if changed:
            self.switches.tables_wrong(
                snapshot, TableDifferences(Differing(changed=tuple(changed))), self._runtime.now()
            )

    def _noting_losses(self, judging: Iterator[None]) -> Iterator[None]:
        yield from judging
        if self.roles.acts:  # else a peer has taken over meanwhile
            self.switches.state_losses(self._loss_watch, self._runtime.now())

    def _lossy_cables(self) -> list[frozenset[Cable]]:
        """Return the cables that lose frames by the counters of their ports, the worst first."""
        shares = self._loss_watch.shares
        worst_first = sorted(shares, key=lambda end: (-shares[end], end))
        return [cables for end in worst_first if (cables := self._cables_at(*end))]

    def _defeated_cables(self) -> list[frozenset[Cable]]:
        """Return the cables of each port, or switch, at which an entry of somebody else takes packets of ours."""
        keys = (finding.key for finding in self.switches.findings if finding.key.kind is FindingKind.FOREIGN_ENTRY)
        places = dict.fromkeys((key.switch, key.port) for key in keys)
        return [cables for place in places if (cables := self._cables_at(*place))]

    def _cables_at(self, switch: str, port: int | None) -> frozenset[Cable]:
        """Return the cable at a port, if it has one; all of a switch if `port` is None."""
        wiring = self.switches.wiring
        others = wiring.topology.neighbours[switch] if port is None else [wiring.neighbour_at(switch, port)]
        return frozenset(frozenset((switch, other)) for other in others if other is not None)

    def owns_group(self, group_id: int) -> bool:
        return is_own_group(group_id)

    def put_tables_right(self, switch: str) -> None:
        self._settled.discard(switch)  # its counting begins again, too
        self.switches.read_again(switch)

    def leave_tables(self, switch: str) -> None:
        self._links.left(switch)

    @on(ofp_event.EventOFPFlowStatsReply, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER, harms=Harm.CONNECTION)
    def flows_described(self, event: Any) -> None:
        message = event.msg
        connection = self.switches.connection(message.datapath)
        if connection is None:
            return
        if message.xid < _OWN_IDS:
            connection.flows_described(message.xid, message.body)
            return
        switch = connection.switch
        polled = self._polled.get(switch, deque())
        if message.xid not in polled:
            return
        more = bool(message.flags & ofproto.OFPMPF_REPLY_MORE)
        self._polls.answered(switch, self._runtime.now(), readings(message.body), more=more)
        if not more:
            while polled.popleft() != message.xid:
                pass
            # The next tick starts the round: this handler may change only the switch's own counters.
            self._are_all_read = self._are_all_read or self._awaited == {switch}
            self._awaited.discard(switch)

    @on(ofp_event.EventOFPPortStatus, handler.MAIN_DISPATCHER)
    def port_status(self, event: Any) -> None:
        state, is_there = port_status_of(event)
        changed = self.switches.changed_port(event.msg.datapath, state, is_there=is_there)
        if changed is None:
            return
        switch, port, live = changed[0], state.number, changed[1]
        self.switches.note_port(switch, port, live=live, is_damped=self.switches.damping.is_held((switch, port)))
        believed = self.switches.damping.observed((switch, port), self._runtime.now(), live=live)
        self._links.port_changed(switch, port, live=believed)
        self._route_around()

    @on(ofp_event.EventOFPErrorMsg, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def switch_answered_with_an_error(self, event: Any) -> None:
        connection = self.switches.connection(event.msg.datapath)
        if connection is None:
            return
        if not _OWN_IDS <= event.msg.xid <= self._last_own_id:
            connection.error(event.msg)
            return
        name = error_name(ofproto, event.msg)
        if name in DENIALS:
            self.roles.displaced(connection.switch, name)
            return
        # The entry came too late for its group: the next round sends the entries wanted then.
        self._schedule.forget(connection.switch)
        self.switches.note_refusal(events.ENTRY_REFUSED, connection.switch, name)

    def _decoded(self, line: bytes) -> Callable[[], None]:
        return partial(self.roles.heard_beat, decoded_beat(line, self._agreed, self.switches.wiring.topology.nodes))

    def send_beat(self, beat: Beat) -> None:
        self._send_line(lambda _before: (encoded(beat, None, self._agreed), None))

    def ports_told(self, switch: str, ports: Mapping[int, PortState]) -> None:
        self._links.ports_described(switch, self.switches.believed_ports(switch, ports))
        self._route_around()

    def left_to_peer(self, switch: str) -> None:
        self.begun(switch)

    def left_to_other(self, switch: str) -> None:
        self.begun(switch)

    def taken_over(self) -> None:
        """Do nothing: all switches are read."""

    def tunnel_states(self) -> TunnelStates:
        return TunnelStates()

    def ports_of(self, switch: str) -> Collection[int]:
        return self.switches.wiring.ports(switch)

    def wanted(self, switch: str) -> SwitchTables:
        return self._tables[switch]

    def begun(self, switch: str) -> None:
        self.switches.forget_probes(switch)
        self._settled.discard(switch)
        self._refused.pop(switch, None)
        self._polled.pop(switch, None)
        self._polls.gone(switch)
        self._schedule.forget(switch)

    def ended(self, switch: str) -> None:
        self.switches.forget_probes(switch)
        self._settled.discard(switch)
        self._polls.gone(switch)
        self._schedule.forget(switch)
        self._links.left(switch)
        self._route_around()

    def _answered(self) -> None:
        """Do nothing: no step here waits for several switches."""

    def group_done(self, switch: str, group: Group) -> None:
        """Do nothing: groups here have no events."""

    def switch_read(self, switch: str, has: ReadBack) -> None:
        missing = sorted(set(self.switches.wiring.ports(switch)) - has.ports.keys())
        times = self._reports.occurred(("missing ports", switch), self._runtime.now()) if missing else None
        if times is not None:
            problem = f"has no port {', '.join(map(str, missing))}: its links there count as failed"
            self._runtime.log.write(event_log.SWITCH_ERROR, switch=switch, error=problem, times=times)
            self.logger.error("switch %s %s%s", switch, problem, repeated(times))
        self._links.ports_described(switch, self.switches.believed_ports(switch, has.ports))
        self.switches.probe_anew(switch)
        self.switches.gateway.read(switch)
        is_left = self._refused.get(switch) is self._tables[switch] or self.switches.table_watch.is_resting(switch)
        if is_left:
            # It would refuse them again, or somebody would change them: routes avoid it.
            self._links.left(switch)
        self._route_around()
        if not (self._is_routing or is_left):
            self.switches.want([switch])  # otherwise all switches get other tables soon

    def switch_done(self, switch: str, tables: SwitchTables) -> None:
        if tables is self._tables[switch] and switch not in self._settled:
            self._settled.add(switch)
            self._refused.pop(switch, None)
            self._begin_counting(switch)
            self._runtime.log.write(event_log.SWITCH_READY, switch=switch, framework=FRAMEWORK)
            self.switches.network_log.programmed(switch)
            self._run_round()

    def _begin_counting(self, switch: str) -> None:
        self._schedule.forget(switch)
        self._send(switch, [self._messages(switch).delete_all(), *self._counting(switch)])

    def _counting(self, switch: str) -> Iterator[Any]:
        """Yield the entries that count the flows of a switch's hosts."""
        messages = self._messages(switch)
        for site in self._centre.hosts_of.get(switch, ()):
            yield from messages.count_flows_from(site.port, families_of(site.prefixes))

    def switch_refused(self, switch: str, tables: SwitchTables | None, reason: str) -> None:
        if reason in CHANGED_MEANWHILE:
            # It is read again, and given what it lacks, after a rest if that happens often.
            self.switches.table_watch.wrong(switch, self._runtime.now())
            self.switches.note_refusal(event_log.SWITCH_ERROR, switch, reason)
            return
        if tables is not None:
            self._refused[switch] = tables
        self.switches.note_refusal(event_log.SWITCH_REFUSED, switch, reason)

    def _route_around(self) -> None:
        """Request a search for routes if other links have failed than before.

        Only one search runs at a time, and the next one starts only after a pause of the same length. A later tick
        requests it again, for the links that are down then.
        """
        if self._is_routing or self._runtime.now() < self._next_routing:
            return
        failed = self._links.take_changed()
        if failed is not None:
            self._is_routing = True
            self._sought = failed
            self._has_sought.set()

    def _follow(self, routes: Routes, now: float) -> None:
        """Bring all switches to the routes that have been found."""
        self._is_routing = False
        self._next_routing = now + routes.seconds
        self._metrics.routed(routes.seconds)
        self._runtime.log.write(events.ROUTES_CHANGED, failed=sorted(sorted(cable) for cable in routes.failed))
        avoided = listed(sorted(map(link_name, routes.failed)))
        self.logger.info("routes %s", f"avoid {avoided}" if avoided else "use all links")
        self._routing, self._tables = routes.routing, routes.tables
        self._schedule.follow(self._routing, routes.failed)
        self._settled.clear()
        self.switches.want(self.switches.connections)

    def _poll(self, now: float) -> None:
        """Poll the edge switches that owe no answer; what counts may have been deleted, and is put there again."""
        self._awaited = self._settled & self._edges
        for switch in self._awaited:
            if self._polls.ask(switch, now):
                question = self._messages(switch).ask_for_counters()
                self._send(switch, [*self._counting(switch), question])
                self._polled.setdefault(switch, deque(maxlen=_OPEN_POLLS)).append(question.xid)

    def _run_round(self) -> None:
        """Place elephants by the present rates, unless a switch still lacks the groups that entries use."""
        self._awaited, self._are_all_read = set(), False
        denying = self.roles.verification.denials(self.switches.connections).keys()
        due = self.switches.connections.keys() - self._refused.keys() - denying
        if self.roles.is_displaced or not self.roles.acts or not self._settled >= due:
            return
        began = time.perf_counter()
        rates = self._polls.rates()
        with self._watchdog.long_work():
            found = self._schedule.run(rates)
        for switch in {
            entry.switch for entry in (*found.put, *found.deleted)
        } & self.switches.connections.keys() - denying:
            self._send(switch, self._entries(switch, found.put, found.deleted))
            self._placed_at[switch] = self._runtime.now()
        self._runtime.log.write(
            events.ROUND,
            flows=len(rates),
            elephants=len(found.elephants),
            moved=found.moved,
            put=len(found.put),
            deleted=len(found.deleted),
            strangers=found.strangers,
            silent=sorted(self._polls.silent),
            seconds=time.perf_counter() - began,
        )

    def _entries(self, switch: str, put: Sequence[ScheduledEntry], deleted: Sequence[ScheduledEntry]) -> Iterable[Any]:
        messages = self._messages(switch)
        for entry in deleted:
            if entry.switch == switch:
                yield messages.delete(entry)
        for entry in put:
            if entry.switch == switch:
                yield messages.put(entry, self._options.idle_timeout)

    def _messages(self, switch: str) -> SchedulerMessages:
        return SchedulerMessages(self.switches.connections[switch].datapath)

    def _send(self, switch: str, messages: Iterable[Any]) -> None:
        connection = self.switches.connections[switch]
        if connection.is_given_up:
            return  # it is about to be closed, and begins again
        for message in messages:
            self._last_own_id += 1
            message.set_xid(self._last_own_id)
            connection.datapath.send_msg(message)
