"""A lab that does nothing and says so: what the service needs of one, over the plan of Figure 1 of the paper."""

from __future__ import annotations

from typing import Any

from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.wiring import Site, Wiring
from kuijia_base.errors import InputError
from te_solver.model.plan import Plan
from testbed.controllers.controller_set import Handover
from testbed.lab.cuts import NodeEvent, NoticedLinkEvent, PlanUpdate, _require_link
from testbed.lab.lab import Lab
from testbed.lab.lab_flows import LabFlows
from testbed.lab.lab_options import LabOptions
from tests.kuijia_app.plans import motivation_plan


class _Idle:
    """The programs of a flow that sends nothing."""

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass


class _Hosts:
    """What flows need of a network."""

    layout = PLAIN_LAYOUT

    def __init__(self, lab: MakeBelieveLab) -> None:
        self.wiring = Wiring(lab.plan.topology)
        self._lab = lab

    def host(self, node: str) -> Site:
        self._lab.environment_of(node)
        return next(site for site in self.wiring.sites if site.name == node)


class MakeBelieveLab(Lab):
    """Keeps a plan and the state of its links; `fault` is raised by the next change, `padding` makes its state long."""

    def __init__(self, padding: int = 1_000_000) -> None:
        self.plan = motivation_plan()
        self.plan_number = 1
        self.options = LabOptions()
        self.positions: dict[str, Any] = {}
        self.running = True
        self.fault: BaseException | None = None
        self.changes = 0
        self._padding = padding
        self._down: set[frozenset[str]] = set()

    @property
    def topology(self) -> Any:  # noqa: ANN401  # as a network has it
        return self.plan.topology

    @property
    def is_running(self) -> bool:
        return self.running

    def status(self) -> dict[str, Any]:
        return {"lab": "make-believe", "down": sorted(map(sorted, self._down)), "padding": "x" * self._padding}

    def fail(self, a: str, b: str) -> NoticedLinkEvent:
        return self._switch(a, b, up=False)

    def heal(self, a: str, b: str) -> NoticedLinkEvent:
        return self._switch(a, b, up=True)

    def update(self, plan: Plan) -> PlanUpdate:
        self._change()
        self.plan = plan
        return PlanUpdate((), (), (), 0, 0.0)

    def require_switches(self) -> None:
        pass

    def withdraw(self) -> PlanUpdate:
        self._change()
        return PlanUpdate((), (), (), 0, 0.0)

    def withdraw_update(self) -> None:
        self.changes += 1

    def hand_over(self) -> Handover:
        self._change()
        return Handover(1, 2, 0.0)

    def fail_node(self, node: str) -> NodeEvent:
        self._change()
        self.environment_of(node)
        return NodeEvent(node, False, ((node, "s2"),), 0.0, 0.0, 0, None)

    heal_node = fail_node

    @property
    def flows(self) -> Any:  # noqa: ANN401  # flows of this network, whose hosts run nothing
        return LabFlows(_Hosts(self), lambda *_: _Idle())  # type: ignore[arg-type]  # it needs no more of a network

    def counters(self) -> dict[str, Any]:
        return {"lab": "make-believe", "queues": []}

    def abandon(self) -> None:
        self.changes += 1

    def environment_of(self, node: str) -> dict[str, Any]:
        if not self.plan.topology.has_node(node):
            raise InputError("testbed", node, "there is no such node", ", ".join(self.plan.topology.nodes))
        return {"lab": "make-believe", "namespace_pid": 1}

    def stop(self) -> None:
        self.running = False

    def _switch(self, a: str, b: str, *, up: bool) -> NoticedLinkEvent:
        self._change()
        _require_link(self, a, b)  # type: ignore[arg-type]  # needs no more of a network than its topology
        link = frozenset((a, b))
        if (link not in self._down) is up:
            raise InputError("testbed", f"link {a}-{b}", f"the link is {'up' if up else 'down'} already", "another")
        (self._down.discard if up else self._down.add)(link)
        return NoticedLinkEvent(a, b, up, 0.0, {a: 0.0, b: 0.0}, tunnels_told=0, reaction_seconds=None)

    def _change(self) -> None:
        self.changes += 1
        if self.fault is not None:
            raise self.fault
