"""The backend over the fluid model: needs no lab, no root and no Linux, and shows several schemes side by side."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kuijia_app.control.plan_update import renumber
from kuijia_app.tables.options import PipelineOptions
from kuijia_base.errors import InputError, KuijiaError, UnsoundError, key_path, quoted
from kuijia_base.quantities import counted, rate
from kuijia_base.suggestion import meant
from kuijia_base.text import link_id, link_words
from te_solver.formats.plan_file import plan_to_json
from te_solver.model.demands import Demand
from te_solver.model.failures import Failure
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.programs.resolve import WarmThroughput
from te_solver.schemes.all_schemes import failure_scheme, scheme_names
from te_solver.schemes.making import make_scheme
from testbed.web.backend import (
    KIND_OF,
    Action,
    Description,
    Finding,
    LogEntry,
    LogKind,
    SetClock,
    SetDemands,
    SetLink,
    SetNode,
    SetPlan,
    SetScheme,
    StartFlow,
    State,
    StopFlow,
    View,
    WithdrawPlan,
)
from testbed.web.clock import SimulatedClock
from testbed.web.drawing import cables, node_places, tunnel_infos
from testbed.web.fluid import Effect, ExtraFlow, FluidNetwork, link_states
from testbed.web.verifying import findings, layout_for, sound_plan

_KEPT = 5000


class PageJournal:
    """Numbers entries from 1 on; its methods may be called by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: deque[LogEntry] = deque(maxlen=_KEPT)
        self._seq = 0

    def note(self, time: float, kind: LogKind, text: str, view: str | None = None, **subject: Any) -> None:  # noqa: ANN401  # JSON
        with self._lock:
            self._seq += 1
            self._entries.append(LogEntry(self._seq, round(time, 3), view, kind, text, subject))

    def after(self, seq: int) -> list[LogEntry]:
        with self._lock:
            return [entry for entry in self._entries if entry.seq > seq]


SCHEMES = ("kuijia", "rescaling")
_REQUEST = "request"
_MOST_EXTRA_FLOWS = 100

Solver = Callable[[Topology, Sequence[Demand]], Plan]


@dataclass(frozen=True)
class _Situation:
    """All that determines the views, and the views of it; a change makes another one."""

    network: FluidNetwork | None
    topology: Topology
    down: frozenset[str]
    nodes_down: frozenset[str]
    extras: tuple[tuple[ExtraFlow, float], ...]
    schemes: tuple[str, ...]

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        edges = tuple(edge for edge in self.topology.edges if link_id(*edge) in self.down)
        failure = Failure("now", edges, tuple(node for node in self.topology.nodes if node in self.nodes_down))
        if self.network is None:
            return tuple(_empty(name, self.topology, failure) for name in self.schemes)
        extras = [flow for flow, _ in self.extras]
        solver = WarmThroughput()
        return tuple(self.network.effect(make_scheme(name, solver), failure, extras) for name in self.schemes)

    @cached_property
    def views(self) -> tuple[View, ...]:
        return tuple(each.view for each in self.effects)


class FlowBackend:
    """A network in the fluid model; its clock runs in real time unless told otherwise.

    Args:
        plan: the plan in force at first.
        solve: makes a plan for other demands.
        schemes: failure schemes to show side by side.
        elastic: True if traffic adapts to its share, as TCP does; else it loses its excess.
        wall: gives the seconds that pass.
    """

    def __init__(
        self,
        plan: Plan,
        solve: Solver,
        schemes: Sequence[str] = SCHEMES,
        *,
        elastic: bool = True,
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        self._solve, self._elastic = solve, elastic
        self._clock, self._journal = SimulatedClock(wall), PageJournal()
        self._changing = threading.Lock()
        self._flows_started = 0
        self._first = plan
        require_schemes(schemes, plan)
        network: FluidNetwork | None = FluidNetwork(plan, elastic=elastic)
        none: frozenset[str] = frozenset()
        self._now = _Situation(network, plan.topology, none, none, (), tuple(schemes))
        self._places = node_places(plan.topology, plan.topology.nodes)
        _ = self._now.views
        self._described = network, self._now.schemes, self._description(self._now)

    def describe(self) -> Description:
        now = self._now
        network, schemes, description = self._described
        if network is not now.network or schemes != now.schemes:  # of a large plan it takes a while
            description = self._description(now)
            self._described = now.network, now.schemes, description
        return description

    def _description(self, now: _Situation) -> Description:
        plan = now.network.plan if now.network else None
        sites = {node for pair in (plan or self._first).pairs for node in (pair.source, pair.target)}
        return Description(
            "flow",
            "simulated",
            now.topology.name,
            tuple(dict.fromkeys(KIND_OF.values())),
            now.schemes,
            tuple(replace(place, site=place.name in sites) for place in self._places),
            cables(now.topology),
            now.network.queues if now.network else (),
            tunnel_infos(plan) if plan else (),
            tuple(name for name in scheme_names() if _fits(name, plan or self._first)),
            flows_left_out=now.network.left_out if now.network else 0,
        )

    def state(self) -> State:
        self._end_flows()
        return State(round(self._clock.now(), 3), self._now.views, clock=self._clock.state)

    def events(self, after: int) -> list[LogEntry]:
        return self._journal.after(after)

    def plan(self) -> dict[str, Any] | None:
        network = self._now.network
        return plan_to_json(network.plan) if network else None

    def topology(self) -> dict[str, Any]:
        topology: dict[str, Any] = plan_to_json(self._first)["topology"]
        return topology

    def verify(self, plan: dict[str, Any]) -> list[Finding]:
        return self._findings(sound_plan(plan, self._first))

    def close(self) -> None:
        pass

    def act(self, action: Action) -> dict[str, Any]:
        self._end_flows()
        # Each function takes the type of action that it stands beside.
        doing: dict[type[Action], Callable[[Any], dict[str, Any]]] = {
            SetLink: lambda asked: self._switch_link(asked.id, up=asked.up),
            SetNode: lambda asked: self._switch_node(asked.name, up=asked.up),
            SetDemands: lambda asked: self._replace(self._solved(asked.demands)),
            SetPlan: lambda asked: self._replace(
                replace(sound_plan(asked.plan, self._first), topology=self._first.topology)
            ),
            WithdrawPlan: lambda _: self._withdraw(),
            StartFlow: self._start,
            StopFlow: lambda asked: self._stop(asked.id),
            SetScheme: lambda asked: self._choose(asked.schemes),
            SetClock: self._set_clock,
        }
        return doing[type(action)](action)

    def _set_clock(self, action: SetClock) -> dict[str, Any]:
        if action.time is not None:
            raise InputError(_REQUEST, "time", "a model cannot go to another time", "speed or paused")
        self._clock.set(action.speed, action.paused)
        return {"speed": self._clock.state.speed, "paused": self._clock.state.paused}

    def _withdraw(self) -> dict[str, Any]:
        with self._changing:
            self._become(replace(self._now, network=None, extras=()))
            self._note("plan", "the plan is withdrawn: no tunnel carries traffic")
        return {}

    def _switch_link(self, name: str, *, up: bool) -> dict[str, Any]:
        with self._changing:
            now = self._now
            known = [link_id(*edge) for edge in now.topology.edges]
            self._become(replace(now, down=_switched(now.down, "link", name, known, up=up)))
            words = f"link {link_words(name)} is {'up again' if up else 'down'}"
            self._note("heal" if up else "cut", words, link=name)
            self._tell_effects()
        return {"link": name, "up": up}

    def _switch_node(self, name: str, *, up: bool) -> dict[str, Any]:
        with self._changing:
            now = self._now
            self._become(replace(now, nodes_down=_switched(now.nodes_down, "node", name, now.topology.nodes, up=up)))
            self._note("node-up" if up else "node-down", f"node {name} is {'up again' if up else 'down'}", node=name)
            self._tell_effects()
        return {"node": name, "up": up}

    def _solved(self, rows: Sequence[tuple[str, str, float, int]]) -> Plan:
        """Solve for other demands; nothing waits for it but its request."""
        demands = []
        for at, row in enumerate(rows):
            try:
                demand = Demand(*row)
                demand.require_nodes_of(self._first.topology)
            except UnsoundError as error:
                place = key_path(("demands", at, *error.where))
                raise InputError(_REQUEST, place, error.problem, error.expected) from error
            demands.append(demand)
        try:
            return self._solve(self._first.topology, demands)
        except UnsoundError as error:
            raise InputError(_REQUEST, key_path(error.where), error.problem, error.expected) from error

    def _replace(self, plan: Plan) -> dict[str, Any]:
        with self._changing:
            now = self._now
            if now.network is not None:
                plan = renumber(plan, now.network.plan)
            require_schemes(now.schemes, plan)
            network = FluidNetwork(plan, elastic=self._elastic)
            # Flows beside the demands keep their pair; their hash leads to its heaviest tunnel.
            extras = [
                (replace(flow, tunnel=columns[0]), end)
                for flow, end in now.extras
                if (columns := network.tunnels_of(flow.source, flow.target, flow.priority))
            ]
            self._become(replace(now, network=network, extras=tuple(extras)))
            words = f"{counted(len(plan.pairs), 'pair')}, {counted(len(plan.tunnels), 'tunnel')}"
            self._note("plan", f"a new plan is in force: {words}, {rate(plan.allocated)} of {rate(plan.demand)}")
        return {"pairs": len(plan.pairs), "tunnels": len(plan.tunnels), "allocated": plan.allocated}

    def _start(self, action: StartFlow) -> dict[str, Any]:
        with self._changing:
            now = self._now
            if now.network is None:
                raise KuijiaError("no plan is in force")
            columns = now.network.tunnels_of(action.source, action.target, action.priority)
            if not columns:
                pair = f"{quoted(action.source)} to {quoted(action.target)}"
                raise InputError(
                    _REQUEST, "source", f"no tunnel of class {action.priority} from {pair}", "a planned pair"
                )
            if len(now.extras) >= _MOST_EXTRA_FLOWS:
                raise KuijiaError(f"{_MOST_EXTRA_FLOWS} flows are running: stop one before")
            self._flows_started += 1
            flow = ExtraFlow(
                f"x{self._flows_started}",
                action.source,
                action.target,
                action.priority,
                action.rate,
                action.kind == "tcp",
                columns[0],
            )
            self._become(replace(now, extras=(*now.extras, (flow, self._clock.now() + action.seconds))))
            words = f"{action.kind} flow {flow.id} from {action.source} to {action.target} starts, {rate(action.rate)}"
            self._note("flow", words, flow=flow.id)
        return {"id": flow.id}

    def _stop(self, name: str) -> dict[str, Any]:
        with self._changing:
            now = self._now
            left = tuple(each for each in now.extras if each[0].id != name)
            if len(left) == len(now.extras):
                raise InputError(_REQUEST, "id", f"no flow {quoted(name)}", "one that was started and has not ended")
            self._become(replace(now, extras=left))
            self._note("flow", f"flow {name} is stopped", flow=name)
        return {"id": name}

    def _end_flows(self) -> None:
        """Let flows end whose time has passed."""
        if any(end <= self._clock.now() for _, end in self._now.extras):
            with self._changing:
                now, time_now = self._now, self._clock.now()
                self._become(replace(now, extras=tuple(each for each in now.extras if each[1] > time_now)))
                for flow, end in now.extras:
                    if end <= time_now:
                        self._journal.note(end, "flow", f"flow {flow.id} has ended", flow=flow.id)

    def _choose(self, schemes: Sequence[str]) -> dict[str, Any]:
        with self._changing:
            now = self._now
            require_schemes(schemes, now.network.plan if now.network else self._first)
            self._become(replace(now, schemes=tuple(schemes)))
            self._note("scheme", f"shown: {' and '.join(schemes)}")
        return {"schemes": list(schemes)}

    def _become(self, situation: _Situation) -> None:
        """Compute the views of a changed situation, and only then let it hold."""
        _ = situation.views
        self._now = situation

    def _note(self, kind: Any, text: str, view: str | None = None, **subject: str) -> None:  # noqa: ANN401  # LogKind
        self._journal.note(self._clock.now(), kind, text, view, **subject)

    def _tell_effects(self) -> None:
        """Note for each scheme what the failures of now do to the traffic."""
        for each in self._now.effects:
            dead = counted(len(each.view.tunnels_dead), "tunnel")
            words = (
                f"{dead} dead, {rate(each.victims)} of victims lose {rate(each.victims_lose)}, "
                f"other traffic loses {rate(each.others_lose)}"
                if each.view.tunnels_dead
                else "all tunnels are alive"
            )
            self._note("group", words, each.view.scheme)

    def _findings(self, plan: Plan) -> list[Finding]:
        schemes = [failure_scheme(name) for name in (*self._now.schemes, *SCHEMES)]
        scheme = next(each for each in schemes if each.on_switches)
        return findings(plan, PipelineOptions(scheme, layout=layout_for(plan)))


def _switched(down: frozenset[str], what: str, name: str, known: Collection[str], *, up: bool) -> frozenset[str]:
    """Return the names of what is down once one thing is cut or restored."""
    if name not in known:
        raise InputError(_REQUEST, "name", f"no {what} {quoted(name)}{meant(name, known)}", f"a {what} of the network")
    after = down - {name} if up else down | {name}
    if after == down:
        raise KuijiaError(f"{what} {name} is {'up' if up else 'down'} already")
    return after


def require_schemes(schemes: Sequence[str], plan: Plan, source: str = _REQUEST) -> None:
    """Raise InputError unless these are different schemes that fit a plan."""
    place = "schemes" if source == _REQUEST else ""
    if not schemes or len(set(schemes)) < len(schemes):
        raise InputError(source, place, f"found {', '.join(schemes) or 'none'}", "one or more different ones")
    for name in schemes:
        failure_scheme(name)
        if not _fits(name, plan):
            expected = f"one for plans of the objective {plan.objective}"
            raise InputError(source, place, f"found {name}", expected)


def _fits(scheme: str, plan: Plan) -> bool:
    return make_scheme(scheme).plan_objective in {None, plan.objective}


def _empty(scheme: str, topology: Topology, failure: Failure) -> Effect:
    """Return the view of a network without a plan."""
    nothing = np.zeros((0, len(topology.links)))
    edges = {frozenset(edge) for edge in failure.edges}
    return Effect(View(scheme, link_states(topology, (), nothing, nothing, edges), failure.nodes, (), ()), 0, 0, 0)
