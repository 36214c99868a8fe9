"""Keeps the tables of all switches as the plan in force requires; pure: events, plans and time are passed in.

`kuijia_app.controller` connects it to a framework, a rehearsal to simulated switches and a simulated clock.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kuijia_app.control import link_probes, port_states
from kuijia_app.control.controller_metrics import ControllerMetrics
from kuijia_app.control.findings import FindingKey, FindingKind, SwitchFinding
from kuijia_app.control.flap_damping import Lasting
from kuijia_app.control.identity import are_identical
from kuijia_app.control.last_resorts import LastResorts, detours
from kuijia_app.control.liveness import Link, LivenessChange, LivenessTracker, Port, Tunnel
from kuijia_app.control.loss_watch import DEFAULT_LIMIT, LossWatch
from kuijia_app.control.network_log import TunnelStates
from kuijia_app.control.pair import Beat
from kuijia_app.control.pair_keeper import PairKeeper
from kuijia_app.control.peer_plans import PeerPlans
from kuijia_app.control.plan_checks import QUEUE_KINDS, Missing, PlanChecks, summary
from kuijia_app.control.plan_source import OVERTAKEN, WITHDRAWN, PlanReading, PlanSource
from kuijia_app.control.port_states import PortState
from kuijia_app.control.probe_frames import ProbeForm
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.restoration import Layer, News, Restoration, RestorationState, Situation
from kuijia_app.control.roles import misfit
from kuijia_app.control.rollout import Rollout, RolloutProgress, Stages, Version
from kuijia_app.control.second_chances import SecondChances
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.control.switch_connection import ReadBack, SwitchConnection
from kuijia_app.control.table_watch import CHANGED_MEANWHILE, TablesVerdict
from kuijia_app.control.tunnel_counters import TunnelCounters
from kuijia_app.control.usable_ports import UsablePorts
from kuijia_app.framework import event_log
from kuijia_app.framework.switch_limits import repeated
from kuijia_app.tables.failover import emptied_liveness_group
from kuijia_app.tables.identifiers import is_own_group, path_id_of_liveness_group
from kuijia_app.tables.needs import HOST_MTU, SwitchNeeds, needs_of, port_use, session_ports
from kuijia_app.tables.neighbours import segments_of
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.other_traffic import drop_entry
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import Group, SwitchTables
from kuijia_base.errors import KuijiaError, UnsoundError
from te_solver.model.plan import Plan

STANDS_BY = "this controller stands by: replace the plan of the one that acts"

OTHER_PLAN = "the controller that acts has another plan"

BFD_SETTLE = 3.5
"""Seconds that BFD sessions over new paths get to come up before traffic uses these paths: three packets must arrive,
and until then their ends send one a second (RFC 5880, 6.8.3)."""

PROBED_EVERY = 0.1
"""Seconds between two looks at which probes of links, and questions to hosts, are due."""

LOOK = 0.25
"""Seconds between two looks at all that may be wrong with switches."""

_CHECKED_KINDS = frozenset((*port_states.KINDS, *link_probes.KINDS, *QUEUE_KINDS))

UNNOTICED = 0.2
"""Seconds after which a first link that is down only at its far end counts as a failure that the ingress cannot see."""


class PlanKeeper(PairKeeper):
    """Keeps every connected switch at the tables that the rollout wants, and the liveness groups of ingresses right.

    Call `_keep` before any event.

    Attributes:
        framework: name of the framework, for events.
    """

    framework = "none"
    _source: PlanSource
    _metrics: ControllerMetrics
    _is_withheld = False

    def _keep(
        self,
        first: Version,
        options: PipelineOptions,
        drain: float,
        missing: Missing = Missing.IGNORE,
        host_mtu: int = HOST_MTU,
        gray_loss: float | None = DEFAULT_LIMIT,
    ) -> None:
        """Begin with the plan of the file.

        `missing` and `host_mtu` are options on what switches may lack, `gray_loss` is as of `LossWatch`.
        """
        self._options = options
        uses_bfd = options.liveness is Liveness.BFD
        self._tells_ingresses = not uses_bfd
        self._changes_groups = uses_bfd or options.scheme.renormalises
        self._rollout = Rollout(first, drain, BFD_SETTLE if uses_bfd else 0.0)
        for switch in first.plan.topology.nodes:
            self._rollout.left(switch)
        self._serve(options.wired(first.plan.topology))
        self._tracker = LivenessTracker(first.plan, self._wiring)
        self._metrics.expect(first.plan.topology.nodes)
        self._restoration = Restoration(self._wiring, options, self._rollout.plans)
        self._metrics.follow(self.framework, options.liveness.value, self._rollout, self._tracker, self._restoration)
        self._situation = Situation(frozenset(), frozenset(), frozenset(), is_complete=False)
        self._situation_at = self._tracker.revision
        self._unnoticed: Lasting[Link] = Lasting(UNNOTICED)
        self._failed_edges = self._tracker.failed_edges
        self._read_plans: deque[PlanReading] = deque()
        self._unfiled: list[str] = []
        self._files: deque[tuple[Callable[[], None] | None, Callable[[], object]]] = deque()
        self._had: dict[str, SwitchTables] = {}
        self._refused: dict[str, SwitchTables] = {}
        self._programmed: set[str] = set()
        self._usable_ports = UsablePorts()
        self._loss_watch = LossWatch(gray_loss)
        self._counted: tuple[Version, ...] = ()
        self._avoided: frozenset[Tunnel] = frozenset()
        self._detours: dict[str, dict[int, Group]] = {}
        self._last_resorts = LastResorts(options)
        self._are_last_resorts_due = False
        self._left_alone: set[str] = set()
        self._second_chances = SecondChances()
        self._held_progress: list[RolloutProgress] = []
        self._peer_plans = PeerPlans()
        self._adopted: Stages | None = None
        self._followed: str | None = None
        self._unfit: set[str] = set()
        self._host_mtu = host_mtu
        self._checked_plans: tuple[Plan, ...] = ()
        self._checks = PlanChecks(missing, {})
        self._follow_needs()
        self._kept_empty: set[str] = set()
        self._begin_probing()
        self._next_look = self._next_probe = 0.0
        unfinished = self._source.unfinished(self._rollout)
        if unfinished is not None:
            self._rollout.resume(Stages(first, unfinished))
            self._tracker.follow(self._rollout.plans)
            self._log.write(event_log.UPDATE_STARTED, update=unfinished.name)
        while self._source.problems:
            self.logger.warning("%s", self._source.problems.pop(0))

    @abstractmethod
    def _ask_again(self, reading: PlanReading) -> None:
        """Request that a plan is read or solved again, as others came into use meanwhile."""

    @abstractmethod
    def _files_wait(self) -> None:
        """Note that there are plans to be written to files."""

    def _take_files(self) -> Iterator[tuple[Callable[[], None] | None, Callable[[], object]]]:
        """Yield each plan to be written, and the action that waits for it; another thread may call this."""
        while self._files:
            yield self._files.popleft()

    def _time_passed(self, plan: PlanReading | None = None, then: Callable[[], object] | None = None) -> None:
        """Look at the clock, after a plan was read or written to a file, or not."""
        now = self._now()
        self._tend_pair(now)
        self._follow_peers(now)
        self._ports_changed(dict.fromkeys(self._damping.released(now), True))
        unnoticed = self._unnoticed.observed(self._tracker.links_down_beyond, now)
        self._tell_ingresses(self._tracker.links_unnoticed(unnoticed))
        self._failed_edges = self._tracker.failed_edges
        self._drop_silent(now)
        self._check_switches(now)
        self._compare_counters(now)
        self._watch_tables(now)
        self._tell_held_progress()
        self._report_findings(now)
        self._report_network(now)
        for switch in self._second_chances.due(now):
            self._left_alone.discard(switch)
            self._connections[switch].want(self._rollout.wanted(switch))
        if then is not None:
            then()
        if self._source.take_withdrawal() and self._acts:
            self._note(self._rollout.refused(), WITHDRAWN)
        if plan is not None:
            self._read_plans.append(plan)
        while self._read_plans and not self._hands_over:  # the next one must hear of an update before it acts
            self._replace_plan(self._read_plans.popleft(), now)
        if self._acts:
            self._note(self._rollout.passed(now))
            self._follow_rollout()

    def _ports_told(self, switch: str, ports: Mapping[int, PortState]) -> None:
        counted = self._usable_ports.told(switch, self._believed_ports(switch, ports))
        self._tracker.ports_described(switch, counted, self._doubted_ports())

    def _begin_probing(self) -> None:
        """Probe all links, or none if nothing is asked for, and be the gateway of hosts that are to be learned."""
        self._learn_hosts(segments_of(self._wiring))
        form = ProbeForm(self._options.tagging, self._options.layout.control)
        sizes = {
            (switch, port.number): port.mtu
            for switch, needs in self._checks.needs.items()
            for port in needs.ports.values()
            if not port.is_host and self._checks.missing is not Missing.IGNORE
        }
        self._probe_links(form, sizes)

    def _needs_of(self, plan: Plan) -> dict[str, SwitchNeeds]:
        return needs_of(plan, self._options, self._wiring, self._host_mtu)

    def _follow_needs(self) -> None:
        """Compare switches with the needs of all plans in use from now on."""
        plans = self._rollout.plans
        if are_identical(plans, self._checked_plans):
            return
        self._checked_plans = plans
        each = [self._needs_of(plan) for plan in plans]
        self._checks.needs = {
            switch: replace(
                needs,
                ports={number: port for one in each for number, port in one[switch].ports.items()},
                sessions=tuple({s: None for one in each for s in one[switch].sessions}),
            )
            for switch, needs in each[0].items()
        }

    def _ports_of(self, switch: str) -> Collection[int]:
        return {*self._wiring.ports(switch), *session_ports(self._checks.needs[switch])}

    def _check_switches(self, now: float) -> None:
        """Probe links, state what is wrong, and put the plan on switches that lack nothing any more."""
        if now >= self._next_probe:
            self._next_probe = now + PROBED_EVERY
            if self._acts:
                self._prober.tend()
                self._gateway.tend()
            lossy = self._links_not_carrying() if self._acts else frozenset()
            self._tell_ingresses(self._tracker.links_lossy(lossy))
        if not self._acts or now < self._next_look:
            return
        self._next_look = now + LOOK
        self._follow_needs()
        for switch in filter(self._port_states.has_described, self._connections):
            self._state_findings(switch, now)
        lacks = [finding for finding in self._findings.lacks if finding.key.switch in self._connections]
        for switch in self._checks.admitted(now, lacks, self._are_links_judged):
            self._give_wanted(switch)
        self._tell_withheld(summary(lacks) if lacks and not self._checks.is_admitted else "")

    def _tell_withheld(self, reason: str) -> None:
        """Log that the plan is put on no switch, or on switches from now on, if that is news."""
        if bool(reason) != self._is_withheld:
            words = "the plan is put on no switch: %s" if reason else "the plan is put on switches%s"
            self.logger.warning(words, reason)
        self._is_withheld = bool(reason)

    def _are_links_judged(self, switch: str) -> bool:
        return self._prober.probes.is_judged(switch, self._prober.may_probe)

    def _give_wanted(self, switch: str) -> None:
        """Bring a switch that has been read to the tables of the plan, which it may have."""
        self._kept_empty.discard(switch)
        self._connections[switch].want(self._rollout.wanted(switch))

    def _state_findings(self, switch: str, now: float) -> None:
        """State all that is wrong with a switch's ports, links and queues."""
        needs, states = self._checks.needs[switch], self._port_states
        uses = {port.number: port_use(port.leads_to, is_host=port.is_host) for port in needs.ports.values()}
        found = [
            *states.findings(switch, uses, session_ports(needs), now),
            *self._prober.probes.findings(switch),
            *self._checks.findings(switch, partial(self._has_port, switch)),
        ]
        kinds = _CHECKED_KINDS if self._checks.knows_queues(switch) else _CHECKED_KINDS.difference(QUEUE_KINDS)
        self._findings.exactly(kinds, switch, found, now)

    def _snapshot_taken(self, snapshot: Snapshot) -> None:
        super()._snapshot_taken(snapshot)
        if self._checks.missing is not Missing.IGNORE:
            self._checks.queues_counted(snapshot)
        if self._wiring.has_host(snapshot.switch):
            drops = [FlowKey.of(drop_entry(port)) for port in self._wiring.host_ports(snapshot.switch)]
            counted = {each: snapshot.packets[each] for each in drops if each in snapshot.packets}
            self._metrics.dropped(snapshot.switch, counted)
        judging = self._loss_watch.taken(snapshot, self._now(), self._tracker.broken)
        if judging is not None:
            self._sliced_work.add(self._avoiding_lossy(judging))

    def _send_to_peers(self, beat: Beat, stages: Stages | None) -> None:
        """Send peers a sign of life, and the plans in use if they have changed."""

    def _heard_peer(self, beat: Beat, stages: Stages | None) -> None:
        """Take in a peer's sign of life, and the plans of one that acts."""
        if self._pair is None or beat.process == self._process:
            return
        now = self._now()
        self._heard_beat(beat)
        self._peer_plans.heard(beat, stages, now)
        self._follow_peers(now)  # before the next look at the clock, which may bring a takeover

    def _follow_peers(self, now: float) -> None:
        """Adopt the plans of the peer that acts, unless this controller does."""
        if self._pair is None or self._acts:
            return
        followed = self._peer_plans.followed(now, partial(self._pair.may_lead, now=now))
        if followed is None:
            return
        process, stages = followed
        if self._adopted is not None and are_identical(self._adopted.versions, stages.versions):
            return
        self._adopted = stages
        goes_on, self._followed = process == self._followed, process
        self._rollout.resume(stages)
        self._rollout.take_changed()
        self._tracker.follow(self._rollout.plans)
        given_up: list[str] = []
        self._after_files(
            lambda: given_up.extend(self._source.adopted(stages, goes_on=goes_on)),
            partial(self._tell_given_up, given_up),
        )

    def _tell_given_up(self, names: Iterable[str]) -> None:
        for name in names:
            self._tell_progress(RolloutProgress(name, "refused"), OTHER_PLAN)

    def _send_beat(self, beat: Beat) -> None:
        self._send_to_peers(beat, self._rollout.stages if beat.is_acting else None)

    def _taken_over(self) -> None:
        self._adopted = self._followed = None
        self._restoration.forget()
        self._checks.begin_anew()
        self._follow_needs()

    def _left_to_peer(self, switch: str) -> None:
        self._left_to_other(switch)
        self._restoration.forget()
        self._tracker.carried(frozenset())
        self._ports_released(switch)  # the one that acts tells ingresses

    def _left_to_other(self, switch: str) -> None:
        self._begun(switch)
        self._note(self._rollout.left(switch))

    def _port_status(self, switch: str, port: int, *, live: bool) -> None:
        """Take in that a port of the network went down or came up."""
        was_held = self._damping.is_held((switch, port))
        self._note_port(switch, port, live=live, is_damped=was_held)
        believed = self._damping.observed((switch, port), self._now(), live=live)
        if self._damping.is_held((switch, port)) and not was_held:
            self._log.write(event_log.PORT_DAMPED, switch=switch, port=port)
            self.logger.warning("port %d of switch %s flaps: treated as down until it calms down", port, switch)
        self._ports_changed({(switch, port): believed})

    def _changed_port(
        self,
        datapath: Any,  # noqa: ANN401  # inherited
        state: PortState,
        *,
        is_there: bool,
    ) -> tuple[str, bool] | None:
        changed = super()._changed_port(datapath, state, is_there=is_there)
        if changed is not None and changed[0] in self._unfit and is_there:
            self._unfit.discard(changed[0])  # perhaps it has all its ports now
            self._connections[changed[0]].read_again()
        return changed

    def _tunnel_states(self) -> TunnelStates:
        tracker = self._tracker
        return TunnelStates(tracker.broken, tracker.failed_edges, tracker.route)

    def _wanted(self, switch: str) -> SwitchTables:
        return self._rollout.wanted(switch)

    def _begun(self, switch: str) -> None:
        self._wrong_tables.discard(switch)
        self._usable_ports.began(switch)
        self._checks.left(switch)
        self._kept_empty.discard(switch)
        self._forget_probes(switch)
        self._refused.pop(switch, None)
        self._left_alone.discard(switch)
        self._unfit.discard(switch)
        self._had.pop(switch, None)
        self._second_chances.forget(switch)

    def _ended(self, switch: str) -> None:
        self._checks.left(switch)
        self._kept_empty.discard(switch)
        self._prober.probes.left(switch)
        self._second_chances.forget(switch)
        self._note(self._rollout.left(switch))

    def _answered(self) -> None:
        self._follow_rollout()

    def _switch_read(self, switch: str, has: ReadBack) -> None:
        connection = self._connections[switch]
        believed = self._believed_ports(switch, has.ports)
        self._probe_anew(switch)
        self._gateway.read(switch)
        problem = misfit(self._wiring, switch, has.ports, is_ours=bool(has.tables.flows))
        if problem is not None:
            self._unfit.add(switch)
            times = self._reports.occurred((event_log.SWITCH_UNFIT, switch), self._now())
            if times is not None:
                self._log.write(event_log.SWITCH_UNFIT, switch=switch, problem=problem, times=times)
                self.logger.error("switch %s %s: not programmed%s", switch, problem, repeated(times))
            return
        known = (
            tuple(group for group in has.tables.groups.values() if group is not None),
            tuple(entry for entry in has.tables.flows.values() if entry is not None),
        )
        self._had.setdefault(switch, SwitchTables(*known))
        self._restoration.found(switch, has.tables)
        self._put_on_top(connection, self._restoration.told_anew(switch, self._rollout.wanted(switch)))
        if self._tells_ingresses:
            self._tell_ingresses(self._tracker.found_dead(switch, has.emptied))
        for path_id in self._tracker.dead_path_ids(switch):
            self._tell(connection, LivenessChange(switch, path_id, alive=False))
        self._take_detour(switch)
        if self._changes_groups:
            self._last_resorts.forget(switch)
            self._order_last_resorts(switch)
        is_refused = self._is_refused(switch)
        has_lost_all = switch in self._programmed and not known[1]
        if has_lost_all:
            self._rollout.lost(switch)
        may_have = self._checks.read(switch, self._now())
        is_left = is_refused or self._table_watch.is_resting(switch)
        self._kept_empty.discard(switch)
        if not (may_have or known[1]):
            self._kept_empty.add(switch)
        is_late = self._checks.is_admitted and switch in self._kept_empty  # others have the plan already
        lacks_tables = is_left or has_lost_all or is_late
        counted = self._usable_ports.read(switch, believed, lacks_tables=lacks_tables)
        self._tell_ingresses(self._tracker.ports_described(switch, counted, self._doubted_ports()))
        if switch in self._left_alone:
            return
        keeps = (is_refused and not self._second_chances.has_one(switch)) or not may_have
        connection.want(self._had[switch] if keeps else self._rollout.wanted(switch))

    def _owns_group(self, group_id: int) -> bool:
        return is_own_group(group_id)

    def _put_tables_right(self, switch: str) -> None:
        self._left_alone.discard(switch)
        super()._put_tables_right(switch)

    def _leave_tables(self, switch: str) -> None:
        self._left_alone.add(switch)
        super()._put_tables_right(switch)  # to avoid its ports

    def _compare_counters(self, now: float) -> None:
        """Begin to compare the counters of all switches, if it is time for that."""
        if self._acts and self._loss_watch.is_due(now, self._table_watch.period):
            self._count_followed()
            judging = self._begin_round(self._loss_watch, now, self._tracker.broken)
            self._sliced_work.add(self._avoiding_lossy(judging))
        elif self._avoided != self._tracker.avoided:
            self._take_detours()

    def _count_followed(self) -> None:
        """Watch the tunnels of all plans in use for losses."""
        versions = tuple(each for each in self._rollout.stages.versions if each is not None)
        if not are_identical(versions, self._counted):
            self._counted = versions
            self._sliced_work.add(self._counting(versions))

    def _counting(self, versions: tuple[Version, ...]) -> Iterator[None]:
        counters = TunnelCounters()
        for version in versions:
            yield from counters.adding(version.plan, self._options, version.indexed)
        if versions is self._counted:
            self._loss_watch.follow(counters)

    def _avoiding_lossy(self, judging: Iterator[None]) -> Iterator[None]:
        yield from judging
        if self._acts:  # else a peer has taken over meanwhile
            self._avoid_lossy(self._now())

    def _avoid_lossy(self, now: float) -> None:
        """Avoid the tunnels that lose packets, and use those again that are to be tried."""
        self._tell_ingresses(self._tracker.tunnels_lossy(self._loss_watch.shares))
        self._take_detours()
        self._state_losses(self._loss_watch, now)

    def _take_detours(self) -> None:
        """Lead traffic past tunnels that have begun to lose packets, and no longer past those that have ceased to."""
        changed, self._avoided = self._avoided ^ self._tracker.avoided, self._tracker.avoided
        if self._tells_ingresses:
            return
        for ingress in sorted({ingress for ingress, _ in changed} & self._connections.keys()):
            self._take_detour(ingress)
            self._connections[ingress].proceed()
        for ingress, path_id in sorted(changed):
            alive = (ingress, path_id) not in self._avoided
            self._log.write(event_log.TUNNEL_LIVENESS, ingress=ingress, path_id=path_id, alive=alive)

    def _take_detour(self, ingress: str) -> None:
        """Lead an ingress's traffic past dead and lossy tunnels if it detects the liveness of tunnels itself."""
        if self._tells_ingresses:
            return
        connection, groups = self._connections[ingress], self._rollout.wanted(ingress).groups
        avoided = self._tracker.dead_path_ids(ingress)
        changed = {each.group_id: each for each in detours(groups, avoided)} if avoided else {}
        for group_id in sorted(self._detours.get(ingress, {}).keys() - changed.keys()):
            connection.want_instead(group_id, None)
        for group_id, group in changed.items():
            connection.want_instead(group_id, group)
        self._detours[ingress] = changed

    def _is_refused(self, switch: str) -> bool:
        """Return True if the switch has refused exactly the tables that are still wanted."""
        return self._refused.get(switch) is self._rollout.wanted(switch)

    def _switch_done(self, switch: str, tables: SwitchTables) -> None:
        if self._is_refused(switch) and not self._second_chances.has_one(switch):
            return
        self._had[switch] = tables
        if tables is not self._rollout.wanted(switch):
            return  # others are wanted by now, and nobody has waited for these
        self._second_chances.forget(switch)
        self._refused.pop(switch, None)
        self._programmed.add(switch)
        lacks = [finding for finding in self._findings.lacks if finding.key.switch == switch]
        self._log.write(event_log.SWITCH_READY, switch=switch, framework=self.framework, lacks=len(lacks))
        self._network_log.programmed(switch)
        self._tell_ingresses(self._ports_released(switch))  # which may change its groups again
        self._loss_watch.mended(switch, self._now())
        self._note(self._rollout.acknowledged(switch, self._now()))

    def _group_done(self, switch: str, group: Group) -> None:
        path_id = path_id_of_liveness_group(group.group_id)
        if path_id is not None and self._tells_ingresses:
            alive = bool(group.buckets)
            self._log.write(event_log.TUNNEL_LIVENESS, ingress=switch, path_id=path_id, alive=alive)

    def _switch_refused(self, switch: str, tables: SwitchTables | None, reason: str) -> None:
        self._note_refusal(event_log.SWITCH_ERROR, switch, reason)
        if tables is None:
            self._restoration.refused(switch, self._now())
        if reason in CHANGED_MEANWHILE and not self._is_refused(switch):
            verdict = self._table_watch.wrong(switch, self._now())
            if verdict is TablesVerdict.REST:
                self._left_alone.add(switch)
            if verdict is not TablesVerdict.NOTHING:
                return  # it is read again, and given what it lacks
        if self._is_refused(switch):
            if not self._second_chances.has_one(switch):
                # It refuses even what it had: there is no point in going on for now.
                self._left_alone.add(switch)
            self._second_chances.refused(switch, self._now())
            return
        if tables is None or tables is not self._rollout.wanted(switch):
            return  # others are wanted by now, which it is given once it has been read again
        given_up = self._rollout.refused(drains=False)
        if given_up:
            self._note(given_up, f"switch {switch} refused it: {reason}")
        else:
            # It keeps what it had, and tunnels avoid it.
            self._refused[switch] = tables
            self._second_chances.refused(switch, self._now())
            self._log.write(event_log.SWITCH_REFUSED, switch=switch, error=reason)

    def _ports_changed(self, live_by_port: Mapping[Port, bool]) -> None:
        counted = self._usable_ports.changed(live_by_port)
        self._tell_ingresses(self._tracker.ports_changed(counted, self._doubted_ports()))

    def _ports_released(self, switch: str) -> Iterable[LivenessChange]:
        """Use the ports of a switch that counted as down for its tables; return the changes."""
        ports = self._usable_ports.released(switch)
        return () if ports is None else self._tracker.ports_described(switch, ports, self._doubted_ports())

    def _doubted_ports(self) -> frozenset[Port]:
        """Return the ports that are up but count as down: they flap, or their switch lacks its tables."""
        return self._damping.doubted() | self._usable_ports.doubted

    def _tell_ingresses(self, changes: Iterable[LivenessChange]) -> None:
        """Fill or empty liveness groups; an ingress that has not been read yet gets its changes afterwards."""
        by_ingress: defaultdict[str, list[LivenessChange]] = defaultdict(list)
        for change in changes:
            by_ingress[change.ingress].append(change)
        for ingress, its_changes in by_ingress.items():
            connection = self._connections.get(ingress)
            if connection is None:
                continue
            for change in its_changes:
                self._tell(connection, change)
            connection.proceed()  # once for all changes, or the third would wait for the answer to the first
        self._restore()

    def _restore(self) -> None:
        """Carry pairs without a live tunnel over other paths, as far as switches have answered."""
        restoration, tracker = self._restoration, self._tracker
        restoration.follow(self._rollout.plans)
        if self._situation_at != tracker.revision:
            self._situation_at, failed = tracker.revision, tracker.failed_edges
            stranded = tracker.stranded() | restoration.others_stranded(failed)
            self._situation = Situation(stranded, failed, tracker.doubted_edges, is_complete=tracker.knows_all)
            if self._acts and self._changes_groups and not self._are_last_resorts_due:
                self._are_last_resorts_due = True
                self._sliced_work.add(self._ordering_last_resorts())
        situation, wanted = self._situation, self._rollout.wanted
        if not self._acts or (restoration.is_idle and not situation.stranded):
            return
        usable = {name: each for name, each in self._connections.items() if name not in self._kept_empty}
        for switch, layer in restoration.update(situation, usable, wanted, self._now()).items():
            self._put_on_top(self._connections[switch], layer)
            self._connections[switch].proceed()
        for news in restoration.news(situation):
            self._tell_restored(news)
        changes = self._tracker.carried(restoration.trusted(situation))
        if changes:
            self._tell_ingresses(changes)

    def _put_on_top(self, connection: SwitchConnection, layer: Layer) -> None:
        connection.want_besides(layer.entries)
        below = self._last_resorts.told(connection.switch)
        for group_id, group in layer.groups.items():
            connection.want_instead(group_id, group or below.get(group_id))

    def _ordering_last_resorts(self) -> Iterator[None]:
        """Lead last resorts and traffic past dead tunnels where ingresses detect the liveness of tunnels themselves.

        They may be slow to: a BFD session that has just come up detects a failure after seconds (RFC 5880, 6.8.3).
        """
        self._are_last_resorts_due = False
        yield from self._last_resorts.following(self._rollout.plans)
        detoured = {ingress for ingress, groups in self._detours.items() if groups}
        ingresses = {ingress for ingress, _ in self._tracker.broken} | self._last_resorts.switches | detoured
        for ingress in sorted(ingresses & self._connections.keys()):
            if self._acts and ingress in self._connections:  # still
                self._take_detour(ingress)
                self._order_last_resorts(ingress)
                self._connections[ingress].proceed()
            yield

    def _order_last_resorts(self, ingress: str) -> None:
        connection, wanted = self._connections[ingress], self._rollout.wanted(ingress)
        above = self._restoration.told(ingress).groups
        for group_id, group in self._last_resorts.update(ingress, self._tracker.broken, wanted.group_of).items():
            if group_id not in above:
                connection.want_instead(group_id, group)

    def _tell_restored(self, news: News) -> None:
        (ingress, egress), path = news.ends, "-".join(news.path)
        details = {"ingress": ingress, "egress": egress, "path": list(news.path)}
        self._log.write(event_log.RESTORATION, state=news.state.value, **details)
        key = FindingKey(FindingKind.PAIR_CUT_OFF, ingress, detail=egress)
        if news.state is RestorationState.CUT_OFF:
            text = f"packets to {egress} are lost: no tunnel is alive, and no other links connect it"
            self._findings.found(SwitchFinding(key, text, "mend a link"), self._now())
        elif news.state is RestorationState.UNTAGGED:
            text = f"packets to {egress} are lost: no tunnel is alive, and no tag is left for another path"
            self._findings.found(SwitchFinding(key, text, "mend a link, or use MPLS tags"), self._now())
        else:
            self._findings.gone(key, self._now())
        if news.state is RestorationState.CARRIED:
            self.logger.warning("pair %s>%s has no live tunnel: carried over %s", ingress, egress, path)
        elif news.state is RestorationState.ENDED:
            self.logger.info("pair %s>%s has a live tunnel again", ingress, egress)

    def _tell(self, connection: SwitchConnection, change: LivenessChange) -> None:
        group = emptied_liveness_group(change.path_id)
        if self._tells_ingresses:
            self._metrics.told(change.ingress, change.path_id)
            connection.want_instead(group.group_id, None if change.alive else group)

    def _tables_of(self, plan: Plan) -> dict[str, SwitchTables]:
        return build_tables(plan, self._options)

    def _replace_plan(self, reading: PlanReading, now: float) -> None:
        """Begin to roll out the plan that was read; events report its outcome by its name."""
        for name in reading.overtaken:
            self._log.write(event_log.UPDATE_STARTED, update=name)
            self._note([RolloutProgress(name, "refused")], OVERTAKEN)
        if not reading.is_current(self._rollout) and not self._source.is_withdrawn(reading):
            self._ask_again(replace(reading, overtaken=()))
            return
        self._log.write(event_log.UPDATE_STARTED, update=reading.name)
        if not self._acts:
            self._note([RolloutProgress(reading.name, "refused")], STANDS_BY)
            return
        try:
            version = self._source.version_of(reading)
            given_up: list[RolloutProgress] = []
            if not self._rollout.goes_on_with(version):
                self._require_nothing_missing(version.plan, now)
                given_up = self._rollout.propose(version, now)
        except (KuijiaError, ValueError) as error:
            self._note([RolloutProgress(reading.name, "refused")], str(error))
            return
        # An update of the same name, to the same plan, goes on as this one.
        others = [each for each in given_up if each.name != version.name]
        self._note(others, OVERTAKEN)
        self._unfiled.append(version.name)
        for switch in self._connections:
            self._table_watch.soon(switch, now)
        self._after_files(partial(self._source.begun, version, self._rollout.in_force.plan), self._unfiled.pop)
        self._tell_ingresses(self._tracker.follow(self._rollout.plans))
        self._tell_peers()  # at once: one that takes over would delete what it does not know

    def _require_nothing_missing(self, plan: Plan, now: float) -> None:
        """Raise UnsoundError if a plan that shall replace the one in force lacks something, and such are refused."""
        if self._checks.missing is not Missing.REFUSE:
            return
        lacks = list(self._findings.lacks)
        if not lacks:
            lacks += [*self._missing_session_ports(plan, now), *self._missing_queues(plan)]
        if lacks:
            raise UnsoundError((), summary(lacks), "switches that lack nothing, or --missing warn")

    def _missing_session_ports(self, plan: Plan, now: float) -> Iterator[SwitchFinding]:
        """Yield the ports of a plan's sessions that connected switches have not described."""
        for switch, needs in self._needs_of(plan).items():
            yield from self._port_states.findings(switch, {}, session_ports(needs), now)

    def _missing_queues(self, plan: Plan) -> Iterator[SwitchFinding]:
        """Yield the queues that connected switches lack for a plan."""
        for switch, needs in self._needs_of(plan).items():
            yield from self._checks.queue_lacks(needs, partial(self._has_port, switch))

    def _has_port(self, switch: str, port: int) -> bool:
        return self._port_states.state(switch, port) is not None

    def _after_files(self, put: Callable[[], None] | None, then: Callable[[], object]) -> None:
        """Schedule the writing of plans to files, and an action after it; in the order of calls."""
        self._files.append((put, then))
        self._files_wait()

    def _note(self, progress: Iterable[RolloutProgress], reason: str = "") -> None:
        in_force = self._rollout.in_force
        for each in progress:
            # Files come before the event: whoever reads the event may look at the plan file at once.
            put: Callable[[], None] | None = None
            if each.state == "refused":
                put = partial(self._source.refused, each.name, in_force.plan)
            elif each.name == in_force.name:
                put = partial(self._source.live, in_force)
            self._after_files(put, partial(self._tell_progress, each, reason))

    def _tell_held_progress(self) -> None:
        """Report what has waited for tables to be put right."""
        if self._held_progress and not self._wrong_tables:
            held, self._held_progress = self._held_progress, []
            for progress in held:
                self._tell_progress(progress, "")

    def _tell_progress(self, progress: RolloutProgress, reason: str) -> None:
        if progress.state == "refused":
            self._held_progress = [each for each in self._held_progress if each.name != progress.name]
        elif self._wrong_tables or self._held_progress:
            self._held_progress.append(progress)  # a plan is not in force while a switch does not have it
            return
        events = {"live": event_log.UPDATE_LIVE, "done": event_log.UPDATE_DONE, "refused": event_log.UPDATE_REFUSED}
        name, state = progress.name, progress.state
        if state == "refused":
            self._log.write(events[state], update=name, reason=reason)
            self.logger.error("the new plan is given up, the old one stays in force: %s", reason)
        else:
            self._log.write(events[state], update=name)
            self.logger.info("plan %s is %s", name, "in force" if state == "live" else "fully rolled out")

    def _follow_rollout(self) -> None:
        self._put_in_force()
        self._restore()

    def _put_in_force(self) -> None:
        if self._unfiled or not self._acts:
            return  # a restarted controller must find the plan in the files that the switches follow
        self._sliced_work.add(self._rollout.take_discarded())
        changed = self._rollout.take_changed()
        if changed:
            self._tell_ingresses(self._tracker.follow(self._rollout.plans))
            for ingress in sorted(self._detours.keys() & changed & self._connections.keys()):
                self._take_detour(ingress)
            for ingress in sorted(self._last_resorts.switches & changed & self._connections.keys()):
                self._order_last_resorts(ingress)
        self._left_alone -= changed
        self._want(sorted(changed - self._unfit - set(self._checks.waiting)))
