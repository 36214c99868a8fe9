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
from te_solver.formats.plan_file import plan_to_json
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.schemes.all_schemes import failure_scheme
from testbed.web.backend import (
    KIND_OF,
    Action,
    Description,
    Finding,
    SetClock,
    SetDemands,
    SetLink,
    SetNode,
    SetPlan,
    SetScheme,
    StartFlow,
    State,
    StopFlow,
    WithdrawPlan,
)
from testbed.web.drawing import cables, node_places, tunnel_infos
from testbed.web.verifying import findings, sound_plan

Solver: TypeAlias = Callable[[Topology, Sequence[Demand]], Plan]


class ModelBackend:
    """A network in the flow model or the packet model; `solve` makes a plan for other demands."""

    def __init__(self, model: LiveFlowModel | LivePacketModel, solve: Solver) -> None:
        self._model, self._solve = model, solve
        self._flow = model.flow if isinstance(model, LivePacketModel) else model
        self._first = self._flow.first
        self._places = node_places(self._first.topology, self._first.topology.nodes)
        now = self._flow.situation
        self._described = now.network, now.schemes, self._description()

    def describe(self) -> Description:
        now = self._flow.situation
        network, schemes, description = self._described
        if network is not now.network or schemes != now.schemes:  # of a large plan it takes a while
            description = self._description()
            self._described = now.network, now.schemes, description
        return replace(description, queues=self._model.queues)

    def _description(self) -> Description:
        now, plan = self._flow.situation, self._flow.plan
        sites = {node for pair in (plan or self._first).pairs for node in (pair.source, pair.target)}
        is_packet = self._model is not self._flow
        return Description(
            "packet" if is_packet else "flow",
            "simulated",
            now.topology.name,
            tuple(kind for kind in dict.fromkeys(KIND_OF.values()) if kind != "flows" or not is_packet),
            now.schemes,
            tuple(replace(place, site=place.name in sites) for place in self._places),
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
        topology: dict[str, Any] = plan_to_json(self._first)["topology"]
        return topology

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
            case SetDemands(rows):
                done = self._replace(self._solved(rows))
            case SetPlan(plan):
                done = self._replace(replace(sound_plan(plan, self._first), topology=self._first.topology))
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

    def _replace(self, plan: Plan) -> dict[str, Any]:
        self._model.put_in_force(plan)
        return {"pairs": len(plan.pairs), "tunnels": len(plan.tunnels), "allocated": plan.allocated}

    def _solved(self, rows: Sequence[tuple[str, str, float, int]]) -> Plan:
        """Solve for other demands; nothing waits for it but its request."""
        demands = []
        for at, row in enumerate(rows):
            try:
                demand = Demand(*row)
                demand.require_nodes_of(self._first.topology)
            except UnsoundError as error:
                place = key_path(("demands", at, *error.where))
                raise InputError(REQUEST, place, error.problem, error.expected) from error
            demands.append(demand)
        try:
            return self._solve(self._first.topology, demands)
        except UnsoundError as error:
            raise InputError(REQUEST, key_path(error.where), error.problem, error.expected) from error
