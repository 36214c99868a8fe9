"""The Ryu application: keeps the tables of all switches as the plan requires, while links, switches and plans change.

Runs under `ryu-manager --config-file FILE kuijia_app.controller` and under `kuijia controller`. Its options are in the
section [kuijia] of the configuration file. On SIGHUP it reads the plan file again and replaces the plan in force; on
SIGUSR1 it withdraws a plan that some ingress does not follow yet.
`docs/controller.md` describes how it behaves; pure modules make the decisions.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from kuijia_app.control.control import Control, ControlSettings
from kuijia_app.control.controller_metrics import ControllerMetrics
from kuijia_app.control.identity import are_identical
from kuijia_app.control.loss_watch import GRAY_LOSS, gray_loss_of
from kuijia_app.control.pair import Beat
from kuijia_app.control.peer_messages import Decoder, encoded
from kuijia_app.control.plan_checks import Missing
from kuijia_app.control.plan_source import PlanReading, PlanSource
from kuijia_app.control.reoptimisation import Reoptimisation
from kuijia_app.control.rollout import DEFAULT_DRAIN, Stages, Version
from kuijia_app.control.switch_application import OUTLETS, PEER_OPTIONS, SwitchApplication, port_status_of, tls_files
from kuijia_app.framework.ending import refuse_to_start
from kuijia_app.framework.event_log import REOPTIMISED
from kuijia_app.framework.guarded_app import background
from kuijia_app.framework.seam import (
    FRAMEWORK,
    Event,
    EventBase,
    apart,
    cfg,
    handler,
    native_threading,
    ofp_event,
    ofproto,
    on,
    on_own,
)
from kuijia_app.gate.server import stand_before
from kuijia_app.preparation.runner import Databases
from kuijia_app.preparation.session_ports import SessionPorts
from kuijia_app.preparation.sessions import DEFAULT_INTERVAL_MS, require_possible_interval
from kuijia_app.tables.identifiers import COOKIE, LINK_PROBE_COOKIE, NEIGHBOUR_COOKIE
from kuijia_app.tables.options import Liveness, OptionWords, PipelineOptions, member_option, pipeline_options
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import SwitchTables
from kuijia_app.tables.wiring import Neighbours
from kuijia_base.errors import InputError, KuijiaError, TestbedError
from te_solver.model.plan import Plan

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
    cfg.StrOpt("other_traffic", default=_WORDS.other_traffic, help="packets between sites without a planned pair"),
    cfg.StrOpt("neighbours", default=_WORDS.neighbours, help="sites where hosts are learned: wiring, static, learned"),
    cfg.FloatOpt("drain", default=DEFAULT_DRAIN, help="seconds to keep the paths of a replaced plan"),
    cfg.BoolOpt(
        "reoptimise", default=False, help="after a failure, solve for the remaining network and apply that plan"
    ),
    cfg.StrOpt("ovsdb", help="database of the switches, to add ports for BFD sessions: unix:PATH, tcp: or ssl:"),
    cfg.IntOpt("bfd_interval", default=DEFAULT_INTERVAL_MS, help="ms between two packets of such a session"),
    cfg.StrOpt(
        "missing", default=Missing.REFUSE.value, help="plans for which switches lack something: refuse, warn or ignore"
    ),
    cfg.StrOpt("gray_loss", default=GRAY_LOSS, help="share of lost packets above which a tunnel is avoided, or off"),
    cfg.IntOpt(
        "host_mtu", help="bytes of the largest IP packet of hosts; learned hosts get an ICMP error for larger ones"
    ),
    cfg.StrOpt("tls_bind", help="file that binds certificates to datapath ids"),
    *OUTLETS,
    *PEER_OPTIONS,
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

_AGREED = ("scheme", "slots", "tagging", "pipeline", "liveness", "other_traffic")
"""Options of which peers must have the same; those that name files may differ."""

PORTS_WITHIN = 5.0
"""Seconds that switches get to report ports that were made for them."""

TICK = 0.05
"""Seconds between two looks at the clock."""


class Tick(EventBase):  # type: ignore[misc]  # the base class is one of two untyped ones
    """Time has passed.

    Attributes:
        plan: the plan that was read from the plan file or solved again meanwhile, if any.
        then: action that had to wait until a plan was written to a file, or for this thread.
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
    part = "controller"
    _metrics: ControllerMetrics

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        options = cfg.CONF[OPTION_GROUP]
        try:
            words = {name: getattr(options, name) for name in vars(_WORDS)}
            self._options = pipeline_options(OptionWords(**words))
            self._agreed = {name: words[name] for name in _AGREED}
            if self._options.neighbours is not Neighbours.WIRING:  # a peer of an earlier version does not have it
                self._agreed["neighbours"] = words["neighbours"]
            missing = member_option(Missing, "missing", options.missing)
            gray_loss = gray_loss_of(options.gray_loss)
            if options.reoptimise and self._options.liveness is Liveness.BFD and not options.ovsdb:
                problem = "with liveness bfd, nothing makes ports for sessions over new paths"
                raise InputError(f"[{OPTION_GROUP}]", "reoptimise", problem, "the option ovsdb")
            # A plan that replaces one after a failure may overload what is left, and is in the file after a restart.
            overload = Missing.WARN if options.reoptimise and missing is Missing.REFUSE else missing
            self._source = PlanSource(_plan_file(), self._tables_of, overload)
            first = self._source.first()
            self._log_problems()
            self._session_ports = _session_ports(options, self._options, first.plan)
            self._made = self._pruned = first.plan
            self._metrics = ControllerMetrics(time.monotonic)
            self._open_outlets(OPTION_GROUP)
            packets = {LINK_PROBE_COOKIE, NEIGHBOUR_COOKIE}
            stand_before(self, self._is_known, options.tls_bind, packets_of=packets, removals_of=COOKIE)
            self._listen_to_peers(options)
        except (KuijiaError, ValueError) as error:
            refuse_to_start(error, str(options.plan))
        settings = ControlSettings(self._options, options.drain, missing, options.host_mtu, gray_loss, FRAMEWORK)
        self._control = Control(self._runtime, self, self._source, self._metrics, first, settings)
        self.switches, self.roles = self._control.switches, self._control.roles
        self._join_peers(options)
        self._reoptimisation = Reoptimisation(options.reoptimise, apart)
        self._has_files = Event()
        self._decoder, self._decoding = Decoder(self._tables_of, first.plan, self._agreed), native_threading.Lock()

    def start(self) -> None:
        """Register signal handlers and start; either framework calls this in the main thread."""
        signal.signal(signal.SIGHUP, lambda _number, _frame: self._source.ask())
        signal.signal(signal.SIGUSR1, lambda _number, _frame: self._source.ask_to_withdraw())
        super().start()

    def _tables_of(self, plan: Plan) -> dict[str, SwitchTables]:
        return build_tables(plan, self._options)

    def _answered(self) -> None:
        self._control.follow_rollout()

    def _decoded(self, line: bytes) -> Callable[[], None]:
        with self._decoding:
            beat, stages = self._decoder.decoded(line)
        if stages is not None:
            for version in filter(None, stages.versions):
                self._control.tracker.learn(version.plan)
        return partial(self._control.heard_peer, beat, stages)

    def send_to_peers(self, beat: Beat, stages: Stages | None) -> None:
        def message(before: Sequence[object] | None) -> tuple[bytes, Sequence[object] | None]:
            if stages is None:
                return encoded(beat, None, self._agreed), None
            is_known = before is not None and are_identical(before, stages.versions)
            return encoded(beat, None if is_known else stages, self._agreed), stages.versions

        self._send_line(message)

    @background
    def _watch_clock(self) -> None:
        self._tell_time(TICK, Tick)

    @background
    def _make_plans(self) -> None:
        # Reading a plan, building its tables and writing plan files take seconds, so they do not block the event loop.
        has_supplied = False
        while self.is_active:
            if self._control.roles.acts and not has_supplied:
                has_supplied = True
                self._supply_sessions(self._control.rollout.in_force.plan)
            self._has_files.wait(TICK)
            self._has_files.clear()
            for then in self._filed():
                self.send_event(self.name, Tick(then=then))
            made = self._made_plan()
            if made is not None:
                self.send_event(self.name, Tick(made))
            self._remove_sessions()

    def _filed(self) -> Iterator[Callable[[], object]]:
        """Write plans to files; yield the action that has waited for each of them."""
        for put, then in self._control.progress.take_files():
            if put is not None:
                apart(put)
            self._log_problems()
            yield then

    def _log_problems(self) -> None:
        while self._source.problems:
            self.logger.warning("%s", self._source.problems.pop(0))

    def _made_plan(self) -> PlanReading | None:
        if not self._source.is_asked and not self._reoptimisation.is_on:
            return None
        made = apart(lambda: self._source.read_if_asked(self._control.rollout)) or self._solved_anew()
        if made is not None and isinstance(made.found, Version):
            plan = made.found.plan
            error = self._supply_sessions(plan)
            if error is not None:
                return replace(made, found=error)
            apart(lambda: self._control.tracker.learn(plan))
        return made

    def _supply_sessions(self, plan: Plan) -> TestbedError | None:
        """Make the ports of a plan's sessions; return the error that prevented it."""
        ports = self._session_ports
        if ports is None or not self._control.roles.acts:
            return None
        self._made = plan
        try:
            apart(lambda: ports.supply(plan))
        except TestbedError as error:
            self.logger.warning("ports of BFD sessions: %s", error)
            return error
        deadline = time.monotonic() + PORTS_WITHIN
        while any(self._control.needs.missing_session_ports(plan, self._runtime.now())) and time.monotonic() < deadline:
            time.sleep(TICK)
        return None

    def _remove_sessions(self) -> None:
        """Remove ports of sessions once a plan is the only one on the switches."""
        ports, rollout = self._session_ports, self._control.rollout
        plan = rollout.in_force.plan
        if ports is None or plan is self._pruned or not (self._control.roles.acts and rollout.is_settled):
            return
        self._pruned = plan
        try:
            apart(lambda: ports.remove_unused(plan, self._made))
        except TestbedError as error:
            self.logger.warning("ports of BFD sessions that no plan has are not removed: %s", error)

    def _solved_anew(self) -> PlanReading | None:
        if not self._control.roles.acts:
            return None  # the one that acts solves, and hands its plan over
        rollout = self._control.rollout
        found = self._reoptimisation.look(
            rollout.in_force.plan, self._control.failed_edges, self._runtime.now(), is_free=rollout.is_settled
        )
        if found is None:
            return None
        self._metrics.solved(self._reoptimisation.seconds)
        return apart(lambda: self._source.prepared(REOPTIMISED, found, rollout))

    def ask_again(self, reading: PlanReading) -> None:
        if reading.name == REOPTIMISED:
            self._reoptimisation.ask()
        else:
            self._source.ask_again(reading)

    def files_wait(self) -> None:
        self._has_files.set()

    @on_own(Tick)
    def time_passed(self, event: Tick) -> None:
        self._tick_handled()
        self._take_in_peers()
        self._control.time_passed(event.plan, event.then)

    @on(ofp_event.EventOFPPortStatus, handler.MAIN_DISPATCHER)
    def port_status(self, event: Any) -> None:
        state, is_there = port_status_of(event)
        self._control.port_status(event.msg.datapath, state, is_there=is_there)

    @on(ofp_event.EventOFPErrorMsg, handler.CONFIG_DISPATCHER, handler.MAIN_DISPATCHER)
    def switch_answered_with_an_error(self, event: Any) -> None:
        connection = self.switches.connection(event.msg.datapath)
        if connection is not None:
            connection.error(event.msg)
            self._control.follow_rollout()


def _session_ports(options: Any, tables: PipelineOptions, plan: Plan) -> SessionPorts | None:  # oslo's
    """Return what makes the ports of BFD sessions, None without a database or such sessions; raises InputError."""
    if not options.ovsdb or tables.liveness is not Liveness.BFD:
        return None
    require_possible_interval(options.bfd_interval)
    own = {} if tables.wiring is None else tables.wiring.databases
    databases = Databases(options.ovsdb, own, tls_files())
    return SessionPorts(databases, tables, tables.wired(plan.topology), options.bfd_interval)


def _plan_file() -> Path:
    path = cfg.CONF[OPTION_GROUP].plan
    if not path:
        raise InputError(f"[{OPTION_GROUP}]", "plan", "not set", "the path of a plan file")
    return Path(path)
