"""Carries out change requests of a running lab: prepare, apply, log the event.

A change has two parts. `prepared` changes nothing of the lab and may take minutes; the function that it returns
makes the change and returns the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kuijia_base.errors import InputError, quoted
from kuijia_base.text import link_id
from te_solver.model.plan import Plan
from testbed.lab.journal import LabJournal, flow_text, link_text, node_text, plan_text, reaction_text, withdrawn_text
from testbed.lab.lab_requests import (
    Change,
    ChooseScheme,
    EndFlow,
    FlowWish,
    HandOver,
    ReplacePlan,
    SwitchLink,
    SwitchNode,
    Update,
    Withdraw,
)

if TYPE_CHECKING:  # it imports Mininet, which those do without who only ask a lab
    from testbed.lab.lab import Lab

MakePlan = Callable[["Lab", "Update | ReplacePlan"], Plan]


def prepared(lab: Lab, journal: LabJournal, make_plan: MakePlan, request: Change) -> Callable[[], Any]:  # noqa: PLR0911  # one branch a request
    """Do the part that changes nothing; return the rest as a function. Raises KuijiaError if it is refused."""
    match request:
        case SwitchLink(what, a, b):
            return lambda: _switch_link(lab, journal, a, b, up=what == "heal")
        case SwitchNode(what, node):
            return lambda: _switch_node(lab, journal, node, up=what == "heal")
        case Update() | ReplacePlan():
            lab.require_switches()
            plan = make_plan(lab, request)
            return lambda: _update(lab, journal, plan)
        case Withdraw():
            return lambda: _withdraw(lab, journal)
        case HandOver():
            return lambda: asdict(lab.hand_over())
        case FlowWish():
            return lambda: _start_flow(lab, journal, request)
        case EndFlow(flow):
            return lambda: _stop_flow(lab, journal, flow)
        case ChooseScheme(scheme):
            _require_scheme(lab, scheme)
            return lambda: {"scheme": scheme}


def _id_of(lab: Lab, a: str, b: str) -> str:
    """Return the id of a link, which has its names in the topology's order."""
    return link_id(a, b) if (a, b) in lab.plan.topology.edges else link_id(b, a)


def _switch_link(lab: Lab, journal: LabJournal, a: str, b: str, *, up: bool) -> dict[str, Any]:
    event = asdict((lab.heal if up else lab.fail)(a, b))
    subject = {"link": _id_of(lab, a, b)}
    journal.add("heal" if up else "cut", link_text(event), subject, event, at=event["requested_at"])
    _add_reaction(journal, event, subject)
    return event


def _switch_node(lab: Lab, journal: LabJournal, node: str, *, up: bool) -> dict[str, Any]:
    event = asdict((lab.heal_node if up else lab.fail_node)(node))
    subject = {"node": node, "links": [_id_of(lab, *link) for link in event["links"]]}
    journal.add("node-up" if up else "node-down", node_text(event), subject, event, at=event["requested_at"])
    _add_reaction(journal, event, subject)
    return event


def _add_reaction(journal: LabJournal, event: dict[str, Any], subject: dict[str, Any]) -> None:
    text = reaction_text(event)
    if text is not None:
        details = {key: event[key] for key in ("tunnels_told", "reaction_seconds")}
        journal.add("controller", text, subject, details, at=event["requested_at"] + event["reaction_seconds"])


def _update(lab: Lab, journal: LabJournal, plan: Plan) -> dict[str, Any]:
    done = asdict(lab.update(plan))
    journal.add("plan", plan_text(done), {}, done)
    return done


def _withdraw(lab: Lab, journal: LabJournal) -> dict[str, Any]:
    done = asdict(lab.withdraw())
    journal.add("plan", withdrawn_text(done), {}, done)
    return done


def _start_flow(lab: Lab, journal: LabJournal, wish: FlowWish) -> dict[str, Any]:
    _require_pair(lab.plan, wish)
    flow = lab.flows.start(wish)
    started = {"flow": flow.name, **vars(flow.wish), "started_at": flow.started_at}
    journal.add("flow", f"{flow_text(started)} has started", {"flow": flow.name}, started)
    return started


def _stop_flow(lab: Lab, journal: LabJournal, name: str) -> dict[str, Any]:
    flow = lab.flows.stop(name)
    journal.add("flow", f"flow {flow.name} is stopped", {"flow": flow.name})
    return {"flow": flow.name}


def _require_pair(plan: Plan, wish: FlowWish) -> None:
    """Raise InputError if the plan has no tunnels between two nodes: a flow would wait in vain for its connection."""
    pairs = [{pair.source, pair.target} for pair in plan.pairs]
    unknown = [node for node in (wish.source, wish.target) if node not in plan.topology.nodes]
    if not unknown and wish.source != wish.target and {wish.source, wish.target} not in pairs:
        problem = f"the plan has no tunnels from {quoted(wish.source)} to {quoted(wish.target)}"
        expected = (
            f"one of its pairs, such as {plan.pairs[0].source} to {plan.pairs[0].target}"
            if plan.pairs
            else "a plan in force"
        )
        raise InputError("lab", "target", problem, expected)


def _require_scheme(lab: Lab, scheme: str) -> None:
    if scheme != lab.options.scheme:
        problem = f"found {quoted(scheme)}, but the real lab keeps its scheme {quoted(lab.options.scheme)}"
        raise InputError("lab", "scheme", problem, "a lab started with --scheme")
