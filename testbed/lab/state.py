"""The state of a running lab as JSON data: in full for people, and in short for programs that ask often.

The functions only read, in any thread that is in the lab's network namespace; a change may be under way.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from kuijia_app.tables.bfd import BfdSession
from kuijia_app.tables.identifiers import DROP_PRIORITY
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import TestbedError
from te_solver.model.plan import Plan
from testbed.controllers.controller_set import ControllerSet, LabController
from testbed.lab.lab_flows import LabFlows
from testbed.lab.lab_options import LabOptions, metrics_addresses
from testbed.network.bfd import EndState
from testbed.network.lab_network import LabNetwork
from testbed.network.queue_counters import QueueRates


class LabParts(Protocol):
    """A running lab (`testbed.lab.lab.Lab`); plan, its number and sessions change with an update."""

    plan: Plan
    plan_number: int
    options: LabOptions
    wiring: Wiring

    @property
    def directory(self) -> Path: ...

    @property
    def network(self) -> LabNetwork: ...

    @property
    def controller(self) -> LabController: ...

    @property
    def flows(self) -> LabFlows: ...

    @property
    def sessions(self) -> tuple[BfdSession, ...]: ...

    @property
    def nodes_down(self) -> tuple[str, ...]: ...


_T = TypeVar("_T")


class LabFaults(list[str]):
    """Faults found, each listed once."""

    def unless_found(self, look: Callable[[], _T], *, otherwise: _T) -> _T:
        """Return the result of `look`, or `otherwise` if it finds something broken."""
        try:
            return look()
        except TestbedError as error:
            self.add(str(error))
            return otherwise

    def add(self, fault: str) -> None:
        if fault not in self:
            self.append(fault)


CONTROLLER_DIED = "the controller has died: nobody reacts to failures beyond a tunnel's first link"

_LISTED_ERRORS = 20

LinkStates = Mapping[frozenset[str], bool]
Sessions = Mapping[BfdSession, Mapping[str, EndState]]


def full_state(lab: LabParts, rates: QueueRates) -> dict[str, Any]:
    """Return everything; queues have their rates since the last call with these `rates`."""
    plan, network, controller, options = lab.plan, lab.network, lab.controller, lab.options
    topology = plan.topology
    faults = LabFaults()
    links_up = _links_up(lab, faults)
    stopped, sessions = _switches(lab, faults)
    dead = dead_tunnels(lab, plan, links_up, stopped, sessions)
    return {
        "lab": lab.directory.name,
        "topology": topology.name,
        "scheme": options.scheme,
        "layout": network.layout.name,
        "tagging": options.tagging,
        "pipeline": options.pipeline,
        "liveness": options.liveness,
        "other_traffic": options.other_traffic,
        "neighbours": options.neighbours,
        "ground": "boxes" if options.inventory else "emulation",
        "datapath": network.datapath.value,
        "controller": {
            "framework": controller.framework,
            "pid": controller.pid,
            "switches": controller.programmed_switches(),
            "errors": controller.errors(),
            **_members(controller),
        },
        "metrics": [str(address) for address in metrics_addresses(options)],
        "nodes_down": list(lab.nodes_down),
        "links": [
            {"a": a, "b": b, "capacity": topology.link(a, b).capacity, "up": links_up[frozenset((a, b))]}
            for a, b in topology.edges
        ],
        "tunnels": [
            {
                "path_id": tunnel.path_id,
                "priority": pair.priority,
                "nodes": list(tunnel.nodes),
                "weight": tunnel.weight,
                "alive": tunnel.path_id not in dead,
            }
            for pair in plan.pairs
            for tunnel in pair.tunnels
        ],
        "pairs_carried": [
            {"ingress": ingress, "egress": egress, "path": path}
            for (ingress, egress), path in controller.pairs_carried().items()
        ],
        "queues": rates.since_last(list(_queues(lab, faults))),
        "sessions": [
            {
                "path_id": session.path_id,
                "nodes": list(session.nodes),
                "ends": [{"switch": switch, **asdict(end)} for switch, end in ends.items()],
            }
            for session, ends in sessions.items()
        ],
        "flows": lab.flows.describe(),
        "hosts": list(_hosts(lab, stopped, faults)),
        "faults": list(faults),
    }


def counters(lab: LabParts) -> dict[str, Any]:
    """Return the parts that change all the time: totals of queues, goodput of flows, what is down, what is wrong."""
    plan, controller = lab.plan, lab.controller
    faults = LabFaults()
    links_up = _links_up(lab, faults)
    stopped, sessions = _switches(lab, faults)
    dead = dead_tunnels(lab, plan, links_up, stopped, sessions)
    return {
        "time": time.time(),
        "plan": lab.plan_number,
        "lab": lab.directory.name,
        "links": [{"a": a, "b": b, "up": links_up[frozenset((a, b))]} for a, b in plan.topology.edges],
        "queues": list(_queues(lab, faults)),
        "nodes_down": list(lab.nodes_down),
        "tunnels_dead": sorted(tunnel.path_id for tunnel in plan.tunnels if tunnel.path_id in dead),
        "flows": lab.flows.describe(),
        "controller": {
            "alive": controller.is_alive,
            "switches": controller.programmed_switches(),
            "errors": controller.errors()[-_LISTED_ERRORS:],
            **_members(controller),
        },
        "faults": list(faults),
    }


def observed(lab: LabParts, *, with_queues: bool) -> tuple[LinkStates, set[int], LabFaults]:
    """Return for each edge True if its link is up, the path ids of dead tunnels, and what is wrong."""
    plan = lab.plan
    faults = LabFaults()
    links_up = _links_up(lab, faults)
    stopped, sessions = _switches(lab, faults)
    dead = dead_tunnels(lab, plan, links_up, stopped, sessions)
    if with_queues:
        for _ in _queues(lab, faults):
            pass
    return links_up, dead, faults


def dead_tunnels(
    lab: LabParts, plan: Plan, links_up: LinkStates, stopped: frozenset[str], sessions: Sessions
) -> set[int]:
    """Return the path ids of the tunnels that carry nothing, or that an end considers dead.

    `stopped` switches have no software that runs.
    """
    unfit = stopped | lab.controller.unfit_switches()
    dead = {
        tunnel.path_id
        for tunnel in plan.tunnels
        if not all(links_up[frozenset(hop)] for hop in tunnel.hops) or not unfit.isdisjoint(tunnel.nodes)
    }
    told = lab.controller.tunnels_told_dead()
    if lab.options.liveness == "bfd":
        up = {session.nodes for session, ends in sessions.items() if all(end.up for end in ends.values())}
        dead |= {tunnel.path_id for tunnel in plan.tunnels if up.isdisjoint({tunnel.nodes, tunnel.nodes[::-1]})}
        if not lab.controller.is_alive:
            told = set()  # sessions go on without it
    return dead | told


def _members(controller: LabController) -> dict[str, Any]:
    return {"members": controller.describe()} if isinstance(controller, ControllerSet) else {}


def _links_up(lab: LabParts, faults: LabFaults) -> dict[frozenset[str], bool]:
    found = lab.network.links_up(lab.plan.topology.edges)
    for state in found.values():
        if isinstance(state, TestbedError):
            faults.add(str(state))
    return {frozenset(link): state is True for link, state in found.items()}


def death_of(switches: frozenset[str], plan: Plan) -> str:
    """Return the message about dead switches."""
    died = "Open vSwitch has died"
    return died if switches == set(plan.topology.nodes) else f"{died} on {', '.join(sorted(switches))}"


def _switches(lab: LabParts, faults: LabFaults) -> tuple[frozenset[str], Sessions]:
    """Return the switches whose software does not run, and the BFD sessions."""
    if isinstance(lab.controller, ControllerSet):
        for number in lab.controller.dead:
            faults.add(f"controller {number} is dead")
    if not lab.controller.is_alive:
        faults.add(CONTROLLER_DIED)
    for problem in lab.controller.problems():
        faults.add(problem)
    sessions: Sessions = {}
    stopped = lab.network.dead_switches()
    if stopped:
        faults.insert(0, death_of(stopped, lab.plan))
    if stopped == set(lab.plan.topology.nodes):
        return stopped, sessions
    if lab.options.liveness == "bfd":
        sessions = faults.unless_found(lab.network.bfd.states, otherwise=sessions)
    return stopped, sessions


def _hosts(lab: LabParts, stopped: frozenset[str], faults: LabFaults) -> Iterator[dict[str, Any]]:
    """Yield the hosts, with the packets of each that its switch has dropped, as nothing carries them."""
    for site in lab.wiring.sites:
        if lab.network.has_host(site.name):
            read = partial(_dropped, lab, site.name)
            dropped = None if site.name in stopped else faults.unless_found(read, otherwise=None)
            yield {"node": site.name, "address": str(site.address), "dropped": dropped}


def _dropped(lab: LabParts, switch: str) -> int | None:
    """Return the counter of the entry that drops what no other entry takes; None without one."""
    shown = lab.network.ofctl(switch, "dump-flows", f"in_port={lab.wiring.host_port(switch)}")
    found = re.search(rf"n_packets=(\d+),.*priority={DROP_PRIORITY},", shown)
    return None if found is None else int(found[1])


def _queues(lab: LabParts, faults: LabFaults) -> Iterator[dict[str, Any]]:
    """Yield the totals of the queues of all ports to other switches."""
    ports = [
        (switch, neighbour, lab.wiring.port(switch, neighbour))
        for switch in lab.plan.topology.nodes
        for neighbour in lab.plan.topology.neighbours[switch]
    ]
    nothing: dict[tuple[str, int], Any] = {}
    found = faults.unless_found(
        lambda: lab.network.queue_counters_of([(switch, port) for switch, _, port in ports]), otherwise=nothing
    )
    for switch, neighbour, port in ports:
        of_port = found.get((switch, port), ())
        if isinstance(of_port, TestbedError):
            faults.add(str(of_port))
            continue
        for each in of_port:
            yield {
                "switch": switch,
                "to": neighbour,
                "queue": each.queue,
                "sent_packets": each.sent_packets,
                "sent_bytes": each.sent_bytes,
                "dropped_packets": each.dropped_packets,
                "waiting_packets": each.waiting_packets,
            }
