"""The backend over a live model: its state and plan as the server sends them, actions as changes of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from kuijia_app.tables.options import PipelineOptions
from kuijia_base.errors import InputError, UnsoundError, key_path
from simulator.live.flow_model import REQUEST, SCHEMES, LiveFlowModel
from simulator.live.packet_model import LivePacketModel, layout_for
from simulator.live.states import LogEntry
from te_solver.formats.plan_file import plan_to_json, topology_to_json
from te_solver.model.demands import Demand, scaled_to
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.schemes.all_schemes import failure_scheme
from testbed.web.backend import (
    KIND_OF,
    Action,
    Description,
    Finding,
    NodePlace,
    SetClock,
    SetDemands,
    SetLink,
    SetNetwork,
    SetNode,
    SetPlan,
    SetScheme,
    StartFlow,
    State,
    StopFlow,
    WithdrawPlan,
)
from testbed.web.drawing import cables, drawn_topology, node_places, tunnel_infos
from testbed.web.verifying import findings, sound_plan

Solver: TypeAlias = Callable[[Topology, Sequence[Demand]], Plan]


class ModelBackend:
    """A network in the flow model or the packet model.

    Args:
        model: the model.
        solve: makes a plan for other demands or another network.
        largest: Mbit/s of the largest link, to which another network is scaled; None leaves it as it is.
    """

    def __init__(self, model: LiveFlowModel | LivePacketModel, solve: Solver, largest: float | None = None) -> None:
        self._model, self._solve, self._largest = model, solve, largest
        self._flow = model.flow if isinstance(model, LivePacketModel) else model
        now = self._flow.situation
        self._placed = now.topology, node_places(now.topology, now.topology.nodes)
        self._described = now.network, now.schemes, self._description()

    def describe(self) -> Description:
        now = self._flow.situation
        network, schemes, description = self._described
        if network is not now.network or schemes != now.schemes:  # of a large plan it takes a while
            description = self._description()
            self._described = now.network, now.schemes, description
        return replace(description, queues=self._model.queues)

    @property
    def _first(self) -> Plan:
        return self._flow.first

    def _places(self, topology: Topology) -> tuple[NodePlace, ...]:
        placed, places = self._placed
        if placed is not topology:
            places = node_places(topology, topology.nodes)
            self._placed = topology, places
        return places

    def _description(self) -> Description:
        now = self._flow.situation
        plan = now.network.plan if now.network else None
        sites = {node for pair in (plan or self._first).pairs for node in (pair.source, pair.target)}
        is_packet = self._model is not self._flow
        missing = {"console", "flows"} if is_packet else {"console"}
        return Description(
            "packet" if is_packet else "flow",
            "simulated",
            now.topology.name,
            tuple(kind for kind in dict.fromkeys(KIND_OF.values()) if kind not in missing),
            now.schemes,
            tuple(replace(place, site=place.name in sites) for place in self._places(now.topology)),
            cables(now.topology),
            self._model.queues,
            tunnel_infos(plan) if plan else (),
            self._model.schemes_available,
            dropped_unit="packets/s" if is_packet else "Mbit/s",
            flows_left_out=now.network.left_out if now.network else 0,
        )

    def state(self) -> State:
        views = self._model.views
        return State(round(self._model.seconds, 3), views, faults=self._model.faults, clock=self._model.clock)

    def events(self, after: int) -> list[LogEntry]:
        return self._flow.journal.after(after)

    def plan(self) -> dict[str, Any] | None:
        plan = self._flow.plan
        return plan_to_json(plan) if plan else None

    def topology(self) -> dict[str, Any]:
        return topology_to_json(self._first.topology)

    def verify(self, plan: dict[str, Any]) -> list[Finding]:
        checked = sound_plan(plan, self._first)
        schemes = [failure_scheme(name) for name in (*self._flow.situation.schemes, *SCHEMES)]
        scheme = next(each for each in schemes if each.on_switches)
        return findings(checked, PipelineOptions(scheme, layout=layout_for(checked)))

    def close(self) -> None:
        self._model.close()

    def act(self, action: Action) -> dict[str, Any]:
        self._flow.end_flows()
        done: dict[str, Any] = {}
        match action:
            case SetLink(name, up):
                self._model.switch_link(name, up=up)
                done = {"link": name, "up": up}
            case SetNode(name, up):
                self._model.switch_node(name, up=up)
                done = {"node": name, "up": up}
            case SetDemands() | SetPlan() | SetNetwork():
                done = self._change_plan(action)
            case WithdrawPlan():
                self._model.withdraw()
            case StartFlow():
                asked = action.source, action.target, action.priority, action.rate, action.kind, action.seconds
                done = {"id": self._flow.start(*asked)}
            case StopFlow(name):
                self._flow.stop(name)
                done = {"id": name}
            case SetScheme(schemes):
                self._model.choose(schemes)
                done = {"schemes": list(schemes)}
            case SetClock():
                done = self._set_clock(action)
        return done

    def _set_clock(self, action: SetClock) -> dict[str, Any]:
        if action.time is not None:
            raise InputError(REQUEST, "time", "a model cannot go to another time", "speed or paused")
        self._model.set_clock(action.speed, action.paused)
        return {"speed": self._model.clock.speed, "paused": self._model.clock.paused}

    def _change_plan(self, action: SetDemands | SetPlan | SetNetwork) -> dict[str, Any]:
        first = self._first
        if isinstance(action, SetNetwork):
            topology = drawn_topology(action, REQUEST)
            demands = _demands(action.demands, topology)
            if self._largest is not None:
                topology, demands = scaled_to(self._largest, topology, demands)
            plan = self._solved(topology, demands)
            self._model.start_over(plan)
        else:
            if isinstance(action, SetDemands):
                plan = self._solved(first.topology, _demands(action.demands, first.topology))
            else:
                plan = replace(sound_plan(action.plan, first), topology=first.topology)
            self._model.put_in_force(plan)
        return {"pairs": len(plan.pairs), "tunnels": len(plan.tunnels), "allocated": plan.allocated}

    def _solved(self, topology: Topology, demands: Sequence[Demand]) -> Plan:
        """Solve for other demands; only its own request waits for it."""
        try:
            return self._solve(topology, demands)
        except UnsoundError as error:
            raise InputError(REQUEST, key_path(error.where), error.problem, error.expected) from error


def _demands(rows: Sequence[tuple[str, str, float, int]], topology: Topology) -> tuple[Demand, ...]:
    """Return the demands of a request; raises InputError, whose place is the row."""
    demands = []
    for at, row in enumerate(rows):
        try:
            demand = Demand(*row)
            demand.require_nodes_of(topology)
        except UnsoundError as error:
            place = key_path(("demands", at, *error.where))
            raise InputError(REQUEST, place, error.problem, error.expected) from error
        demands.append(demand)
    return tuple(demands)
