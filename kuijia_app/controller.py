"""The Ryu application: keeps the tables of all switches as the plan requires, while links, switches and plans change.

Runs under `ryu-manager --config-file FILE kuijia_app.controller` and under `kuijia controller`. Its options are in the
section [kuijia] of the configuration file. On SIGHUP it reads the plan file again and replaces the plan in force; on
SIGUSR1 it withdraws a plan that some ingress does not follow yet.
`docs/controller.md` describes all of its behaviour; pure modules make the decisions.
"""

from __future__ import annotations

import signal
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from kuijia_app.control.controller_metrics import ControllerMetrics
from kuijia_app.control.flap_damping import Lasting
from kuijia_app.control.liveness import LivenessChange, LivenessTracker
from kuijia_app.control.plan_source import WITHDRAWN, PlanReading, PlanSource
from kuijia_app.control.reoptimisation import Reoptimisation
from kuijia_app.control.roles import misfit
from kuijia_app.control.rollout import DEFAULT_DRAIN, Progress, Rollout, Version
from kuijia_app.control.switch_application import SwitchApplication
from kuijia_app.control.switch_connection import ReadBack, SwitchConnection
from kuijia_app.framework import event_log
from kuijia_app.framework.ending import refuse_to_start
from kuijia_app.framework.guarded_app import background
from kuijia_app.framework.seam import FRAMEWORK, Event, EventBase, apart, cfg, handler, ofp_event, ofproto, on, on_own
from kuijia_app.gate.server import stand_before
from kuijia_app.tables.failover import emptied_liveness_group
from kuijia_app.tables.identifiers import path_id_of_liveness_group
from kuijia_app.tables.options import Liveness, OptionWords, pipeline_options
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import Group, SwitchTables
from kuijia_base.errors import InputError, KuijiaError
from te_solver.plan import Plan

OPTION_GROUP = "kuijia"
_WORDS = OptionWords()
OPTIONS = [
    cfg.StrOpt("plan", help="the plan file to install"),
    cfg.StrOpt("scheme", default=_WORDS.scheme),
    cfg.IntOpt("slots", default=_WORDS.slots, help="hash slots per pair and class"),
    cfg.StrOpt("layout", default=_WORDS.layout, help="the queues of a port: a name or a YAML file"),
    cfg.StrOpt("tagging", default=_WORDS.tagging),
    cfg.StrOpt("pipeline", default=_WORDS.pipeline),
    cfg.StrOpt("liveness", default=_WORDS.liveness),
    cfg.StrOpt("wiring", default=_WORDS.wiring, help="file with the numbers of switches and ports"),
    cfg.StrOpt("events", help="file to which events are appended as JSON lines"),
    cfg.FloatOpt("drain", default=DEFAULT_DRAIN, help="seconds for which the paths of a replaced plan are kept"),
    cfg.BoolOpt("reoptimise", default=False, help="after a failure, solve for the remaining network, and apply it"),
    cfg.StrOpt("tls_bind", help="file that binds certificates to datapath ids"),
    cfg.StrOpt("metrics", help="[ADDRESS:]PORT where metrics are served"),
]
cfg.CONF.register_opts(OPTIONS, group=OPTION_GROUP)

ECHO_INTERVAL = 1.0
"""Seconds between two echo requests to a switch."""

UNANSWERED_ECHOES = 10
"""Echo requests that may be unanswered; one more ends the connection. A busy switch may be late with a few."""

# Without echo requests a switch that hangs is never given up. Under os-ken this holds even for one that has gone: its
# thread that waits for something to send does not see that the connection has been closed.
cfg.CONF.set_default("echo_request_interval", ECHO_INTERVAL)
cfg.CONF.set_default("maximum_unreplied_echo_requests", UNANSWERED_ECHOES)

TICK = 0.05
"""Seconds between two looks at the clock."""

BFD_SETTLE = 3.5
"""Seconds that BFD sessions over new paths get to come up before traffic uses these paths: three packets must arrive,
and until then their ends send one a second (RFC 5880, 6.8.3)."""

REOPTIMISED = "reoptimised"
"""Name of an update to a plan that was solved anew; names of updates by plan files have only hexadecimal digits."""

UNNOTICED = 0.2
"""Seconds after which a first link that is down only at its far end counts as a failure that the ingress cannot see."""


class Tick(EventBase):  # type: ignore[misc]  # the base class is one of two untyped ones
    """Time has passed.

    Attributes:
        plan: the plan that was read from the plan file or solved anew meanwhile, if any.
        then: action that had to wait until a plan was written to a file.
    """

    def __init__(self, plan: PlanReading | None = None, then: Callable[[], object] | None = None) -> None:
        super().__init__()
        self.plan = plan
        self.then = then


class KuijiaController(SwitchApplication):
    """Keeps every connected switch at the tables that the rollout wants, and the liveness groups of ingresses right.

    Everything except the clock and the preparation of plans runs in the application's thread, one event after another.
    """

    OFP_VERSIONS = (ofproto.OFP_VERSION,)
    _metrics: ControllerMetrics

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        options = cfg.CONF[OPTION_GROUP]
        try:
            words = {name: getattr(options, name) for name in vars(_WORDS)}
            self._options = pipeline_options(OptionWords(**words))
            if options.reoptimise and self._options.liveness is Liveness.BFD:
                expected = "liveness controller: nothing creates ports for the sessions over new paths"
                raise InputError(f"[{OPTION_GROUP}]", "reoptimise", "does not go with liveness bfd", expected)
            self._source = PlanSource(_plan_file(), self._tables_of)
            first = self._source.first()
            self._metrics = ControllerMetrics(time.monotonic)
            self._log = event_log.EventLog(Path(options.events) if options.events else None, self._metrics.heard)
            self._serve_metrics(options.metrics)
            stand_before(self, self._is_known, options.tls_bind)
        except (KuijiaError, ValueError) as error:
            refuse_to_start(error, str(options.plan))
        uses_bfd = self._options.liveness is Liveness.BFD
        self._tells_ingresses = not uses_bfd
        self._rollout = Rollout(first, options.drain, BFD_SETTLE if uses_bfd else 0.0)
        for switch in first.plan.topology.nodes:
            self._rollout.left(switch)
        self._wiring = self._options.wired(first.plan.topology)
        self._tracker = LivenessTracker(first.plan, self._wiring)
        self._metrics.expect(first.plan.topology.nodes)
        self._metrics.follow(FRAMEWORK, self._options.liveness.value, self._rollout, self._tracker)
        self._unnoticed: Lasting[tuple[str, int]] = Lasting(UNNOTICED)
        self._reoptimisation = Reoptimisation(options.reoptimise, apart)
        self._failed_edges = self._tracker.failed_edges
        self._unfiled: list[str] = []
        self._files: deque[tuple[Callable[[], None] | None, Callable[[], object]]] = deque()
        self._has_files = Event()
        self._live_ports: dict[str, dict[int, bool]] = {}
        self._had: dict[str, SwitchTables] = {}
        self._refused: dict[str, SwitchTables] = {}
        self._left_alone: set[str] = set()
        self._unfit: set[str] = set()

    def start(self) -> None:
        """Register signal handlers and start; either framework calls this in the main thread."""
        signal.signal(signal.SIGHUP, lambda _number, _frame: self._source.ask())
        signal.signal(signal.SIGUSR1, lambda _number, _frame: self._source.ask_to_withdraw())
        super().start()

    @background
    def _watch_clock(self) -> None:
        self._tell_time(TICK, Tick)

    @background
    def _make_plans(self) -> None:
        # Reading a plan, building its tables and writing plan files take seconds, so they do not block the event loop.
        while self.is_active:
            self._has_files.wait(TICK)
            self._has_files.clear()
            for then in self._filed():
                self.send_event(self.name, Tick(then=then))
            made = self._made_plan()
            if made is not None:
                self.send_event(self.name, Tick(made))

    def _filed(self) -> Iterator[Callable[[], object]]:
        """Write plans to files; yield the action that has waited for each of them."""
        while self._files:
            put, then = self._files.popleft()
            if put is not None:
                apart(put)
            while self._source.problems:
                self.logger.warning("%s", self._source.problems.pop(0))
            yield then

    def _made_plan(self) -> PlanReading | None:
        if not self._source.is_asked and not self._reoptimisation.is_on:
            return None
        made = apart(lambda: self._source.read_if_asked(self._rollout)) or self._solved_anew()
        if made is not None and isinstance(made.found, Version):
            plan = made.found.plan
            apart(lambda: self._tracker.learn(plan))
        return made

    def _solved_anew(self) -> PlanReading | None:
        rollout = self._rollout
        found = self._reoptimisation.look(
            rollout.in_force.plan, self._failed_edges, time.monotonic(), is_free=rollout.is_settled
        )
        if found is None:
            return None
        self._metrics.solved(self._reoptimisation.seconds)
        return apart(lambda: self._source.prepared(REOPTIMISED, found, rollout))

    @on_own(Tick)
    def time_passed(self, event: Tick) -> None:
        self._tick_handled()
        now = time.monotonic()
        for switch, port in self._damping.released(now):
            self._port_changed(switch, port, live=True)
        unnoticed = self._unnoticed.observed(self._tracker.first_links_down_beyond, now)
        self._tell_ingresses(self._tracker.first_links_unnoticed(unnoticed))
        self._failed_edges = self._tracker.failed_edges
        self._drop_silent(now)
        if event.then is not None:
            event.then()
        if self._source.take_withdrawal():
            self._note(self._rollout.refused(), WITHDRAWN)
        if event.plan is not None:
            self._replace_plan(event.plan, now)
        self._note(self._rollout.passed(now))
        self._follow_rollout()

    @on(ofp_event.EventOFPPortStatus, handler.MAIN_DISPATCHER)
    def port_status(self, event: Any) -> None:
        changed = self._changed_port(event)
        if changed is None:
            return
        switch, port, live = changed
        was_held = self._damping.is_held((switch, port))
        self._note_port(switch, port, live=live, is_damped=was_held)
        believed = self._damping.observed((switch, port), time.monotonic(), live=live)
        if self._damping.is_held((switch, port)) and not was_held:
            self._log.write(event_log.PORT_DAMPED, switch=switch, port=port)
            self.logger.warning("port %d of switch %s flaps: treated as down until it calms down", port, switch)
        self._port_changed(switch, port, live=believed)

    @on(ofp_event.EventOFPErrorMsg, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def switch_answered_with_an_error(self, event: Any) -> None:
        connection = self._connection(event.msg.datapath)
        if connection is not None:
            connection.error(event.msg)
            self._follow_rollout()

    def _wanted(self, switch: str) -> SwitchTables:
        return self._rollout.wanted(switch)

    def _begun(self, switch: str) -> None:
        self._refused.pop(switch, None)
        self._left_alone.discard(switch)
        self._unfit.discard(switch)
        self._had.pop(switch, None)

    def _ended(self, switch: str) -> None:
        self._note(self._rollout.left(switch))

    def _answered(self) -> None:
        self._follow_rollout()

    def _switch_read(self, switch: str, has: ReadBack) -> None:
        connection = self._connections[switch]
        problem = misfit(self._wiring, switch, has.ports, is_ours=bool(has.tables.flows))
        if problem is not None:
            self._unfit.add(switch)
            times = self._reports.occurred((event_log.SWITCH_UNFIT, switch), time.monotonic())
            if times is not None:
                self._log.write(event_log.SWITCH_UNFIT, switch=switch, problem=problem, times=times)
                self.logger.error("switch %s %s: not programmed (%d times)", switch, problem, times)
            return
        known = (
            tuple(group for group in has.tables.groups.values() if group is not None),
            tuple(entry for entry in has.tables.flows.values() if entry is not None),
        )
        self._had.setdefault(switch, SwitchTables(*known))
        if self._tells_ingresses:
            self._tell_ingresses(self._tracker.found_dead(switch, has.emptied))
        for path_id in self._tracker.dead_path_ids(switch):
            self._tell(connection, LivenessChange(switch, path_id, alive=False))
        is_refused = self._is_refused(switch)
        self._live_ports[switch] = self._believed_ports(switch, has.ports)
        # Tunnels should avoid a switch that refuses its tables.
        described = {} if is_refused else self._live_ports[switch]
        self._tell_ingresses(self._tracker.ports_described(switch, described))
        if switch in self._left_alone:
            return
        connection.want(self._had[switch] if is_refused else self._rollout.wanted(switch))

    def _is_refused(self, switch: str) -> bool:
        """Return True if the switch has refused exactly the tables that are still wanted."""
        return self._refused.get(switch) is self._rollout.wanted(switch)

    def _switch_done(self, switch: str, tables: SwitchTables) -> None:
        if self._is_refused(switch):
            return
        self._had[switch] = tables
        if tables is not self._rollout.wanted(switch):
            return  # others are wanted by now, and nobody has waited for these
        if self._refused.pop(switch, None) is not None:
            self._tell_ingresses(self._tracker.ports_described(switch, self._live_ports[switch]))
        self._log.write(event_log.SWITCH_READY, switch=switch, framework=FRAMEWORK)
        self.logger.info("switch %s is programmed", switch)
        self._note(self._rollout.acknowledged(switch, time.monotonic()))

    def _group_done(self, switch: str, group: Group) -> None:
        path_id = path_id_of_liveness_group(group.group_id)
        if path_id is not None and self._tells_ingresses:
            alive = bool(group.buckets)
            self._log.write(event_log.TUNNEL_LIVENESS, ingress=switch, path_id=path_id, alive=alive)

    def _switch_refused(self, switch: str, tables: SwitchTables | None, reason: str) -> None:
        self._note_refusal(event_log.SWITCH_ERROR, switch, reason)
        if self._is_refused(switch):
            # It refuses even what it had: there is no point in going on.
            self._left_alone.add(switch)
            return
        if tables is None or tables is not self._rollout.wanted(switch):
            return  # others are wanted by now, which it is given once it has been read again
        given_up = self._rollout.refused()
        if given_up:
            self._note(given_up, f"switch {switch} refused it: {reason}")
        else:
            # It keeps what it had, and tunnels avoid it.
            self._refused[switch] = tables
            self._log.write(event_log.SWITCH_REFUSED, switch=switch, error=reason)

    def _port_changed(self, switch: str, port: int, *, live: bool) -> None:
        self._live_ports.setdefault(switch, {})[port] = live
        if switch not in self._refused:
            self._tell_ingresses(self._tracker.port_changed(switch, port, live=live))

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

    def _tell(self, connection: SwitchConnection, change: LivenessChange) -> None:
        group = emptied_liveness_group(change.path_id)
        if self._tells_ingresses:
            self._metrics.told(change.ingress, change.path_id)
            connection.want_instead(group.group_id, None if change.alive else group)

    def _tables_of(self, plan: Plan) -> dict[str, SwitchTables]:
        return build_tables(plan, self._options)

    def _replace_plan(self, reading: PlanReading, now: float) -> None:
        """Begin to roll out the plan that was read; events report its outcome by its name."""
        if not reading.is_current(self._rollout) and not self._source.is_withdrawn(reading):
            (self._reoptimisation if reading.name == REOPTIMISED else self._source).ask()
            return
        self._log.write(event_log.UPDATE_STARTED, update=reading.name)
        try:
            version = self._source.version_of(reading)
            given_up = self._rollout.propose(version, now)
        except (KuijiaError, ValueError) as error:
            self._note([Progress(reading.name, "refused")], str(error))
            return
        # An update of the same name, to the same plan, goes on as this one.
        others = [each for each in given_up if each.name != version.name]
        self._note(others, "another plan came before it was in force")
        self._unfiled.append(version.name)
        self._after_files(partial(self._source.begun, version, self._rollout.in_force.plan), self._unfiled.pop)
        self._tell_ingresses(self._tracker.follow(self._rollout.plans))

    def _after_files(self, put: Callable[[], None] | None, then: Callable[[], object]) -> None:
        """Schedule the writing of plans to files, and an action after it; in the order of calls."""
        self._files.append((put, then))
        self._has_files.set()

    def _note(self, progress: Iterable[Progress], reason: str = "") -> None:
        in_force = self._rollout.in_force
        for each in progress:
            # Files come before the event: whoever reads the event may look at the plan file at once.
            put: Callable[[], None] | None = None
            if each.state == "refused":
                put = partial(self._source.refused, each.name, in_force.plan)
            elif each.name == in_force.name:
                put = partial(self._source.live, in_force)
            self._after_files(put, partial(self._tell_progress, each, reason))

    def _tell_progress(self, progress: Progress, reason: str) -> None:
        events = {"live": event_log.UPDATE_LIVE, "done": event_log.UPDATE_DONE, "refused": event_log.UPDATE_REFUSED}
        name, state = progress.name, progress.state
        if state == "refused":
            self._log.write(events[state], update=name, reason=reason)
            self.logger.error("the new plan is given up, the old one stays in force: %s", reason)
        else:
            self._log.write(events[state], update=name)
            self.logger.info("plan %s is %s", name, "in force" if state == "live" else "fully rolled out")

    def _follow_rollout(self) -> None:
        if self._unfiled:
            return  # a restarted controller must find the plan in the files that the switches follow
        self._sliced_work.add(self._rollout.take_discarded())
        changed = self._rollout.take_changed()
        if changed:
            self._tell_ingresses(self._tracker.follow(self._rollout.plans))
        self._left_alone -= changed
        self._want(changed - self._unfit)


def _plan_file() -> Path:
    path = cfg.CONF[OPTION_GROUP].plan
    if not path:
        raise InputError(f"[{OPTION_GROUP}]", "plan", "not set", "the path of a plan file")
    return Path(path)
