"""Keeps the tables of all switches as the plan in force requires; pure: events, plans and time are passed in.

`kuijia_app.controller` connects it to a framework, a rehearsal to simulated switches and a simulated clock.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from kuijia_app.control.controller_metrics import ControllerMetrics
from kuijia_app.control.controller_roles import ControllerRoles
from kuijia_app.control.detours import Detours
from kuijia_app.control.findings import FindingKey, FindingKind, SwitchFinding
from kuijia_app.control.flap_damping import Lasting
from kuijia_app.control.identity import are_identical
from kuijia_app.control.liveness import Link, LivenessChange, LivenessTracker, Port
from kuijia_app.control.loss_watch import DEFAULT_LIMIT, LossWatch
from kuijia_app.control.network_log import TunnelStates
from kuijia_app.control.pair import Beat
from kuijia_app.control.peer_plans import PeerFollower
from kuijia_app.control.plan_checks import Missing
from kuijia_app.control.plan_needs import PlanNeeds
from kuijia_app.control.plan_source import OVERTAKEN, WITHDRAWN, PlanReading, PlanSource
from kuijia_app.control.port_states import PortState
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.restoration import Layer, News, Restoration, RestorationState, Situation
from kuijia_app.control.roles import Claims, misfit
from kuijia_app.control.rollout import Rollout, RolloutProgress, Stages, Version
from kuijia_app.control.second_chances import SecondChances
from kuijia_app.control.snapshot import ForeignEntry, Snapshot
from kuijia_app.control.switch_connection import ReadBack, SwitchConnection
from kuijia_app.control.switches import ControlledSwitches, Runtime
from kuijia_app.control.table_watch import CHANGED_MEANWHILE, TablesVerdict
from kuijia_app.control.tunnel_counters import TunnelCounters
from kuijia_app.control.update_progress import UpdateProgress
from kuijia_app.control.usable_ports import UsablePorts
from kuijia_app.framework import event_log
from kuijia_app.framework.switch_limits import repeated
from kuijia_app.tables.failover import emptied_liveness_group
from kuijia_app.tables.identifiers import is_own_group, path_id_of_liveness_group
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.other_traffic import drop_entry
from kuijia_app.tables.rules import Group, SwitchTables
from kuijia_base.errors import KuijiaError

STANDS_BY = "this controller stands by: replace the plan of the one that acts"

BFD_SETTLE = 3.5
"""Seconds that BFD sessions over new paths get to come up before traffic uses these paths: three packets must arrive,
and until then their ends send one a second (RFC 5880, 6.8.3)."""

PROBED_EVERY = 0.1
"""Seconds between two looks at which probes of links, and questions to hosts, are due."""

LOOK = 0.25
"""Seconds between two looks at all that may be wrong with switches."""

UNNOTICED = 0.2
"""Seconds after which a first link that is down only at its far end counts as a failure that the ingress cannot see."""


class Outside(Protocol):
    """Carries out what takes too long for an event, or leads out of the process."""

    def ask_again(self, reading: PlanReading) -> None:
        """Request that a plan is read or solved again, as others came into use meanwhile."""

    def files_wait(self) -> None:
        """Note that there are plans to be written to files."""

    def send_to_peers(self, beat: Beat, stages: Stages | None) -> None:
        """Send peers a sign of life, and the plans in use if they have changed."""


@dataclass(frozen=True)
class ControlSettings:
    """Options of a controller.

    Attributes:
        options: on tables.
        drain: seconds for which the paths of a replaced plan are kept.
        missing: on what switches may lack.
        host_mtu: bytes of a packet of hosts that links must carry; if they are stated, hosts learn of longer ones.
        gray_loss: as of `LossWatch`.
        framework: its name, for events.
    """

    options: PipelineOptions
    drain: float
    missing: Missing = Missing.IGNORE
    host_mtu: int | None = None
    gray_loss: float | None = DEFAULT_LIMIT
    framework: str = "none"


class Control:
    """Keeps every connected switch at the tables that the rollout wants, and the liveness groups of ingresses right.

    It is the policy of its switches and roles (`SwitchPolicy`, `RolePolicy`).

    Attributes:
        switches: their connections.
        roles: whether this controller acts.
        rollout: the plans in use.
        progress: tells how updates get on.
        needs: what plans need of switches.
        tracker: the liveness of tunnels.
        failed_edges: ends of the links that count as dead; another thread may read them.
    """

    def __init__(
        self,
        runtime: Runtime,
        outside: Outside,
        source: PlanSource,
        metrics: ControllerMetrics,
        first: Version,
        settings: ControlSettings,
        claims: Claims | None = None,
    ) -> None:
        """Begin with the plan of the file.

        Args:
            runtime: of the process.
            outside: carries out what leads out of it.
            source: of plans.
            metrics: count what happens.
            first: the plan of the file.
            settings: of the controller.
            claims: as of `ControllerRoles`.
        """
        self._runtime = runtime
        self._outside = outside
        self._source = source
        self._metrics = metrics
        self._framework = settings.framework
        self._options = options = settings.options
        self.switches = ControlledSwitches(runtime, self, options.wired(first.plan.topology), metrics)
        self.roles = ControllerRoles(runtime, self, self.switches, claims)
        uses_bfd = options.liveness is Liveness.BFD
        self._tells_ingresses = not uses_bfd
        self.rollout = Rollout(first, settings.drain, BFD_SETTLE if uses_bfd else 0.0)
        for switch in first.plan.topology.nodes:
            self.rollout.left(switch)
        self.progress = UpdateProgress(runtime, source, self.rollout, self.switches.wrong_tables, outside.files_wait)
        self.tracker = LivenessTracker(first.plan, self.switches.wiring)
        metrics.expect(first.plan.topology.nodes)
        self._restoration = Restoration(self.switches.wiring, options, self.rollout.plans)
        metrics.follow(settings.framework, options.liveness.value, self.rollout, self.tracker, self._restoration)
        self._situation = Situation(frozenset(), frozenset(), frozenset(), is_complete=False)
        self._situation_at = self.tracker.revision
        self._unnoticed: Lasting[Link] = Lasting(UNNOTICED)
        self.failed_edges = self.tracker.failed_edges
        self._read_plans: deque[PlanReading] = deque()
        self._unfiled: list[str] = []
        self._had: dict[str, SwitchTables] = {}
        self._refused: dict[str, SwitchTables] = {}
        self._programmed: set[str] = set()
        self._usable_ports = UsablePorts()
        self._loss_watch = LossWatch(settings.gray_loss)
        self._counted: tuple[Version, ...] = ()
        self._detours = Detours(runtime, options, self.switches, self.roles, self.rollout, self.tracker, self._above)
        self._left_alone: set[str] = set()
        self._second_chances = SecondChances()
        self._peers = PeerFollower(self.roles, self.rollout, self.tracker, self.progress, source)
        self._unfit: set[str] = set()
        self.needs = PlanNeeds(runtime, self.switches, options, settings.missing, settings.host_mtu)
        self.needs.follow(self.rollout.plans)
        self._checks = self.needs.checks
        self._kept_empty: set[str] = set()
        self.needs.begin_probing()
        self._next_look = self._next_probe = 0.0
        self._resume(first)

    def _resume(self, first: Version) -> None:
        """Go on with an update that an earlier process has not finished."""
        unfinished = self._source.unfinished(self.rollout)
        if unfinished is not None:
            self.rollout.resume(Stages(first, unfinished))
            self.tracker.follow(self.rollout.plans)
            self._runtime.log.write(event_log.UPDATE_STARTED, update=unfinished.name)
        while self._source.problems:
            self._runtime.logger.warning("%s", self._source.problems.pop(0))

    def time_passed(self, plan: PlanReading | None = None, then: Callable[[], object] | None = None) -> None:
        """Look at the clock, after a plan was read or written to a file, or not."""
        now = self._runtime.now()
        self.roles.tend(now)
        self._peers.follow(now)
        self._ports_changed(dict.fromkeys(self.switches.damping.released(now), True))
        unnoticed = self._unnoticed.observed(self.tracker.links_down_beyond, now)
        self._tell_ingresses(self.tracker.links_unnoticed(unnoticed))
        self.failed_edges = self.tracker.failed_edges
        self.switches.drop_silent(now)
        self._check_switches(now)
        self._compare_counters(now)
        self.switches.watch_tables(now)
        self.progress.tell_held()
        self.switches.report_findings(now)
        self.switches.report_network(now)
        for switch in self._second_chances.due(now):
            self._left_alone.discard(switch)
            self.switches.connections[switch].want(self.rollout.wanted(switch))
        if then is not None:
            then()
        if self._source.take_withdrawal() and self.roles.acts:
            self.progress.note(self.rollout.refused(), WITHDRAWN)
        if plan is not None:
            self._read_plans.append(plan)
        while self._read_plans and not self.roles.hands_over:  # the next one must hear of an update before it acts
            self._replace_plan(self._read_plans.popleft(), now)
        if self.roles.acts:
            self.progress.note(self.rollout.passed(now))
            self.follow_rollout()

    def ports_told(self, switch: str, ports: Mapping[int, PortState]) -> None:
        counted = self._usable_ports.told(switch, self.switches.believed_ports(switch, ports))
        self.tracker.ports_described(switch, counted, self._doubted_ports())

    def ports_of(self, switch: str) -> Collection[int]:
        return self.needs.ports_of(switch)

    def _check_switches(self, now: float) -> None:
        """Probe links, state what is wrong, and put the plan on switches that lack nothing any more."""
        if now >= self._next_probe:
            self._next_probe = now + PROBED_EVERY
            if self.roles.acts:
                self.switches.prober.tend()
                self.switches.gateway.tend()
            lossy = self.switches.links_not_carrying() if self.roles.acts else frozenset()
            self._tell_ingresses(self.tracker.links_lossy(lossy))
        if not self.roles.acts or now < self._next_look:
            return
        self._next_look = now + LOOK
        self.needs.follow(self.rollout.plans)
        for switch in self.needs.admitted(now):
            self._give_wanted(switch)

    def _give_wanted(self, switch: str) -> None:
        """Bring a switch that has been read to the tables of the plan, which it may have."""
        self._kept_empty.discard(switch)
        self.switches.connections[switch].want(self.rollout.wanted(switch))

    def snapshot_taken(self, snapshot: Snapshot) -> None:
        if self._checks.missing is not Missing.IGNORE:
            self._checks.queues_counted(snapshot)
        if self.switches.wiring.has_host(snapshot.switch):
            drops = [FlowKey.of(drop_entry(port)) for port in self.switches.wiring.host_ports(snapshot.switch)]
            counted = {each: snapshot.packets[each] for each in drops if each in snapshot.packets}
            self._metrics.dropped(snapshot.switch, counted)
        judging = self._loss_watch.taken(snapshot, self._runtime.now(), self.tracker.broken)
        if judging is not None:
            self._runtime.sliced_work.add(self._avoiding_lossy(judging))

    def heard_peer(self, beat: Beat, stages: Stages | None) -> None:
        """Take in a peer's sign of life, and the plans of one that acts."""
        self._peers.heard(beat, stages, self._runtime.now())

    def send_beat(self, beat: Beat) -> None:
        self._outside.send_to_peers(beat, self.rollout.stages if beat.is_acting else None)

    def taken_over(self) -> None:
        self._peers.forget()
        self._restoration.forget()
        self._checks.begin_anew()
        self.needs.follow(self.rollout.plans)

    def left_to_peer(self, switch: str) -> None:
        self.left_to_other(switch)
        self._restoration.forget()
        self.tracker.carried(frozenset())
        self._ports_released(switch)  # the one that acts tells ingresses

    def left_to_other(self, switch: str) -> None:
        self.begun(switch)
        self.progress.note(self.rollout.left(switch))

    def port_status(self, datapath: Any, state: PortState, *, is_there: bool) -> None:  # noqa: ANN401  # a framework's
        """Take in that a port has changed; only those of the network count."""
        changed = self.switches.changed_port(datapath, state, is_there=is_there)
        if changed is None:
            return
        (switch, live), port = changed, state.number
        if switch in self._unfit and is_there:
            self._unfit.discard(switch)  # perhaps it has all its ports now
            self.switches.connections[switch].read_again()
        was_held = self.switches.damping.is_held((switch, port))
        self.switches.note_port(switch, port, live=live, is_damped=was_held)
        believed = self.switches.damping.observed((switch, port), self._runtime.now(), live=live)
        if self.switches.damping.is_held((switch, port)) and not was_held:
            self._runtime.log.write(event_log.PORT_DAMPED, switch=switch, port=port)
            words = "port %d of switch %s flaps: treated as down until it calms down"
            self._runtime.logger.warning(words, port, switch)
        self._ports_changed({(switch, port): believed})

    def tunnel_states(self) -> TunnelStates:
        tracker = self.tracker
        return TunnelStates(tracker.broken, tracker.failed_edges, tracker.route)

    def foreign_told(self, foreign: tuple[ForeignEntry, ...], snapshot: Snapshot) -> None:
        """Do nothing: those of others that defeat ours are named already."""

    def wanted(self, switch: str) -> SwitchTables:
        return self.rollout.wanted(switch)

    def begun(self, switch: str) -> None:
        self.switches.wrong_tables.discard(switch)
        self._usable_ports.began(switch)
        self._checks.left(switch)
        self._kept_empty.discard(switch)
        self.switches.forget_probes(switch)
        self._refused.pop(switch, None)
        self._left_alone.discard(switch)
        self._unfit.discard(switch)
        self._had.pop(switch, None)
        self._second_chances.forget(switch)

    def ended(self, switch: str) -> None:
        self._checks.left(switch)
        self._kept_empty.discard(switch)
        self.switches.prober.probes.left(switch)
        self._second_chances.forget(switch)
        self.progress.note(self.rollout.left(switch))

    def _answered(self) -> None:
        self.follow_rollout()

    def switch_read(self, switch: str, has: ReadBack) -> None:
        connection = self.switches.connections[switch]
        believed = self.switches.believed_ports(switch, has.ports)
        self.switches.probe_anew(switch)
        self.switches.gateway.read(switch)
        problem = misfit(self.switches.wiring, switch, has.ports, is_ours=bool(has.tables.flows))
        if problem is not None:
            self._unfit.add(switch)
            times = self._runtime.reports.occurred((event_log.SWITCH_UNFIT, switch), self._runtime.now())
            if times is not None:
                self._runtime.log.write(event_log.SWITCH_UNFIT, switch=switch, problem=problem, times=times)
                self._runtime.logger.error("switch %s %s: not programmed%s", switch, problem, repeated(times))
            return
        known = (
            tuple(group for group in has.tables.groups.values() if group is not None),
            tuple(entry for entry in has.tables.flows.values() if entry is not None),
        )
        self._had.setdefault(switch, SwitchTables(*known))
        self._restoration.found(switch, has.tables)
        self._put_on_top(connection, self._restoration.told_anew(switch, self.rollout.wanted(switch)))
        if self._tells_ingresses:
            self._tell_ingresses(self.tracker.found_dead(switch, has.emptied))
        for path_id in self.tracker.dead_path_ids(switch):
            self._tell(connection, LivenessChange(switch, path_id, alive=False))
        self._detours.read(switch)
        is_refused = self._is_refused(switch)
        has_lost_all = switch in self._programmed and not known[1]
        if has_lost_all:
            self.rollout.lost(switch)
        may_have = self._checks.read(switch, self._runtime.now())
        is_left = is_refused or self.switches.table_watch.is_resting(switch)
        self._kept_empty.discard(switch)
        if not (may_have or known[1]):
            self._kept_empty.add(switch)
        is_late = self._checks.is_admitted and switch in self._kept_empty  # others have the plan already
        lacks_tables = is_left or has_lost_all or is_late
        counted = self._usable_ports.read(switch, believed, lacks_tables=lacks_tables)
        self._tell_ingresses(self.tracker.ports_described(switch, counted, self._doubted_ports()))
        if switch in self._left_alone:
            return
        keeps = (is_refused and not self._second_chances.has_one(switch)) or not may_have
        connection.want(self._had[switch] if keeps else self.rollout.wanted(switch))

    def owns_group(self, group_id: int) -> bool:
        return is_own_group(group_id)

    def put_tables_right(self, switch: str) -> None:
        self._left_alone.discard(switch)
        self.switches.read_again(switch)

    def leave_tables(self, switch: str) -> None:
        self._left_alone.add(switch)
        self.switches.read_again(switch)  # to avoid its ports

    def _compare_counters(self, now: float) -> None:
        """Begin to compare the counters of all switches, if it is time for that."""
        if self.roles.acts and self._loss_watch.is_due(now, self.switches.table_watch.period):
            self._count_followed()
            judging = self.switches.begin_round(self._loss_watch, now, self.tracker.broken)
            self._runtime.sliced_work.add(self._avoiding_lossy(judging))
        else:
            self._detours.follow_lossy()

    def _count_followed(self) -> None:
        """Watch the tunnels of all plans in use for losses."""
        versions = tuple(each for each in self.rollout.stages.versions if each is not None)
        if not are_identical(versions, self._counted):
            self._counted = versions
            self._runtime.sliced_work.add(self._counting(versions))

    def _counting(self, versions: tuple[Version, ...]) -> Iterator[None]:
        counters = TunnelCounters()
        for version in versions:
            yield from counters.adding(version.plan, self._options, version.indexed)
        if versions is self._counted:
            self._loss_watch.follow(counters)

    def _avoiding_lossy(self, judging: Iterator[None]) -> Iterator[None]:
        yield from judging
        if self.roles.acts:  # else a peer has taken over meanwhile
            self._avoid_lossy(self._runtime.now())

    def _avoid_lossy(self, now: float) -> None:
        """Avoid the tunnels that lose packets, and use those again that are to be tried."""
        self._tell_ingresses(self.tracker.tunnels_lossy(self._loss_watch.shares))
        self._detours.follow_lossy()
        self.switches.state_losses(self._loss_watch, now)

    def _is_refused(self, switch: str) -> bool:
        """Return True if the switch has refused exactly the tables that are still wanted."""
        return self._refused.get(switch) is self.rollout.wanted(switch)

    def switch_done(self, switch: str, tables: SwitchTables) -> None:
        if self._is_refused(switch) and not self._second_chances.has_one(switch):
            return
        self._had[switch] = tables
        if switch in self._checks.waiting and switch not in self._kept_empty:
            self._tell_ingresses(self._ports_released(switch))  # it may not have the plan, but has what it had
        if tables is not self.rollout.wanted(switch):
            return  # others are wanted by now, and nobody has waited for these
        self._second_chances.forget(switch)
        self._refused.pop(switch, None)
        self._programmed.add(switch)
        lacks = [finding for finding in self.switches.findings.lacks if finding.key.switch == switch]
        self._runtime.log.write(event_log.SWITCH_READY, switch=switch, framework=self._framework, lacks=len(lacks))
        self.switches.network_log.programmed(switch)
        self._tell_ingresses(self._ports_released(switch))  # which may change its groups again
        self._loss_watch.mended(switch, self._runtime.now())
        self.progress.note(self.rollout.acknowledged(switch, self._runtime.now()))

    def group_done(self, switch: str, group: Group) -> None:
        path_id = path_id_of_liveness_group(group.group_id)
        if path_id is not None and self._tells_ingresses:
            alive = bool(group.buckets)
            self._runtime.log.write(event_log.TUNNEL_LIVENESS, ingress=switch, path_id=path_id, alive=alive)

    def switch_refused(self, switch: str, tables: SwitchTables | None, reason: str) -> None:
        self.switches.note_refusal(event_log.SWITCH_ERROR, switch, reason)
        if tables is None:
            self._restoration.refused(switch, self._runtime.now())
        if reason in CHANGED_MEANWHILE and not self._is_refused(switch):
            verdict = self.switches.table_watch.wrong(switch, self._runtime.now())
            if verdict is TablesVerdict.REST:
                self._left_alone.add(switch)
            if verdict is not TablesVerdict.NOTHING:
                return  # it is read again, and given what it lacks
        if self._is_refused(switch):
            if not self._second_chances.has_one(switch):
                # It refuses even what it had: there is no point in going on for now.
                self._left_alone.add(switch)
            self._second_chances.refused(switch, self._runtime.now())
            return
        if tables is None or tables is not self.rollout.wanted(switch):
            return  # others are wanted by now, which it is given once it has been read again
        given_up = self.rollout.refused(drains=False)
        if given_up:
            self.progress.note(given_up, f"switch {switch} refused it: {reason}")
        else:
            # It keeps what it had, and tunnels avoid it.
            self._refused[switch] = tables
            self._second_chances.refused(switch, self._runtime.now())
            self._runtime.log.write(event_log.SWITCH_REFUSED, switch=switch, error=reason)

    def _ports_changed(self, live_by_port: Mapping[Port, bool]) -> None:
        counted = self._usable_ports.changed(live_by_port)
        self._tell_ingresses(self.tracker.ports_changed(counted, self._doubted_ports()))

    def _ports_released(self, switch: str) -> Iterable[LivenessChange]:
        """Use the ports of a switch that counted as down for its tables; return the changes."""
        ports = self._usable_ports.released(switch)
        return () if ports is None else self.tracker.ports_described(switch, ports, self._doubted_ports())

    def _doubted_ports(self) -> frozenset[Port]:
        """Return the ports that are up but count as down: they flap, or their switch lacks its tables."""
        return self.switches.damping.doubted() | self._usable_ports.doubted

    def _tell_ingresses(self, changes: Iterable[LivenessChange]) -> None:
        """Fill or empty liveness groups; an ingress that has not been read yet gets its changes afterwards."""
        by_ingress: defaultdict[str, list[LivenessChange]] = defaultdict(list)
        for change in changes:
            by_ingress[change.ingress].append(change)
        for ingress, its_changes in by_ingress.items():
            connection = self.switches.connections.get(ingress)
            if connection is None:
                continue
            for change in its_changes:
                self._tell(connection, change)
            connection.proceed()  # once for all changes, or the third would wait for the answer to the first
        self._restore()

    def _restore(self) -> None:
        """Carry pairs without a live tunnel over other paths, as far as switches have answered."""
        restoration, tracker = self._restoration, self.tracker
        restoration.follow(self.rollout.plans)
        if self._situation_at != tracker.revision:
            self._situation_at, failed = tracker.revision, tracker.failed_edges
            stranded = tracker.stranded() | restoration.others_stranded(failed)
            self._situation = Situation(stranded, failed, tracker.doubted_edges, is_complete=tracker.knows_all)
            self._detours.follow_failures()
        situation, wanted = self._situation, self.rollout.wanted
        if not self.roles.acts or (restoration.is_idle and not situation.stranded):
            return
        usable = {name: each for name, each in self.switches.connections.items() if name not in self._kept_empty}
        for switch, layer in restoration.update(situation, usable, wanted, self._runtime.now()).items():
            self._put_on_top(self.switches.connections[switch], layer)
            self.switches.connections[switch].proceed()
        for news in restoration.news(situation):
            self._tell_restored(news)
        changes = self.tracker.carried(restoration.trusted(situation))
        if changes:
            self._tell_ingresses(changes)

    def _put_on_top(self, connection: SwitchConnection, layer: Layer) -> None:
        connection.want_besides(layer.entries)
        below = self._detours.last_resorts(connection.switch)
        for group_id, group in layer.groups.items():
            connection.want_instead(group_id, group or below.get(group_id))

    def _above(self, ingress: str) -> Container[int]:
        """Return the groups of an ingress that carry pairs without a live tunnel, before all others."""
        return self._restoration.told(ingress).groups

    def _tell_restored(self, news: News) -> None:
        (ingress, egress), path = news.ends, "-".join(news.path)
        details = {"ingress": ingress, "egress": egress, "path": list(news.path)}
        self._runtime.log.write(event_log.RESTORATION, state=news.state.value, **details)
        key = FindingKey(FindingKind.PAIR_CUT_OFF, ingress, detail=egress)
        if news.state is RestorationState.CUT_OFF:
            text = f"packets to {egress} are lost: no tunnel is alive, and no other links connect it"
            self.switches.findings.found(SwitchFinding(key, text, "mend a link"), self._runtime.now())
        elif news.state is RestorationState.UNTAGGED:
            text = f"packets to {egress} are lost: no tunnel is alive, and no tag is left for another path"
            self.switches.findings.found(SwitchFinding(key, text, "mend a link, or use MPLS tags"), self._runtime.now())
        else:
            self.switches.findings.gone(key, self._runtime.now())
        if news.state is RestorationState.CARRIED:
            self._runtime.logger.warning("pair %s>%s has no live tunnel: carried over %s", ingress, egress, path)
        elif news.state is RestorationState.ENDED:
            self._runtime.logger.info("pair %s>%s has a live tunnel again", ingress, egress)

    def _tell(self, connection: SwitchConnection, change: LivenessChange) -> None:
        group = emptied_liveness_group(change.path_id)
        if self._tells_ingresses:
            self._metrics.told(change.ingress, change.path_id)
            connection.want_instead(group.group_id, None if change.alive else group)

    def _replace_plan(self, reading: PlanReading, now: float) -> None:
        """Begin to roll out the plan that was read; events report its outcome by its name."""
        for name in reading.overtaken:
            self._runtime.log.write(event_log.UPDATE_STARTED, update=name)
            self.progress.note([RolloutProgress(name, "refused")], OVERTAKEN)
        if not reading.is_current(self.rollout) and not self._source.is_withdrawn(reading):
            self._outside.ask_again(replace(reading, overtaken=()))
            return
        self._runtime.log.write(event_log.UPDATE_STARTED, update=reading.name)
        if not self.roles.acts:
            self.progress.note([RolloutProgress(reading.name, "refused")], STANDS_BY)
            return
        try:
            version = self._source.version_of(reading)
            given_up: list[RolloutProgress] = []
            if not self.rollout.goes_on_with(version):
                self.needs.require_nothing_missing(version.plan, now)
                given_up = self.rollout.propose(version, now)
        except (KuijiaError, ValueError) as error:
            self.progress.note([RolloutProgress(reading.name, "refused")], str(error))
            return
        # An update of the same name, to the same plan, goes on as this one.
        others = [each for each in given_up if each.name != version.name]
        self.progress.note(others, OVERTAKEN)
        self._unfiled.append(version.name)
        for switch in self.switches.connections:
            self.switches.table_watch.soon(switch, now)
        self.progress.after_files(partial(self._source.begun, version, self.rollout.in_force.plan), self._unfiled.pop)
        self._tell_ingresses(self.tracker.follow(self.rollout.plans))
        self.roles.tell_peers()  # at once: one that takes over would delete what it does not know

    def follow_rollout(self) -> None:
        self._put_in_force()
        self._restore()

    def _put_in_force(self) -> None:
        if self._unfiled or not self.roles.acts:
            return  # a restarted controller must find the plan in the files that the switches follow
        self._runtime.sliced_work.add(self.rollout.take_discarded())
        changed = self.rollout.take_changed()
        if changed:
            self._tell_ingresses(self.tracker.follow(self.rollout.plans))
            self._detours.follow_tables(changed)
        self._left_alone -= changed
        self.switches.want(sorted(changed - self._unfit - set(self._checks.waiting)))
