"""Cuts and heals links and whole switches of a lab, and waits until the controller has informed the ingresses."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kuijia_app.control.liveness import LivenessChange, LivenessTracker
from kuijia_app.framework import event_log
from kuijia_base.errors import InputError, TestbedError
from te_solver.model.plan import Plan
from testbed.controllers.event_history import Event
from testbed.lab.failures import LinkEvent, fail_link, heal_link
from testbed.lab.lab_changes import NodeEvent, NoticedLinkEvent
from testbed.lab.state import LabParts

REACTION_TIMEOUT = 15.0
"""Seconds the controller may take to inform the ingresses of a failure; it takes milliseconds unless it hangs."""

Link = tuple[str, str]


class Cuts:
    """The links and switches of a running lab that were cut; one thread at a time may cut and heal.

    `switched` grows by one when a link begins to be switched, and when it has been.
    """

    def __init__(self, lab: LabParts) -> None:
        self._lab = lab
        self._tracker = LivenessTracker(lab.plan, lab.wiring)
        self._cut_by_node: dict[str, list[Link]] = {}
        self.switched = 0

    @property
    def nodes_down(self) -> tuple[str, ...]:
        return tuple(self._cut_by_node)

    def follow(self, plan: Plan) -> None:
        """Expect messages about the tunnels of this plan from now on."""
        self._tracker.follow([plan])

    def switch_link(self, a: str, b: str, *, up: bool) -> NoticedLinkEvent:
        """Cut or heal one link; raises as `Lab.fail` and `Lab.heal`."""
        for node in (a, b):
            if up and node in self._cut_by_node:
                raise InputError("testbed", f"link {a}-{b}", f"node {node} is down", f"to heal {node} first")
        known = self._known_events()
        event = self._switch(a, b, up=up)
        told, reaction = self._wait_for_reaction([(a, b)], known, event.requested_at, up=up)
        return NoticedLinkEvent(**vars(event), tunnels_told=told, reaction_seconds=reaction)

    def fail_node(self, node: str) -> NodeEvent:
        self._require_node(node)
        if node in self._cut_by_node:
            raise InputError("testbed", f"node {node}", "the node is down already", "one that is up")
        neighbours = self._lab.plan.topology.neighbours[node]
        links = [(node, other) for other in neighbours if self._lab.network.is_up(node, other)]
        self._cut_by_node[node] = links
        return self._switch_node(node, links, up=False)

    def heal_node(self, node: str) -> NodeEvent:
        self._require_node(node)
        if node not in self._cut_by_node:
            raise InputError("testbed", f"node {node}", "the node is up", "one that was failed")
        cut = self._cut_by_node.pop(node)
        for link in cut:
            if link[1] in self._cut_by_node:
                self._cut_by_node[link[1]].append(link[::-1])
        return self._switch_node(node, [link for link in cut if link[1] not in self._cut_by_node], up=True)

    def _require_node(self, node: str) -> None:
        nodes = self._lab.plan.topology.nodes
        if node not in nodes:
            raise InputError("testbed", node, "there is no such node", f"one of {', '.join(nodes)}")

    def _switch_node(self, node: str, links: Sequence[Link], *, up: bool) -> NodeEvent:
        known = self._known_events()
        requested_at, started = time.time(), time.monotonic()
        for link in links:
            if self._lab.network.is_up(*link) != up:
                self._switch(*link, up=up)
        seconds = time.monotonic() - started
        told, reaction = self._wait_for_reaction(links, known, requested_at, up=up)
        return NodeEvent(node, up, tuple(links), requested_at, seconds, told, reaction)

    def _switch(self, a: str, b: str, *, up: bool) -> LinkEvent:
        self.switched += 1
        try:
            return (heal_link if up else fail_link)(self._lab.network, a, b)
        finally:
            self.switched += 1

    def _known_events(self) -> int:
        return len(self._lab.controller.events())

    def _wait_for_reaction(
        self, links: Sequence[Link], known: int, requested_at: float, *, up: bool
    ) -> tuple[int, float | None]:
        """Wait until the ingresses know; return the number of tunnels that the controller reported, and the seconds."""
        if self._lab.options.liveness == "bfd":
            for link in links:
                self._wait_for_sessions(*link, up=up)
            return 0, None
        port = self._lab.wiring.port
        changes = [
            change
            for a, b in links
            for switch, other in ((a, b), (b, a))
            for change in self._tracker.port_changed(switch, port(switch, other), live=up)
        ]
        controller = self._lab.controller
        if not changes or not controller.is_alive:
            return 0, None
        acknowledged: dict[LivenessChange, float] = {}

        def all_told(events: list[Event]) -> bool:
            acknowledged.update(_acknowledgements(events[known:]))
            return acknowledged.keys() >= set(changes)

        if not controller.wait_for(all_told, REACTION_TIMEOUT):
            named = ", ".join(f"{a}-{b}" for a, b in links)
            raise TestbedError(f"the controller did not inform every ingress of link {named} in {REACTION_TIMEOUT:g} s")
        last = max(acknowledged[change] for change in changes)
        return len({change.path_id for change in changes}), last - requested_at

    def _wait_for_sessions(self, a: str, b: str, *, up: bool) -> None:
        """Wait until the BFD sessions over a link are down, or up unless another of their links is down."""
        over = [session for session in self._lab.sessions if (a, b) in session.hops or (b, a) in session.hops]
        if up:
            over = [session for session in over if all(self._lab.network.is_up(*hop) for hop in session.hops)]
        self._lab.network.bfd.wait_until(over, up=up)


def _acknowledgements(events: list[Event]) -> list[tuple[LivenessChange, float]]:
    return [
        (LivenessChange(event["ingress"], event["path_id"], alive=event["alive"]), event["time"])
        for event in events
        if event["event"] == event_log.TUNNEL_LIVENESS
    ]
