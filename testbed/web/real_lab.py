"""The backend over a running lab: a client of its service, which knows nothing of the lab's programs and packets."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from kuijia_app.tables.options import PipelineOptions, pipeline_options
from kuijia_base.errors import InputError, KuijiaError, TestbedError, quoted
from kuijia_base.text import link_id
from simulator.live.states import Direction, FlowState, LinkState, LogEntry, QueueInfo, QueueLoad, Role, View
from te_solver.formats.plan_file import plan_from_json, plan_to_json, topology_to_json
from te_solver.model.plan import Plan
from testbed.lab.lab_client import ask, running_lab, the_running_lab
from testbed.lab.lab_options import LabOptions, drawn_at
from testbed.web.backend import (
    Action,
    ControllerMember,
    ControllerState,
    Description,
    Finding,
    RunCommand,
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
from testbed.web.drawing import cables, node_places, tunnel_infos
from testbed.web.verifying import findings, sound_plan

RATE_SECONDS = 0.5
"""Least time over which the rates of queues are taken: shorter ones show single bursts."""

STALE_SECONDS = 2.0
_PAUSE = 0.2
_REQUEST = "request"
_BITS_OF_MBIT = 1e6 / 8

Ask = Callable[..., Any]


@dataclass(frozen=True)
class _InForce:
    """The plan in force, by its number, and the options of the lab."""

    number: int
    plan: Plan
    options: LabOptions

    @cached_property
    def tables(self) -> PipelineOptions:
        return pipeline_options(self.options.words)

    @cached_property
    def nodes_of(self) -> dict[int, tuple[str, ...]]:
        return {tunnel.path_id: tunnel.nodes for tunnel in self.plan.tunnels}

    @cached_property
    def queue_ids(self) -> dict[str, int]:
        return {queue.name: queue.queue_id for queue in self.tables.layout.queues}

    @cached_property
    def description(self) -> Description:
        plan, layout = self.plan, self.tables.layout
        roles = {layout.control.queue_id: QueueInfo(layout.control.queue_id, "control")}
        for each in layout.classes:
            for queue, role in ((each.normal, "normal"), (each.victim, "victim")):
                roles[queue.queue_id] = QueueInfo(queue.queue_id, role, each.priority)  # type: ignore[arg-type]  # Literal
        return Description(
            backend="boxes" if self.options.inventory else "lab",
            clock="real",
            name=plan.topology.name,
            actions=("links", "nodes", "demands", "plan", "flows"),
            schemes=(self.options.scheme,),
            nodes=node_places(plan.topology, plan.topology.nodes),
            links=cables(plan.topology),
            queues=tuple(roles[queue.queue_id] for queue in layout.queues if queue.queue_id in roles),
            tunnels=tunnel_infos(plan),
            schemes_available=(self.options.scheme,),
            dropped_unit="packets/s",
        )


class RealLab:
    """A running lab, emulated or on boxes.

    Args:
        lab: run directory; by default that of this machine's lab, and of the next one when it is down.
        ask_lab: asks it, as `testbed.lab.lab_client.ask`.
        sleep: waits some seconds.
        find: returns the run directory of this machine's lab, None if there is none.
        consoles: True to let commands run on its hosts.
    """

    def __init__(
        self,
        lab: Path | None = None,
        ask_lab: Ask = ask,
        sleep: Callable[[float], None] = time.sleep,
        find: Callable[[], Path | None] = running_lab,
        *,
        consoles: bool = False,
    ) -> None:
        self._consoles = consoles
        self._find = find if lab is None else lambda: None
        self._lab = lab or find() or the_running_lab()
        self._ask_lab, self._sleep = ask_lab, sleep
        self._adopting = threading.Lock()
        self._earlier, self._told = 0, 0
        self._looking = threading.Lock()
        self._looks: deque[dict[str, Any]] = deque()
        self._home: dict[str, int] = {}
        self._known = self._read_plan()

    def describe(self) -> Description:
        described = self._in_force().description
        return replace(described, actions=(*described.actions, "console")) if self._consoles else described

    def state(self) -> State:
        with self._looking:
            now = self._look("counters")
            if not self._looks or now["time"] - self._looks[-1]["time"] > STALE_SECONDS:
                # Nobody has looked for a while: a rate needs two looks.
                self._looks.clear()
                self._looks.append(now)
                self._sleep(_PAUSE)
                now = self._ask("counters")
            self._looks.append(now)
            while len(self._looks) > 2 and self._looks[1]["time"] <= now["time"] - RATE_SECONDS:
                self._looks.popleft()
            before = self._looks[0]
            self._note_homes(now)
        known = self._in_force(now["plan"])
        loads = _loads(before, now, known.queue_ids)
        up = {frozenset((link["a"], link["b"])): link["up"] for link in now["links"]}
        links = tuple(
            LinkState(
                link_id(a, b),
                up.get(frozenset((a, b)), False),
                tuple(Direction(*ends, tuple(loads.get(ends, ()))) for ends in ((a, b), (b, a))),
            )
            for a, b in known.plan.topology.edges
        )
        dead = tuple(now["tunnels_dead"])
        view = View(known.options.scheme, links, tuple(now["nodes_down"]), dead, self._flows(known, now))
        told = now["controller"]
        errors = tuple(f"{error['event']}: {error.get('reason', error.get('error', ''))}" for error in told["errors"])
        members = tuple(
            ControllerMember(each["number"], each["pid"] is not None, each["acts"], each["since"])
            for each in told.get("members", ())
        )
        controller = ControllerState(told["alive"], tuple(told["switches"]), errors, members)
        return State(now["time"], (view,), controller, tuple(now["faults"]))

    def act(self, action: Action) -> dict[str, Any]:
        # What was asked for on the page of one lab is not done in the next.
        known = self._in_force(self._ask("counters")["plan"])
        match action:
            case SetLink(identity, up):
                a, b = self._ends(known, identity)
                return self._done("heal" if up else "fail", a=a, b=b)
            case SetNode() | RunCommand():
                return self._act_on_node(known, action)
            case StartFlow():
                return self._start_flow(known, action)
            case StopFlow(flow):
                return self._done("stop-flow", flow=flow)
            case SetScheme(schemes):
                if len(schemes) != 1:
                    raise KuijiaError("the real lab has one scheme; start it with --scheme")
                return self._done("scheme", scheme=schemes[0])
            case SetClock():
                raise KuijiaError("the clock of a real lab cannot be set")
            case SetNetwork():
                raise KuijiaError("a real lab keeps its network")
        return self._change_plan(known, action)

    def _act_on_node(self, known: _InForce, action: SetNode | RunCommand) -> dict[str, Any]:
        if isinstance(action, RunCommand):
            self._require_node(known, action.node, "node")
            return self._done("enter", node=action.node, command=action.command)
        self._require_node(known, action.name, "name")
        return self._done("heal" if action.up else "fail", node=action.name)

    def _change_plan(self, known: _InForce, action: SetDemands | SetPlan | WithdrawPlan) -> dict[str, Any]:
        match action:
            case SetDemands(demands):
                for at, (source, target, _, _) in enumerate(demands):
                    self._require_node(known, source, f"demands[{at}][0]")
                    self._require_node(known, target, f"demands[{at}][1]")
                # The lab scales the rates of users' files; those on a page are the network's.
                factor = known.options.demand_factor
                rows = [[source, target, rate / factor, priority] for source, target, rate, priority in demands]
                return self._done("update", demands=rows, source=_REQUEST)
            case SetPlan(plan):
                plan_from_json(plan, "plan")
                return self._done("replace", plan=plan, source="plan")
            case WithdrawPlan():
                return self._done("withdraw")

    def events(self, after: int) -> list[LogEntry]:
        found = self._look("log", after=max(0, after - self._earlier))
        scheme, earlier = self._known.options.scheme, self._earlier
        entries = [
            LogEntry(earlier + each["seq"], each["time"], scheme, each["kind"], each["text"], each["subject"])
            for each in found
        ]
        self._told = max(self._told, *(entry.seq for entry in entries), 0)
        return [entry for entry in entries if entry.seq > after]

    def plan(self) -> dict[str, Any] | None:
        plan = self._in_force().plan
        return plan_to_json(plan) if plan.pairs else None

    def topology(self) -> dict[str, Any]:
        return topology_to_json(self._in_force().plan.topology)

    def verify(self, plan: dict[str, Any]) -> list[Finding]:
        known = self._in_force()
        return findings(sound_plan(plan, known.plan), known.tables)

    def close(self) -> None:
        """Release the lab, which stays up."""

    def _ask(self, do: str, **details: object) -> Any:  # noqa: ANN401  # JSON
        return self._ask_lab(self._lab, do, **details)

    def _look(self, do: str, **details: object) -> Any:  # noqa: ANN401  # JSON
        """Send a request; if the lab is down and another one is up, use and show the other one from now on."""
        asked = self._lab
        try:
            return self._ask(do, **details)
        except TestbedError:
            another = self._find()
            if another is None or another == asked:
                raise
        with self._adopting:
            if self._lab == asked:
                self._lab, self._earlier = another, self._told
                self._looks.clear()
                self._home.clear()
                self._known = self._read_plan()
        return self._ask(do, **({"after": 0} if "after" in details else details))

    def _done(self, do: str, **details: object) -> dict[str, Any]:
        done: dict[str, Any] = self._ask(do, **details)
        return done

    def _read_plan(self) -> _InForce:
        found = self._ask("plan")
        plan = drawn_at(plan_from_json(found["plan"], "plan"), found["positions"])
        return _InForce(found["number"], plan, LabOptions(**found["options"]))

    def _in_force(self, number: int | None = None) -> _InForce:
        """Return the present plan, read again if its number, which may be given, is new."""
        wanted = self._look("counters")["plan"] if number is None else number
        if wanted != self._known.number:
            self._known = self._read_plan()
        return self._known

    def _start_flow(self, known: _InForce, wish: StartFlow) -> dict[str, Any]:
        self._require_node(known, wish.source, "source")
        self._require_node(known, wish.target, "target")
        ends = {"source": wish.source, "target": wish.target}
        rate = wish.rate if wish.kind == "udp" else None
        seconds = math.ceil(wish.seconds)
        return self._done("start-flow", **ends, kind=wish.kind, rate=rate, seconds=seconds, priority=wish.priority)

    def _ends(self, known: _InForce, identity: str) -> tuple[str, str]:
        for edge in known.plan.topology.edges:
            if link_id(*edge) == identity:
                return edge
        raise InputError(_REQUEST, "id", f"no link {quoted(identity)}", "a link of the network")

    def _require_node(self, known: _InForce, node: str, place: str) -> None:
        if node not in known.plan.topology.nodes:
            raise InputError(_REQUEST, place, f"no node {quoted(node)}", "a node of the network")

    def _note_homes(self, now: Mapping[str, Any]) -> None:
        """Remember the tunnels of flows while nothing that they use is dead."""
        for flow in now["flows"]:
            if flow["path_id"] is not None and not now["tunnels_dead"]:
                self._home[flow["flow"]] = flow["path_id"]

    def _flows(self, known: _InForce, now: Mapping[str, Any]) -> tuple[FlowState, ...]:
        roles = self._roles(known, now)
        return tuple(
            FlowState(
                id=flow["flow"],
                source=flow["source"],
                target=flow["target"],
                priority=flow["priority"],
                wanted=_wanted(known, flow),
                goodput=flow["goodput"] or 0.0,
                role=roles[flow["flow"]],
                path_ids=() if flow["path_id"] is None else (flow["path_id"],),
            )
            for flow in now["flows"]
        )

    def _roles(self, known: _InForce, now: Mapping[str, Any]) -> dict[str, Role]:
        """Return the roles of flows by the glossary, as far as the tunnels of their packets have been seen."""
        flows, dead = now["flows"], set(now["tunnels_dead"])
        low = {each.victim.traffic_class for each in known.tables.layout.classes}
        victims = {
            flow["flow"]
            for flow in flows
            if flow["traffic_class"] in low
            or (self._home.get(flow["flow"]) in dead and flow["path_id"] != self._home.get(flow["flow"]))
        }
        hops = {flow["flow"]: _hops(known.nodes_of.get(flow["path_id"], ())) for flow in flows}
        crowded = set().union(*(hops[name] for name in victims))
        direct = {name for name, of_flow in hops.items() if name not in victims and of_flow & crowded}
        beside = set().union(*(hops[name] for name in direct))

        def role(name: str) -> Role:
            if name in victims:
                return "victim"
            if name in direct:
                return "direct"
            return "indirect" if hops[name] & beside else "untouched"

        return {name: role(name) for name in hops}


def _hops(nodes: tuple[str, ...]) -> set[tuple[str, str]]:
    return set(pairwise(nodes))


def _wanted(known: _InForce, flow: Mapping[str, Any]) -> float:
    """Return the rate that a flow wants, for TCP all that its tunnel, or a link, can carry."""
    if flow["rate"] is not None:
        return float(flow["rate"])
    topology = known.plan.topology
    hops = _hops(known.nodes_of.get(flow["path_id"], ()))
    if hops:
        return min(topology.link(*hop).capacity for hop in hops)
    return max(link.capacity for link in topology.links)


def _loads(
    before: Mapping[str, Any], now: Mapping[str, Any], queue_ids: Mapping[str, int]
) -> dict[tuple[str, str], list[QueueLoad]]:
    """Return what each direction's queues sent and dropped between two looks; nothing if there was only one."""
    seconds = now["time"] - before["time"]
    known = {(each["switch"], each["to"], each["queue"]): each for each in before["queues"]}
    loads: dict[tuple[str, str], list[QueueLoad]] = {}
    for each in now["queues"]:
        was = known.get((each["switch"], each["to"], each["queue"]))
        rate, dropped = 0.0, 0.0
        if was is not None and seconds > 0:
            rate = max(0.0, (each["sent_bytes"] - was["sent_bytes"]) / _BITS_OF_MBIT / seconds)
            dropped = max(0.0, (each["dropped_packets"] - was["dropped_packets"]) / seconds)
        load = QueueLoad(queue_ids[each["queue"]], round(rate, 4), round(dropped, 2))
        loads.setdefault((each["switch"], each["to"]), []).append(load)
    return loads
