"""A network of three nodes in memory: the smallest backend, for tests of the server and its clients."""

from __future__ import annotations

import threading
from typing import Any

from kuijia_base.errors import InputError
from simulator.live.states import (
    ClockState,
    Direction,
    FlowState,
    LinkState,
    LogEntry,
    LogKind,
    QueueInfo,
    QueueLoad,
    View,
)
from te_solver.formats.plan_file import plan_from_json
from testbed.web.backend import (
    Action,
    Cable,
    Description,
    Finding,
    NodePlace,
    SetClock,
    SetDemands,
    SetLink,
    SetNode,
    SetPlan,
    SetScheme,
    StartFlow,
    State,
    StopFlow,
    TunnelInfo,
    WithdrawPlan,
)

TOPOLOGY = {
    "name": "triangle",
    "nodes": ["s1", "s2", "s3"],
    "links": [
        {"source": a, "target": b, "capacity": 10.0, "delay": 0.0}
        for one, other in (("s1", "s2"), ("s2", "s3"), ("s1", "s3"))
        for a, b in ((one, other), (other, one))
    ],
}
PLAN = {
    "format": "kuijia-plan",
    "version": 1,
    "topology": TOPOLOGY,
    "objective": "max-throughput",
    "objective_value": 4.0,
    "solver": "none",
    "solve_seconds": 0.0,
    "protected_failures": 0,
    "pairs": [
        {
            "source": "s1",
            "target": "s3",
            "priority": 0,
            "demand": 4.0,
            "allocated": 4.0,
            "tunnels": [
                {"path_id": 16, "nodes": ["s1", "s3"], "rate": 3.0, "weight": 0.75},
                {"path_id": 17, "nodes": ["s1", "s2", "s3"], "rate": 1.0, "weight": 0.25},
            ],
        }
    ],
}


class MemoryBackend:
    """Does what it is asked, at once: links and nodes go down and up, flows come and go; counts its calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._down: set[str] = set()
        self._nodes_down: set[str] = set()
        self._plan: dict[str, Any] | None = PLAN
        self._flows: dict[str, StartFlow] = {}
        self._flows_started = 0
        self._schemes: tuple[str, ...] = ("kuijia",)
        self._log: list[LogEntry] = []
        self._clock = ClockState(1.0, paused=False)
        self.states = 0
        self.closed = False

    def describe(self) -> Description:
        pairs = self._plan["pairs"] if self._plan else []
        return Description(
            "flow",
            "simulated",
            "triangle",
            ("links", "nodes", "demands", "plan", "flows", "scheme", "clock"),
            self._schemes,
            (NodePlace("s1", 0.0, 1.0), NodePlace("s2", 0.5, 0.0), NodePlace("s3", 1.0, 1.0)),
            tuple(Cable(f"{a}~{b}", a, b, 10.0) for a, b in _edges()),
            (QueueInfo(0, "control"), QueueInfo(1, "normal", 0), QueueInfo(2, "victim", 0)),
            tuple(
                TunnelInfo(each["path_id"], "s1", "s3", 0, tuple(each["nodes"]), each["weight"])
                for pair in pairs
                for each in pair["tunnels"]
            ),
            ("kuijia", "rescaling"),
        )

    def state(self) -> State:
        with self._lock:
            self.states += 1
            direct = "s1~s3" not in self._down
            flows = [FlowState("f16", "s1", "s3", 0, 3.0, 3.0, "untouched" if direct else "victim", (16,))]
            flows += [
                FlowState(name, each.source, each.target, each.priority, each.rate, each.rate, "untouched", ())
                for name, each in self._flows.items()
            ]
            links = tuple(
                LinkState(
                    f"{a}~{b}",
                    f"{a}~{b}" not in self._down,
                    tuple(
                        Direction(one, other, (QueueLoad(0, 0.0, 0.0), QueueLoad(1, 1.5, 0.0), QueueLoad(2, 0.0, 0.0)))
                        for one, other in ((a, b), (b, a))
                    ),
                )
                for a, b in _edges()
            )
            dead = () if direct else (16,)
            views = tuple(
                View(scheme, links, tuple(sorted(self._nodes_down)), dead, tuple(flows)) for scheme in self._schemes
            )
            return State(self.states / 5, views, clock=self._clock)

    def act(self, action: Action) -> dict[str, Any]:  # noqa: C901  # one branch for each action
        with self._lock:
            match action:
                case SetLink(name, up):
                    (self._down.discard if up else self._down.add)(name)
                    self._note("heal" if up else "cut", f"link {name} is {'up' if up else 'down'}", link=name)
                case SetNode(name, up):
                    (self._nodes_down.discard if up else self._nodes_down.add)(name)
                    self._note("node-up" if up else "node-down", f"{name} is {'up' if up else 'down'}", node=name)
                case SetPlan(plan):
                    plan_from_json(plan, "plan")
                    self._plan = plan
                    self._note("plan", "the plan is replaced")
                case WithdrawPlan():
                    self._plan = None
                    self._note("plan", "the plan is withdrawn")
                case SetDemands(demands):
                    self._note("plan", f"{len(demands)} demands")
                case StartFlow():
                    self._flows_started += 1
                    name = f"x{self._flows_started}"
                    self._flows[name] = action
                    self._note("flow", f"flow {name} starts", flow=name)
                    return {"id": name}
                case StopFlow(name):
                    if name not in self._flows:
                        raise InputError("request", "id", f"no flow {name}", ", ".join(self._flows) or "none is there")
                    del self._flows[name]
                    self._note("flow", f"flow {name} is stopped", flow=name)
                case SetScheme(schemes):
                    self._schemes = schemes
                    self._note("scheme", " and ".join(schemes))
                case SetClock(speed, paused):
                    old = self._clock
                    self._clock = ClockState(speed or old.speed, old.paused if paused is None else paused)
        return {}

    def _note(self, kind: LogKind, text: str, **subject: str) -> None:
        self._log.append(LogEntry(len(self._log) + 1, self.states / 5, None, kind, text, dict(subject)))

    def events(self, after: int) -> list[LogEntry]:
        with self._lock:
            return self._log[max(after, 0) :]

    def plan(self) -> dict[str, Any] | None:
        return self._plan

    def topology(self) -> dict[str, Any]:
        return TOPOLOGY

    def verify(self, plan: dict[str, Any]) -> list[Finding]:
        found = plan_from_json(plan, "plan")
        return [] if len(found.topology.nodes) == 3 else [Finding("topology", "another network")]

    def close(self) -> None:
        self.closed = True


def _edges() -> tuple[tuple[str, str], ...]:
    return ("s1", "s2"), ("s2", "s3"), ("s1", "s3")
