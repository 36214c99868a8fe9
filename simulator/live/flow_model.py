"""A plan in the fluid model, steered while its clock runs, under several schemes side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kuijia_app.control.plan_update import renumber
from kuijia_base.errors import InputError, KuijiaError, quoted
from kuijia_base.quantities import counted, rate
from kuijia_base.suggestion import meant
from kuijia_base.text import link_id, link_words
from simulator.live.fluid import Effect, ExtraFlow, FluidNetwork, link_states
from simulator.live.states import ClockState, LiveJournal, LogKind, QueueInfo, SimulatedClock, View
from te_solver.model.failures import Failure
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.programs.resolve import WarmThroughput
from te_solver.schemes.all_schemes import failure_scheme, scheme_names
from te_solver.schemes.making import make_scheme

SCHEMES = ("kuijia", "rescaling")
REQUEST = "request"
"""Source of errors about what a model is asked to do."""

_MOST_EXTRA_FLOWS = 100


@dataclass(frozen=True)
class FlowSituation:
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


class LiveFlowModel:
    """A network in the fluid model; its clock runs in real time unless it is set otherwise.

    Args:
        plan: the plan in force at first.
        schemes: failure schemes to show side by side.
        elastic: True if traffic adapts to its share, as TCP does; else it loses its excess.
        wall: gives the seconds that pass.
    """

    faults: tuple[str, ...] = ()

    def __init__(
        self,
        plan: Plan,
        schemes: Sequence[str] = SCHEMES,
        *,
        elastic: bool = True,
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        self.first, self._elastic = plan, elastic
        self._clock, self.journal = SimulatedClock(wall), LiveJournal()
        self._changing = threading.Lock()
        self._flows_started = 0
        require_schemes(schemes, plan)
        network: FluidNetwork | None = FluidNetwork(plan, elastic=elastic)
        none: frozenset[str] = frozenset()
        self.situation = FlowSituation(network, plan.topology, none, none, (), tuple(schemes))
        _ = self.situation.views

    @property
    def seconds(self) -> float:
        return self._clock.now()

    @property
    def clock(self) -> ClockState:
        return self._clock.state

    @property
    def views(self) -> tuple[View, ...]:
        self.end_flows()
        return self.situation.views

    @property
    def queues(self) -> tuple[QueueInfo, ...]:
        network = self.situation.network
        return network.queues if network else ()

    @property
    def plan(self) -> Plan | None:
        network = self.situation.network
        return network.plan if network else None

    @property
    def schemes_available(self) -> tuple[str, ...]:
        return tuple(name for name in scheme_names() if _fits(name, self.plan or self.first))

    def close(self) -> None:
        pass

    def set_clock(self, speed: float | None, paused: bool | None) -> None:  # noqa: FBT001  # None leaves it
        self._clock.set(speed, paused)

    def withdraw(self) -> None:
        with self._changing:
            self._become(replace(self.situation, network=None, extras=()))
            self._note("plan", "the plan is withdrawn: no tunnel carries traffic")

    def switch_link(self, name: str, *, up: bool) -> None:
        with self._changing:
            now = self.situation
            known = [link_id(*edge) for edge in now.topology.edges]
            self._become(replace(now, down=_switched(now.down, "link", name, known, up=up)))
            words = f"link {link_words(name)} is {'up again' if up else 'down'}"
            self._note("heal" if up else "cut", words, link=name)
            self._tell_effects()

    def switch_node(self, name: str, *, up: bool) -> None:
        with self._changing:
            now = self.situation
            self._become(replace(now, nodes_down=_switched(now.nodes_down, "node", name, now.topology.nodes, up=up)))
            self._note("node-up" if up else "node-down", f"node {name} is {'up again' if up else 'down'}", node=name)
            self._tell_effects()

    def put_in_force(self, plan: Plan) -> None:
        with self._changing:
            now = self.situation
            if plan.topology != now.topology:  # which may have been drawn meanwhile
                raise KuijiaError(f"the network is now {now.topology.name}")
            if now.network is not None:
                plan = renumber(plan, now.network.plan)
            require_schemes(now.schemes, plan)
            network = FluidNetwork(plan, elastic=self._elastic)
            # Flows in addition to the demands keep their pair; their hash leads to its heaviest tunnel.
            extras = [
                (replace(flow, tunnel=columns[0]), end)
                for flow, end in now.extras
                if (columns := network.tunnels_of(flow.source, flow.target, flow.priority))
            ]
            self._become(replace(now, network=network, extras=tuple(extras)))
            words = f"{counted(len(plan.pairs), 'pair')}, {counted(len(plan.tunnels), 'tunnel')}"
            self._note("plan", f"a new plan is in force: {words}, {rate(plan.allocated)} of {rate(plan.demand)}")

    def start_over(self, plan: Plan) -> None:
        """Show another network, that of a plan, with nothing down; the clock keeps running."""
        with self._changing:
            schemes, none = self.situation.schemes, frozenset[str]()
            require_schemes(schemes, plan)
            network = FluidNetwork(plan, elastic=self._elastic)
            self._become(FlowSituation(network, plan.topology, none, none, (), schemes))
            self.first = plan
            nodes, links = len(plan.topology.nodes), len(plan.topology.edges)
            words = f"{counted(nodes, 'node')}, {counted(links, 'link')}, {rate(plan.allocated)} of {rate(plan.demand)}"
            self._note("plan", f"another network: {plan.topology.name}, {words}")

    def start(self, source: str, target: str, priority: int, rate_: float, kind: str, seconds: float) -> str:
        """Start a flow next to those of the demands, of the kind `udp` or `tcp`, and return its id."""
        with self._changing:
            now = self.situation
            if now.network is None:
                raise KuijiaError("no plan is in force")
            columns = now.network.tunnels_of(source, target, priority)
            if not columns:
                pair = f"{quoted(source)} to {quoted(target)}"
                raise InputError(REQUEST, "source", f"no tunnel of class {priority} from {pair}", "a planned pair")
            if len(now.extras) >= _MOST_EXTRA_FLOWS:
                raise KuijiaError(f"{_MOST_EXTRA_FLOWS} flows are running: stop one before")
            self._flows_started += 1
            name = f"x{self._flows_started}"
            flow = ExtraFlow(name, source, target, priority, rate_, kind == "tcp", columns[0])
            self._become(replace(now, extras=(*now.extras, (flow, self.seconds + seconds))))
            words = f"{kind} flow {name} from {source} to {target} starts, {rate(rate_)}"
            self._note("flow", words, flow=name)
        return name

    def stop(self, name: str) -> None:
        with self._changing:
            now = self.situation
            left = tuple(each for each in now.extras if each[0].id != name)
            if len(left) == len(now.extras):
                raise InputError(REQUEST, "id", f"no flow {quoted(name)}", "one that was started and has not ended")
            self._become(replace(now, extras=left))
            self._note("flow", f"flow {name} is stopped", flow=name)

    def end_flows(self) -> None:
        """End the flows whose time has passed."""
        if any(end <= self.seconds for _, end in self.situation.extras):
            with self._changing:
                now, time_now = self.situation, self.seconds
                self._become(replace(now, extras=tuple(each for each in now.extras if each[1] > time_now)))
                for flow, end in now.extras:
                    if end <= time_now:
                        self.journal.note(end, "flow", f"flow {flow.id} has ended", flow=flow.id)

    def choose(self, schemes: Sequence[str]) -> None:
        with self._changing:
            now = self.situation
            require_schemes(schemes, self.plan or self.first)
            self._become(replace(now, schemes=tuple(schemes)))
            self._note("scheme", f"shown: {' and '.join(schemes)}")

    def _become(self, situation: FlowSituation) -> None:
        """Compute the views of a changed situation, and only then let it hold."""
        _ = situation.views
        self.situation = situation

    def _note(self, kind: LogKind, text: str, view: str | None = None, **subject: str) -> None:
        self.journal.note(self.seconds, kind, text, view, **subject)

    def _tell_effects(self) -> None:
        """Note for each scheme what the failures of now do to the traffic."""
        for each in self.situation.effects:
            dead = counted(len(each.view.tunnels_dead), "tunnel")
            words = (
                f"{dead} dead, {rate(each.victims)} of victims lose {rate(each.victims_lose)}, "
                f"other traffic loses {rate(each.others_lose)}"
                if each.view.tunnels_dead
                else "all tunnels are alive"
            )
            self._note("group", words, each.view.scheme)


def _switched(down: frozenset[str], what: str, name: str, known: Collection[str], *, up: bool) -> frozenset[str]:
    """Return the names of what is down once one thing is cut or restored."""
    if name not in known:
        raise InputError(REQUEST, "name", f"no {what} {quoted(name)}{meant(name, known)}", f"a {what} of the network")
    after = down - {name} if up else down | {name}
    if after == down:
        raise KuijiaError(f"{what} {name} is {'up' if up else 'down'} already")
    return after


def require_schemes(schemes: Sequence[str], plan: Plan, source: str = REQUEST) -> None:
    """Raise InputError unless these are different schemes that fit a plan."""
    place = "schemes" if source == REQUEST else ""
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
